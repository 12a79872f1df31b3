package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
)

// TestSandbox_ListedReading covers commands that may read only the workspace, the system and listed paths.
func TestSandbox_ListedReading(t *testing.T) {
	outside := t.TempDir()
	for _, name := range []string{"other", "named", "denied"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte("text of "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e := newEnv(t, local.Config{Sandbox: sandbox.Config{
		Mode: sandbox.WorkspaceWrite, Listed: true, Readable: []string{outside + "/named"}, Denied: []string{outside + "/denied"},
	}})
	if s, _ := e.Sandbox(); !s.Full() {
		t.Skipf("the sandbox is not complete: %v", s.Problems)
	}
	succeeds(t, e, "echo own > made && cat made && mkdir d && echo x > d/y && cat d/y && echo t > $TMPDIR/t && cat $TMPDIR/t", "own")
	succeeds(t, e, "cat "+outside+"/named", "text of named")
	for _, name := range []string{"other", "denied"} {
		if res := run(t, e, "cat "+outside+"/"+name); res.Code == 0 || strings.Contains(res.Combined, "text of") {
			t.Errorf("%s can be read: %+v", name, res)
		}
	}
	// An approval reveals the paths that it names, but no denied paths.
	for name, want := range map[string]bool{"other": true, "denied": false} {
		path := filepath.Join(outside, name)
		res, err := env.Exec(t.Context(), e, env.Command{Line: "cat " + path, Reveal: []string{path}})
		if err != nil || strings.Contains(res.Combined, "text of "+name) != want {
			t.Errorf("%s after an approval: %+v, %v, want it readable: %v", name, res, err, want)
		}
	}
}
