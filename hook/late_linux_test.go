package hook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/hook"
)

func TestRun_ALateCommandIsKilledWithItsChildren(t *testing.T) {
	e := newEnv(t)
	child := 0
	for timeout := 500 * time.Millisecond; child == 0; timeout *= 2 { // a busy machine may need more to start them
		s := newSet(t, hook.Hook{Event: hook.PreToolUse, Command: "setsid sh -c 'echo $$ > child; exec sleep 600' & sleep 600", Timeout: timeout})
		if r := s.Run(t.Context(), e, bash("x")); r.Decision != hook.Deny || !strings.Contains(r.Reason, fmt.Sprintf("it took longer than %v", timeout)) {
			t.Fatalf("%+v", r.Output)
		}
		pid, _ := os.ReadFile(filepath.Join(e.Info().Dir, "child"))
		_, _ = fmt.Sscan(string(pid), &child)
	}
	for range 1000 {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if strings.Contains(string(stat), ") Z ") || syscall.Kill(child, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d still runs", child)
}
