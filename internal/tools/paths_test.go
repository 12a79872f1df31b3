package tools_test

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/envtest"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// newWindowsRig runs the tools in an environment with Windows paths, on any platform.
func newWindowsRig(t *testing.T) (*rig, *envtest.Memory) {
	t.Helper()
	r, m := newRig(t, tools.Config{}), envtest.NewMemory("windows")
	r.env = m
	for name, content := range map[string]string{`src\a.go`: "one\ntwo\n", `src\deep\b.go`: "three\n", `notes.ipynb`: `{"cells":[]}`} {
		if err := m.WriteFile(t.Context(), name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return r, m
}

func TestPaths_ToolsFollowTheRulesOfTheEnvironment(t *testing.T) {
	r, m := newWindowsRig(t)
	content := func(name string) string {
		t.Helper()
		b, err := env.ReadFile(t.Context(), m, name, 0)
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	for _, c := range []struct {
		tool string
		args args
		want string // in the output
	}{
		{"read_file", args{"file_path": `C:\work\src\a.go`}, "two"},
		{"read_file", args{"file_path": "src/a.go"}, "two"},
		{"read_file", args{"file_path": `d.x\..\notes.ipynb`}, "A notebook"},
		{"list_dir", args{"path": `src`, "depth": 2}, "b.go"},
		{"glob", args{"pattern": `C:\work\src\**\*.go`}, "C:/work/src/deep/b.go"},
		{"glob", args{"pattern": "src/*.go"}, "src/a.go"},
		{"grep", args{"pattern": "three", "path": `src\deep`}, "src/deep/b.go:1:three"},
		{"write_file", args{"file_path": `C:\work\new\c.txt`, "content": "c\n"}, "new/c.txt"},
		{"delete_file", args{"path": `C:\work\new\c.txt`}, "Deleted new/c.txt."},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Update File: src\\a.go\n@@\n-one\n+eins\n*** Update File: src/a.go\n@@\n-two\n+zwei\n*** End Patch"}, "src"},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: C:\\work\\src\\deep\\b.go\n*** Add File: x\\y\\z.txt\n+z\n*** End Patch"}, "D C:"},
	} {
		if got := r.ok(c.tool, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s %v gave %q, want %q in it", c.tool, c.args, got, c.want)
		}
	}
	if got := content(`src\a.go`); got != "eins\nzwei\n" {
		t.Errorf("the patched file holds %q", got)
	}
	if got := content("x/y/z.txt"); got != "z\n" {
		t.Errorf("the new file holds %q", got)
	}
	if list, err := m.ReadDir(t.Context(), `src\deep`); err != nil || len(list) != 0 {
		t.Errorf("where a file was deleted there is %v, %v", list, err)
	}
}

func TestPaths_AccessesAreThoseOfTheEnvironment(t *testing.T) {
	r, _ := newWindowsRig(t)
	r.declares("read_file", args{"file_path": "src/a.go"}, `read C:\work\src\a.go`)
	r.declares("read_file", args{"file_path": `\secret`}, `read C:\secret`)
	r.declares("write_file", args{"file_path": `..\x`, "content": ""}, `write C:\x`)
	r.declares("delete_file", args{"path": `src/deep\..\a.go`}, `delete C:\work\src\a.go`)
	r.declares("glob", args{"pattern": `C:\other\*.go`}, `read C:\other`)
	r.declares("glob", args{"pattern": `sub/x/*.go`, "path": `D:\d`}, `read D:\d\sub\x`)
}

func TestPaths_ErrorsOfEnvironmentsAreExplained(t *testing.T) {
	r, _ := newWindowsRig(t)
	r.fails(tool.NotAFile, "read_file", args{"file_path": "src"}, "is a directory")
	r.fails(tool.NotADirectory, "read_file", args{"file_path": `src\a.go\x`}, "not a directory")
	r.fails(tool.NotADirectory, "read_file", args{"file_path": `src\a.go\`}, "not a directory")
	r.fails(tool.NotADirectory, "glob", args{"pattern": "*", "path": `src\a.go`}, "not a directory")
	r.fails(tool.EditConflict, "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: src\\a.go\n@@\n-one\n+1\n*** Update File: SRC\\A.go\n@@\n-two\n+2\n*** End Patch"}, "same file")
	r.fails(tool.PermissionDenied, "shell", args{"command": "dir"}, "cannot run commands")
}
