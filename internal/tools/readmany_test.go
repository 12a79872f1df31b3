//go:build unix

package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestReadManyFiles_ReportsEachFileInItsPlace(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("a", "one\ntwo\n")
	r.write("b", "\x00")
	out := r.run("read_many_files", args{"paths": []string{"a", "b", "c"}, "limit": 1})
	text := tool.String(out.Result.Output)
	if !out.OK() || out.Result.Fields["failed"] != 2 {
		t.Fatalf("%+v", out)
	}
	for _, want := range []string{"==> a <==\n1 | one\n[Showing lines 1 to 1 of 2", "==> b <==\n[BinaryFile: ", "==> c <==\n[FileNotFound: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not have %q", text, want)
		}
	}
	r.fails(tool.FileNotFound, "read_many_files", args{"paths": []string{"x", "y"}}, "None of the files")
	r.fails(tool.ValidationError, "read_many_files", args{"paths": []string{}}, "not 0")
	r.fails(tool.ValidationError, "read_many_files", args{"paths": make([]string, 101)}, "1 to 100 files, not 101")
	r.declares("read_many_files", args{"paths": []string{"a", "/etc/x"}}, "read "+r.path("a"), "read /etc/x")
}

func TestReadManyFiles_StopsBeforeTheOutputFillsTheMemory(t *testing.T) {
	r := newRig(t, tools.Config{})
	var paths []string
	for i := range 10 {
		paths = append(paths, fmt.Sprint(i))
		r.write(paths[i], strings.Repeat("x", 1<<20))
	}
	out := r.run("read_many_files", args{"paths": paths})
	if !out.OK() || out.Result.Output.Len() > 6<<20 || out.Result.Fields["failed"] == 0 {
		t.Errorf("%d bytes, %v", out.Result.Output.Len(), out.Result.Fields)
	}
}
