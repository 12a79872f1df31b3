package tui

import (
	"strings"

	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/pager"
)

// help shows the keys as they are bound now, and the commands.
func (a *app) help() {
	titles := map[keys.Context]string{
		keys.Global:     "Everywhere",
		keys.Editor:     "In the draft",
		keys.List:       "In lists and completions",
		keys.Question:   "In questions",
		keys.Transcript: "In the conversation",
	}
	var sections []pager.Section
	for _, c := range keys.Contexts() {
		var b strings.Builder
		b.WriteString("## " + titles[c] + "\n\n| key | does |\n|---|---|\n")
		for _, row := range a.keys.Table(c) {
			if len(row.Keys) > 0 {
				b.WriteString("| `" + strings.ReplaceAll(strings.Join(row.Keys, "`, `"), "|", `\|`) + "` | " + row.Summary + " |\n")
			}
		}
		sections = append(sections, pager.Markdown(titles[c], b.String()))
	}
	var b strings.Builder
	b.WriteString("## Commands\n\n| command | does |\n|---|---|\n")
	for _, c := range a.commands {
		b.WriteString("| `/" + strings.TrimSpace(c.Name+" "+strings.ReplaceAll(c.Arguments, "|", `\|`)) + "` | " + c.Summary + " |\n")
	}
	b.WriteString("| `!COMMAND` | run a command of your own; the agent sees its output |\n| `@FILE` | name a file |\n")
	sections = append(sections, pager.Markdown("Commands", b.String()))
	a.panel = newPagerView("Help", pager.New(sections...))
}
