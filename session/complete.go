package session

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/search"
)

// completed is the default maximum number of completions, and searched the maximum number of files that are compared.
const (
	completed = 20
	searched  = 50_000
)

// Complete implements [Handle]. It does not offer what ignore files exclude. Files whose name begins with the text come
// first, then the shortest paths.
func (l *held) Complete(ctx context.Context, c Completion) ([]string, error) {
	if c.Command {
		if l.options.Registry == nil {
			return []string{}, nil
		}
		list, err := l.options.Registry.Complete(ctx, l, c.Text)
		return list[:min(len(list), cmp.Or(c.Limit, completed))], err
	}
	e := l.agent.Env()
	found, err := search.Glob(ctx, e, search.GlobQuery{Pattern: "**", Limit: searched, Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	dir := e.Info().Dir
	text := strings.ToLower(c.Text)
	list := []string{}
	for _, f := range found.Files {
		name := strings.TrimPrefix(strings.TrimPrefix(f.Path, dir), "/")
		if strings.Contains(strings.ToLower(name), text) {
			list = append(list, name)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a, text), rank(b, text)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return list[:min(len(list), cmp.Or(c.Limit, completed))], nil
}

// rank returns how well a path fits: 0 if it begins with the text, 1 if its last element does.
func rank(name, text string) int {
	name = strings.ToLower(name)
	switch {
	case strings.HasPrefix(name, text):
		return 0
	case strings.HasPrefix(path.Base(name), text):
		return 1
	}
	return 2
}
