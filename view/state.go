package view

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
)

// State is a session as a screen shows it. The zero value is an empty screen. It encodes to JSON, and the decoded state
// continues with the next record. It is not safe for concurrent use.
type State struct {
	items     []Item // durable, in order
	index     map[Key]int
	agents    map[string]*agent
	paths     []string // agents, in order of appearance
	writing   []string // the agents whose answers are being written, in order
	queue     []Queued
	plan      []Step
	tasks     []event.Task
	approvals []Approval
	questions []Question
	inquiries []Inquiry
	notices   map[string]int // the items of notices since the last input, by agent and text
	starts    int            // how many tool calls started
	totals    Totals
	stop      Stop
	last      event.Seq
	heard     time.Time // of the last transient record since the last durable one
	closed    bool
	dropped   bool // it was shown that the server left out thinking
	changed   []Key

	background []Background
}

// Len returns the number of items.
func (s *State) Len() int {
	n := len(s.items)
	for _, path := range s.writing {
		n += s.agents[path].Answer.items()
	}
	return n
}

// Item returns item i, counted from 0. New items are added at the end, where the items stand that are being written.
func (s *State) Item(i int) Item {
	if i < len(s.items) {
		return s.durable(i)
	}
	i -= len(s.items)
	for _, path := range s.writing {
		a := s.agents[path]
		if n := a.Answer.items(); i >= n {
			i -= n
			continue
		}
		return a.item(i)
	}
	panic("view: there is no item " + strconv.Itoa(i+len(s.items)))
}

// durable returns a copy of an item, with a running call's output.
func (s *State) durable(i int) Item {
	item := s.items[i]
	if item.Tool == nil {
		return item
	}
	t := *item.Tool
	if !t.State.Over() {
		if c := s.agent(item.Agent).Open[t.ID]; c != nil && c.Item == i {
			t.Output = c.output()
		}
	}
	item.Tool = &t
	return item
}

// Find returns an item's index. An item that was being written may disappear, such as after a failed attempt.
func (s *State) Find(key Key) (i int, ok bool) {
	if i, ok := s.index[key]; ok {
		return i, true
	}
	i = len(s.items)
	for _, path := range s.writing {
		a := s.agents[path]
		for n := range a.Answer.items() {
			if a.item(n).Key == key {
				return i + n, true
			}
		}
		i += a.Answer.items()
	}
	return 0, false
}

// Items returns the items from one index up to another.
func (s *State) Items(from, to int) []Item {
	list := make([]Item, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, s.Item(i))
	}
	return list
}

// Screen is everything that a State shows, as data.
type Screen struct {
	Items     []Item       `json:"items"`
	Agents    []Agent      `json:"agents"`
	Queue     []Queued     `json:"queue,omitempty"`
	Plan      []Step       `json:"plan,omitempty"`
	Tasks     []event.Task `json:"tasks,omitempty"`
	Approvals []Approval   `json:"approvals,omitempty"`
	Questions []Question   `json:"questions,omitempty"`
	Inquiries []Inquiry    `json:"inquiries,omitempty"`
	Totals    Totals       `json:"totals"`
	Stop      Stop         `json:"stop,omitzero"`
	Last      event.Seq    `json:"last"`
	Closed    bool         `json:"closed,omitempty"`

	Background []Background `json:"background,omitempty"`
}

// Screen returns a copy of everything. Its cost grows with the session; use the other methods to read a part.
func (s *State) Screen() Screen {
	return Screen{
		Items:     s.Items(0, s.Len()),
		Agents:    s.Agents(),
		Queue:     s.Queue(),
		Plan:      s.Plan(),
		Tasks:     s.Tasks(),
		Approvals: s.Approvals(),
		Questions: s.Questions(),
		Inquiries: s.Inquiries(),
		Totals:    s.totals,
		Stop:      s.stop,
		Last:      s.last,
		Closed:    s.closed,

		Background: s.Background(),
	}
}

// Agents returns the agents in order of appearance, with their current activity.
func (s *State) Agents() []Agent {
	list := make([]Agent, len(s.paths))
	for i, path := range s.paths {
		list[i] = s.view(s.agents[path])
	}
	return list
}

// Agent returns the agent with a path; "" is the root.
func (s *State) Agent(path string) (Agent, bool) {
	a, ok := s.agents[path]
	if !ok {
		return Agent{Path: path, Activity: Activity{Doing: DoingNothing}}, false
	}
	return s.view(a), true
}

func (s *State) view(a *agent) Agent {
	out := a.Agent
	out.Activity = s.now(a)
	return out
}

// Queue returns the messages that wait to enter a conversation.
func (s *State) Queue() []Queued { return slices.Clone(s.queue) }

// Plan returns the main agent's plan.
func (s *State) Plan() []Step { return slices.Clone(s.plan) }

// Tasks returns the tasks that the agents share.
func (s *State) Tasks() []event.Task { return slices.Clone(s.tasks) }

// Approvals returns the tool calls that wait for an approval.
func (s *State) Approvals() []Approval { return slices.Clone(s.approvals) }

// Questions returns the questions that wait for the user's answer.
func (s *State) Questions() []Question { return slices.Clone(s.questions) }

// Inquiries returns the other questions that wait for an answer.
func (s *State) Inquiries() []Inquiry { return slices.Clone(s.inquiries) }

// Totals returns the usage and cost of the whole agent tree.
func (s *State) Totals() Totals { return s.totals }

// Stop returns how the work on the last input ended.
func (s *State) Stop() Stop { return s.stop }

// Last returns the last durable record's number.
func (s *State) Last() event.Seq { return s.last }

// Open returns how many tool calls have no end.
func (s *State) Open() int {
	n := 0
	for _, a := range s.agents {
		n += len(a.Open)
	}
	return n
}

