package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

// transcript prints a conversation that is over as people read it.
type transcript struct {
	out    io.Writer
	colour bool
	calls  show.Calls
	err    error
}

func (v *transcript) show(r event.Record) error {
	indent := ""
	if r.Agent != "" {
		indent = strings.Repeat("  ", strings.Count(r.Agent, "/")+1)
	}
	v.calls.Note(r)
	switch d := r.Data.(type) {
	case event.UserInput:
		if r.Agent == "" {
			v.said(cyan, "user", r.Seq, show.MessageText(d.Message))
		}
	case event.TextEnd:
		if text := d.Message.Text(); r.Agent == "" && text != "" {
			v.said(green, "agent", r.Seq, text)
		}
	case event.SteeringInjected:
		if r.Agent == "" && d.Source == event.SourceHost {
			v.said(cyan, "user, while the agent worked", r.Seq, show.MessageText(d.Message))
			break
		}
		v.note(indent, show.Notice(d))
	case event.ToolCallEnd:
		title, took := v.calls.End(r.Agent, d)
		v.tool(indent, title, took, d)
	case event.ModelCallEnd:
		if d.Error != nil {
			v.note(indent, "the call of the model failed: "+show.Summary(d.Error.Message))
		}
	case event.ProcessingEnd:
		if d.Outcome != agent.StatusDone && d.Outcome != agent.StatusAwaitingInput {
			v.note(indent, "ended: "+show.OneLine(string(d.Outcome)))
		}
	default:
		v.note(indent, show.Notice(d))
	}
	return v.err
}

func (v *transcript) damage(err error) error {
	v.printf("%s\n", v.paint(red, "✗ "+oneLine(err)))
	return v.err
}

func (v *transcript) end() error {
	if n := len(v.calls); n > 0 {
		v.note("", "the session stops in the middle of "+show.Plural(n, "tool call"))
	}
	return v.err
}

// said prints what somebody said.
func (v *transcript) said(colour, who string, seq event.Seq, text string) {
	v.printf("\n%s\n%s\n", v.paint(colour, fmt.Sprintf("%s @%d", who, seq)), strings.TrimRight(show.Visible(text), "\n"))
}

func (v *transcript) note(indent, text string) {
	if text != "" {
		v.printf("%s%s\n", indent, v.paint(grey, "· "+text))
	}
}

// tool prints a tool call on one line, and below it the beginning of its result, or what it changed.
func (v *transcript) tool(indent, title string, took time.Duration, d event.ToolCallEnd) {
	sign, colour, note := "✓", green, ""
	if d.Error != nil {
		sign, colour, note = "✗", red, " "+show.Summary(d.Error.Message)
	}
	v.printf("%s%s %s %s%s\n", indent, v.paint(colour, sign), title, v.paint(grey, show.Duration(took)), note)
	if diff, ok := d.Fields[coding.DiffField].(string); ok {
		const most = 30
		v.printf("%s", show.Diff(diff, indent+"    ", most, v.colour))
		return
	}
	if d.Error == nil {
		v.result(indent+"    ", d.Model)
	}
}

// result prints the beginning of a result.
func (v *transcript) result(indent, text string) {
	const most, wide = 4, 160
	lines := strings.Split(strings.TrimSpace(show.Visible(text)), "\n")
	for i, line := range lines {
		if i == most {
			v.printf("%s%s\n", indent, v.paint(grey, "… "+show.Plural(len(lines)-most, "more line")))
			return
		}
		if line != "" {
			v.printf("%s%s\n", indent, v.paint(grey, show.Cut(line, wide, false)))
		}
	}
}

func (v *transcript) paint(colour, text string) string {
	if !v.colour {
		return text
	}
	return show.Paint(colour, text)
}

func (v *transcript) printf(format string, args ...any) {
	if v.err == nil {
		_, v.err = fmt.Fprintf(v.out, format, args...)
	}
}
