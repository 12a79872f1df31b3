//go:build unix

package tools_test

import (
	"testing"

	"github.com/reins-agent/reins/internal/tools"
)

func TestReadFile_NotebooksAreShownByCells(t *testing.T) {
	r := newRig(t, tools.Config{})
	const nb = `{"cells":[
		{"cell_type":"markdown","source":["# Title\n","text"]},
		{"cell_type":"code","source":"print(1)\n","outputs":[
			{"output_type":"stream","text":["1\n"]},
			{"data":{"image/png":"aGk=","application/json":{"a":1}}},
			{"data":{"text/plain":"2"}},
			{"ename":"ValueError","evalue":"no"}]}],"nbformat":4}`
	want := "1 | [A notebook, shown cell by cell. The file itself is JSON, which edits must match.]\n" +
		"2 | --- cell 1 (markdown)\n3 | # Title\n4 | text\n5 | --- cell 2 (code)\n6 | print(1)\n" +
		"7 | --- output of cell 2\n8 | 1\n9 | --- output of cell 2\n10 | [application/json, image/png]\n" +
		"11 | --- output of cell 2\n12 | 2\n13 | --- output of cell 2\n14 | ValueError: no\n"
	for name, content := range map[string]string{"n.ipynb": nb, "bom.IPYNB": "\xEF\xBB\xBF" + nb} {
		r.write(name, content)
		if got := r.ok("read_file", args{"file_path": name}); got != want {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
	// A file that is not a notebook is shown as text.
	for _, content := range []string{"{}", "not JSON", `{"cells":3}`, `{"cells":null}`, `[1]`} {
		r.write("bad.ipynb", content)
		if got := r.ok("read_file", args{"file_path": "bad.ipynb"}); got != "1 | "+content+"\n" {
			t.Errorf("%s: got %q", content, got)
		}
	}
}
