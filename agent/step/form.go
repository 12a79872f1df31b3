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

// maxRepairs is how often a model is told what is wrong with the object it gave.
const maxRepairs = 2

// object is the result of the work in a form that a program reads. The model is asked for it, with its
// tools switched off, when it is done.
type object struct {
	format    *llm.OutputFormat // nil if it is not wanted
	asks      int
	asked     bool   // and not answered yet
	answering bool   // the calls of the last answer gave it
	given     string // the last answer
	problem   string // what is wrong with that
	value     string // that is as it should be
}

// begin takes in an input. Input that waited behind another one goes with it.
func (o *object) begin(d event.UserInput) {
	format := d.Output
	if (d.FollowUp || d.Answers != "") && format == nil {
		format = o.format
	}
	*o = object{format: format}
}

// injected takes in that the model was asked for the object, or given something else to do.
func (o *object) injected(source event.Source) {
	switch source {
	case event.SourceObject:
		o.asks++
		o.asked = true
	case event.SourceHost:
		*o = object{format: o.format}
	}
}

// answered takes in the answer of the model.
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

// form gets the object out of a model that is done, nil if there is nothing more to do about it.
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
		return Append{event.Error{Class: string(llm.ErrNoObject), Message: fmt.Sprintf("the model gave no usable object in %d attempts: %s", o.asks, o.problem), Body: o.given}}
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

// received answers a call by which an object came, as every call must be.
func (s *State) received(c *call) event.ToolCallEnd {
	res := tool.Success("Received.")
	d := policy.Decision{Verdict: policy.Allow, Rule: "structured output", Reason: "it gives the result"}
	if s.object.problem != "" {
		res = tool.Failure(tool.ValidationError, "Refused: %s", s.object.problem)
	}
	return ended(c, res, d)
}
