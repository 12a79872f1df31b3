package step

import (
	"errors"
	"fmt"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	objects "github.com/reins-agent/reins/llm/object"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// maxRepairs limits how often a model may correct its object.
const maxRepairs = 2

// object is the structured result. When the work is done, the model is asked for it, without tools.
type object struct {
	format    *llm.OutputFormat // nil if no object is wanted
	asks      int
	asked     bool   // requested, and not answered yet
	answering bool   // the last answer's calls contain it
	given     string // the last answer
	problem   string // why it is invalid
	value     string // the valid result
}

// begin applies an input. A follow-up or an answer keeps the format.
func (o *object) begin(d event.UserInput) {
	format := d.Output
	if (d.FollowUp || d.Answers != "") && format == nil {
		format = o.format
	}
	*o = object{format: format}
}

// injected applies a request for the object, or another message.
func (o *object) injected(source event.Source) {
	switch source {
	case event.SourceObject:
		o.asks++
		o.asked = true
	case event.SourceHost, event.SourceMail, event.SourceReport:
		*o = object{format: o.format}
	}
}

// answered applies the model's answer.
func (o *object) answered(msg llm.Message) {
	o.asked, o.answering = false, len(msg.ToolCalls()) > 0
	if o.format == nil {
		return
	}
	form, err := objects.ParseForm(*o.format)
	if err != nil {
		o.given, o.problem = "", err.Error()
		return
	}
	o.given, o.problem = form.Extract(msg), ""
	if err := form.Check(o.given); err != nil {
		o.problem = err.Error()
		return
	}
	o.value = o.given
}

// form returns the next action to get the object, or nil.
func (s *State) form() Action {
	o := &s.object
	switch {
	case o.format == nil || o.value != "" || len(s.followUp) > 0:
		return nil
	case o.asked:
		return s.askForm()
	}
	form, err := objects.ParseForm(*o.format)
	switch {
	case err != nil:
		return Append{event.Error{Class: string(llm.ErrConfiguration), Message: err.Error()}}
	case o.asks == 0:
		return Append{note(form.Ask(), event.SourceObject)}
	case o.asks > maxRepairs:
		return Append{
			event.Error{
				Class:   string(llm.ErrNoObject),
				Message: fmt.Sprintf("the model returned no valid object in %d attempts: %s", o.asks, o.problem),
				Body:    o.given,
			},
		}
	}
	return Append{note(form.Repair(errors.New(o.problem)), event.SourceObject)}
}

func (s *State) askForm() Action {
	if s.failure != nil {
		return s.recover()
	}
	if d := s.limit(); d != nil {
		return Append{d}
	}
	return CallModel{Messages: s.messages, Output: s.object.format, Choice: llm.ToolChoice{Mode: llm.ToolNone}}
}

// received returns the end for a call that contains the object.
func (s *State) received(c *call) event.ToolCallEnd {
	res := tool.Success("Received.")
	d := policy.Decision{Verdict: policy.Allow, Rule: "structured output", Reason: "it gives the result"}
	if s.object.problem != "" {
		res = tool.Failure(tool.ValidationError, "Refused: %s", s.object.problem)
	}
	return ended(c, res, d)
}
