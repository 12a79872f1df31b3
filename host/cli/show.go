package cli

import (
	"github.com/reins-agent/reins/host/show"
)

const (
	red   = show.Red
	green = show.Green
	cyan  = show.Cyan
	grey  = show.Grey
	plain = show.Plain
)

// printTable prints a table so that it fits the terminal, if the host has one.
func printTable(h Host, t *show.Table) error {
	return t.Print(h.Stdout, screenWidth(h.Stdout), h.colours(h.Stdout))
}

// Short forms for the files that show approvals, diffs and undone changes.

func inLine(s string) string           { return show.OneLine(s) }
func plural(n int, what string) string { return show.Plural(n, what) }
func paint(colour, text string) string { return show.Paint(colour, text) }
func showDiff(diff, indent string, maximum int, colour bool) string {
	return show.Diff(diff, indent, maximum, colour)
}
