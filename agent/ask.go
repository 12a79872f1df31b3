package agent

import (
	"context"
	"encoding/json"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// AskUser is the name of the tool with which a model asks the user. A call of it stops the work;
// the next input is its result.
const AskUser = "ask_user"

type askIn struct {
	Question string `json:"question" jsonschema:"what you need to know from the user"`
}

// roleAsk marks the tool whose calls the session handles itself. Another tool that happens to have
// its name is run like any other.
const roleAsk = "ask_user"

// AskUserTool is the tool for a registry. Subagents do not get it.
func AskUserTool() tool.Tool {
	return tool.New(tool.Spec{
		Name: AskUser, Version: "1.0.0", ReadOnly: true, Role: roleAsk,
		Description: "Ask the user a question that you cannot answer yourself, and wait for the answer. Do not call other tools beside it.",
	}, tool.Nothing,
		func(context.Context, *tool.Call, askIn) (tool.Result, error) {
			return tool.Failure(tool.ValidationError, "The question is empty."), nil
		})
}

// question is what a call asks the user, or "" if it is no question. One with bad arguments is none:
// it goes the way of every call, and fails there.
func (s *Session) question(c llm.ToolCall) string {
	if spec, _ := s.tools.Spec(c.Name); spec.Role != roleAsk {
		return ""
	}
	var in askIn
	err := guarded("the pipeline of "+c.Name, func() error {
		out := s.pipe.Check(context.Background(), tool.Call{ID: c.ID, Name: c.Name, Args: s.tools.Arguments(c), Env: s.config.Env})
		if out.Result.Error != nil {
			return out.Result.Error
		}
		return json.Unmarshal(out.Call.Args, &in)
	})
	if err != nil {
		return ""
	}
	return in.Question
}

// ask stops the work at a question. The calls before it have their results; those behind it wait.
func (s *Session) ask(c llm.ToolCall, question string, done []llm.ToolResult) error {
	s.startCall(c)
	s.m.question = question
	s.m.answers = done
	return errAsked
}

// answerQuestion makes the input the result of the question that waits. Calls behind the question
// were made without the answer, and are not run.
func (s *Session) answerQuestion(msg llm.Message) {
	results := s.m.answers
	waiting := s.m.calls[len(results):]
	shown := tool.Success("%s", msg.Text())
	rest := false
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Text:
		case llm.Image:
			shown.Images = append(shown.Images, p)
		default:
			rest = true
		}
	}
	results = append(results, s.finishCall(waiting[0], tool.Outcome{Result: shown, Model: msg.Text()}))
	for _, c := range waiting[1:] {
		results = append(results, s.skipCall(c, "not run: it was asked for before the user had answered"))
	}
	s.m.resume()
	s.took(results)
	if rest { // no result can hold it
		s.inject(msg, "answer")
	}
}
