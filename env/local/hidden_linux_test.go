package local

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/sandbox"
)

// TestSandbox_LooksForHiddenFilesWhileAnotherCommandStarts starts a command at the moment when a sandbox looks for
// hidden files in the environment. The command registers itself under the environment lock, and needs the sandbox.
func TestSandbox_LooksForHiddenFilesWhileAnotherCommandStarts(t *testing.T) {
	var e *Env
	var armed atomic.Bool
	other := make(chan error, 1)
	hidden := func() []string {
		if armed.CompareAndSwap(true, false) {
			go func() {
				_, err := env.Exec(t.Context(), e, env.Command{Args: []string{"true"}})
				other <- err
			}()
			for busy := 0; busy < 1_000; busy++ {
				if e.mu.TryLock() {
					busy = 0
					e.mu.Unlock()
				}
				runtime.Gosched()
			}
		}
		if _, err := e.ReadDir(context.WithoutCancel(t.Context()), "."); err != nil {
			t.Error(err)
		}
		return nil
	}
	var err error
	e, err = New(Config{Dir: t.TempDir(), Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite, Hidden: hidden}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if s, _ := e.Sandbox(); !s.Full() {
		t.Skipf("the sandbox is not complete: %v", s.Problems)
	}
	reads := env.Command{Args: []string{"true"}, ReadOnly: true}
	if _, err := env.Exec(t.Context(), e, reads); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	if _, err := env.Exec(t.Context(), e, reads); err != nil {
		t.Fatal(err)
	}
	if err := <-other; err != nil {
		t.Error(err)
	}
}
