//go:build unix

package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
)

// statusOf returns the last line of the screen.
func statusOf(screen string) string {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func TestStatus_PartsThatDoNotFitAreLeftOutWhole(t *testing.T) {
	t.Parallel()
	facts := func(session.Info) []Fact {
		return []Fact{
			{Name: "branch", Text: "a-branch-with-a-name-that-is-quite-long-to-show"},
			{Name: "sandbox", Text: "workspace-write"},
			{Name: "network", Text: "no network"},
		}
	}
	for w, want := range map[int]string{
		80: "asks first · model · workspace-write · no network",
		40: "asks first · model · workspace-write",
		24: "asks first · model",
	} {
		r := start(t, w, 24, func(_ *rig, o *Options) {
			o.Facts = facts
			o.Status = []string{"mode", "model", "sandbox", "network", "branch"}
		})
		r.until(want, func(screen string) bool { return statusOf(screen) == want })
	}
}

func TestStatus_HasTheChosenPartsInTheirOrder(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, func(_ *rig, o *Options) { o.Status = []string{"model", "mode"} })
	r.until("two parts", func(screen string) bool { return statusOf(screen) == "model · asks first" })
}

func TestStatus_AScriptReadsFactsAndAddsALineWithoutControlBytes(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	r := start(t, 80, 24, func(_ *rig, o *Options) {
		o.StatusCommand = `read -r facts; echo "$facts" >> ` + log + `; tty >> ` + log + `
case $facts in *'"calls":1,'*'"working":false'*) echo done; exit;; esac
printf 'on\033]0;stolen\007 duty\nsecond\n'`
	}, llmtest.Say("An answer."))
	r.sees(" duty")
	if s := statusOf(r.text()); strings.Contains(s, "second") || strings.Contains(r.written(), "]0;stolen\x07") {
		t.Errorf("the status line is %q", s)
	}
	r.sends("Say something")
	r.sees("An answer.")
	r.until("the line after the turn", func(screen string) bool { return strings.HasSuffix(statusOf(screen), "done") })
	b, _ := os.ReadFile(log)
	if !strings.Contains(string(b), "not a tty") || !strings.Contains(string(b), `"mode":"`) {
		t.Errorf("the command read %s", b)
	}
	seen := map[string]bool{}
	for l := range strings.Lines(string(b)) {
		if strings.HasPrefix(l, "{") && seen[l] {
			t.Errorf("the command ran twice with the same facts: %s", l)
		}
		seen[l] = true
	}
}

// written returns everything that the terminal got.
func (r *rig) written() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.String()
}

func TestStatus_AScriptThatFailsIsToldOnce(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, func(_ *rig, o *Options) { o.StatusCommand = "echo broken >&2; exit 3" }, llmtest.Say("An answer."))
	r.sees("terminal.status_command failed: exit status 3: broken")
	r.sends("Say something")
	r.sees("An answer.")
	r.misses("status_command")
}

func TestRun_AnInterruptIsNotAFailedModelCall(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, slow)
	r.sends("Begin")
	r.sees(Working)
	r.press(esc)
	r.sees("ended: interrupted")
	r.sees(Placeholder)
	if s := r.text(); strings.Contains(s, "failed") || strings.Contains(s, "by the host") {
		t.Errorf("the interrupt is shown as a failure:\n%s", s)
	}
}

func TestStatus_TheContextShareIsKnownAfterAResume(t *testing.T) {
	t.Parallel()
	turn := llmtest.Say("An answer.")
	turn.Usage = llm.Usage{Input: 49_000, Output: 1000}
	first := start(t, 80, 24, nil, turn)
	first.sends("Begin")
	first.sees("25% context")
	id := first.handle.ID()
	first.press(ctrlQ)
	first.quits()
	second := start(t, 80, 24, func(r *rig, o *Options) {
		r.dir, r.state, r.manager = first.dir, first.state, first.manager
		o.First = func(ctx context.Context) (session.Handle, error) { return r.open(ctx, id) }
	})
	second.sees("An answer.")
	second.sees("25% context")
}
