//go:build unix

package tools_test

import (
	"os"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestDeleteFile_DeletesFilesAndLinksOnly(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("d/f", "x")
	r.write("g", "x")
	r.link("d/f", "link")
	r.link("d", "dir")
	r.link("nothing", "dangling")
	if got := r.ok("delete_file", args{"path": "g"}); got != "Deleted g." {
		t.Errorf("got %q", got)
	}
	for _, p := range []string{"link", "dangling", "dir"} {
		r.ok("delete_file", args{"path": p})
		if _, err := os.Lstat(r.path(p)); err == nil {
			t.Errorf("%s is still there", p)
		}
	}
	if r.read("d/f") != "x" {
		t.Error("the target of the link was deleted")
	}
	r.fails(tool.FileNotFound, "delete_file", args{"path": "g"}, "File not found: g")
	r.fails(tool.NotAFile, "delete_file", args{"path": "d"}, "directory")
	r.fails(tool.NotADirectory, "delete_file", args{"path": "d/f/"})
}

func TestDeleteFile_DeclaresTheNameAndNotWhereItLeads(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("d/f", "x")
	r.link("d/f", "link")
	r.link("d", "dir")
	for p, want := range map[string]string{"link": "link", "dir/f": "d/f", "dir/": "dir", "d/../link": "link"} {
		r.declares("delete_file", args{"path": p}, "delete "+r.path(want))
	}
}
