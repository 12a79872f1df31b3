package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// notebook is the part of a Jupyter notebook that is shown.
type notebook struct {
	Cells []struct {
		Kind    string       `json:"cell_type"`
		Source  textList     `json:"source"`
		Outputs []cellOutput `json:"outputs"`
	} `json:"cells"`
}

// cellOutput is one output of a cell: text, data in several types, or an error.
type cellOutput struct {
	Text   textList            `json:"text"`
	Data   map[string]textList `json:"data"`
	Name   string              `json:"ename"`
	Reason string              `json:"evalue"`
}

// textList is text that notebooks store as one string or as a list of lines.
type textList string

// UnmarshalJSON decodes either form. Other values, such as objects, are ignored.
func (t *textList) UnmarshalJSON(b []byte) error {
	var lines []string
	if json.Unmarshal(b, &lines) == nil {
		*t = textList(strings.Join(lines, ""))
		return nil
	}
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = textList(s)
	}
	return nil
}

func (o cellOutput) String() string {
	switch {
	case o.Name != "":
		return o.Name + ": " + o.Reason
	case o.Text != "":
		return string(o.Text)
	case o.Data["text/plain"] != "":
		return string(o.Data["text/plain"])
	case len(o.Data) > 0:
		return "[" + strings.Join(slices.Sorted(maps.Keys(o.Data)), ", ") + "]"
	}
	return ""
}

// renderNotebook returns a notebook as text, cell by cell.
func renderNotebook(data []byte) (string, error) {
	var nb notebook
	if err := json.Unmarshal(data, &nb); err != nil {
		return "", err
	}
	if nb.Cells == nil {
		return "", errors.New("the notebook has no cells")
	}
	var b strings.Builder
	b.WriteString("[A notebook, shown cell by cell. The file itself is JSON, which edits must match.]\n")
	for i, c := range nb.Cells {
		fmt.Fprintf(&b, "--- cell %d (%s)\n%s\n", i+1, c.Kind, strings.TrimRight(string(c.Source), "\n"))
		for _, o := range c.Outputs {
			if text := o.String(); text != "" {
				fmt.Fprintf(&b, "--- output of cell %d\n%s\n", i+1, strings.TrimRight(text, "\n"))
			}
		}
	}
	return b.String(), nil
}
