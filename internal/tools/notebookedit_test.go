package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// jupyter is a notebook as Jupyter writes it.
const jupyter = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "aa",
   "metadata": {},
   "source": [
    "# Title\n",
    "<b> & é"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "bb",
   "metadata": {"tags": ["x"],  "n": 1.0},
   "outputs": [
    {
     "name": "stdout",
     "text": [
      "1\n"
     ]
    }
   ],
   "source": [
    "print(1)"
   ]
  }
 ],
 "metadata": {"kernelspec": {"name": "python3"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestNotebookEdit_ChangesOnlyWhatItMust(t *testing.T) {
	emptied := strings.NewReplacer(`"execution_count": 7`, `"execution_count": null`, `"outputs": [
    {
     "name": "stdout",
     "text": [
      "1\n"
     ]
    }
   ]`, `"outputs": []`)
	for name, c := range map[string]struct {
		args     args
		old, new string
	}{
		"code by id": {args{"cell_id": "bb", "new_source": "a = \"<é>\"\nb\n"}, `    "print(1)"`, "    \"a = \\\"<é>\\\"\\n\",\n    \"b\\n\""},
		"by number":  {args{"cell_id": "1", "new_source": "x"}, "    \"# Title\\n\",\n    \"<b> & é\"", `    "x"`},
		"empty":      {args{"cell_id": "1"}, "[\n    \"# Title\\n\",\n    \"<b> & é\"\n   ]", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tools.Config{})
			r.write("n.ipynb", jupyter)
			c.args["notebook_path"] = "n.ipynb"
			r.ok("notebook_edit", c.args)
			want := strings.Replace(jupyter, c.old, c.new, 1)
			if strings.HasPrefix(name, "code") {
				want = emptied.Replace(want)
			}
			if got := r.read("n.ipynb"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestNotebookEdit_CRLFAndByteOrderMarkStay(t *testing.T) {
	r := newRig(t, tools.Config{})
	in := "\uFEFF" + strings.ReplaceAll(jupyter, "\n", "\r\n")
	r.write("n.ipynb", in)
	r.ok("notebook_edit", args{"notebook_path": "n.ipynb", "cell_id": "aa", "new_source": "a\nb"})
	want := strings.Replace(in, "    \"# Title\\n\",\r\n    \"<b> & é\"", "    \"a\\n\",\r\n    \"b\"", 1)
	if got := r.read("n.ipynb"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// cells returns the sources of the cells, with their types.
func cells(t *testing.T, text string) string {
	t.Helper()
	var nb struct {
		Cells []struct {
			Kind     string `json:"cell_type"`
			ID       string `json:"id"`
			Outputs  any    `json:"outputs"`
			Metadata any    `json:"metadata"`

			Source json.RawMessage `json:"source"`
		} `json:"cells"`
	}
	if err := json.Unmarshal([]byte(text), &nb); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var list []string
	ids := map[string]bool{}
	for _, c := range nb.Cells {
		list = append(list, c.Kind+string(c.Source))
		if ids[c.ID] && c.ID != "" {
			t.Errorf("two cells have the id %s", c.ID)
		}
		ids[c.ID] = true
		if (c.Kind == "code") != (c.Outputs != nil) || c.Metadata == nil {
			t.Errorf("cell %+v is not valid", c)
		}
	}
	return strings.NewReplacer("\n    ", "", "\n   ", "", "\n", "").Replace(strings.Join(list, " "))
}

func TestNotebookEdit_InsertDeleteAndChangeOfType(t *testing.T) {
	const title, code = `markdown["# Title\n","<b> & é"]`, `code["print(1)"]`
	compact := `{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":4}`
	for name, c := range map[string]struct {
		old  string
		args args
		want string
	}{
		"first":         {jupyter, args{"edit_mode": "insert", "new_source": "x"}, `code["x"] ` + title + " " + code},
		"between":       {jupyter, args{"edit_mode": "insert", "cell_id": "aa", "cell_type": "markdown", "new_source": "x"}, title + ` markdown["x"] ` + code},
		"last":          {jupyter, args{"edit_mode": "insert", "cell_id": "2", "new_source": "x"}, title + " " + code + ` code["x"]`},
		"delete first":  {jupyter, args{"edit_mode": "delete", "cell_id": "aa"}, code},
		"delete last":   {jupyter, args{"edit_mode": "delete", "cell_id": "bb"}, title},
		"to markdown":   {jupyter, args{"cell_id": "bb", "cell_type": "markdown", "new_source": "x"}, title + ` markdown["x"]`},
		"to code":       {jupyter, args{"cell_id": "aa", "cell_type": "code", "new_source": "x"}, `code["x"] ` + code},
		"into none":     {compact, args{"edit_mode": "insert", "new_source": "x"}, `code["x"]`},
		"source string": {`{"cells":[{"cell_type":"markdown","metadata":{},"source":"a"}],"nbformat":4}`, args{"cell_id": "1", "new_source": "b\nc"}, `markdown"b\nc"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tools.Config{})
			r.write("n.ipynb", c.old)
			c.args["notebook_path"] = "n.ipynb"
			r.ok("notebook_edit", c.args)
			got := r.read("n.ipynb")
			if s := cells(t, got); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
			if c.old == jupyter && (!strings.HasSuffix(got, " ],\n \"metadata\": {\"kernelspec\": {\"name\": \"python3\"}},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n") || strings.Contains(got, "\n\n") || strings.Contains(got, "}{")) {
				t.Errorf("the form of the file is lost:\n%s", got)
			}
		})
	}
}

func TestNotebookEdit_RefusesAndChangesNothing(t *testing.T) {
	r := newRig(t, tools.Config{ReadBeforeWrite: true})
	r.write("n.ipynb", jupyter)
	r.write("n.txt", jupyter)
	edit := args{"notebook_path": "n.ipynb", "cell_id": "aa", "new_source": "x"}
	r.fails(tool.NotRead, "notebook_edit", edit, "has not been read")
	r.ok("read_file", args{"file_path": "n.ipynb"})
	for _, id := range []string{"0", "3", "-1", "zz", ""} {
		r.fails(tool.EditConflict, "notebook_edit", args{"notebook_path": "n.ipynb", "cell_id": id, "new_source": "x"}, "2 cells")
	}
	r.fails(tool.ValidationError, "notebook_edit", args{"notebook_path": "n.txt", "cell_id": "aa"}, ".ipynb")
	r.fails(tool.ValidationError, "notebook_edit", args{"notebook_path": "n.ipynb", "cell_id": "aa", "edit_mode": "move"})
	for _, broken := range []string{"", "{", "[]", `{"cells":{},"nbformat":4}`, `{"cells":[1],"nbformat":4}`, `{"nbformat":4}`, `{"cells":[],"nbformat":3}`} {
		r.write("b.ipynb", broken)
		r.ok("read_file", args{"file_path": "b.ipynb"})
		r.fails(tool.UnsupportedMedia, "notebook_edit", args{"notebook_path": "b.ipynb", "edit_mode": "insert"}, "not a notebook")
	}
	if got := r.read("n.ipynb"); got != jupyter {
		t.Errorf("the notebook was changed:\n%s", got)
	}
	r.declares("notebook_edit", edit, "read "+r.path("n.ipynb"), "write "+r.path("n.ipynb"))
}

func TestNotebookEdit_PreviewIsTheChange(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("n.ipynb", jupyter)
	call := r.request("notebook_edit", args{"notebook_path": "n.ipynb", "edit_mode": "insert", "new_source": "x"})
	var preview tool.Preview
	for _, tl := range tools.More(tools.Config{}) {
		if p, ok := tl.(tool.Previewer); ok && tl.Spec().Name == "notebook_edit" {
			var err error
			if preview, err = p.Preview(t.Context(), &call); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.pipe.Run(t.Context(), call)
	if len(preview.Changes) != 1 || string(preview.Changes[0].Before) != jupyter || string(preview.Changes[0].After) != r.read("n.ipynb") {
		t.Errorf("the preview is %+v", preview)
	}
}

func FuzzNotebookEdit(f *testing.F) {
	f.Add(jupyter, "1", "x")
	f.Add(`{"cells":[{"source":1}],"nbformat":4}`, "1", "a\nb")
	f.Add(`{"cells":[{}, {}],"cells":[],"nbformat":4}`, "", "")
	r := newRig(f, tools.Config{})
	f.Fuzz(func(t *testing.T, text, id, source string) {
		r := *r
		r.t = t
		for _, mode := range []string{"replace", "insert", "delete"} {
			r.write("f.ipynb", text)
			out := r.run("notebook_edit", args{"notebook_path": "f.ipynb", "cell_id": id, "new_source": source, "edit_mode": mode})
			got := r.read("f.ipynb")
			if out.OK() && !json.Valid([]byte(strings.TrimPrefix(got, "\uFEFF"))) || !out.OK() && got != text {
				t.Errorf("%s: %v gives %q", mode, out.Result.Error, got)
			}
		}
	})
}
