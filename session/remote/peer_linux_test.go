package remote

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestPeer_AProcessInASandboxIsConfined(t *testing.T) {
	start := func(flags uintptr) int {
		cmd := exec.CommandContext(t.Context(), "sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd.Process.Pid
	}
	if pid := start(0); isConfined(pid) || isConfined(os.Getpid()) {
		t.Error("a process without a sandbox counts as confined")
	}
	if pid := start(syscall.CLONE_NEWUSER | syscall.CLONE_NEWIPC); !isConfined(pid) {
		t.Error("a process in a sandbox does not count as confined")
	}
	gone := exec.CommandContext(t.Context(), "true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	if !isConfined(gone.Process.Pid) {
		t.Error("a process that is gone does not count as confined")
	}
}
