package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/tool"
)

// question runs a call whose approval is refused, and returns what the user was shown.
func question(t *testing.T, dir string, tools []tool.Tool, name string, args any) string {
	t.Helper()
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	reg := &tool.Registry{}
	if err := reg.Register(tools...); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	shown := ""
	p := &tool.Pipeline{Registry: reg, Approve: func(ctx context.Context, r tool.Request) (tool.Approval, error) {
		shown = (&asker{host: Host{Stderr: &strings.Builder{}}, view: &textView{out: io.Discard, side: io.Discard}}).question(ctx, r)
		return tool.Approval{}, nil
	}}
	p.Run(t.Context(), tool.Call{ID: "1", Name: name, Args: b, Env: e})
	return shown
}

func TestQuestion_ShowsTheChangesAndMakesNone(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.txt": "one\n", "b.txt": "two\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		args map[string]string
		want []string
		diff bool
	}{
		{"edit_file", map[string]string{"file_path": "a.txt", "old_string": "one", "new_string": "1"}, []string{"--- a/a.txt", "-one", "+1"}, true},
		{"write_file", map[string]string{"file_path": "sub/new.txt", "content": "new\n"}, []string{"+++ b/sub/new.txt", "+new"}, true},
		{"apply_patch", map[string]string{"patch": "*** Begin Patch\n*** Delete File: a.txt\n*** Update File: b.txt\n*** Move to: c.txt\n@@\n-two\n+2\n*** End Patch"},
			[]string{"-one", "-two", "+++ b/c.txt", "+2"}, true},
		{"edit_file", map[string]string{"file_path": "a.txt", "old_string": "not there", "new_string": "1"}, []string{"this call would fail: "}, false},
		{"shell", map[string]string{"command": "rm a.txt"}, []string{"runs: rm a.txt"}, false},
	} {
		got := question(t, dir, coding.NewTools(coding.ToolConfig{}), c.name, c.args)
		for _, w := range c.want {
			if !strings.Contains(got, "\n  "+w) {
				t.Errorf("%s %v: %q is not in the question:\n%s", c.name, c.args, w, got)
			}
		}
		if strings.Contains(got, "--- a/") != c.diff {
			t.Errorf("%s %v: the question has a diff: %v, want %v:\n%s", c.name, c.args, !c.diff, c.diff, got)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the directory holds %v (%v), want two files", entries, err)
	}
}

func TestQuestion_DoesNotRunATool(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	type in struct {
		Path string `json:"path"`
	}
	acts := tool.New(tool.Spec{Name: "acts"}, nil, func(context.Context, *tool.Call, in) (tool.Result, error) {
		return tool.Success("done"), os.WriteFile(outside, nil, 0o600)
	})
	if got := question(t, dir, []tool.Tool{acts}, "acts", in{outside}); !strings.Contains(got, "Allow?") {
		t.Errorf("the question is %q", got)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("the tool ran without an approval")
	}
}
