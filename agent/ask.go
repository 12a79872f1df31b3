package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// AskUser is the name of the tool that asks the user. A call stops the work; the next input is its result.
const AskUser = "ask_user"

// Roles for tools that the session handles itself. A tool that only has the same name runs like any other.
const (
	roleAsk   = "ask_user"
	roleAgent = "subagents"
)

// RoleSession marks tools that act on the whole session. Subagents do not get them.
const RoleSession = "session"

// askIn is one question, or several. Other agents use the same formats, with more fields.
type askIn struct {
	askOne
	Questions []askOne `json:"questions"`
}

type askOne struct {
	Question    string         `json:"question"`
	Header      string         `json:"header"`
	Options     []event.Option `json:"options"`
	MultiSelect bool           `json:"multiSelect"`
}

const askSchema = `{"type":"object","properties":{"question":{"type":"string"},"questions":{"type":"array","minItems":1,` +
	`"maxItems":4,"description":"instead of question",` +
	`"items":{"type":"object","properties":{"question":{"type":"string"},"header":{"type":"string"},` +
	`"options":{"type":"array","minItems":2,"maxItems":4,"items":{"type":"object","properties":{"label":{"type":"string"},` +
	`"description":{"type":"string"}},"required":["label"]}},` +
	`"multiSelect":{"type":"boolean"}},"required":["question"]}}}}`

// AskUserTool returns the tool for a registry. Subagents do not get it.
func AskUserTool() tool.Tool {
	return tool.New(tool.Spec{
		Name:     AskUser,
		Version:  "1.1.0",
		ReadOnly: true,
		Role:     roleAsk,
		Input:    json.RawMessage(askSchema),

		Description: "Ask the user what you cannot find out yourself, and wait for the answer. Do not call other tools beside it.",
	}, func(context.Context, *tool.Call, askIn) []policy.Access { return []policy.Access{} },
		func(context.Context, *tool.Call, askIn) (tool.Result, error) {
			return tool.Failure(tool.ValidationError, "Nothing was asked: pass a question, or questions."), nil
		})
}

// questions returns a call's questions to the user, or nil if it does not ask. A call with invalid arguments does not
// ask: it runs and fails like any other.
func (k *kit) questions(c llm.ToolCall) (list []event.Question) {
	if spec, _ := k.tools.Spec(c.Name); spec.Role != roleAsk && spec.Name != tool.CallName {
		return nil
	}
	var in askIn
	err := guarded("the pipeline of "+c.Name, func() error {
		out := k.pipe.Check(context.Background(), tool.Call{ID: c.ID, Name: c.Name, Args: k.tools.Arguments(c), Env: k.env})
		if spec, _ := k.tools.Spec(out.Tool); out.Result.Error != nil || spec.Role != roleAsk {
			return errors.New("not a question")
		}
		return json.Unmarshal(out.Call.Args, &in)
	})
	if err != nil {
		return nil
	}
	if in.Questions == nil {
		in.Questions = []askOne{in.askOne}
	}
	for _, q := range in.Questions {
		if q.Question == "" {
			return nil
		}
		list = append(list, event.Question{Question: q.Question, Header: q.Header, Options: q.Options, Multiple: q.MultiSelect})
	}
	return list
}

// questionText returns questions as text.
func questionText(list []event.Question) string {
	var b strings.Builder
	for _, q := range list {
		if q.Header != "" {
			b.WriteString(q.Header + ": ")
		}
		b.WriteString(q.Question + "\n")
		for i, o := range q.Options {
			fmt.Fprintf(&b, "  %d. %s\n", i+1, strings.TrimSuffix(o.Label+": "+o.Description, ": "))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Question returns the model's question to the user, or "" if it does not wait for an answer.
func (s *Session) Question() string {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.work != nil {
		return ""
	}
	return s.state.Question()
}

// Questions returns the question in parts, with options.
func (s *Session) Questions() []event.Question {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	if s.work != nil {
		return nil
	}
	return slices.Clone(s.state.Questions())
}

// Answer answers a question: with option labels, a text, or both.
type Answer struct {
	Chosen []string
	Text   string
}

// Answer answers each of Questions, and then does what Submit does with input. Submit can answer them too, with any
// text.
func (s *Session) Answer(ctx context.Context, answers ...Answer) (Outcome, error) {
	text, err := answerText(s.Questions(), answers)
	if err != nil {
		return Outcome{}, err
	}
	return s.Submit(ctx, llm.Text{Text: text})
}

// answerText returns answers as text for the model.
func answerText(questions []event.Question, answers []Answer) (string, error) {
	if len(questions) != len(answers) || len(answers) == 0 {
		return "", fmt.Errorf("got %d answers for %d questions", len(answers), len(questions))
	}
	var b strings.Builder
	for i, a := range answers {
		q := questions[i]
		for _, label := range a.Chosen {
			if !slices.ContainsFunc(q.Options, func(o event.Option) bool { return o.Label == label }) {
				return "", fmt.Errorf("%q is not an option of the question %q", label, q.Question)
			}
		}
		text := strings.TrimPrefix(strings.TrimSuffix(strings.Join(a.Chosen, ", ")+": "+a.Text, ": "), ": ")
		switch {
		case text == "":
			return "", fmt.Errorf("no answer to the question %q", q.Question)
		case len(a.Chosen) > 1 && !q.Multiple:
			return "", fmt.Errorf("several options for the question %q: choose one", q.Question)
		case len(answers) == 1:
			return text, nil
		}
		fmt.Fprintf(&b, "%s\n→ %s\n", q.Question, text)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
