package tui

import (
	"context"

	"github.com/reins-agent/reins/internal/tui/edit"
)

// loadCommands reads the commands that can be used now, for completion.
func (a *app) loadCommands() {
	l := a.live
	a.do(func(ctx context.Context) func() {
		list, err := l.Commands(ctx)
		if err != nil {
			return nil
		}
		var commands []edit.Command
		for _, c := range list {
			if c.Unavailable == "" {
				commands = append(commands, edit.Command{Name: c.Name, Summary: c.Summary, Arguments: c.Arguments})
			}
		}
		return func() {
			if a.live == l {
				a.commands = commands
				a.edit.Refresh()
			}
		}
	})
}
