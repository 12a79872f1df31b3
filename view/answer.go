package view

import (
	"encoding/json"
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
)

// stream applies a transient record about an answer.
func (s *State) stream(a *agent, data event.Data) {
	w := a.Answer
	if w == nil {
		return
	}
	switch d := data.(type) {
	case event.TextStart:
		w.begins(d.Call, DoingAnswer)
	case event.TextDelta:
		if w.begins(d.Call, DoingAnswer) {
			s.saying(a)
			w.Text.write(d.Text)
			s.touch(keyOf(a.Path, w.Base, "text"))
		}
	case event.ReasoningStart:
		if w.begins(d.Call, DoingThink) {
			w.Block = w.Reasoning.Len() > 0
		}
	case event.ReasoningDelta:
		if !w.begins(d.Call, DoingThink) {
			break
		}
		if w.Block && d.Text != "" {
			w.Reasoning.write("\n\n")
			w.Block = false
		}
		w.Reasoning.write(d.Text)
		w.Tokens = max(w.Tokens, d.Tokens)
		s.touch(keyOf(a.Path, w.Base, "reasoning"))
	case event.ArgumentsDelta:
		if w.begins(d.Call, DoingArguments) {
			s.arguments(a, d)
		}
	}
	a.Retry = nil
}

// begins records that the model writes a part of kind what in a call, and reports whether the call is this answer's.
func (w *answer) begins(call int, what Doing) bool {
	if call != w.Call || what == DoingArguments && len(w.Calls) == maxWritten {
		return false
	}
	w.Last = what
	return true
}

// saying reports that the answer's reasoning may count as said from now on, or no longer.
func (s *State) saying(a *agent) {
	if w := a.Answer; a.Aloud && w.Reasoning.Len() > 0 && (len(w.Calls) == 0 || w.Text.Len() == 0) {
		s.touch(keyOf(a.Path, w.Base, "reasoning"))
	}
}

func (s *State) arguments(a *agent, d event.ArgumentsDelta) {
	w := a.Answer
	i := slices.IndexFunc(w.Calls, func(c written) bool { return c.ID == d.ID })
	if n := len(w.Calls) - 1; i < 0 || d.ID == "" && w.Calls[n].Name != d.Name {
		i = len(w.Calls)
		s.saying(a)
		w.Calls = append(w.Calls, written{ID: d.ID, Name: d.Name})
	}
	w.Calls[i].Bytes += int64(len(d.Text))
	s.touch(callKey(a.Path, w.Base, w.Calls[i].ID, i))
}

// drop drops an answer's streamed items.
func (s *State) drop(a *agent) {
	if a.Answer == nil {
		return
	}
	for i := range a.Answer.items() {
		s.touch(a.item(i).Key)
	}
	a.Answer = nil
	s.writing = slices.DeleteFunc(s.writing, func(path string) bool { return path == a.Path })
}

// model applies a model call's record.
func (s *State) model(a *agent, r event.Record) {
	switch d := r.Data.(type) {
	case event.ModelCallStart:
		s.drop(a)
		var speaker show.Speaker
		speaker.Note(d)
		a.Aloud = speaker.ThinksAloud()
		a.Retry = nil
		a.Since = r.Time
		a.Answer = &answer{Base: r.Seq, Call: d.Call, Time: r.Time, Purpose: d.Purpose}
		s.writing = append(s.writing, a.Path)
	case event.ModelRetry:
		s.retry(a, r, d)
	case event.TextEnd:
		base := r.Seq
		if a.Answer != nil {
			base = a.Answer.Base
		}
		s.drop(a)
		a.Retry = nil
		s.answered(a, r, base, d.Message)
	case event.ModelCallEnd:
		s.called(a, r, d)
	}
}

// answered adds a complete answer's items.
func (s *State) answered(a *agent, r event.Record, base event.Seq, m llm.Message) {
	for _, c := range s.open(a) { // their ends are lost
		s.change(c.Item).State = ToolInterrupted
	}
	a.Open = nil
	text, calls := valid(m.Text()), m.ToolCalls()
	item := Item{Agent: a.Path, Seq: r.Seq, Time: r.Time}
	if thought := valid(m.Thinking()); thought != "" {
		item.Key = keyOf(a.Path, base, "reasoning")
		item.Kind = KindReasoning
		item.Text = thought
		item.Said = a.Aloud && text == "" && len(calls) > 0
		s.add(item)
		item.Said = false
	}
	if text != "" {
		item.Key = keyOf(a.Path, base, "text")
		item.Kind = KindText
		item.Text = text
		s.add(item)
	}
	item.Kind, item.Text = KindTool, ""
	for i, c := range calls {
		item.Key = callKey(a.Path, base, c.ID, i)
		item.Tool = &Tool{ID: valid(c.ID), Name: c.Name, Title: show.Title(c.Name, json.RawMessage(c.Arguments)), State: ToolQueued}
		a.opened(c.ID, s.add(item), c.Arguments)
	}
}

// called applies a model call's end.
func (s *State) called(a *agent, r event.Record, d event.ModelCallEnd) {
	base := r.Seq
	if a.Answer != nil {
		base = a.Answer.Base
	}
	s.drop(a)
	a.Retry, a.Since = nil, r.Time
	a.Totals.add(d)
	if d.Error == nil && d.Summary == "" {
		a.Context = d.Usage.Input + d.Usage.Output
	}
	rounds := s.totals.Rounds
	if s.totals.add(d); a.Path != "" {
		s.totals.Rounds = rounds
	}
	if d.Partial != "" && d.Error != nil {
		s.add(Item{
			Key:     keyOf(a.Path, base, "text"),
			Kind:    KindText,
			Agent:   a.Path,
			Seq:     r.Seq,
			Time:    r.Time,
			Text:    valid(d.Partial),
			Partial: true,
		})
	}
	if d.Error != nil && !show.Interrupted(*d.Error) { // the end of the work says so
		s.note(r, "error", "model call failed: "+show.Summary(d.Error.Message))
	}
	if text := show.Dropped(d); text != "" && !s.dropped {
		s.dropped = true
		s.note(r, "dropped", text)
	}
	s.note(r, "refusal", show.Refusal(d))
}

// retry records that a model call is tried again. All retries of one call share a notice.
func (s *State) retry(a *agent, r event.Record, d event.ModelRetry) {
	a.Retry, a.Until = &d, r.Time.Add(d.Delay)
	base := r.Seq
	if w := a.Answer; w != nil {
		base = w.Base
		if d.Discard {
			s.drop(a)
			a.Answer = &answer{Base: w.Base, Call: w.Call, Time: w.Time, Purpose: w.Purpose}
			s.writing = append(s.writing, a.Path)
		}
	}
	key := keyOf(a.Path, base, "retry")
	text := show.Retry(d, d.Delay)
	if i, ok := s.index[key]; ok {
		s.items[i].Text = text
		s.items[i].Count++
		s.touch(key)
		return
	}
	s.add(Item{
		Key:    key,
		Kind:   KindNotice,
		Agent:  a.Path,
		Seq:    r.Seq,
		Time:   r.Time,
		Text:   text,
		Notice: r.Kind(),
		Count:  1,
	})
}
