package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/reins-agent/reins/internal/tui/usercmd"
	"github.com/reins-agent/reins/policy"
)

// script is the user's command that adds to the status line. It runs when its input has changed, one run at a time.
type script struct {
	text    string // its last line
	read    []byte // the last run's input
	running bool
	failure string // the last failure that was shown
	most    time.Duration
}

// scriptFacts are the command's input, as JSON.
type scriptFacts struct {
	ID       string            `json:"id"`
	Dir      string            `json:"dir"`
	Title    string            `json:"title,omitempty"`
	Provider string            `json:"provider"`
	Model    string            `json:"model"`
	Effort   string            `json:"effort,omitempty"`
	Mode     policy.Mode       `json:"mode"`
	Context  int64             `json:"context_tokens,omitempty"`
	Window   int64             `json:"context_window,omitempty"`
	Calls    int               `json:"calls"`
	Dollars  *float64          `json:"dollars"` // null if a price is unknown
	Working  bool              `json:"working"`
	Facts    map[string]string `json:"facts,omitempty"` // such as the branch
}

// runScript runs the command, if one is configured, after its input has changed.
func (a *app) runScript() {
	s := &a.script
	if a.o.StatusCommand == "" || a.live == nil || s.running {
		return
	}
	input, err := json.Marshal(a.scriptFacts())
	if err != nil || bytes.Equal(input, s.read) {
		return
	}
	s.read, s.running = input, true
	dir := a.o.Dir
	a.do(func(ctx context.Context) func() {
		line, err := usercmd.Line(ctx, dir, a.o.StatusCommand, input, s.most)
		return func() {
			s.text, s.running = line, false
			if err != nil && err.Error() != s.failure {
				s.failure = err.Error()
				a.say("terminal.status_command failed: " + s.failure)
			}
			a.runScript() // the facts may have changed meanwhile
		}
	})
}

func (a *app) scriptFacts() scriptFacts {
	i, t := a.info, a.live.state.Totals()
	f := scriptFacts{
		ID:       i.ID,
		Dir:      i.Dir,
		Title:    i.Title,
		Provider: i.Provider,
		Model:    i.Model,
		Effort:   i.Effort,
		Mode:     i.Mode,
		Context:  a.contextSize(),
		Window:   i.Window,
		Calls:    t.Calls,
		Working:  a.working(),
		Facts:    map[string]string{},
	}
	if t.Unknown == 0 {
		f.Dollars = &t.Dollars
	}
	for _, fact := range a.facts {
		f.Facts[fact.Name] = fact.Text
	}
	return f
}
