package ask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

// Answer is the answer to a question.
type Answer struct {
	// Choice is the key of the selected choice. Without it, Text refuses the approval and tells the model what
	// to do instead.
	Choice string `json:"choice,omitempty"`
	Text   string `json:"text,omitempty"`
	// Replies answer the model's questions, in order. Text alone answers all items.
	Replies []Reply `json:"replies,omitempty"`
	// Values are a form's values, a JSON object.
	Values json.RawMessage `json:"values,omitempty"`
	// Args are changed arguments, with which the call runs in place of its own. Only a choice that allows the call once
	// takes them. The policy judges them again.
	Args json.RawMessage `json:"args,omitempty"`
	// Asked, if set, is when the question was asked that the user saw. A call that was asked about again, because it would
	// now access something else, does not take an answer to the earlier question.
	Asked time.Time `json:"asked,omitzero"`
}

// Open returns the question with an ID that takes an answer.
func Open(list []Question, id string, a Answer) (Question, bool) {
	q, open := Find(list, id)
	return q, open && (a.Asked.IsZero() || a.Asked.Equal(q.Asked))
}

// Reply answers an item: with option labels, text, or both.
type Reply struct {
	Chosen []string `json:"chosen,omitempty"`
	Text   string   `json:"text,omitempty"`
}

// choose returns the choice that an answer selects.
func (q Question) choose(a Answer) (Choice, error) {
	var keys []string
	for _, c := range q.Choices {
		if c.Key == a.Choice {
			return c, nil
		}
		keys = append(keys, c.Key)
	}
	return Choice{}, fmt.Errorf("%q is not one of the answers %s", a.Choice, strings.Join(keys, ", "))
}

// Approve turns an answer to an approval or a plan into a decision. The choice's rules may have to be saved.
func (q Question) Approve(a Answer) (tool.Approval, Choice, error) {
	switch {
	case q.Kind != Approval && q.Kind != Plan:
		return tool.Approval{}, Choice{}, fmt.Errorf("question %s does not ask for an approval", q.ID)
	case a.Choice == "" && a.Text != "":
		return tool.Approval{Message: "the user said: " + a.Text}, Choice{}, nil
	}
	c, err := q.choose(a)
	switch {
	case err != nil:
		return tool.Approval{}, c, err
	case !c.Allow && a.Text != "":
		return tool.Approval{Message: "the user said: " + a.Text}, c, nil
	case !c.Allow:
		return tool.Approval{Message: "the user said no"}, c, nil
	case len(a.Args) > 0 && (q.Kind == Plan || c.Scope != "" || len(c.Rules) > 0):
		return tool.Approval{}, Choice{}, fmt.Errorf("changed arguments can only be allowed once: answer question %s with y", q.ID)
	}
	return tool.Approval{Allow: true, Scope: c.Scope, Rules: c.Rules, Args: a.Args}, c, nil
}

// Edit returns the call's arguments with another command. It reports false if the question is not about a command.
func (q Question) Edit(command string) (json.RawMessage, bool) {
	var args map[string]json.RawMessage
	if json.Unmarshal(q.Arguments, &args) != nil {
		return nil, false
	}
	name := commandIn(args, q.Rows)
	if name == "" {
		return nil, false
	}
	b, err := json.Marshal(command)
	if err != nil {
		return nil, false
	}
	args[name] = b
	b, err = json.Marshal(args)
	return b, err == nil
}

// commandIn returns the name of the argument with the rows' command, or "".
func commandIn(args map[string]json.RawMessage, rows []Row) string {
	at := slices.IndexFunc(rows, func(r Row) bool { return r.Kind == RowCommand })
	if at < 0 {
		return ""
	}
	found := ""
	for name, value := range args {
		var s string
		if json.Unmarshal(value, &s) != nil || s != rows[at].Text {
			continue
		}
		if found != "" { // another argument could be meant
			return ""
		}
		found = name
	}
	return found
}

// Reply returns the answers to the model's questions, or nil if the answer is only text.
func (q Question) Reply(a Answer) ([]agent.Answer, error) {
	if q.Kind != Input {
		return nil, fmt.Errorf("question %s is not a question of the model", q.ID)
	}
	if len(a.Replies) == 0 {
		if a.Text == "" {
			return nil, fmt.Errorf("the answer to question %s is empty", q.ID)
		}
		return nil, nil
	}
	if len(a.Replies) != len(q.Items) {
		return nil, fmt.Errorf("got %d answers for %d questions", len(a.Replies), len(q.Items))
	}
	list := make([]agent.Answer, len(a.Replies))
	for i, r := range a.Replies {
		list[i] = agent.Answer{Chosen: r.Chosen, Text: r.Text}
	}
	return list, nil
}

// Inquire returns the record that answers a question that is not about a tool call.
func (q Question) Inquire(a Answer) (event.QuestionAnswered, error) {
	d := event.QuestionAnswered{ID: q.ID}
	if q.Kind == Approval || q.Kind == Plan || q.Kind == Input {
		return d, fmt.Errorf("question %s is about a tool call", q.ID)
	}
	if a.Choice == "" && len(q.Schema) > 0 {
		if err := q.checkForm(a.Values); err != nil {
			return d, err
		}
		d.Accepted, d.Values = true, a.Values
		return d, nil
	}
	c, err := q.choose(a)
	d.Accepted, d.Chosen = c.Allow, c.Key
	return d, err
}

// checkForm returns an error unless a form's values are valid.
func (q Question) checkForm(values json.RawMessage) error {
	var object map[string]any
	if err := json.Unmarshal(values, &object); err != nil || object == nil {
		return fmt.Errorf("question %s needs values as a JSON object, or the choice n", q.ID)
	}
	var schema jsonschema.Schema
	if err := json.NewDecoder(bytes.NewReader(q.Schema)).Decode(&schema); err != nil {
		return nil // a server's schema that cannot be read is not the user's mistake
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil
	}
	if err := resolved.Validate(object); err != nil {
		return fmt.Errorf("the values do not fit the form: %w", err)
	}
	return nil
}
