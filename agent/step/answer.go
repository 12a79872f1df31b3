package step

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// maxContinues limits how often in a row a truncated or paused answer is continued.
const maxContinues = 3

// model applies a model call record.
func (s *State) model(r event.Record, d event.Data) {
	switch d := d.(type) {
	case event.ModelCallStart:
		s.called, s.calling = d.Call, &d
		if d.Purpose == "" {
			s.begin(r.Time)
			s.request(d)
		}
	case event.TextEnd:
		s.answer = &d
	case event.ModelCallEnd:
		s.callEnded(d)
	case event.ModelFallback:
		s.standIn, s.failure = &d, nil
	}
}

func (s *State) callEnded(d event.ModelCallEnd) {
	purpose, messages := event.Purpose(""), 0
	if s.calling != nil && s.calling.Call == d.Call {
		purpose, messages = s.calling.Purpose, s.calling.Messages
	}
	if d.Error != nil && d.Error.Window > 0 {
		s.refused = event.ModelSetup{Provider: s.sent.Provider, Model: s.sent.Model, Window: d.Error.Window}
	}
	s.calling = nil
	s.used.Usage = s.used.Usage.Add(d.Usage).Add(d.Retried)
	if d.Error == nil || d.Usage.Input+d.Retried.Input > 0 {
		s.used.Cost = s.used.Cost.Add(llm.CostOf(d.Cost))
	}
	switch {
	case purpose == event.PurposeSummary:
		s.summarised(d)
	case purpose == event.PurposeCompaction:
		s.signed(d, messages)
	case d.Error != nil:
		s.failure, s.answer = d.Error, nil
	case s.answer != nil:
		s.take(d.Finish, d.Detail, d.Usage)
	}
}

// lostEnd returns the end for a model call whose answer is recorded but whose end is not.
func (s *State) lostEnd() event.ModelCallEnd {
	d := event.ModelCallEnd{Call: s.answer.Call, Finish: finishOf(s.answer.Message)}
	if s.calling != nil {
		d.Provider, d.Model = s.calling.Provider, s.calling.Model
	}
	return d
}

// closeAnswer applies an answer whose call has no end in the log.
func (s *State) closeAnswer() {
	if s.answer != nil {
		s.calling = nil
		s.take(finishOf(s.answer.Message), "", llm.Usage{})
	}
}

func finishOf(msg llm.Message) llm.FinishReason {
	if len(msg.ToolCalls()) > 0 {
		return llm.FinishToolCalls
	}
	return llm.FinishStop
}

func (s *State) take(reason llm.FinishReason, detail string, u llm.Usage) {
	if reason == llm.FinishContentFilter && s.refusedBy(detail) {
		return
	}
	msg := s.answer.Message
	s.answer = nil
	s.answerer = s.sent.Model
	s.failure = nil
	s.tried = attempts{}
	s.turns++
	s.used.Turns++
	sent := s.meter
	if len(msg.Parts) > 0 {
		s.say(msg)
	}
	s.count(u, sent, msg.ToolCalls())
	s.stepped(u)
	s.warned = s.warned && s.filled() > warnAt
	s.calls = nil
	for _, c := range msg.ToolCalls() {
		s.calls = append(s.calls, call{ToolCall: c})
	}
	if s.sent.Object {
		s.object.answered(msg)
		return
	}
	s.question, s.consulted = "", false
	if s.continues == 0 {
		s.text = ""
	}
	s.text += msg.Text()
	switch {
	case reason == llm.FinishContentFilter:
		s.halt = &Stop{Status: event.StatusRefused}
		s.lapse(true)
	case reason == llm.FinishLength || reason == llm.FinishPause || reason == llm.FinishError:
		s.cutOff(reason)
	case len(s.calls) == 0 && u.Output > 0 && blank(msg, s.text): // some servers drop calls that they cannot parse
		s.cutOff(llm.FinishError)
	case len(s.calls) == 0:
		s.halt = &Stop{Status: event.StatusDone}
		s.question, s.continues = closingQuestion(s.text), 0
	}
}

// refusedBy makes a refusal a failure, if there is another model to ask. The refusing model's text does not count.
func (s *State) refusedBy(detail string) bool {
	e := &event.Error{Class: string(llm.ErrContentFilter), Message: "the model refused to answer"}
	if detail != "" {
		e.Message += " (" + detail + ")"
	}
	if _, ok := s.fallback(e); !ok || s.sent.Object {
		return false
	}
	s.answer, s.failure = nil, e
	s.turns++
	s.used.Turns++
	return true
}

// stepped warns once when the conversation is so long that tokens cost more.
func (s *State) stepped(u llm.Usage) {
	at := s.Effective().PriceStep
	if at <= 0 || u.Input <= at || s.priced {
		return
	}
	s.notes = append(s.notes, event.Warning{Code: event.WarningPriceStep, Message: fmt.Sprintf(
		"The conversation has %d tokens; above %d, tokens of %s cost more", u.Input, at, s.sent.Model)})
}

// blank reports whether an answer is empty. The text includes the pieces before it.
func blank(msg llm.Message, text string) bool {
	return strings.TrimSpace(text) == "" && !slices.ContainsFunc(msg.Parts, func(p llm.Part) bool {
		switch p.(type) {
		case llm.Text, llm.Thinking:
			return false
		}
		return true
	})
}

// cutOff decides what to do about an incomplete answer.
func (s *State) cutOff(reason llm.FinishReason) {
	if len(s.calls) > 0 {
		return
	}
	s.continues++
	switch {
	case s.continues <= maxContinues && reason == llm.FinishLength:
		s.notes = append(
			s.notes,
			note(
				"Your answer was truncated because it reached the output limit. Continue exactly where it stopped, in smaller pieces.",
				event.Source(reason),
			),
		)
	case s.continues <= maxContinues && reason == llm.FinishError:
		s.notes = append(
			s.notes,
			note(
				"Your last answer was empty or could not be parsed, most likely because of a malformed tool call. Try again.",
				event.Source(reason),
			),
		)
	case s.continues <= maxContinues:
	case reason == llm.FinishLength:
		s.halt = &Stop{Status: event.StatusCutOff}
	case reason == llm.FinishPause:
		s.halt = &Stop{Status: event.StatusPaused}
	default:
		s.notes = append(
			s.notes,
			event.Error{
				Class: string(llm.ErrMalformed),
				Message: "the model returned empty or unusable answers several times in a row; the server may have dropped " +
					"malformed tool calls",
			},
		)
	}
}

// Whole returns an answer's message without truncated tool calls.
func Whole(resp *llm.Response) llm.Message {
	msg := resp.Message
	msg.Role = llm.RoleAssistant
	switch resp.Finish.Reason {
	case llm.FinishStop, llm.FinishToolCalls:
		return msg
	}
	var parts []llm.Part
	for _, p := range msg.Parts {
		if c, ok := p.(llm.ToolCall); !ok || c.Custom || json.Valid([]byte(c.Arguments)) {
			parts = append(parts, p)
		}
	}
	msg.Parts = parts
	return msg
}

// closingQuestion returns the last line if it ends with a question mark.
func closingQuestion(text string) string {
	text = strings.TrimRight(text, " \t\r\n*_`\")")
	if !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, "？") {
		return ""
	}
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
