package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Background manages the commands that the tools of a session leave running. A command has the ID that the call which
// started it has in tool.Artifacts.Background. Package coding implements it.
type Background interface {
	// Await waits for the end of a command. It returns false if ctx is done before, or if there is no such command.
	Await(ctx context.Context, id string) (event.BackgroundEnd, bool)
	// Read returns a part of a command's output, from an offset. A negative one counts from the end; the part then begins
	// with the next line, if there is one.
	Read(id string, offset int64) (BackgroundOutput, error)
	// Stop stops a command and everything that it started.
	Stop(ctx context.Context, id string) error
}

// BackgroundOutput is a part of a background command's output.
type BackgroundOutput struct {
	Text    string
	Next    int64 // where the next part begins
	Size    int64 // of the output so far
	Running bool
}

var errNoBackground = errors.New("the session has no background commands")

// watch records the end of a background command when it ends. tree.mu is held.
func (s *Session) watch(id string) {
	t := s.tree
	if id == "" || s.config.Background == nil {
		return
	}
	if t.background == nil {
		t.background = make(map[string]string)
	}
	t.background[id] = s.path
	root := t.agents[""]
	t.watches.Go(func() {
		end, ok := s.config.Background.Await(t.watching, id)
		if !ok {
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		end.Command = s.config.Secrets.Text(end.Command)
		if t.stopping && end.Stopped == "" && !end.TimedOut { // it may have an exit code: it can handle the signal
			end.Stopped = event.StoppedByClose
		}
		root.note(end)
	})
}

// ReadBackground returns a part of a background command's output, at most 64 KiB, from an offset. A negative one counts
// from the end; the part then begins with the next line, if there is one. Secrets are redacted.
func (s *Session) ReadBackground(id string, offset int64) (BackgroundOutput, error) {
	if s.config.Background == nil {
		return BackgroundOutput{}, errNoBackground
	}
	out, err := s.config.Background.Read(id, offset)
	out.Text = s.config.Secrets.Text(out.Text)
	return out, err
}

// StopBackground stops a background command for the user, and tells the agent that started it with its next model call.
func (s *Session) StopBackground(ctx context.Context, id string) error {
	if s.config.Background == nil {
		return errNoBackground
	}
	if err := s.config.Background.Stop(ctx, id); err != nil {
		return err
	}
	return s.commit(func() error {
		if a := s.tree.agents[s.tree.background[id]]; a != nil && !a.closed {
			a.note(event.SteeringQueued{
				Message: llm.UserText(fmt.Sprintf("The user stopped the background command with the id %s.", id)),
				Origin:  &event.Origin{Kind: event.OriginBackground, ID: id},
			})
		}
		return nil
	})
}
