// Package view folds a session's records into a screen: the conversation as items with stable keys, the agents and
// their activity, the plan, the queue, and requests to the user.
//
// Every face of the product shows the same [State]: text at the command line, a terminal interface, a web page, an
// editor. The fold is pure. It reads no clock and no files, and times come from records, or from the caller where
// something is still running. Everything in it encodes to JSON.
//
// Transient records only show progress: a state that missed them has the same items once the work is over. Titles,
// outcomes and notices are one line and safe to print. The other texts are as the model, the user and the tools wrote
// them; a face makes them safe.
package view

import (
	"strconv"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Key identifies an item in its session. It is the same while the item is written, when it is complete, and when the
// session is replayed.
type Key string

// keyOf returns the key for an agent's item that begins with a record.
func keyOf(agent string, seq event.Seq, part string) Key {
	return Key(agent + "#" + strconv.FormatUint(uint64(seq), 10) + "." + part)
}

// Kind is the kind of an item.
type Kind string

// Kinds of items.
const (
	KindInput     Kind = "input"     // a message from the user or from its Origin
	KindText      Kind = "text"      // answer text
	KindReasoning Kind = "reasoning" // what the model thinks
	KindTool      Kind = "tool"      // a tool call
	KindNotice    Kind = "notice"    // what happened to the session, on one line
)

// Item is one entry in the conversation on the screen.
type Item struct {
	Key   Key       `json:"key"`
	Kind  Kind      `json:"kind"`
	Agent string    `json:"agent,omitempty"` // agent path; "" is the root
	Seq   event.Seq `json:"seq,omitempty"`   // the record that made it durable; 0 while it is written
	Time  time.Time `json:"time,omitzero"`
	Text  string    `json:"text,omitempty"` // input, answer or notice text

	Origin  *event.Origin `json:"origin,omitempty"`  // where an input came from, if not from the user
	Steered bool          `json:"steered,omitempty"` // the input arrived while the agent worked
	Answers string        `json:"answers,omitempty"` // the tool call that the input answers

	Said    bool `json:"said,omitempty"`    // reasoning that the user sees because the answer has no text
	Partial bool `json:"partial,omitempty"` // a text that was truncated because the model call failed

	// Notice is the kind of record that a notice shows, and Count is how often it was shown since the last input.
	Notice event.Kind `json:"notice,omitempty"`
	Count  int        `json:"count,omitempty"`

	Tool *Tool `json:"tool,omitempty"`

	// Images are the images in an input or in a tool call's result.
	Images []Image `json:"images,omitempty"`

	// Undone is the input that was undone together with this item; 0 if it was not undone.
	Undone event.Seq `json:"undone,omitempty"`
}

// Live reports whether the item is still being written.
func (i Item) Live() bool { return i.Seq == 0 }

// ToolState is a tool call's state.
type ToolState string

// Tool call states.
const (
	ToolWriting     ToolState = "writing"     // the model writes its arguments
	ToolQueued      ToolState = "queued"      // it has not started
	ToolWaiting     ToolState = "waiting"     // for an approval
	ToolAsking      ToolState = "asking"      // for the user's answer
	ToolRunning     ToolState = "running"     // and its output arrives
	ToolDone        ToolState = "done"        // without an error
	ToolFailed      ToolState = "failed"      // with an error
	ToolRefused     ToolState = "refused"     // by the user, a rule or a hook
	ToolInterrupted ToolState = "interrupted" // before or while it ran
)

// Over reports whether the call has ended.
func (s ToolState) Over() bool {
	switch s {
	case ToolDone, ToolFailed, ToolRefused, ToolInterrupted:
		return true
	}
	return false
}

// Tool is a tool call.
type Tool struct {
	ID      string           `json:"id"`
	Name    string           `json:"name"`
	Title   string           `json:"title"` // the tool and its main arguments
	State   ToolState        `json:"state"`
	Bytes   int64            `json:"bytes,omitempty"`     // argument bytes so far
	Started time.Time        `json:"started,omitzero"`    // when it last started to run or to wait
	Waited  time.Duration    `json:"waited_ns,omitempty"` // waiting time for approvals since then
	Asked   time.Time        `json:"asked,omitzero"`      // when the pending approval was requested
	Ran     time.Duration    `json:"ran_ns,omitempty"`    // running time without the wait for approvals; set at the end
	Outcome string           `json:"outcome,omitempty"`   // the error, or a command's last line
	Code    tool.Code        `json:"code,omitempty"`      // error code
	Command bool             `json:"command,omitempty"`   // it ran a command
	Output  Output           `json:"output,omitzero"`     // folded: the last lines while it runs, head and tail at the end
	Diff    string           `json:"diff,omitempty"`      // changed files as a diff
	Message *tool.Message    `json:"message,omitempty"`   // message for the user
	Mode    policy.Mode      `json:"mode,omitempty"`      // the permission mode that it switched to
	Hidden  string           `json:"hidden,omitempty"`    // description of invisible characters in the result
	Plan    []Step           `json:"plan,omitempty"`      // the plan that it recorded
	Error   string           `json:"error,omitempty"`     // the whole error
	Asks    []event.Question `json:"questions,omitempty"` // what it asks the user
}

// Took returns how long the call ran until now, without the wait for approvals.
func (t Tool) Took(now time.Time) time.Duration {
	switch {
	case t.State.Over():
		return t.Ran
	case t.Started.IsZero():
		return 0
	case !t.Asked.IsZero():
		now = t.Asked
	}
	return max(now.Sub(t.Started)-t.Waited, 0)
}

// Step is a step in the model's plan.
type Step struct {
	Text   string `json:"text"`
	Status string `json:"status"`
}

// Queued is a message that waits to enter a conversation.
type Queued struct {
	Seq      event.Seq     `json:"seq"` // its STEERING_QUEUED record
	Agent    string        `json:"agent,omitempty"`
	Text     string        `json:"text"`
	Origin   *event.Origin `json:"origin,omitempty"`
	FollowUp bool          `json:"follow_up,omitempty"` // it starts its own work
}

// Approval is a tool call that waits for an approval.
type Approval struct {
	Key   Key       `json:"key"` // tool call item
	Agent string    `json:"agent,omitempty"`
	Title string    `json:"title"`
	Asked time.Time `json:"asked"`
	event.ApprovalRequested
}

// Question is a tool call that waits for the user's answer.
type Question struct {
	Key       Key              `json:"key"` // tool call item
	Agent     string           `json:"agent,omitempty"`
	Call      string           `json:"call"`
	Questions []event.Question `json:"questions"`
}

// Inquiry is a question that is not about a tool call, such as an MCP server's form.
type Inquiry struct {
	Asked time.Time `json:"asked"`
	event.QuestionAsked
}

// Stop is how the work on the last input ended. It is zero while the session works.
type Stop struct {
	Outcome  event.Status `json:"outcome,omitempty"`
	Limit    event.Limit  `json:"limit,omitempty"`
	Question string       `json:"question,omitempty"`
	Rounds   int          `json:"rounds,omitempty"`
	Error    string       `json:"error,omitempty"`
	Time     time.Time    `json:"time,omitzero"`
}

// Totals is what model calls used.
type Totals struct {
	Calls   int       `json:"calls"`
	Rounds  int       `json:"rounds"` // answers
	Usage   llm.Usage `json:"usage"`
	Dollars float64   `json:"dollars"`           // calls with a known price
	Unknown int       `json:"unknown,omitempty"` // how many calls have no known price
	Partial int       `json:"partial,omitempty"` // how many calls may be billed for more
}

// Cost returns the cost, which is known if all prices are.
func (t Totals) Cost() llm.Cost { return llm.NewCost(t.Dollars, t.Unknown == 0) }

// Spent returns the totals for functions that format them.
func (t Totals) Spent() event.Spent {
	return event.Spent{
		Calls:      t.Calls,
		Usage:      t.Usage,
		Dollars:    t.Dollars,
		Unpriced:   t.Unknown,
		Incomplete: t.Partial,
	}
}

// add adds a model call. Failed calls that used nothing do not count.
func (t *Totals) add(d event.ModelCallEnd) {
	used := d.Usage.Add(d.Retried)
	if d.Error != nil && used.Input+used.Output == 0 {
		return
	}
	t.Calls++
	t.Usage = t.Usage.Add(used)
	if d.Error == nil {
		t.Rounds++
	}
	if d.Incomplete {
		t.Partial++
	}
	if d.Cost == nil {
		t.Unknown++
		return
	}
	t.Dollars += *d.Cost
}
