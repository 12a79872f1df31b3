package cli

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/host/show"
)

const jsonTime = time.RFC3339Nano

// fileDiff is the difference of a file, as JSON.
type fileDiff struct {
	changeJSON
	Binary  bool   `json:"binary,omitempty"` // or too large to be shown
	Added   int    `json:"added"`            // lines
	Removed int    `json:"removed"`
	Diff    string `json:"diff,omitempty"`
}

// show prints the changes, one after the other: there may be many, and large ones.
func (o diffCommand) show(ctx context.Context, h Host, kept *checkpoint.Store, changes []checkpoint.Change) error {
	out := bufio.NewWriter(h.Stdout)
	var all []fileDiff
	for _, c := range changes {
		text, err := kept.Unified(ctx, c)
		if err != nil {
			return err
		}
		d := newFileDiff(c, text)
		switch {
		case o.asJSON:
			if o.stat {
				d.Diff = ""
			}
			err = printJSON(out, d)
		case o.stat:
			d.Diff = ""
			all = append(all, d)
		case isTerminal(h.Stdout):
			_, err = out.WriteString(show.Diff(text, "", -1, h.colours(h.Stdout)))
		default: // a patch is of use only if it is exact
			_, err = out.WriteString(text)
		}
		if err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil || !o.stat || o.asJSON {
		return err
	}
	return printStat(h, all)
}

func newFileDiff(c checkpoint.Change, text string) fileDiff {
	d := fileDiff{changeJSON: changeJSON{c.Path, c.Kind}, Diff: text}
	inHunk := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "diff "): // a link that became a file has two parts
			inHunk = false
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case !inHunk:
			d.Binary = d.Binary || strings.HasPrefix(line, "Binary files ")
		case strings.HasPrefix(line, "+"):
			d.Added++
		case strings.HasPrefix(line, "-"):
			d.Removed++
		}
	}
	return d
}

// printStat prints a line for each file, and a sum.
func printStat(h Host, all []fileDiff) error {
	if len(all) == 0 {
		return nil
	}
	t := &show.Table{Columns: []show.Column{{Title: ""}, {Title: "ADDED", Right: true, Colour: green}, {Title: "REMOVED", Right: true, Colour: red}, {Title: "FILE"}}}
	added, removed := 0, 0
	for _, d := range all {
		mark, _ := changeMark(d.Change)
		plus, minus := strconv.Itoa(d.Added), strconv.Itoa(d.Removed)
		if d.Binary {
			plus, minus = "binary", ""
		}
		t.Add(mark, plus, minus, show.OneLine(d.Path))
		added, removed = added+d.Added, removed+d.Removed
	}
	if err := printTable(h, t); err != nil {
		return err
	}
	_, err := fmt.Fprintf(h.Stdout, "%s, %s added, %d removed\n", show.Plural(len(all), "file"), show.Plural(added, "line"), removed)
	return err
}
