package tools

import (
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
)

func TestExitLine_ReadsTheSameForEveryQuickCommand(t *testing.T) {
	for took, want := range map[time.Duration]string{
		0:                       "[exit code 3, under 1 s]",
		999 * time.Millisecond:  "[exit code 3, under 1 s]",
		time.Second:             "[exit code 3, 1 s]",
		1999 * time.Millisecond: "[exit code 3, 1 s]",
		90 * time.Second:        "[exit code 3, 90 s]",
	} {
		if got := exitLine(env.Exit{Code: 3, Duration: took}); got != want {
			t.Errorf("after %v it is %q, want %q", took, got, want)
		}
	}
}
