package cli

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// brief is what a record says, on one line.
func brief(data event.Data) string {
	switch d := data.(type) {
	case event.SessionStart:
		return inLine(d.Provider + " " + d.Model)
	case event.UserInput:
		return summary(messageText(d.Message))
	case event.SteeringQueued:
		return summary(messageText(d.Message))
	case event.TextEnd:
		return briefAnswer(d.Message)
	case event.ModelCallStart:
		return inLine(d.Provider + " " + d.Model)
	case event.ModelCallEnd:
		if d.Error != nil {
			return "✗ " + summary(d.Error.Message)
		}
		return fmt.Sprintf("%s tokens in, %s out, %s", tokens(d.Usage.Input), tokens(d.Usage.Output), price(d.Cost))
	case event.ToolCallStart:
		return toolTitle(d.Name, d.Arguments)
	case event.ToolCallEnd:
		if d.Error != nil {
			return "✗ " + summary(d.Name) + ": " + summary(d.Error.Message)
		}
		return "✓ " + summary(d.Name) + " " + duration(d.Duration)
	case event.ApprovalRequested:
		return summary(d.Name) + ": " + summary(d.Reason)
	case event.Checkpoint:
		return summary(d.ID)
	case event.ProcessingEnd:
		return inLine(d.Outcome)
	case event.SessionEnd:
		return inLine(d.Reason)
	case event.CacheBroken:
		return summary(d.Reason)
	}
	return mark(data)
}

// briefAnswer is what the model said, or else what it wanted to do.
func briefAnswer(m llm.Message) string {
	if text := summary(m.Text()); text != "" {
		return text
	}
	var names []string
	for _, c := range m.ToolCalls() {
		names = append(names, c.Name)
	}
	return summary(strings.Join(names, ", "))
}

// mark is what a record says that is not part of the conversation, but happened to it; "" if it is
// of no interest there.
func mark(data event.Data) string {
	switch d := data.(type) {
	case event.SessionResume:
		return resumed(d)
	case event.SteeringInjected:
		return summary(d.Source) + ": " + summary(messageText(d.Message))
	case event.TurnLimit:
		return limitText(d)
	case event.LoopDetection:
		return summary(d.Message)
	case event.Settings:
		return inLine(fmt.Sprintf("from now on %s %s %s", d.Provider, d.Model, d.Effort))
	case event.ModelFallback:
		return inLine(fmt.Sprintf("%s takes over from %s: ", d.To, d.From)) + " " + summary(d.Error.Message)
	case event.Compaction:
		return fmt.Sprintf("compacted (%s, %s): %s", inLine(d.Reason), inLine(d.Method), shrunk(d))
	case event.Quarantine:
		return "taken out: " + summary(d.What) + ", because " + summary(d.Reason)
	case event.Rewind:
		return rewound(d)
	case event.SubagentStart:
		return "agent " + inLine(d.ID) + ": " + summary(d.Task)
	case event.SubagentEnd:
		return "agent " + inLine(d.ID) + " " + inLine(d.Status)
	case event.ModelRetry:
		return fmt.Sprintf("%s; tried again after %s", summary(d.Error.Message), duration(d.Delay))
	case event.Warning:
		return summary(d.Message)
	case event.Error:
		return "✗ " + summary(d.Message)
	case event.ApprovalResolved:
		if d.Allowed {
			return ""
		}
		return strings.TrimSuffix("not approved: "+summary(d.Reason), ": ")
	case event.Unknown:
		return "a record that this version does not know"
	}
	return ""
}

func resumed(d event.SessionResume) string {
	text := "resumed"
	if d.Interrupted {
		text += " after it was cut off"
	}
	if d.Lost > 0 {
		text += fmt.Sprintf(", without %s that could not be read", plural(d.Lost, "record"))
	}
	return text
}

func rewound(d event.Rewind) string {
	verb := "undone"
	if d.Redo {
		verb = "redone"
	}
	var what []string
	if d.Chat {
		what = append(what, "the conversation")
	}
	switch {
	case len(d.Paths) > 0:
		what = append(what, "the files "+summary(strings.Join(d.Paths, ", ")))
	case d.Files:
		what = append(what, "the files")
	}
	return fmt.Sprintf("%s from the input @%d on: %s", verb, d.Input, strings.Join(what, " and "))
}

// messageText is the text of a message, with a note for what is no text.
func messageText(m llm.Message) string {
	var parts []string
	for _, p := range m.Parts {
		switch p := p.(type) {
		case llm.Text:
			parts = append(parts, p.Text)
		case llm.Image:
			parts = append(parts, "[image]")
		case llm.Audio:
			parts = append(parts, "[audio]")
		case llm.Document:
			parts = append(parts, "[document]")
		}
	}
	return strings.Join(parts, "\n")
}
