package session

import (
	"context"
	"slices"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/view"
)

// Queue implements [Handle].
func (l *held) Queue(ctx context.Context) (list []view.Queued, err error) {
	var all []view.Queued
	if err := l.current(ctx, func(s *view.State) { all = s.Queue() }); err != nil {
		return nil, err
	}
	list = []view.Queued{}
	for _, waiting := range l.agent.Queue() { // in the order in which they are read
		if i := slices.IndexFunc(all, func(q view.Queued) bool { return q.Seq == waiting.Seq && q.Agent == "" }); i >= 0 {
			list = append(list, all[i])
		}
	}
	return list, nil
}

// Requeue implements [Handle].
func (l *held) Requeue(_ context.Context, edits []Edit) error {
	waiting := l.agent.Queue()
	list := make([]agent.Requeued, len(edits))
	for i, e := range edits {
		list[i] = agent.Requeued{Seq: e.Seq, Now: e.Now}
		if e.Text != "" {
			list[i].Parts = edited(waiting, e)
		}
	}
	return known(l.agent.Requeue(list...))
}

// edited returns a waiting message's parts with another text. Images stay; the words that stand for them in the shown text
// are not a part of it.
func edited(waiting []agent.Queued, e Edit) (parts []llm.Part) {
	i := slices.IndexFunc(waiting, func(q agent.Queued) bool { return q.Seq == e.Seq })
	if i >= 0 {
		for _, p := range slices.Backward(waiting[i].Message.Parts) {
			if _, ok := p.(llm.Text); !ok {
				parts = append(parts, p)
				e.Text = strings.TrimSuffix(e.Text, "\n"+show.MessageText(llm.Message{Parts: []llm.Part{p}}))
			}
		}
	}
	parts = append(parts, llm.Text{Text: e.Text})
	slices.Reverse(parts)
	return parts
}

// Withdraw implements [Handle].
func (l *held) Withdraw(_ context.Context, seq event.Seq) error { return known(l.agent.Withdraw(seq)) }

// Reconfigure implements [Handle].
func (l *held) Reconfigure(ctx context.Context, c Settings) error {
	if c.Title != nil {
		if err := l.agent.SetTitle(ctx, strings.Join(strings.Fields(*c.Title), " ")); err != nil {
			return err
		}
	}
	if c.Title = nil; c == (Settings{}) {
		return nil
	}
	return known(l.agent.Reconfigure(ctx, agent.Change{Provider: c.Provider, Model: c.Model, Effort: c.Effort, Mode: c.Mode}))
}

// Compact implements [Handle].
func (l *held) Compact(ctx context.Context) (event.Compaction, error) {
	d, err := l.agent.Compact(ctx)
	return d, known(err)
}

// Agents implements [Handle].
func (l *held) Agents(context.Context) ([]Agent, error) {
	var list []Agent
	for _, a := range l.agent.Agents() {
		list = append(list, Agent{
			Path:     a.Path,
			Name:     a.Name,
			Type:     a.Type,
			Task:     a.Task,
			Model:    a.Model,
			Worktree: a.Worktree,
			State:    a.State,
			Status:   a.Status,
			Turns:    a.Turns,
			Usage:    a.Usage,
			Pending:  a.Pending,
		})
	}
	return list, nil
}

// SteerAgent implements [Handle].
func (l *held) SteerAgent(_ context.Context, name string, in Input) error {
	return l.send(in, func(parts ...llm.Part) error { return l.agent.SteerAgent(name, parts...) })
}

// StopAgent implements [Handle].
func (l *held) StopAgent(_ context.Context, name string) error {
	return known(l.agent.StopAgent(name))
}

// ReadBackground implements [Handle].
func (l *held) ReadBackground(_ context.Context, id string, offset int64) (BackgroundOutput, error) {
	out, err := l.agent.ReadBackground(id, offset)
	return BackgroundOutput(out), err
}

// StopBackground implements [Handle].
func (l *held) StopBackground(ctx context.Context, id string) error {
	return known(l.agent.StopBackground(ctx, id))
}
