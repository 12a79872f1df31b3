package tui

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/view"
)

// statusParts are the status line's parts, the most important first.
var statusParts = []string{
	"mode", "model", "context", "questions", "agents", "background", "cost", "branch", "sandbox", "network", "script", "cache",
}

// statusLine shows settings and usage: as many parts as fit, each part whole.
func (a *app) statusLine(w int) text.Line {
	if a.live == nil {
		if a.openErr != nil {
			return a.rule.Cut(text.Line{{Text: "no session", Style: text.Style{Role: text.Warning}}}, w)
		}
		return a.rule.Cut(text.Line{{Text: "opening the session", Style: text.Style{Role: text.Dim}}}, w)
	}
	parts := a.o.Status
	if parts == nil {
		parts = statusParts
	}
	l := make(text.Line, 0, 2*len(parts)+1)
	used := 0
	add := func(s text.Span) {
		between := text.Span{Text: " · ", Style: text.Style{Role: text.Border}}
		size := a.rule.Width(s.Text)
		if len(l) > 0 {
			size += a.rule.Width(between.Text)
		}
		if s.Text == "" || len(l) > 0 && used+size > w {
			return
		}
		if used += size; len(l) > 0 {
			l = append(l, between)
		}
		l = append(l, s)
	}
	add(text.Span{Text: text.Clean(a.edit.Mode()), Style: text.Style{Role: text.Accent}})
	for _, name := range parts {
		s, role := a.statusPart(name)
		add(text.Span{Text: text.Clean(s), Style: text.Style{Role: role}})
	}
	return a.rule.Cut(l, w)
}

// statusPart returns a status line part; "" is not shown.
func (a *app) statusPart(name string) (string, text.Role) {
	switch name {
	case "mode":
		return modeText(a.info.Mode), modeRole(a.info.Mode)
	case "model":
		return strings.TrimSpace(a.info.Model + " " + a.info.Effort), text.Dim
	case "context":
		return a.contextShare()
	case "questions":
		return count(len(a.questions.list), "question"), text.Warning
	case "agents":
		return count(a.busyAgents(), "agent"), text.Accent
	case "background":
		if n := a.runningCommands(); n > 0 {
			return fmt.Sprintf("%d in background", n), text.Accent
		}
	case "cost":
		return a.costText(), text.Dim
	case "cache":
		if u := a.live.state.Totals().Usage; u.Input > 0 && u.CacheRead > 0 {
			return fmt.Sprintf("%d%% cached", 100*u.CacheRead/u.Input), text.Dim
		}
	case "script":
		return a.script.text, text.Dim
	}
	for _, f := range a.facts {
		if f.Name == name && f.Warn {
			return f.Text, text.Warning
		} else if f.Name == name {
			return f.Text, text.Dim
		}
	}
	return "", text.Dim
}

// count counts things; "" is none.
func count(n int, thing string) string {
	if n == 0 {
		return ""
	}
	return show.Plural(n, thing)
}

// contextSize returns the tokens in the main agent's conversation; 0 is unknown.
func (a *app) contextSize() int64 {
	root, _ := a.live.state.Agent("")
	return root.Context
}

// contextShare tells how full the model's context window is, if that is known.
func (a *app) contextShare() (string, text.Role) {
	n := a.contextSize()
	if n == 0 || a.info.Window == 0 {
		return "", text.Dim
	}
	share := 100 * n / a.info.Window
	role := text.Dim
	if share >= 80 {
		role = text.Warning
	}
	return fmt.Sprintf("%d%% context", share), role
}

// costText returns the session's cost; "" before the first call.
func (a *app) costText() string {
	t := a.live.state.Totals()
	switch {
	case t.Calls == 0:
		return ""
	case t.Unknown > 0:
		return "cost unknown"
	}
	return show.SmallPrice(t.Dollars)
}

// busyAgents counts the agents that work beside the main agent.
func (a *app) busyAgents() (n int) {
	for _, g := range a.live.state.Agents() {
		if g.Path != "" && g.Activity.Doing != view.DoingNothing && g.Activity.Doing != "" {
			n++
		}
	}
	return n
}

// runningCommands counts the background commands that run.
func (a *app) runningCommands() (n int) {
	for _, b := range a.live.state.Background() {
		if b.State == view.BackgroundRunning {
			n++
		}
	}
	return n
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

// welcome lays out the greeting in an empty session.
func (a *app) welcome(w int) []text.Line {
	var lines []text.Line
	add := func(s string, style text.Style) {
		lines = append(lines, a.rule.Wrap(text.Line{{Text: text.Clean(s), Style: style}}, w)...)
	}
	add(a.o.Welcome.Title, text.Style{Role: text.Heading, Attr: text.Bold})
	if a.openErr != nil {
		lines = append(lines, nil)
		add("No session: "+a.openErr.Error(), text.Style{Role: text.Failure})
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
