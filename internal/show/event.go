// Package show formats session events as text for users: a tool call's title, an event on one
// line, a diff, a cost table, an age.
//
// Text from models, tools and repositories is made safe to print; see [Visible]. Functions that return one
// line make it safe, unless their comment says otherwise.
package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Event formats an event on one line; "" if the event is not shown.
func Event(data event.Data) string {
	switch d := data.(type) {
	case event.SessionStart:
		return OneLine(d.Provider + " " + d.Model)
	case event.UserInput:
		return Summary(MessageText(d.Message))
	case event.SteeringQueued:
		return Summary(MessageText(d.Message))
	case event.TextEnd:
		return briefAnswer(d.Message)
	case event.ModelCallStart:
		return OneLine(d.Provider + " " + d.Model)
	case event.ModelCallEnd:
		if d.Error != nil {
			return "✗ " + Summary(d.Error.Message)
		}
		used := fmt.Sprintf("%s tokens in, %s out, %s", Tokens(d.Usage.Input), Tokens(d.Usage.Output), Price(d.Cost))
		for _, more := range []string{Refusal(d), Dropped(d)} {
			if more != "" {
				used += "; " + more
			}
		}
		return used
	case event.ToolCallStart:
		return Title(d.Name, d.Arguments)
	case event.ToolCallEnd:
		if d.Error != nil {
			return "✗ " + Summary(d.Name) + ": " + Summary(d.Error.Message)
		}
		if m := d.Artifacts.Message; m != nil {
			mark, _ := MessageMark(m.Level)
			return mark + " " + Summary(strings.TrimPrefix(m.Title+": "+m.Content, ": "))
		}
		return "✓ " + Summary(d.Name) + " " + Duration(d.Duration)
	case event.ApprovalRequested:
		return Summary(d.Name) + ": " + Summary(d.Reason)
	case event.QuestionAsked:
		return Summary(d.From + ": " + d.Text)
	case event.QuestionAnswered:
		if d.Reason != "" {
			return "withdrawn: " + Summary(d.Reason)
		}
		return Summary(strings.TrimPrefix(map[bool]string{true: "accepted", false: "declined"}[d.Accepted]+": "+d.Chosen, ": "))
	case event.Checkpoint:
		return Summary(d.ID)
	case event.ProcessingEnd:
		return OneLine(string(d.Outcome))
	case event.SessionEnd:
		return OneLine(d.Reason)
	case event.CacheBroken:
		return Summary(d.Reason)
	}
	return Notice(data)
}

// MessageMark returns the mark and colour for a message from the agent.
func MessageMark(level string) (mark, colour string) {
	switch level {
	case "success":
		return "✓", Green
	case "warning":
		return "!", Yellow
	case "error":
		return "✗", Red
	case "progress":
		return "…", Grey
	}
	return "•", Grey
}

// briefAnswer formats an answer's text, or else the tools that it calls.
func briefAnswer(m llm.Message) string {
	if text := Summary(m.Text()); text != "" {
		return text
	}
	var names []string
	for _, c := range m.ToolCalls() {
		names = append(names, c.Name)
	}
	return Summary(strings.Join(names, ", "))
}

// Notice formats an event that is not part of the conversation on one line, such as a limit, a retry or a
// compaction. It returns "" for all other events.
func Notice(data event.Data) string {
	switch d := data.(type) {
	case event.SessionResume:
		return resumed(d)
	case event.SteeringInjected:
		return Summary(string(d.Source)) + ": " + Summary(MessageText(d.Message))
	case event.TurnLimit:
		return Limit(d)
	case event.LoopDetection:
		return Summary(d.Message)
	case event.Settings:
		if d.Dir != "" {
			return "working in " + OneLine(d.Dir)
		}
		switch {
		case d.PolicySet && d.ApproverSet:
			return "the policy and the approver were replaced"
		case d.PolicySet:
			return "the policy was replaced"
		case d.ApproverSet:
			return "the approver was replaced"
		}
		return OneLine(fmt.Sprintf("switched to %s %s %s", d.Provider, d.Model, d.Effort))
	case event.ModelFallback:
		return OneLine(fmt.Sprintf("%s failed, using %s:", d.From, d.To)) + " " + Summary(d.Error.Message)
	case event.Compaction:
		return fmt.Sprintf("compacted (%s, %s): %s", OneLine(string(d.Reason)), Method(d.Method), Compacted(d))
	case event.Quarantine:
		return "removed " + Summary(d.What) + ": " + Summary(d.Reason)
	case event.Rewind:
		return rewound(d)
	case event.SubagentStart:
		name := "agent " + OneLine(strings.TrimSpace(d.ID+" "+d.Name))
		if d.Worktree != "" {
			name += " in worktree " + OneLine(d.Worktree)
		}
		return name + ": " + Summary(d.Task)
	case event.SubagentEnd:
		return "agent " + OneLine(d.ID) + " " + OneLine(string(d.Status))
	case event.Task, event.Team, event.Mail:
		return shared(d)
	case event.BackgroundEnd:
		return fmt.Sprintf("background command %s: %s after %s: %s", OneLine(d.ID), Ended(d), Duration(d.Duration), Summary(d.Command))
	case event.ModelRetry:
		return fmt.Sprintf("%s; retried after %s", Summary(d.Error.Message), Duration(d.Delay))
	case event.Hook:
		return hooked(d)
	case event.Warning:
		return OneLine(d.Message)
	case event.Error:
		return "✗ " + Summary(d.Message)
	case event.ApprovalResolved:
		if d.Allowed {
			return ""
		}
		return strings.TrimSuffix("not approved: "+Summary(d.Reason), ": ")
	case event.Unknown:
		return "unknown record, from a newer version"
	}
	return ""
}

