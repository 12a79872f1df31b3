//go:build unix

package tools_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestListDir_ListsWithSizesToTheDepthAskedFor(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("b.txt", "12345")
	r.write("a/x/deep.txt", "")
	r.write("a/big", strings.Repeat("x", 3<<10))
	r.write("node_modules/m.js", "x")
	r.link("a", "link")
	if err := syscall.Mkfifo(r.path("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	const top = "a/\nb.txt  5 B\nlink  link\nnode_modules/\npipe  special file\n"
	if got := r.ok("list_dir", args{}); got != top {
		t.Errorf("got\n%s", got)
	}
	const deep = "a/\n  big  3.0 KiB\n  x/\n    deep.txt  0 B\nlink  link\npipe  special file\n"
	if got := r.ok("list_dir", args{"path": r.dir, "depth": 9, "ignore_globs": []string{"node_modules", "*.txt", "!x", "a/x/nothing"}}); got != strings.Replace(deep, "    deep.txt  0 B\n", "", 1) {
		t.Errorf("got\n%s", got)
	}
	if got := r.ok("list_dir", args{"path": "link/x"}); got != "deep.txt  0 B\n" {
		t.Errorf("got\n%s", got)
	}
	r.declares("list_dir", args{"path": "link"}, "read "+r.path("a"))
	r.declares("list_dir", args{}, "read "+r.dir)
}

func TestListDir_RefusesWhatIsNoDirectory(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("f", "x")
	r.fails(tool.NotADirectory, "list_dir", args{"path": "f"}, "is a file")
	r.fails(tool.FileNotFound, "list_dir", args{"path": "nothing"})
	r.fails(tool.ValidationError, "list_dir", args{"depth": -1}, "depth")
	r.fails(tool.InvalidPattern, "list_dir", args{"ignore_globs": []string{"["}}, `"["`)
}

func TestListDir_StopsAtTenThousandEntriesAndSaysSo(t *testing.T) {
	r := newRig(t, tools.Config{})
	for i := range 10_001 {
		r.write(fmt.Sprintf("d%d/f%05d", i%2, i), "")
	}
	out := r.run("list_dir", args{"depth": 2})
	text := tool.String(out.Result.Output)
	if out.Result.Fields["partial"] != true || out.Result.Fields["entries"] != 10_000 || strings.Count(text, "\n") != 10_001 || !strings.Contains(text, "stops at 10000") {
		t.Errorf("%v, %d lines", out.Result.Fields, strings.Count(text, "\n"))
	}
	if out := r.run("list_dir", args{"path": "d0"}); out.Result.Fields["partial"] != false || out.Result.Fields["entries"] != 5001 {
		t.Errorf("%v", out.Result.Fields)
	}
}
