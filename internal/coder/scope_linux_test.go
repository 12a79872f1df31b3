package coder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/llm/llmtest"
)

// seal makes a file unreadable, even for root: who opens it must wait for the holder of a lease.
func (r *rig) seal(name string) {
	r.Helper()
	f, err := os.OpenFile(filepath.Join(r.dir, name), os.O_RDWR, 0)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { f.Close() })
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		r.Fatal(err)
	}
}

func TestRun_FailsIfAFileCannotBeChecked(t *testing.T) {
	r := newRig(t, llmtest.Call("write_file", `{"file_path":"src/a.go","content":"x"}`), llmtest.Say("done"))
	sealed := false
	r.config.Progress = func(string) {
		if _, err := os.Stat(filepath.Join(r.dir, "src/a.go")); err == nil && !sealed {
			sealed = true
			r.write("src/b.go", "y")
			r.seal("src/b.go")
		}
	}
	res := r.run(Request{AllowedFiles: []string{"src/**"}})
	r.fails(res, ScopeViolation)
	if !strings.Contains(res.Error, "cannot be checked") {
		t.Errorf("after the run: %s", asJSON(t, res))
	}
	calls := len(r.model.Requests())
	r.fails(r.run(Request{AllowedFiles: []string{"src/**"}}), ConfigError)
	if n := len(r.model.Requests()) - calls; n > 0 {
		t.Errorf("before the run: the model was called %d times", n)
	}
}
