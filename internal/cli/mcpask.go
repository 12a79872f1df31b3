package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/mcp"
)

// elicit asks the user for information that an MCP server requests.
func (a *asker) elicit(ctx context.Context, server string, q mcp.ElicitRequest) (mcp.ElicitAnswer, error) {
	a.asking.Lock()
	defer a.asking.Unlock()
	head := fmt.Sprintf("\nMCP server %s asks: %s\n", show.OneLine(server), show.Visible(q.Message))
	if q.URL != "" {
		head += "It wants you to visit " + show.OneLine(q.URL) + "\n"
	}
	fields, err := formFields(q.Schema)
	if err != nil {
		return mcp.ElicitAnswer{}, err
	}
	if len(fields) == 0 {
		line, err := a.ask(ctx, head+"[y]es, [n]o > ")
		if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y") {
			return mcp.ElicitAnswer{Action: mcp.Decline}, err
		}
		return mcp.ElicitAnswer{Action: mcp.Accept}, nil
	}
	answer := mcp.ElicitAnswer{Action: mcp.Accept, Content: map[string]any{}}
	for _, f := range fields {
		v, given, err := a.field(ctx, head, f)
		if errors.Is(err, errDeclined) {
			return mcp.ElicitAnswer{Action: mcp.Decline}, nil
		}
		if err != nil {
			return mcp.ElicitAnswer{}, err
		}
		if given {
			answer.Content[f.name] = v
		}
		head = ""
	}
	return answer, nil
}

var errDeclined = errors.New("declined")

// field asks for one value of a form until it is valid.
func (a *asker) field(ctx context.Context, head string, f formField) (value any, given bool, err error) {
	for {
		line, err := a.ask(ctx, head+f.prompt()+` ("-" declines) > `)
		if err != nil {
			return nil, false, err
		}
		if line = strings.TrimSpace(line); line == "-" {
			return nil, false, errDeclined
		}
		v, given, err := f.parse(line)
		if err == nil {
			return v, given, nil
		}
		head = "· " + err.Error() + "\n"
	}
}

// formField is a value that a server asks for.
type formField struct {
	name     string
	required bool

	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Enum        []string        `json:"enum"`
	Default     json.RawMessage `json:"default"`
}

// formFields returns the fields of a form, in the order of the schema.
func formFields(schema json.RawMessage) ([]formField, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var form struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &form); err != nil || len(form.Properties) == 0 {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(form.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("the properties of the form are not an object")
	}
	var fields []formField
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		f := formField{name: fmt.Sprint(key)}
		if err := d.Decode(&f); err != nil {
			return nil, fmt.Errorf("field %s of the form: %w", f.name, err)
		}
		f.required = slices.Contains(form.Required, f.name)
		fields = append(fields, f)
	}
	return fields, nil
}

func (f formField) prompt() string {
	text := f.name
	if f.Title != "" {
		text = f.Title
	}
	if f.Description != "" {
		text += " (" + f.Description + ")"
	}
	var hints []string
	if len(f.Enum) > 0 {
		hints = append(hints, strings.Join(f.Enum, ", "))
	} else if f.Type != "" && f.Type != "string" {
		hints = append(hints, f.Type)
	}
	if len(f.Default) > 0 {
		hints = append(hints, "default "+string(f.Default))
	} else if !f.required {
		hints = append(hints, "optional")
	}
	if len(hints) > 0 {
		text += " [" + strings.Join(hints, "; ") + "]"
	}
	return show.Summary(text)
}

// parse returns the value of an answer. An empty answer is the default, or no value.
func (f formField) parse(line string) (value any, given bool, err error) {
	if line == "" {
		switch {
		case len(f.Default) > 0:
			err := json.Unmarshal(f.Default, &value)
			return value, err == nil, err
		case f.required:
			return nil, false, fmt.Errorf("%s is required", show.OneLine(f.name))
		}
		return nil, false, nil
	}
	switch f.Type {
	case "boolean":
		switch strings.ToLower(line) {
		case "y", "yes", "true":
			return true, true, nil
		case "n", "no", "false":
			return false, true, nil
		}
		return nil, false, errors.New("answer yes or no")
	case "integer":
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return nil, false, errors.New("answer with an integer")
		}
		return n, true, nil
	case "number":
		n, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return nil, false, errors.New("answer with a number")
		}
		return n, true, nil
	}
	if len(f.Enum) > 0 && !slices.Contains(f.Enum, line) {
		return nil, false, fmt.Errorf("answer with one of %s", show.OneLine(strings.Join(f.Enum, ", ")))
	}
	return line, true, nil
}

// maxSample is the maximum length of an answer that a server can ask a model for, in tokens.
const maxSample = 4096

// sampler lets MCP servers use the model of a run. The user must approve each use, because the session does not count its
// cost.
type sampler struct {
	*asker
	connection coding.Connection
}

func (s sampler) sample(ctx context.Context, server string, q mcp.SampleRequest) (mcp.SampleAnswer, error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	limit := int(min(q.MaxTokens, maxSample))
	question := fmt.Sprintf("\nMCP server %s wants %s to answer, with %d tokens at most:\n", show.OneLine(server), show.OneLine(s.connection.Model), limit)
	for _, m := range q.Messages {
		question += fmt.Sprintf("  %s: %s\n", m.Role, show.Visible(m.Text()))
	}
	line, err := s.ask(ctx, question+"[y]es, [n]o > ")
	if err != nil {
		return mcp.SampleAnswer{}, err
	}
	if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y") {
		return mcp.SampleAnswer{}, errors.New("the user said no")
	}
	r := &llm.Request{Provider: s.connection.Provider, Model: s.connection.Model, Messages: q.Messages, MaxTokens: limit, Stop: q.Stop, NoCache: true}
	if q.System != "" {
		r.Messages = append([]llm.Message{llm.SystemText(q.System)}, q.Messages...)
	}
	resp, err := s.connection.Client.Complete(ctx, r)
	if err != nil {
		return mcp.SampleAnswer{}, err
	}
	notef(s.host, "MCP server %s used %d input and %d output tokens", show.OneLine(server), resp.Usage.Input, resp.Usage.Output)
	return mcp.SampleAnswer{Model: s.connection.Model, Text: resp.Message.Text()}, nil
}