// Ended formats how a background command ended.
func Ended(d event.BackgroundEnd) string {
	switch d.Stopped {
	case event.StoppedByUser:
		return "stopped by the user"
	case event.StoppedByAgent:
		return "stopped by the agent"
	case event.StoppedByClose:
		return "stopped with the session"
	}
	switch {
	case d.TimedOut:
		return "timed out"
	case d.Signal != "":
		return "ended by " + OneLine(d.Signal)
	}
	return fmt.Sprintf("exit code %d", d.ExitCode)
}

// shared formats a change to the tasks, teams and messages that agents share.
func shared(data event.Data) string {
	switch d := data.(type) {
	case event.Task:
		return fmt.Sprintf("%s %s: %s", OneLine(d.ID), OneLine(strings.TrimSpace(string(d.Status)+" "+d.Owner)), Summary(d.Subject))
	case event.Team:
		var names []string
		for _, m := range d.Members {
			names = append(names, m.Name)
		}
		return fmt.Sprintf("team %s %s: %s", OneLine(d.Name), OneLine(string(d.Status)), Summary(strings.Join(names, ", ")))
	case event.Mail:
		to := Summary(strings.Join(d.To, ", "))
		return fmt.Sprintf("%s from %s to %s: %s", OneLine(string(d.Type)), OneLine(d.From), to, Summary(d.Content))
	}
	return ""
}

// hooked formats a hook's effect, or its message for the user.
func hooked(d event.Hook) string {
	text := ""
	if d.Outcome != event.HookOK {
		text = strings.TrimSuffix(string(d.Outcome)+": "+Summary(d.Reason), ": ")
	}
	if said := strings.Trim(d.Title+": "+d.Message, ": "); said != "" {
		if d.Level != "" && d.Level != "info" {
			said = d.Level + ": " + said
		}
		text = strings.TrimPrefix(text+"; "+Summary(said), "; ")
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%s hook %s %s", OneLine(d.Event), Summary(d.Name), text)
}

func resumed(d event.SessionResume) string {
	text := "resumed"
	if d.Interrupted {
		text += " an interrupted session"
	}
	if d.Lost > 0 {
		text += fmt.Sprintf("; %s could not be read", Plural(d.Lost, "record"))
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
		what = append(what, "conversation")
	}
	switch {
	case len(d.Paths) > 0:
		what = append(what, "files "+Summary(strings.Join(d.Paths, ", ")))
	case d.Files:
		what = append(what, "files")
	}
	return fmt.Sprintf("%s: %s since @%d", verb, strings.Join(what, " and "), d.Input)
}

// MessageText returns a message's text, with a note for each media part. The result is not safe to
// print.
func MessageText(m llm.Message) string {
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

// Compacted formats how much smaller a compaction made a conversation.
func Compacted(d event.Compaction) string {
	before, after := Tokens(d.Before), Tokens(d.After)
	if before == after {
		before, after = strconv.FormatInt(d.Before, 10), strconv.FormatInt(d.After, 10)
	}
	return fmt.Sprintf("about %s tokens reduced to %s", before, after)
}

// Limit formats the limit that a session reached.
func Limit(d event.TurnLimit) string {
	switch {
	case d.Detail != "":
		return "stopped: " + Summary(d.Detail)
	case d.Limit == event.LimitTurns:
		return "stopped at the limit of " + Plural(d.Value, "model call")
	case d.Limit == event.LimitToolRounds:
		return "stopped at the limit of " + Plural(d.Value, "tool round")
	}
	return "stopped at the limit " + OneLine(string(d.Limit))
}

// Retry formats a model call's retry after a delay, with its reason and the model that takes over if it fails.
func Retry(d event.ModelRetry, in time.Duration) string {
	if d.Error.Class == string(llm.ErrLoading) {
		return fmt.Sprintf("the server is still loading the model; trying again in %s", Duration(in))
	}
	attempt := fmt.Sprintf("attempt %d", d.Attempt)
	if d.Max > 0 {
		attempt += fmt.Sprintf(" of %d", d.Max)
	}
	if d.Fallback != "" {
		attempt += ", then " + OneLine(d.Fallback)
	}
	return fmt.Sprintf("retrying in %s (%s): %s", Duration(in), attempt, Summary(d.Error.Message))
}

// Stop formats why a session stopped before its task was done. It returns "" if the task is done, or if an error or a
// limit is shown instead.
func Stop(status event.Status) string {
	switch status {
	case event.StatusLoop:
		return "stopped: the agent is repeating itself"
	case event.StatusCutOff:
		return "stopped: the answer exceeds the model's output limit"
	case event.StatusPaused:
		return "stopped: the provider paused the answer too often"
	case event.StatusRefused:
		return "the model or the provider's filter refused to continue"
	}
	return ""
}
