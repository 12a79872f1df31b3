package session

import (
	"cmp"
	"context"
)

// completed is the default maximum number of completions.
const completed = 20

// Complete implements [Handle]. It does not offer what ignore files exclude. The best matches come first: names that begin
// with the text, then names and paths that contain it, then paths that contain its letters.
func (l *held) Complete(ctx context.Context, c Completion) ([]string, error) {
	limit := cmp.Or(max(c.Limit, 0), completed)
	if !c.Command {
		return l.files.find(ctx, l.ctx, l.agent.Env(), c.Text, limit)
	}
	if l.options.Registry == nil {
		return []string{}, nil
	}
	list, err := l.options.Registry.Complete(ctx, l, c.Text)
	return list[:min(len(list), limit)], err
}
