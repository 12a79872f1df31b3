// Package ask presents everything that a person decides in a session as questions: approval for a tool call or
// a plan, a question from the model, an MCP server's form, trust in a project.
//
// A [Question] is data. It follows from session records alone, so every user interface asks the same in
// any process, also after a crash, and it is answered by its ID from anywhere. The first answer counts.
package ask

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

// Kind is one of the constants below or an [event.QuestionKind].
type Kind string

// Kinds of questions about tool calls.
const (
	Approval Kind = "approval" // a tool call needs an approval
	Plan     Kind = "plan"     // the agent presents a plan, whose approval ends plan mode
	Input    Kind = "input"    // the model asks the user
)

// Question is something that a person decides.
type Question struct {
	ID    string    `json:"id"` // unique among the questions that wait in a session
	Kind  Kind      `json:"kind"`
	Asked time.Time `json:"asked"`
	Agent string    `json:"agent,omitempty"` // the waiting agent's path; "" is the root
	Who   string    `json:"who"`             // such as "Agent 1 (explore: find the tests)" or an MCP server's name
	Title string    `json:"title"`           // one line, safe to print
	Key   view.Key  `json:"key,omitempty"`   // the tool call's key

	// Rows describe the decision, and Diff the file changes. Their text is untrusted.
	Rows []Row  `json:"rows,omitempty"`
	Diff string `json:"diff,omitempty"`

	// Arguments are the call's arguments, if the user can edit its command.
	Arguments json.RawMessage `json:"arguments,omitempty"`

	// Choices are the possible answers. Questions from the model and forms have none.
	Choices []Choice `json:"choices,omitempty"`
	// Items are the parts that a question from the model has.
	Items []event.Question `json:"items,omitempty"`
	// Schema is the JSON schema for the values that a form asks for.
	Schema json.RawMessage `json:"schema,omitempty"`
	URL    string          `json:"url,omitempty"` // a page that the user should visit
}

// RowKind tells what a row describes.
type RowKind string

// Kinds of rows.
const (
	RowText      RowKind = "text"      // the tool's own words, such as a plan; several lines
	RowNote      RowKind = "note"      // what else to know, such as that the call would fail
	RowCommand   RowKind = "command"   // a command line
	RowDir       RowKind = "dir"       // where it runs
	RowPart      RowKind = "part"      // a part of it that needs approval, and why
	RowAccess    RowKind = "access"    // what else the call accesses
	RowArguments RowKind = "arguments" // call arguments as JSON
	RowWhy       RowKind = "why"       // why the call needs approval
)

// Row is a paragraph or list entry in a question's description.
type Row struct {
	Kind RowKind `json:"kind"`
	Text string  `json:"text"`
}

// Choice is a possible answer.
type Choice struct {
	Key   string `json:"key"`             // typed by the user
	Text  string `json:"text"`            // its meaning
	Allow bool   `json:"allow,omitempty"` // it agrees
	// Scope is how long an approval holds, and Rules are permission rules that let it cover further calls.
	Scope tool.Scope `json:"scope,omitempty"`
	Rules []string   `json:"rules,omitempty"`
	// Save is the configuration layer in which the rules are saved; "" saves nothing.
	Save string `json:"save,omitempty"`
}

// Place is a configuration file in which rules can be saved.
type Place struct {
	Layer string // "personal" or "user"
	File  string // as it is shown
}

// Waiting returns the questions that wait for an answer, oldest first. The places are where an approval can save rules.
func Waiting(s *view.State, places ...Place) []Question {
	list := []Question{}
	for _, a := range s.Approvals() {
		q := FromRequest(a.ApprovalRequested, places...)
		q.ID, q.Key, q.Agent, q.Asked = ID(a.Agent, a.ID), a.Key, a.Agent, a.Asked
		q.Who = who(s, a.Agent)
		list = append(list, q)
	}
	for _, m := range s.Questions() {
		q := Question{
			ID:    ID(m.Agent, m.Call),
			Kind:  Input,
			Agent: m.Agent,
			Who:   who(s, m.Agent),
			Key:   m.Key,
			Items: m.Questions,
		}
		if i, ok := s.Find(m.Key); ok {
			q.Asked = s.Item(i).Time
		}
		if len(q.Items) > 0 {
			q.Title = show.Summary(q.Items[0].Question)
		}
		list = append(list, q)
	}
	for _, m := range s.Inquiries() {
		list = append(list, inquiry(m))
	}
	slices.SortStableFunc(list, func(x, y Question) int { return x.Asked.Compare(y.Asked) })
	return list
}

// Find returns the question with an ID.
func Find(list []Question, id string) (Question, bool) {
	i := slices.IndexFunc(list, func(q Question) bool { return q.ID == id })
	if i < 0 {
		return Question{}, false
	}
	return list[i], true
}

// ID returns the question ID for an agent's tool call. Calls by two agents can have the same call ID.
func ID(agent, call string) string {
	if agent == "" && !strings.Contains(call, ":") {
		return call
	}
	return agent + ":" + call
}

// Call returns the call ID that the question is about.
func (q Question) Call() string { return strings.TrimPrefix(q.ID, q.Agent+":") }

// who names an agent and its task.
func who(s *view.State, path string) string {
	a, _ := s.Agent(path)
	if path == "" {
		return "The agent"
	}
	what := a.Task
	if a.Type != "" {
		what = show.OneLine(a.Type) + ": " + what
	}
	if what == "" {
		return "Agent " + show.OneLine(path)
	}
	return "Agent " + show.OneLine(path) + " (" + what + ")"
}

// FromRequest returns the question that a record asks.
func FromRequest(d event.ApprovalRequested, places ...Place) Question {
	q := Question{
		ID:   d.ID,
		Kind: Approval,
		Diff: d.Diff,
		Rows: rows(d),
		Who:  "The agent",
	}
	q.Title = show.Summary(d.Tool)
	if d.Tool == "" || d.Diff != "" {
		q.Title = show.Title(d.Name, d.Arguments)
	}
	if isPlan(d) {
		q.Kind = Plan
	}
	q.Choices = choices(d, places)
	if q.Arguments = d.Arguments; !q.editable() {
		q.Arguments = nil
	}
	return q
}

// editable reports whether the user can change the call's command.
func (q Question) editable() bool {
	_, ok := q.Edit("")
	return ok && q.Kind == Approval
}

// isPlan reports whether a call presents the plan.
func isPlan(d event.ApprovalRequested) bool {
	return d.Role == step.RoleExitPlan && d.Mode == policy.ModePlan
}

// inquiry returns a question that is not about a tool call.
func inquiry(m view.Inquiry) Question {
	q := Question{
		ID:     m.ID,
		Kind:   Kind(m.Type),
		Asked:  m.Asked,
		Who:    show.OneLine(m.From),
		Title:  show.Summary(m.Text),
		Schema: m.Schema,
		URL:    m.URL,
	}
	if text := m.Text; show.Summary(text) != text {
		q.Rows = append(q.Rows, Row{RowText, text})
	}
	for _, row := range m.Rows {
		q.Rows = append(q.Rows, Row{RowNote, row})
	}
	for _, o := range m.Options {
		q.Choices = append(q.Choices, Choice{Key: o.Label, Text: o.Description, Allow: true})
	}
	if len(m.Options) == 0 && len(m.Schema) == 0 {
		q.Choices = append(q.Choices, Choice{Key: "y", Text: "yes", Allow: true})
	}
	q.Choices = append(q.Choices, Choice{Key: "n", Text: "no"})
	return q
}
