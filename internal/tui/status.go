package tui

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/view"
)

// statusLine shows the settings and what the session used. What is less important comes last and is cut first.
func (a *app) statusLine(w int) text.Line {
	var l text.Line
	add := func(s string, role text.Role) {
		if s == "" {
			return
		}
		if len(l) > 0 {
			l = append(l, text.Span{Text: " · ", Style: text.Style{Role: text.Border}})
		}
		l = append(l, text.Span{Text: text.Clean(s), Style: text.Style{Role: role}})
	}
	if a.live == nil {
		if a.openErr != nil {
			add("no session", text.Warning)
		} else {
			add("opening the session", text.Dim)
		}
		return a.rule.Cut(l, w)
	}
	if m := a.edit.Mode(); m != "" {
		add(m, text.Accent)
	}
	add(modeText(a.info.Mode), modeRole(a.info.Mode))
	add(strings.TrimSpace(a.info.Model+" "+a.info.Effort), text.Dim)
	a.spent(add)
	for _, f := range a.facts {
		role := text.Dim
		if f.Warn {
			role = text.Warning
		}
		add(f.Text, role)
	}
	a.running(add)
	return a.rule.Cut(l, w)
}

// spent adds what the session used.
func (a *app) spent(add func(string, text.Role)) {
	t := a.live.state.Totals()
	if n := a.live.size; n > 0 && a.info.Window > 0 {
		share := 100 * n / a.info.Window
		role := text.Dim
		if share >= 80 {
			role = text.Warning
		}
		add(fmt.Sprintf("%d%% context", share), role)
	}
	if t.Calls == 0 {
		return
	}
	cost := "cost unknown"
	if t.Unknown == 0 {
		cost = show.SmallPrice(t.Dollars)
	}
	add(cost, text.Dim)
	if t.Usage.Input > 0 && t.Usage.CacheRead > 0 {
		add(fmt.Sprintf("%d%% cached", 100*t.Usage.CacheRead/t.Usage.Input), text.Dim)
	}
}

// running adds the agents and commands that run beside the main agent.
func (a *app) running(add func(string, text.Role)) {
	n := 0
	for _, g := range a.live.state.Agents() {
		if g.Path != "" && g.Activity.Doing != view.DoingNothing && g.Activity.Doing != "" {
			n++
		}
	}
	if n > 0 {
		add(show.Plural(n, "agent"), text.Accent)
	}
	if n := len(a.questions.list); n > 0 {
		add(show.Plural(n, "question"), text.Warning)
	}
}

// modeText names a permission mode.
func modeText(m policy.Mode) string {
	switch m {
	case policy.ModeDefault, "":
		return "asks first"
	case policy.ModeAcceptEdits:
		return "accepts edits"
	case policy.ModePlan:
		return "plan mode"
	case policy.ModeAuto:
		return "auto"
	case policy.ModeDontAsk:
		return "never asks"
	case policy.ModeBypass:
		return "allows everything"
	}
	return string(m)
}

func modeRole(m policy.Mode) text.Role {
	switch m {
	case policy.ModeBypass:
		return text.Failure
	case policy.ModeDefault, "":
		return text.Dim
	}
	return text.Warning
}

// welcome is what an empty session shows.
func (a *app) welcome(w int) []text.Line {
	var lines []text.Line
	add := func(s string, style text.Style) {
		lines = append(lines, a.rule.Wrap(text.Line{{Text: text.Clean(s), Style: style}}, w)...)
	}
	add(a.o.Welcome.Title, text.Style{Role: text.Heading, Attr: text.Bold})
	if a.openErr != nil {
		lines = append(lines, nil)
		add("There is no session: "+a.openErr.Error(), text.Style{Role: text.Failure})
	}
	for _, s := range a.o.Welcome.Lines {
		if lines = append(lines, nil); s != "" {
			lines = lines[:len(lines)-1]
			add(s, text.Style{Role: text.Plain})
		}
	}
	if a.o.Welcome.Tour {
		lines = append(append(lines, nil), a.tour(w)...)
	}
	return lines
}
