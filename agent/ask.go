package agent

import (
	"context"
	"encoding/json"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// AskUser is the name of the tool that asks the user. A call stops the work; the next input is its result.
const AskUser = "ask_user"

// Roles of tools that the session handles itself. A tool that only has the same name runs like any other.
const (
	roleAsk   = "ask_user"
	roleAgent = "subagents"
)

// RoleSession is the role of tools that act on the whole session. Subagents do not get them.
const RoleSession = "session"

type askIn struct {
	Question string `json:"question" jsonschema:"what you need to know from the user"`
}

// AskUserTool returns the tool for a registry. Subagents do not get it.
func AskUserTool() tool.Tool {
	return tool.New(tool.Spec{
		Name: AskUser, Version: "1.0.0", ReadOnly: true, Role: roleAsk,
		Description: "Ask the user a question that you cannot answer yourself, and wait for the answer. Do not call other tools beside it.",
	}, func(context.Context, *tool.Call, askIn) []policy.Access { return []policy.Access{} },
		func(context.Context, *tool.Call, askIn) (tool.Result, error) {
			return tool.Failure(tool.ValidationError, "The question is empty."), nil
		})
}

// question returns what a call asks the user, or "" if it is not a question. A call with invalid arguments
// is not: it runs, and fails, like any other.
func (k *kit) question(c llm.ToolCall) string {
	if spec, _ := k.tools.Spec(c.Name); spec.Role != roleAsk {
		return ""
	}
	var in askIn
	err := guarded("the pipeline of "+c.Name, func() error {
		out := k.pipe.Check(context.Background(), tool.Call{ID: c.ID, Name: c.Name, Args: k.tools.Arguments(c), Env: k.env})
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

// Question returns what the model asks the user, if it waits for an answer.
func (s *Session) Question() string {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.work != nil {
		return ""
	}
	return s.state.Question()
}
