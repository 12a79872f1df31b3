//go:build unix

package usercmd

import (
	"context"
	"strings"
	"testing"
)

func TestRun_WordsOutputAndStatus(t *testing.T) {
	for line, want := range map[string]string{
		"echo out; echo err >&2; exit 3": "I ran this command myself:\n\n    echo out; echo err >&2; exit 3\n\nIts output (exit status 3):\n\nout\nerr",
		"true":                           "I ran this command myself:\n\n    true\n\nIt wrote nothing; exit status 0.",
		"kill -9 $$":                     "I ran this command myself:\n\n    kill -9 $$\n\nIt wrote nothing; it was ended by SIGKILL.",
	} {
		var seen strings.Builder
		got, err := Run(t.Context(), t.TempDir(), line, func(p []byte) { seen.Write(p) })
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", line, got, err, want)
		}
		if output := strings.TrimSpace(seen.String()); !strings.HasSuffix(want, output) {
			t.Errorf("%s: output %q arrived", line, output)
		}
	}
}

func TestRun_IsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	got, err := Run(ctx, t.TempDir(), "echo ready; sleep 1000", func([]byte) { cancel() })
	if want := "(it was interrupted):\n\nready"; err != nil || !strings.HasSuffix(got, want) {
		t.Errorf("got %q, %v, want the end %q", got, err, want)
	}
}

func TestRun_KeepsStartAndEndOfLongOutput(t *testing.T) {
	got, err := Run(t.Context(), t.TempDir(), "echo first; yes | head -c 1000000; echo last", func([]byte) {})
	if err != nil || len(got) > maxOutput+500 || !strings.Contains(got, "first") || !strings.HasSuffix(got, "last") {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}
