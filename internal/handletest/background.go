package handletest

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// start lets the model leave a command running, and returns what the screen shows of it.
func (r *rig) start(line string) view.Background {
	r.t.Helper()
	args, _ := json.Marshal(map[string]any{"command": line, "background": true})
	r.play(llmtest.Call("shell", string(args)), llmtest.Say("It runs."))
	r.check(r.Submit(r.t.Context(), session.Input{Text: "Start it"}))
	r.done()
	list := r.until(func(s *view.State) bool { return s.Stop().Outcome != "" }).Background()
	return list[len(list)-1]
}

// ended returns a background command once it has ended.
func (r *rig) ended(id string) (b view.Background) {
	r.t.Helper()
	r.until(func(s *view.State) bool {
		for _, b = range s.Background() {
			if b.ID == id && b.State == view.BackgroundEnded {
				return true
			}
		}
		return false
	})
	return b
}

// read reads a command's output from an offset until there are at least n bytes.
func (r *rig) read(id string, offset int64, n int) (text string, last session.BackgroundOutput) {
	r.t.Helper()
	for len(text) < n {
		out, err := r.ReadBackground(r.t.Context(), id, offset)
		r.check(err)
		if len(out.Text) > 64<<10 || !utf8.ValidString(out.Text) || out.Next < offset {
			r.t.Fatalf("read %d bytes from %d to %d", len(out.Text), offset, out.Next)
		}
		text += out.Text
		last, offset = out, out.Next
	}
	return text, last
}

func background(t *testing.T, r *rig) {
	if list := r.until(func(*view.State) bool { return true }).Background(); len(list) != 0 {
		t.Errorf("a new session has the background commands %+v", list)
	}
	served := r.start("echo täglich; exec sleep 600")
	if served.State != view.BackgroundRunning || served.Command != "echo täglich; exec sleep 600" || served.Started.IsZero() {
		t.Errorf("the command is shown as %+v", served)
	}
	text, out := r.read(served.ID, 0, 9)
	if text != "täglich\n" || !out.Running || out.Size != 9 || out.Next != 9 {
		t.Errorf("read %q, %+v", text, out)
	}
	if tail, err := r.ReadBackground(t.Context(), served.ID, -7); err != nil || tail.Text != "glich\n" {
		t.Errorf("the tail is %q (%v), want it without half a character", tail.Text, err)
	}
	r.exits()
	r.check(r.StopBackground(t.Context(), served.ID))
	if b := r.ended(served.ID); b.End.Stopped != event.StoppedByUser || b.Describe() != "stopped by the user" {
		t.Errorf("the stopped command is shown as %+v", b.End)
	}
	if err := r.StopBackground(t.Context(), served.ID); err == nil {
		t.Error("a command that has ended was stopped")
	}
	if _, err := r.ReadBackground(t.Context(), "99", 0); err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("reading an unknown command failed with %v", err)
	}
	r.told(served.ID)
}

// exits checks how a command ends by itself.
func (r *rig) exits() {
	r.t.Helper()
	b := r.start("seq -w 100; exit 3")
	if b = r.ended(b.ID); b.End.ExitCode != 3 || b.End.Stopped != "" || b.Describe() != "exit code 3" {
		r.t.Errorf("the command that ended by itself is shown as %+v", b.End)
	}
	if text, out := r.read(b.ID, 200, 200); !strings.HasPrefix(text, "051\n") || out.Next != 400 || out.Running {
		r.t.Errorf("read %q, %+v", text, out)
	}
}

// told checks that the commands are listed, and that the model hears that the user stopped one with its next call.
func (r *rig) told(id string) {
	r.t.Helper()
	res, err := r.Run(r.t.Context(), "/jobs")
	if r.check(err); len(res.Tables) != 1 || len(res.Tables[0].Rows) != 2 || res.Tables[0].Rows[1][1] != "exit code 3" {
		r.t.Errorf("/jobs shows %+v", res)
	}
	res, err = r.Run(r.t.Context(), "/jobs "+id)
	if r.check(err); !strings.Contains(res.Text, "stopped by the user") || !strings.HasSuffix(res.Text, "\ntäglich") {
		r.t.Errorf("/jobs %s shows %q", id, res.Text)
	}
	before := len(r.script.Requests())
	r.play(llmtest.Say("I see."))
	r.check(r.Submit(r.t.Context(), session.Input{Text: "And now?"}))
	r.done()
	b, _ := json.Marshal(r.script.Requests()[before].Messages)
	if want := "The user stopped the background command with the id " + id; strings.Count(string(b), want) != 1 {
		r.t.Errorf("the next request does not have %q once:\n%s", want, b)
	}
}
