package step

import (
	"reflect"
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Apply applies the agent's next record. Other and unknown kinds of records are ignored.
func (s *State) Apply(r event.Record) {
	s.bridge(r.Data)
	switch d := r.Data.(type) {
	case event.SessionStart:
		s.start(d)
	case event.SessionResume:
		s.resumed(r, d)
	case event.Settings:
		moved := s.moves(d.Setup)
		s.setup, s.refused = d.Setup, event.ModelSetup{}
		if d.System != "" {
			s.setSystem(d.System, moved)
		}
		s.retool(d.ToolChange)
	case event.UserInput:
		s.input(r, d)
	case event.Continue:
		s.continued()
		s.begin(r.Time)
	case event.Interrupted:
		s.failure = nil
		if s.open {
			s.halt = &Stop{Status: event.StatusInterrupted}
		}
		s.lapse(d.Abandon)
	case event.SteeringQueued, event.SteeringInjected, event.SteeringWithdrawn:
		s.steer(r.Seq, d)
	case event.ModelCallStart, event.TextEnd, event.ModelCallEnd, event.ModelFallback:
		s.model(r, d)
	case event.ToolCallStart, event.ToolCallEnd, event.ApprovalRequested, event.ApprovalResolved:
		s.tool(d)
	case event.Hook:
		s.hooked(d)
	case event.LoopDetection:
		s.noted(d)
	case event.TurnLimit:
		s.halt = &Stop{Status: event.StatusLimit, Limit: d.Limit}
	case event.Error:
		s.halt, s.failure = &Stop{Status: event.StatusFailed, Error: &d}, nil
		s.noted(d)
	case event.Warning:
		s.warning(d)
	case event.ProcessingEnd:
		s.processed(r, d)
	case event.SubagentStart:
		delete(s.ended, d.ID)
		if !slices.ContainsFunc(s.spawned, func(b event.SubagentStart) bool { return b.ID == d.ID }) {
			s.spawned = append(s.spawned, d)
		}
	case event.SubagentEnd:
		s.ended[d.ID] = d
	default:
		s.edit(r.Data)
	}
}

// edit applies a change to the conversation so far.
func (s *State) edit(d event.Data) {
	switch d := d.(type) {
	case event.Compaction:
		s.compacted(d)
	case event.Quarantine:
		s.quarantined(d)
	case event.Checkpoint, event.RewindStart:
		s.past.Apply(d, place{})
	case event.Rewind:
		s.rewound(d)
	}
}

func (s *State) start(d event.SessionStart) {
	s.setup = d.Setup
	s.system = d.System
	s.told = d.System
	s.loop.window = d.Rules.LoopWindow
	if d.System != "" {
		s.say(llm.SystemText(d.System))
	}
}

// resumed applies that another process resumes the session. Running work counts as interrupted.
func (s *State) resumed(r event.Record, d event.SessionResume) {
	moved := s.moves(d.Setup)
	if moved {
		s.standIn = nil
	}
	s.setup, s.refused = d.Setup, event.ModelSetup{}
	s.loop.window = d.Rules.LoopWindow
	if d.System != "" || d.Imported {
		s.setSystem(d.System, moved)
	}
	s.retool(d.ToolChange)
	s.sent.lost = s.sent.lost || d.Lost > 0
	s.closeAnswer()
	s.recovered()
	if s.phase == event.StateClosed {
		s.phase = event.StateIdle
	}
}

// moves reports whether a setup has another model.
func (s *State) moves(to event.Setup) bool {
	return to.Provider != s.setup.Provider || to.Model != s.setup.Model
}

// retool adds a tool change to the conversation.
func (s *State) retool(c *llm.ToolChange) {
	if c != nil {
		s.say(llm.Message{Role: llm.RoleSystem, Parts: []llm.Part{*c}})
	}
}

// continued continues the work. If the work itself is done, only the object is missing.
func (s *State) continued() {
	text, question := s.text, s.question
	s.resume()
	if s.object.asks == 0 {
		return
	}
	s.halt = &Stop{Status: event.StatusDone}
	s.text = text
	s.question = question
	if !s.object.asked {
		s.object = object{format: s.object.format} // to be requested again
	}
}

// recovered applies that the process that did the work has ended.
func (s *State) recovered() {
	s.failure = nil
	s.calling = nil
	s.summary = summary{failures: s.summary.failures}
	s.lapse(false)
}

func (s *State) input(r event.Record, d event.UserInput) {
	s.unqueue(d.Queued, d.Message, d.FollowUp)
	s.standIn, s.notes = nil, s.fromHooks()
	s.stops = 0
	s.consulted = false
	s.read.warned = false
	s.object.begin(d)
	s.used = Used{Cost: llm.Cost{Known: true}}
	s.tree.forgive(s.path)
	if d.Answers != "" {
		s.resume()
		s.answered(d)
	} else {
		s.past.Input(r.Seq, s.place())
		s.resume()
		s.rounds = 0
		s.loop.recent, s.loop.trips = nil, 0
		s.say(d.Message)
	}
	s.begin(r.Time)
}

func (s *State) processed(r event.Record, d event.ProcessingEnd) {
	s.last = Stop{
		Status:   d.Outcome,
		Limit:    d.Limit,
		Question: d.Question,
		Text:     s.text,
		Object:   s.object.value,
		Rounds:   d.Rounds,
	}
	if s.halt != nil {
		s.last.Error = s.halt.Error
	}
	phase := d.State
	s.stop(r.Time, phase)
	s.more = phase == event.StateProcessing
	if s.more {
		s.phase = event.StateIdle
	}
	if phase == event.StateClosed && d.Question != "" {
		s.phase = event.StateAwaitingInput
	}
}

func (s *State) steer(seq event.Seq, d event.Data) {
	switch d := d.(type) {
	case event.SteeringQueued:
		q := Queued{seq, d.Message, d.Origin, d.FollowUp}
		if d.FollowUp {
			s.followUp = append(slices.Clip(s.followUp), q)
		} else {
			s.steering = append(slices.Clip(s.steering), q)
		}
	case event.SteeringWithdrawn:
		s.unqueue(d.Queued, llm.Message{}, false)
	case event.SteeringInjected:
		s.noted(d)
		s.say(d.Message)
		s.object.injected(d.Source)
		switch d.Source {
		case event.SourceHost:
			s.unqueue(d.Queued, d.Message, true)
		case event.SourceMail, event.SourceReport:
		default:
			return
		}
		if s.halt != nil && s.halt.Status == event.StatusDone {
			s.resume()
		}
	}
}

// unqueue removes a message from the queues, by its number or else by its content.
func (s *State) unqueue(seq event.Seq, msg llm.Message, like bool) {
	if seq == 0 && !like {
		return
	}
	for _, queue := range []*[]Queued{&s.steering, &s.followUp} {
		i := slices.IndexFunc(*queue, func(q Queued) bool {
			return q.Seq == seq || seq == 0 && reflect.DeepEqual(q.Message, msg)
		})
		if i >= 0 {
			*queue = slices.Delete(slices.Clone(*queue), i, i+1)
			return
		}
	}
}

// noted removes a note that is now recorded.
func (s *State) noted(d event.Data) {
	if len(s.notes) > 0 && event.KindOf(s.notes[0]) == event.KindOf(d) {
		s.notes = s.notes[1:]
	}
}

func (s *State) warning(d event.Warning) {
	switch d.Code {
	case event.WarningContextWindow:
		s.warned = true
	case event.WarningBudget:
		s.tree.warned = s.tree.costLimit()
	case event.WarningTruncated:
		s.read.warned = true
		s.noted(d)
	case event.WarningPriceStep:
		s.priced = true
		s.noted(d)
	case event.WarningStopHooks:
		s.consulted = true
	case event.WarningSummaryFailed:
		s.summary.warned = true
		s.summary.failures++
	}
}

// bridge keeps the conversation valid if earlier records are lost: it ends a model call and gives calls a result.
func (s *State) bridge(d event.Data) {
	results := false
	switch d := d.(type) {
	case event.SessionResume, event.ToolCallStart, event.ProcessingEnd, event.Compaction, event.Quarantine, event.RewindStart, event.Rewind:
	case event.UserInput:
		results = d.Answers == ""
	case event.ModelCallStart:
		results = d.Purpose == ""
	case event.SteeringInjected, event.TextEnd:
		results = true
	default:
		return
	}
	s.closeAnswer()
	if results {
		s.lose(len(s.calls))
	}
	if _, answer := d.(event.TextEnd); answer && !s.conversed() {
		s.say(llm.UserText("[the user's message here is lost]")) // every conversation begins with a user message
	}
}
