package tools_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

// changes are calls that change the file named "file", which holds "old\n", by what they do.
var changes = map[string]struct {
	tool string
	args args
}{
	"write":      {"write_file", args{"file_path": "file", "content": "new\n"}},
	"edit":       {"edit_file", args{"file_path": "file", "old_string": "old", "new_string": "new"}},
	"delete":     {"delete_file", args{"path": "file"}},
	"patch":      {"apply_patch", args{"patch": "*** Begin Patch\n*** Update File: file\n@@\n-old\n+new\n*** End Patch"}},
	"add":        {"apply_patch", args{"patch": "*** Begin Patch\n*** Add File: file\n+new\n*** End Patch"}},
	"remove":     {"apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: file\n*** End Patch"}},
	"move":       {"apply_patch", args{"patch": "*** Begin Patch\n*** Update File: file\n*** Move to: other\n@@\n-old\n+new\n*** End Patch"}},
	"move there": {"apply_patch", args{"patch": "*** Begin Patch\n*** Add File: source\n+new\n*** Update File: source\n*** Move to: file\n@@\n-new\n+newer\n*** End Patch"}},
	"by a link":  {"write_file", args{"file_path": "link", "content": "new\n"}},
}

// guarded returns a rig with a file and a link to it.
func guarded(t *testing.T) *rig {
	r := newRig(t, tools.Config{ReadBeforeWrite: true, MaxFileSize: 1000})
	r.write("file", "old\n")
	r.link("file", "link")
	return r
}

func TestReadBeforeWrite_UnreadFileIsNotChanged(t *testing.T) {
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			r := guarded(t)
			r.ok("grep", args{"pattern": "old"})
			r.ok("shell", args{"command": "cat file"})
			r.ok("read_file", args{"file_path": "file", "limit": 1}) // then it changes
			r.write("file", "old\n\n")
			r.fails(tool.NotRead, c.tool, c.args, "has been modified since it was read. Read it again")
			r = guarded(t)
			r.fails(tool.NotRead, c.tool, c.args, "has not been read yet. Read it before changing it.")
			if got := r.read("file"); got != "old\n" {
				t.Errorf("the file holds %q, want it unchanged", got)
			}
			r.fails(tool.ValidationError, "read_file", args{"file_path": "file", "offset": 9})
			r.fails(tool.NotRead, c.tool, c.args, "has not been read")
			r.ok("read_file", args{"file_path": "file"})
			r.ok(c.tool, c.args)
		})
	}
}

func TestReadBeforeWrite_EveryWayToReadCounts(t *testing.T) {
	for name, read := range map[string]args{
		"read_file":       {"file_path": "link", "limit": 1},
		"read_many_files": {"paths": []string{"none", "file"}},
		"write_file":      {"file_path": "new", "content": "x"},
	} {
		r := guarded(t)
		r.ok(name, read)
		p := "file"
		if name == "write_file" {
			p = "new"
		}
		r.ok("write_file", args{"file_path": p, "content": "once"})
		r.ok("edit_file", args{"file_path": p, "old_string": "once", "new_string": "twice"})
		r.ok("apply_patch", args{"patch": "*** Begin Patch\n*** Update File: " + p + "\n@@\n-twice\n+three times\n*** End Patch"})
		r.ok("delete_file", args{"path": p})
		r.write(p, "somebody else's")
		r.fails(tool.NotRead, "write_file", args{"file_path": p, "content": "x"}, "has been modified")
	}
}

func TestReadBeforeWrite_FilesThatCannotBeRead(t *testing.T) {
	r := guarded(t)
	r.write("binary", "\x00\x01\x02\xff")
	r.write("large", strings.Repeat("x", 2000))
	r.write("empty", "")
	r.fails(tool.NotRead, "delete_file", args{"path": "binary"}, "has not been read")
	r.fails(tool.BinaryFile, "read_file", args{"file_path": "binary"})
	r.ok("delete_file", args{"path": "binary"})
	for name, a := range map[string]args{"write_file": {"file_path": "large", "content": "x"}, "delete_file": {"path": "large"}} {
		r.fails(tool.TooLarge, name, a, "Change it with a command.")
	}
	r.ok("write_file", args{"file_path": "empty", "content": "x"})
	r.ok("delete_file", args{"path": "link"}) // not what it leads to
}

func TestReadBeforeWrite_IsOffByDefault(t *testing.T) {
	for name, c := range changes {
		r := newRig(t, tools.Config{})
		r.write("file", "old\n")
		r.write("link", "old\n")
		if out := r.run(c.tool, c.args); !out.OK() {
			t.Errorf("%s: %+v", name, out.Result.Error)
		}
	}
}

func TestArtifacts_ListCreatedFilesByRealPath(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("d/old", "old\n")
	r.link("d", "link")
	for _, tt := range []struct {
		tool string
		args args
		want []string
	}{
		{"write_file", args{"file_path": "link/new", "content": "x"}, []string{"d/new"}},
		{"write_file", args{"file_path": "link/new", "content": "y"}, nil},
		{"edit_file", args{"file_path": "d/e/edited", "old_string": "", "new_string": "x"}, []string{"d/e/edited"}},
		{"edit_file", args{"file_path": "d/old", "old_string": "old", "new_string": "new"}, nil},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Add File: link/p\n+x\n*** Add File: d/old\n+y\n*** Add File: q\n+z\n*** Update File: link/new\n*** Move to: moved\n@@\n-y\n+z\n*** End Patch"}, []string{"d/p", "q"}},
		{"delete_file", args{"path": "q"}, nil},
	} {
		var want []string
		for _, p := range tt.want {
			want = append(want, r.path(p))
		}
		out := r.run(tt.tool, tt.args)
		if got := out.Result.Artifacts.FilesCreated; !out.OK() || !slices.Equal(got, want) {
			t.Errorf("%s %v created %v, want %v; error %v", tt.tool, tt.args, got, want, out.Result.Error)
		}
	}
}

func TestReadBeforeWrite_NobodyIsAskedAboutACallThatWouldBeRefused(t *testing.T) {
	r := guarded(t)
	asked := 0
	r.pipe.Policy = rules.Policy{}
	r.pipe.Approve = func(context.Context, tool.Request) (tool.Approval, error) {
		asked++
		return tool.Approval{Allow: true}, nil
	}
	edit := args{"file_path": "file", "old_string": "old", "new_string": "new"}
	r.fails(tool.NotRead, "edit_file", edit)
	if asked != 0 {
		t.Errorf("the approver was asked %d times, want none", asked)
	}
	r.ok("read_file", args{"file_path": "file"})
	r.fails(tool.EditConflict, "edit_file", args{"file_path": "file", "old_string": "none", "new_string": "new"})
	r.ok("edit_file", edit)
	if asked != 2 {
		t.Errorf("the approver was asked %d times, want twice: a failure may tell what the file holds", asked)
	}
}
