package view

import (
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
)

// Agent is one of the session's agents.
type Agent struct {
	Path    string    `json:"path"` // "" is the root
	Name    string    `json:"name,omitempty"`
	Type    string    `json:"type,omitempty"`
	Task    string    `json:"task,omitempty"` // the last one
	Model   string    `json:"model,omitempty"`
	Started time.Time `json:"started,omitzero"` // when the task was given
	Ended   time.Time `json:"ended,omitzero"`
	// Status is how a subagent's work ended, or SubagentRunning; "" for the root.
	Status event.SubagentStatus `json:"status,omitempty"`
	Reason string               `json:"reason,omitempty"` // why it did not complete
	Totals Totals               `json:"totals"`
	// Context is the agent's conversation size in tokens, as of its last model call; 0 is unknown, such as after a
	// compaction.
	Context int64 `json:"context,omitempty"`
	// Activity is the agent's current activity. Only agents returned by a State have it.
	Activity Activity `json:"activity,omitzero"`
}

// Label returns a short name that tells agents apart: the path, followed by the name or else the type. It is "" for
// the root.
func (a Agent) Label() string {
	name := a.Name
	if name == "" {
		name = a.Type
	}
	return strings.TrimSpace(a.Path + " " + name)
}

// Doing is a kind of activity.
type Doing string

// What an agent can do.
const (
	DoingNothing    Doing = "idle"
	DoingWork       Doing = "working"    // between other things
	DoingRequest    Doing = "requesting" // waiting for the model's first words
	DoingRetry      Doing = "retrying"   // waiting for the next attempt
	DoingThink      Doing = "thinking"
	DoingAnswer     Doing = "answering"
	DoingArguments  Doing = "writing"    // a tool call's arguments
	DoingTool       Doing = "running"    // tool calls
	DoingApproval   Doing = "waiting"    // for approvals
	DoingQuestion   Doing = "asking"     // the user
	DoingCompaction Doing = "compacting" // the conversation
)

// Activity is an agent's current activity.
type Activity struct {
	Doing  Doing             `json:"doing"`
	Title  string            `json:"title,omitempty"`  // tool call title
	Count  int               `json:"count,omitempty"`  // calls that run or wait
	Bytes  int64             `json:"bytes,omitempty"`  // written so far
	Tokens int64             `json:"tokens,omitempty"` // thought so far, estimated
	Since  time.Time         `json:"since,omitzero"`
	Retry  *event.ModelRetry `json:"retry,omitempty"`
	Until  time.Time         `json:"until,omitzero"` // when the next attempt begins
}

// agent is the fold's state for an agent.
type agent struct {
	Agent   `json:"agent"`
	Working bool              `json:"working,omitempty"`
	Since   time.Time         `json:"since,omitzero"` // when its last activity began
	Aloud   bool              `json:"aloud,omitempty"`
	Answer  *answer           `json:"answer,omitempty"` // being written
	Open    map[string]*call  `json:"open,omitempty"`   // tool calls without an end, by id
	Retry   *event.ModelRetry `json:"retry,omitempty"`
	Until   time.Time         `json:"until,omitzero"`
}

// call is a tool call that has not ended.
type call struct {
	Item    int    `json:"item"`
	Args    string `json:"args,omitempty"`
	Started int    `json:"started,omitempty"` // numbers the agent's calls in the order they started
	Out     []byte `json:"out,omitempty"`     // the last output
	Lines   int    `json:"lines,omitempty"`   // output lines before Out
}

// answer is an answer that is being written.
type answer struct {
	Base      event.Seq     `json:"base"`
	Call      int           `json:"call"`
	Time      time.Time     `json:"time"`
	Purpose   event.Purpose `json:"purpose,omitempty"`
	Text      growing       `json:"text,omitzero"`
	Reasoning growing       `json:"reasoning,omitzero"`
	Tokens    int64         `json:"tokens,omitempty"`
	Block     bool          `json:"block,omitempty"` // a new block of reasoning begins
	Calls     []written     `json:"calls,omitempty"`
	Last      Doing         `json:"last,omitempty"`
}

// written is a tool call that is being written.
type written struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Bytes int64  `json:"bytes"`
}

// now returns the agent's activity.
func (s *State) now(a *agent) Activity {
	var (
		running, waiting, asking int
		last                     *call
	)
	for _, c := range a.Open {
		switch s.items[c.Item].Tool.State {
		case ToolRunning:
			if running++; last == nil || c.Started > last.Started {
				last = c
			}
		case ToolWaiting:
			waiting++
		case ToolAsking:
			asking++
		}
	}
	act := Activity{Since: a.Since}
	switch {
	case running > 0:
		t := s.items[last.Item].Tool
		act.Doing = DoingTool
		act.Title = t.Title
		act.Count = running
		act.Since = t.Started
	case waiting > 0:
		act.Doing, act.Count = DoingApproval, waiting
	case asking > 0:
		act.Doing, act.Count = DoingQuestion, asking
	case a.Retry != nil:
		act.Doing = DoingRetry
		act.Retry = a.Retry
		act.Until = a.Until
	case a.Answer != nil:
		a.Answer.describe(&act)
	case a.Working:
		act.Doing = DoingWork
	default:
		act = Activity{Doing: DoingNothing}
	}
	return act
}

func (a *answer) describe(act *Activity) {
	act.Doing = a.Last
	switch {
	case a.Purpose != "":
		act.Doing = DoingCompaction
	case a.Last == DoingThink:
		act.Bytes, act.Tokens = int64(a.Reasoning.Len()), a.Tokens
	case a.Last == DoingAnswer:
		act.Bytes = int64(a.Text.Len())
	case a.Last == DoingArguments && len(a.Calls) > 0:
		w := a.Calls[len(a.Calls)-1]
		act.Title, act.Bytes = oneLine(w.Name), w.Bytes
	case a.Last == "":
		act.Doing = DoingRequest
	}
}

// items returns how many items the answer has so far.
func (a *answer) items() int {
	n := len(a.Calls)
	if a.Reasoning.Len() > 0 {
		n++
	}
	if a.Text.Len() > 0 {
		n++
	}
	return n
}

// item returns an item in the answer so far.
func (a *agent) item(i int) Item {
	w := a.Answer
	if w.Reasoning.Len() > 0 {
		if i == 0 {
			return Item{
				Key:   keyOf(a.Path, w.Base, "reasoning"),
				Kind:  KindReasoning,
				Agent: a.Path,
				Time:  w.Time,
				Text:  w.Reasoning.String(),
				Said:  a.Aloud && len(w.Calls) > 0 && w.Text.Len() == 0,
			}
		}
		i--
	}
	if w.Text.Len() > 0 {
		if i == 0 {
			return Item{
				Key:   keyOf(a.Path, w.Base, "text"),
				Kind:  KindText,
				Agent: a.Path,
				Time:  w.Time,
				Text:  w.Text.String(),
			}
		}
		i--
	}
	c := w.Calls[i]
	t := &Tool{
		ID:    c.ID,
		Name:  c.Name,
		Title: oneLine(c.Name),
		State: ToolWriting,
		Bytes: c.Bytes,
	}
	return Item{
		Key:   callKey(a.Path, w.Base, c.ID, i),
		Kind:  KindTool,
		Agent: a.Path,
		Time:  w.Time,
		Tool:  t,
	}
}
