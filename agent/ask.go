package agent

import (
	"context"
	"encoding/json"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// AskUser is the name of the tool with which a model asks the user. A call of it stops the work;
// the next input is its result.
const AskUser = "ask_user"

// AskUserTool is the tool for a registry. The session itself handles its calls.
func AskUserTool() tool.Tool {
	type in struct {
		Question string `json:"question" jsonschema:"what you need to know from the user"`
	}
	return tool.New(tool.Spec{
		Name: AskUser, Version: "1.0.0", ReadOnly: true,
		Description: "Ask the user a question that you cannot answer yourself, and wait for the answer. Do not call other tools beside it.",
	}, func(_ context.Context, c *tool.Call, _ in) []policy.Access {
		return []policy.Access{{Kind: policy.Read, Target: c.Env.Info().Dir}}
	}, func(_ context.Context, _ *tool.Call, _ in) (tool.Result, error) {
		return tool.Failure(tool.InternalError, "There is nobody to answer."), nil
	})
}

// asks reports whether a call is a question to the user.
func (s *Session) asks(c llm.ToolCall) bool {
	_, ok := s.tools.Get(AskUser)
	return ok && c.Name == AskUser
}

// ask stops the work at a question. The calls before it have their results; those behind it wait.
func (s *Session) ask(c llm.ToolCall, done []llm.ToolResult) error {
	var in struct {
		Question string `json:"question"`
	}
	_ = json.Unmarshal([]byte(c.Arguments), &in)
	s.record(event.ToolCallStart{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Arguments)})
	s.m.question = in.Question
	s.m.answers = done
	return errAsked
}

// answerQuestion makes the input the result of the question that waits. Calls behind the question
// were made without the answer, and are not run.
func (s *Session) answerQuestion(msg llm.Message) {
	results := s.m.answers
	for i, c := range s.m.calls[len(results):] {
		out := tool.Outcome{Result: tool.Success("%s", msg.Text()), Model: msg.Text()}
		if i > 0 {
			const notRun = "not run: it was asked for before the user had answered"
			out = tool.Outcome{Result: tool.Failure(tool.Cancelled, notRun), Model: notRun}
		}
		results = append(results, s.finishCall(c, out))
	}
	calls := s.m.calls
	s.m.resume()
	s.m.calls = calls
	s.m.ran(results)
}