// stateJSON is a State as JSON.
type stateJSON struct {
	Items     []Item         `json:"items"`
	Agents    []*agent       `json:"agents"`
	Writing   []string       `json:"writing,omitempty"`
	Queue     []Queued       `json:"queue,omitempty"`
	Plan      []Step         `json:"plan,omitempty"`
	Tasks     []event.Task   `json:"tasks,omitempty"`
	Approvals []Approval     `json:"approvals,omitempty"`
	Questions []Question     `json:"questions,omitempty"`
	Inquiries []Inquiry      `json:"inquiries,omitempty"`
	Notices   map[string]int `json:"notices,omitempty"`
	Starts    int            `json:"starts,omitempty"`
	Totals    Totals         `json:"totals"`
	Stop      Stop           `json:"stop,omitzero"`
	Last      event.Seq      `json:"last"`
	Heard     time.Time      `json:"heard,omitzero"`
	Closed    bool           `json:"closed,omitempty"`
	Dropped   bool           `json:"dropped,omitempty"`

	Background []Background `json:"background,omitempty"`
}

// MarshalJSON encodes the state.
func (s *State) MarshalJSON() ([]byte, error) {
	j := stateJSON{
		Items:     s.items,
		Writing:   s.writing,
		Queue:     s.queue,
		Plan:      s.plan,
		Tasks:     s.tasks,
		Approvals: s.approvals,
		Questions: s.questions,
		Inquiries: s.inquiries,
		Notices:   s.notices,
		Starts:    s.starts,
		Totals:    s.totals,
		Stop:      s.stop,
		Last:      s.last,
		Heard:     s.heard,
		Closed:    s.closed,
		Dropped:   s.dropped,

		Background: s.background,
	}
	for _, path := range s.paths {
		j.Agents = append(j.Agents, s.agents[path])
	}
	return json.Marshal(j)
}

// UnmarshalJSON decodes a state.
func (s *State) UnmarshalJSON(b []byte) error {
	var j stateJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*s = State{
		items:     j.Items,
		index:     make(map[Key]int, len(j.Items)),
		queue:     j.Queue,
		plan:      j.Plan,
		tasks:     j.Tasks,
		approvals: j.Approvals,
		questions: j.Questions,
		inquiries: j.Inquiries,
		notices:   j.Notices,
		starts:    j.Starts,
		totals:    j.Totals,
		stop:      j.Stop,
		last:      j.Last,
		heard:     j.Heard,
		closed:    j.Closed,
		dropped:   j.Dropped,

		background: j.Background,
	}
	for i, item := range s.items {
		s.index[item.Key] = i
	}
	for _, a := range j.Agents {
		if a == nil {
			continue
		}
		maps.DeleteFunc(a.Open, func(_ string, c *call) bool { return c == nil || !s.isCall(c.Item) })
		own := s.agent(a.Path)
		*own = *a
	}
	maps.DeleteFunc(s.notices, func(_ string, i int) bool { return i < 0 || i >= len(s.items) })
	for _, path := range j.Writing {
		if a := s.agents[path]; a != nil && a.Answer != nil && !slices.Contains(s.writing, path) {
			s.writing = append(s.writing, path)
		}
	}
	return nil
}

func (s *State) isCall(i int) bool { return 0 <= i && i < len(s.items) && s.items[i].Tool != nil }

// agent returns the agent with a path, which is created if necessary.
func (s *State) agent(path string) *agent {
	a := s.agents[path]
	if a == nil {
		if s.agents == nil {
			s.agents = make(map[string]*agent)
		}
		a = &agent{Agent: Agent{Path: path}}
		s.agents[path] = a
		s.paths = append(s.paths, path)
	}
	return a
}

// add adds an item and returns its index.
func (s *State) add(item Item) int {
	if s.index == nil {
		s.index = make(map[Key]int)
	}
	n := len(s.items)
	if _, taken := s.index[item.Key]; taken { // two records with the same number
		item.Key += Key("~" + strconv.Itoa(n))
	}
	s.items = append(s.items, item)
	s.index[item.Key] = n
	s.touch(item.Key)
	return n
}

func (s *State) touch(key Key) {
	if n := len(s.changed); n == 0 || s.changed[n-1] != key {
		s.changed = append(s.changed, key)
	}
}

// note adds a notice or, if it was shown since the last input, counts it.
func (s *State) note(r event.Record, part, text string) {
	if text == "" {
		return
	}
	id := r.Agent + "\x00" + text
	if i, ok := s.notices[id]; ok && repeats(r.Kind()) {
		s.items[i].Count++
		s.touch(s.items[i].Key)
		return
	}
	if s.notices == nil {
		s.notices = make(map[string]int)
	}
	s.notices[id] = s.add(Item{
		Key:    keyOf(r.Agent, r.Seq, part),
		Kind:   KindNotice,
		Agent:  r.Agent,
		Seq:    r.Seq,
		Time:   r.Time,
		Text:   text,
		Notice: r.Kind(),
		Count:  1,
	})
}

// repeats reports whether a notice says nothing new when it is repeated.
func repeats(k event.Kind) bool {
	switch k {
	case event.KindWarning, event.KindHook, event.KindModelFallback, event.KindModelCallEnd, event.KindSettings, event.KindError:
		return true
	}
	return false
}

// callKey returns the key for a tool call in an answer.
func callKey(agent string, base event.Seq, id string, n int) Key {
	if id == "" {
		id = strconv.Itoa(n)
	}
	return keyOf(agent, base, "call."+strings.ToValidUTF8(id, "?"))
}

// between returns the time from one moment to another, which is 0 if it is unknown.
func between(from, to time.Time) time.Duration {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return to.Sub(from)
}

var zero time.Time
