package hook_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/hook"
)

func TestMain(m *testing.M) {
	if pipe := os.Getenv("HOOK_TEST_PIPE"); pipe != "" {
		os.Exit(leave(pipe))
	}
	os.Exit(m.Run())
}

// leave leaves its parent's session, writes its process number to a pipe, and keeps the pipe open until it is killed.
func leave(pipe string) int {
	if _, err := syscall.Setsid(); err != nil {
		return 1
	}
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		return 1
	}
	fmt.Fprint(f, os.Getpid())
	for {
		_ = syscall.Pause()
	}
}

func TestRun_ALateCommandIsKilledWithItsChildren(t *testing.T) {
	e := newEnv(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// The first read after the child has started ends when no process has the pipe open.
	f, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for timeout := 500 * time.Millisecond; timeout < time.Minute; timeout *= 2 { // a busy machine may need more to start it
		command, want := fmt.Sprintf("HOOK_TEST_PIPE='%s' '%s' & wait", pipe, os.Args[0]), fmt.Sprintf("it took longer than %v", timeout)
		s := newSet(t, hook.Hook{Event: hook.PreToolUse, Command: command, Timeout: timeout})
		if r := s.Run(t.Context(), e, bash("x")); r.Decision != hook.Deny || !strings.Contains(r.Reason, want) {
			t.Fatalf("%+v", r.Output)
		}
		if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil { // only a failure takes that long
			t.Fatal(err)
		}
		child, err := io.ReadAll(f)
		if err != nil {
			t.Fatalf("process %s still runs: %v", child, err)
		}
		if len(child) > 0 {
			return
		}
	}
	t.Fatal("the child did not start")
}
