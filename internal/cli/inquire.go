package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/tool"
)

// opened lets questions reach the session.
func (r *opener) opened(s *session.Local) {
	r.local = s
	close(r.ready)
}

// inquire asks a question in the session, where every face can answer it. It waits until the session is open.
func (r *opener) inquire(ctx context.Context, q event.QuestionAsked) (event.QuestionAnswered, error) {
	select {
	case <-r.ready:
		return r.local.Ask(ctx, q)
	case <-ctx.Done():
		return event.QuestionAnswered{}, context.Cause(ctx)
	}
}

// approveCommand asks whether the text of a skill may have the output of a command or a file.
func (r *opener) approveCommand(ctx context.Context, q tool.Request) (tool.Approval, error) {
	if r.alone {
		return r.asker.refuse(ctx, q, "there is no terminal to ask on"), nil
	}
	described := ask.FromRequest(requested(ctx, q))
	d := event.QuestionAsked{Type: event.QuestionCommand, From: "skill", Text: "allow " + described.Title}
	for _, row := range described.Rows {
		d.Rows = append(d.Rows, row.Text)
	}
	a, err := r.inquire(ctx, d)
	if err != nil || a.Accepted {
		return tool.Approval{Allow: a.Accepted}, err
	}
	return tool.Approval{Message: "the user said no"}, nil
}

// requested describes a call as the record that asks for an approval does.
func requested(ctx context.Context, r tool.Request) event.ApprovalRequested {
	return event.ApprovalRequested{
		Name:        r.Call.Name,
		Tool:        r.Spec.Name,
		Arguments:   r.Call.Args,
		Accesses:    r.Accesses,
		Code:        r.Decision.Code,
		Reason:      r.Decision.Reason,
		Mode:        r.Call.Mode,
		Role:        r.Spec.Role,
		Description: coding.Describe(ctx, r),
	}
}

// elicit asks the user for information that an MCP server requests.
func (r *opener) elicit(ctx context.Context, server string, q mcp.ElicitRequest) (mcp.ElicitAnswer, error) {
	d := event.QuestionAsked{Type: event.QuestionForm, From: server, Text: q.Message, URL: q.URL}
	if q.URL != "" {
		d.Type = event.QuestionLink
	}
	if hasFields(q.Schema) {
		d.Schema = q.Schema
	}
	a, err := r.inquire(ctx, d)
	switch {
	case err != nil:
		return mcp.ElicitAnswer{}, err
	case !a.Accepted:
		return mcp.ElicitAnswer{Action: mcp.Decline}, nil
	}
	answer := mcp.ElicitAnswer{Action: mcp.Accept}
	if len(a.Values) > 0 {
		err = json.Unmarshal(a.Values, &answer.Content)
	}
	return answer, err
}

// hasFields reports whether a form asks for values.
func hasFields(schema json.RawMessage) bool {
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(schema, &form) == nil && len(form.Properties) > 0
}

// maxSample is the maximum length of an answer that a server can ask a model for, in tokens.
const maxSample = 4096

// sampling lets MCP servers use the session's model. The user must approve each use, because the session does not count
// its cost.
type sampling struct {
	*opener
	connection coding.Connection
}

func (s sampling) sample(ctx context.Context, server string, q mcp.SampleRequest) (mcp.SampleAnswer, error) {
	limit := int(min(q.MaxTokens, maxSample))
	d := event.QuestionAsked{
		Type: event.QuestionSample,
		From: server,
		Text: fmt.Sprintf("wants %s to answer, with %d tokens at most", show.OneLine(s.connection.Model), limit),
	}
	for _, m := range q.Messages {
		d.Rows = append(d.Rows, fmt.Sprintf("%s: %s", m.Role, m.Text()))
	}
	switch a, err := s.inquire(ctx, d); {
	case err != nil:
		return mcp.SampleAnswer{}, err
	case !a.Accepted:
		return mcp.SampleAnswer{}, errors.New("the user said no")
	}
	return s.complete(ctx, server, q, limit)
}

// complete calls the model.
func (s sampling) complete(ctx context.Context, server string, q mcp.SampleRequest, limit int) (mcp.SampleAnswer, error) {
	k := s.connection
	r := &llm.Request{
		Provider:  k.Provider,
		Model:     k.Model,
		Messages:  q.Messages,
		MaxTokens: limit,
		Stop:      q.Stop,
		NoCache:   true,
	}
	if q.System != "" {
		r.Messages = append([]llm.Message{llm.SystemText(q.System)}, q.Messages...)
	}
	resp, err := k.Client.Complete(ctx, r)
	if err != nil {
		return mcp.SampleAnswer{}, err
	}
	notef(s.host, "MCP server %s used %d input and %d output tokens", show.OneLine(server), resp.Usage.Input, resp.Usage.Output)
	return mcp.SampleAnswer{Model: k.Model, Text: resp.Message.Text()}, nil
}
