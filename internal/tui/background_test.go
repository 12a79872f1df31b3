//go:build unix

package tui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm/llmtest"
)

const (
	f9    = "\x1b[20~"
	ctrlX = "\x18"
)

// leaving returns a turn that leaves a command running.
func leaving(line string) llmtest.Turn {
	args, _ := json.Marshal(map[string]any{"command": line, "background": true})
	return llmtest.Call("shell", string(args))
}

func TestRun_BackgroundCommandsAreCountedListedReadAndStopped(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, leaving("echo 'ready\x07'; until [ -e go ]; do sleep 0.02; done; echo more; exec sleep 600"),
		llmtest.Say("It runs."), llmtest.Say("I see."))
	r.sends("Serve")
	r.sees(Ready)
	r.press("y" + enter)
	r.sees("It runs.")
	r.sees("1 in background")
	r.press(f9)
	r.sees("1 command, 1 running")
	r.press(enter)
	r.sees("Background command 1")
	r.sees("ready␇")
	r.check(os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644))
	r.sees("\nmore") // without a key
	r.press(esc)
	r.sees("1 command, 1 running")
	r.press(ctrlX)
	r.sees("Stop background command 1?")
	r.press("y" + enter)
	r.sees("stopped by the user")
	r.press(esc)
	r.sees("background command 1: stopped by the user")
	r.misses("1 in background")
	r.sends("And now?")
	r.sees("I see.")
	requests := r.script.Requests()
	b, _ := json.Marshal(requests[len(requests)-1].Messages)
	if want := "The user stopped the background command with the id 1"; !strings.Contains(string(b), want) {
		t.Errorf("the next request does not say %q:\n%s", want, b)
	}
	r.sends("/jobs")
	r.sees("1 command")
	r.sees("stopped by the user")
	if strings.Contains(r.written(), "ready\x07") {
		t.Error("a control byte of the output reached the terminal")
	}
}
