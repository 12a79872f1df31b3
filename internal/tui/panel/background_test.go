//go:build unix

package panel

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// leaving returns a turn that leaves a command running.
func leaving(line string) llmtest.Turn {
	args, _ := json.Marshal(map[string]any{"command": line, "background": true})
	return llmtest.Call("shell", string(args))
}

func TestBackground_OutputIsShownLiveAndACommandIsStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, command.Host{})
	must(t, r.Reconfigure(t.Context(), session.Settings{Mode: policy.ModeBypass}))
	serve := `printf 'first\n\033[2J\033]0;title\007\302\233hidden\n'; until [ -e go ]; do sleep 0.02; done; seq -f 'line %g' 200; exec sleep 600`
	r.work("Serve", leaving("exit 3"), leaving(serve), llmtest.Say("It runs."))
	o, clock := r.options(), time.Now()
	o.Now = func() time.Time { // each painting reads the output
		clock = clock.Add(time.Second)
		return clock
	}
	p := r.follow(NewBackground(o)).(*background)
	has(t, r.shows(p, "2 commands, 1 running", "exit code 3"), "● printf 'first", "✗ exit 3", "running", "id 2")
	if !p.Running() {
		t.Error("the durations do not change")
	}
	one := press(t, p, "enter").Open
	r.follow(one)
	has(t, r.shows(one, "␛[2J"), "first", "␛]0;title␇", "running")
	must(t, os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644))
	r.shows(one, "line 200")
	press(t, one, "g")
	r.shows(one, "first")
	press(t, one, "ctrl+x", "enter", "esc") // enter alone does not stop it
	if b := r.state.Background(); b[1].State != view.BackgroundRunning {
		t.Fatalf("a single key stopped %+v", b[1])
	}
	press(t, one, "ctrl+x")
	has(t, everywhere(t, one), "Stop background command 2?", "Let it run")
	press(t, one, "'y", "enter")
	r.until("it is stopped", func() bool {
		b := r.state.Background()[1]
		return b.State == view.BackgroundEnded && b.End.Stopped == event.StoppedByUser
	})
	has(t, r.shows(one, "stopped by the user"), "first")
	r.until("the end of the output", func() bool { everywhere(t, one); return !one.Running() })
	press(t, one, "ctrl+x")
	has(t, everywhere(t, one), "command 2 does not run")
}

func TestBackground_RunningCallsAndHostileCommandsFitEverywhere(t *testing.T) {
	t.Parallel()
	l := newLoop(t)
	s, seq := &view.State{}, event.Seq(0)
	add := func(d event.Data) {
		seq++
		s.Apply(event.Record{Seq: seq, Time: now.Add(-90 * time.Second), Data: d})
	}
	end := event.ToolCallEnd{ID: "a", Name: "shell"}
	end.Artifacts.CommandsRun, end.Artifacts.Background = []string{"serve " + hostile}, "1"
	add(end)
	add(event.SessionResume{})
	add(event.ToolCallStart{ID: "b", Name: "shell", Arguments: json.RawMessage(`{"command":"make test"}`)})
	s.Apply(event.Record{Time: now, Data: event.ToolCallDelta{ID: "b", Text: "ok one " + hostile + "\n"}})
	o := l.options(&fake{})
	o.State = func() *view.State { return s }
	p := NewBackground(o)
	seen := everywhere(t, p)
	has(t, seen, "2 commands, 1 running", "● shell make test", "running · 1m30s · call", "○ serve 日本語", "lost · id 1")
	if strings.Index(seen, "make test") > strings.Index(seen, "serve") {
		t.Errorf("what runs is not first:\n%s", seen)
	}
	call := press(t, p, "enter").Open
	has(t, everywhere(t, call), "ok one 日本語", "␛]0;x␇")
	press(t, p, "ctrl+x")
	has(t, everywhere(t, p), "stops with its work")
	lost := press(t, p, "down", "enter").Open
	has(t, everywhere(t, lost), "The output is lost")
	if lost.Running() || !call.Running() {
		t.Error("the lost command counts as running, or the call does not")
	}
}
