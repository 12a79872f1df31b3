package tui

import (
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
)

// tour shows the six most important keys.
func (a *app) tour(w int) []text.Line {
	lines := []text.Line{{{Text: "Six keys to know:", Style: text.Style{Role: text.Heading}}}}
	for _, k := range []struct {
		action keys.Action
		does   string
	}{
		{keys.Submit, "send the message, also while the agent works"},
		{keys.CompleteOrQueue, "complete @file and /command; while the agent works, queue the message"},
		{keys.Interrupt, "stop the work, or refuse a question"},
		{keys.NextMode, "choose how much the agent may do without asking"},
		{keys.Browse, "read, search and copy the conversation"},
		{keys.Help, "all keys and commands"},
	} {
		name := a.keys.Key(k.action)
		lines = append(lines, a.rule.Cut(text.Line{
			{Text: "  " + name + text.Blank(max(12-a.rule.Width(name), 1)), Style: text.Style{Role: text.Accent}},
			{Text: k.does},
		}, w))
	}
	return lines
}
