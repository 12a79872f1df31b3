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

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/keyboard"
	"github.com/reins-agent/reins/internal/show"
)

// putInquiry asks a question that is not about a tool call of the model, and passes the answer to the session.
func (a *asker) putInquiry(ctx context.Context, h answerer, q ask.Question) error {
	answer, err := a.inquire(ctx, q)
	switch {
	case errors.Is(err, keyboard.ErrNoAnswer):
		answer = ask.Answer{Choice: "n"}
	case err != nil:
		return a.ended(err)
	}
	if problem := a.give(ctx, h, q.ID, answer); problem != "" {
		a.view.prompt("· " + problem + "\n")
		return h.Answer(context.WithoutCancel(ctx), q.ID, ask.Answer{Choice: "n"})
	}
	return nil
}

// inquire returns the user's answer.
func (a *asker) inquire(ctx context.Context, q ask.Question) (ask.Answer, error) {
	fields, err := formFields(q.Schema)
	if err != nil || len(fields) == 0 {
		return a.choose(ctx, q)
	}
	values := map[string]any{}
	head := inquiryRows(q)
	for _, f := range fields {
		v, given, err := a.field(ctx, head, f)
		if errors.Is(err, errDeclined) {
			return ask.Answer{Choice: "n"}, nil
		}
		if err != nil {
			return ask.Answer{}, err
		}
		if given {
			values[f.name] = v
		}
		head = ""
	}
	b, err := json.Marshal(values)
	return ask.Answer{Values: b}, err
}

// choose lets the user choose an answer.
func (a *asker) choose(ctx context.Context, q ask.Question) (ask.Answer, error) {
	head, prompt := inquiryRows(q), "[y]es, [n]o > "
	if len(q.Choices) > 0 && q.Choices[0].Key != "y" {
		prompt = "> "
		for _, c := range q.Choices {
			head += fmt.Sprintf("  %s  %s\n", show.OneLine(c.Key), show.OneLine(c.Text))
		}
	}
	line, err := a.ask(ctx, head+prompt)
	line = strings.ToLower(strings.TrimSpace(line))
	for _, c := range q.Choices {
		if line != "" && (line == c.Key || line == c.Text) {
			return ask.Answer{Choice: c.Key}, err
		}
	}
	return ask.Answer{Choice: "n"}, err
}

// inquiryRows describes a question.
func inquiryRows(q ask.Question) string {
	text, rows := q.Title, ""
	for _, r := range q.Rows {
		if r.Kind == ask.RowText {
			text = r.Text
			continue
		}
		rows += "  " + show.Visible(r.Text) + "\n"
	}
	if q.URL != "" {
		rows += "It wants you to visit " + show.OneLine(q.URL) + "\n"
	}
	switch text = show.Visible(text); q.Kind {
	case ask.Kind(event.QuestionForm), ask.Kind(event.QuestionLink):
		return fmt.Sprintf("\nMCP server %s asks: %s\n%s", q.Who, text, rows)
	case ask.Kind(event.QuestionSample):
		return fmt.Sprintf("\nMCP server %s %s:\n%s", q.Who, text, rows)
	}
	return fmt.Sprintf("\n%s asks: %s\n%s", q.Who, text, rows)
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
