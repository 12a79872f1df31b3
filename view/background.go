package view

import (
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
)

// maxBackground is how many background commands a State keeps. It drops the oldest that do not run.
const maxBackground = 100

// Background is a command that a tool call left running.
type Background struct {
	ID      string          `json:"id"`
	Command string          `json:"command"`
	Agent   string          `json:"agent,omitempty"` // path of the agent that started it
	Key     Key             `json:"key"`             // item of the tool call
	State   BackgroundState `json:"state"`
	Started time.Time       `json:"started"`
	// End is how it ended; nil unless State is BackgroundEnded.
	End *event.BackgroundEnd `json:"end,omitempty"`
}

// BackgroundState is a background command's state.
type BackgroundState string

// Background command states.
const (
	BackgroundRunning BackgroundState = "running"
	BackgroundEnded   BackgroundState = "ended"
	BackgroundLost    BackgroundState = "lost" // the process of the session ended before the command
)

// Took returns how long the command ran until now; 0 if that is unknown.
func (b Background) Took(now time.Time) time.Duration {
	switch {
	case b.End != nil:
		return b.End.Duration
	case b.State == BackgroundRunning:
		return between(b.Started, now)
	}
	return 0
}

// Describe returns the state on one line, such as "running" or "exit code 1".
func (b Background) Describe() string {
	if b.End != nil {
		return show.Ended(*b.End)
	}
	return string(b.State)
}

// Background returns the background commands in the order in which they started.
func (s *State) Background() []Background { return slices.Clone(s.background) }

// launch applies that a call left a command running.
func (s *State) launch(r event.Record, d event.ToolCallEnd, key Key) {
	if d.Artifacts.Background == "" {
		return
	}
	if len(s.background) >= maxBackground {
		i := slices.IndexFunc(s.background, func(b Background) bool { return b.State != BackgroundRunning })
		s.background = slices.Delete(s.background, max(i, 0), max(i, 0)+1)
	}
	s.background = append(s.background, Background{
		ID:      valid(d.Artifacts.Background),
		Command: strings.Clone(cut(valid(strings.Join(d.Artifacts.CommandsRun, "; ")))),
		Agent:   r.Agent,
		Key:     key,
		State:   BackgroundRunning,
		Started: r.Time.Add(-d.Duration),
	})
}

// over applies that a background command ended.
func (s *State) over(r event.Record, d event.BackgroundEnd) {
	s.note(r, "notice", show.Notice(d))
	d.Command = "" // it has one
	for i, b := range slices.Backward(s.background) {
		if b.ID == valid(d.ID) && b.State == BackgroundRunning {
			s.background[i].State, s.background[i].End = BackgroundEnded, &d
			return
		}
	}
}

// loseBackground applies that the process of the session ended, and its background commands with it.
func (s *State) loseBackground() {
	for i, b := range s.background {
		if b.State == BackgroundRunning {
			s.background[i].State = BackgroundLost
		}
	}
}
