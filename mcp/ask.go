package mcp

import (
	"context"
	"encoding/json"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/llm"
)

// ElicitRequest asks the user to fill in a form or to visit a URL.
type ElicitRequest struct {
	Message string
	Schema  json.RawMessage // JSON schema for the form: an object with primitive properties
	URL     string
}

// ElicitAnswer is the user's answer.
type ElicitAnswer struct {
	Action  ElicitAction
	Content map[string]any // form values, if the action is Accept
}

// ElicitAction is the user's response. The empty action means Cancel.
type ElicitAction string

// Responses to an ElicitRequest.
const (
	Accept  ElicitAction = "accept"
	Decline ElicitAction = "decline"
	Cancel  ElicitAction = "cancel" // dismissed without a choice
)

// SampleRequest asks a model to continue a conversation.
type SampleRequest struct {
	System      string
	Messages    []llm.Message
	MaxTokens   int64
	Temperature float64
	Stop        []string
}

// SampleAnswer is the model's answer.
type SampleAnswer struct {
	Model string
	Text  string
}

// maxAsking limits how many requests from one server are answered at the same time.
const maxAsking = 4

// ask lets the host answer a server's request. A server may ask only during a call. ask does not wait for a host that
// ignores its context.
func ask[T any](ctx context.Context, c *conn, f func(context.Context) (T, error)) (T, error) {
	defer c.asking.Add(-1)
	if n := c.asking.Add(1); n > maxAsking || c.calls.Load() == 0 {
		var none T
		return none, errors.New("request refused: the client answers requests only during a call, and only a few at a time")
	}
	type answer struct {
		value T
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		v, err := f(ctx)
		got <- answer{v, err}
	}()
	select {
	case a := <-got:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

func (c *conn) elicit(ctx context.Context, q *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	r := ElicitRequest{Message: clip(q.Params.Message), URL: q.Params.URL}
	if q.Params.RequestedSchema != nil {
		b, err := json.Marshal(q.Params.RequestedSchema)
		if err != nil {
			return nil, err
		}
		r.Schema = b
	}
	a, err := ask(ctx, c, func(ctx context.Context) (ElicitAnswer, error) { return c.srv.client.cfg.Elicit(ctx, c.srv.name, r) })
	if err != nil {
		return nil, err
	}
	res := &sdk.ElicitResult{Action: string(Cancel)}
	if a.Action != "" {
		res.Action = string(a.Action)
	}
	if a.Action == Accept {
		res.Content = a.Content
	}
	return res, nil
}

//lint:ignore SA1019 servers still use it
func (c *conn) sample(ctx context.Context, q *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
	p := q.Params
	r := SampleRequest{System: p.SystemPrompt, MaxTokens: p.MaxTokens, Temperature: p.Temperature, Stop: p.StopSequences}
	for _, m := range p.Messages {
		if m != nil {
			r.Messages = append(r.Messages, message(m.Role, m.Content))
		}
	}
	a, err := ask(ctx, c, func(ctx context.Context) (SampleAnswer, error) { return c.srv.client.cfg.Sample(ctx, c.srv.name, r) })
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 servers still use it
	return &sdk.CreateMessageResult{Model: a.Model, Role: "assistant", Content: &sdk.TextContent{Text: a.Text}, StopReason: "endTurn"}, nil
}

// message converts a message from a server.
func message(role sdk.Role, content sdk.Content) llm.Message {
	m := llm.Message{Role: llm.RoleUser}
	if role == "assistant" {
		m.Role = llm.RoleAssistant
	}
	var images []llm.Image
	if text := show([]sdk.Content{content}, true, &images); text != "" {
		m.Parts = append(m.Parts, llm.Text{Text: text})
	}
	for _, i := range images {
		m.Parts = append(m.Parts, i)
	}
	return m
}
