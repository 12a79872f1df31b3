package event

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
)

// Query says what to search for, and in which sessions.
type Query struct {
	Text string          // upper and lower case are the same
	Dir  string          // only the sessions of this directory
	Tag  string          // only those with this tag
	Only func(Meta) bool // only those that it reports true for, if it is not nil
	// PerSession and Limit bound the hits, of each session and altogether; 0 is no bound.
	PerSession int
	Limit      int
}

// Matches reports whether a session is one of those to search in.
func (q Query) Matches(m Meta) bool {
	return (q.Dir == "" || m.Dir == q.Dir) && (q.Tag == "" || slices.Contains(m.Tags, q.Tag)) && (q.Only == nil || q.Only(m))
}

// Hit is a place where the text was found.
type Hit struct {
	Session Meta `json:"session"`
	// Where is what holds the text: "title", "prompt", "summary" or "tag" of the session, or in a
	// record what the "user" or the "assistant" said, the "arguments" of a tool call or the
	// "output" of one, as the model saw it.
	Where string `json:"where"`
	// Seq, Kind and Agent are those of the record, if it is one.
	Seq   Seq    `json:"seq,omitempty"`
	Kind  Kind   `json:"kind,omitempty"`
	Agent string `json:"agent,omitempty"`
	Snippet
}

// Search looks for a text in what is known of sessions and in what was said in them: by the user,
// the model and the tools. The session that was written last comes first, and in it the description
// and then the records in their order. Of several matches in one text the first is told.
//
// What cannot be read comes as an error with the session, for the caller to go on behind it or to
// stop. Only the end of ctx is the end of the iteration.
func Search(ctx context.Context, s Store, q Query) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		if q.Text == "" {
			yield(Hit{}, errors.New("there is no text to search for"))
			return
		}
		found := search{ctx: ctx, store: s, query: q, needle: newNeedle(q.Text), yield: yield}
		for m, err := range s.List(ctx) {
			if err != nil {
				if !yield(Hit{Session: m}, err) || ctx.Err() != nil {
					return
				}
				continue
			}
			if q.Matches(m) && !found.session(m) {
				return
			}
		}
	}
}

// search is a search on its way.
type search struct {
	ctx    context.Context
	store  Store
	query  Query
	needle needle
	yield  func(Hit, error) bool
	total  int // hits so far

	// Of the session that is searched:
	meta  Meta
	hits  int
	asked *Hit // in the prompt, until the input that it repeats was looked at
}

// session searches one session, and reports whether to go on with the next.
func (s *search) session(m Meta) bool {
	s.meta, s.hits, s.asked = m, 0, nil
	if !s.description() {
		return s.goesOn()
	}
	for r, err := range s.store.Load(s.ctx, m.ID, 0) {
		switch {
		case errors.Is(err, ErrNotFound): // deleted meanwhile
		case err != nil:
			if !s.yield(Hit{Session: m}, err) || s.ctx.Err() != nil {
				return false
			}
		case !s.record(r):
			return s.goesOn()
		}
	}
	if s.asked != nil {
		s.hit(*s.asked)
	}
	return s.goesOn()
}

// stopped is the total of a search whose caller wants no more.
const stopped = -1

func (s *search) goesOn() bool {
	return s.total != stopped && (s.query.Limit <= 0 || s.total < s.query.Limit)
}

// hit tells of a hit, and reports whether the session may have more.
func (s *search) hit(h Hit) bool {
	s.hits++
	s.total++
	if !s.yield(h, nil) {
		s.total = stopped
	}
	return s.goesOn() && (s.query.PerSession <= 0 || s.hits < s.query.PerSession)
}

// description searches what is known of the session.
func (s *search) description() bool {
	texts := []passage{{"title", s.meta.Title}, {"summary", s.meta.Summary}}
	for _, tag := range s.meta.Tags {
		texts = append(texts, passage{"tag", tag})
	}
	for _, t := range texts {
		if h, ok := s.find(t); ok && !s.hit(h) {
			return false
		}
	}
	if h, ok := s.find(passage{"prompt", s.meta.Prompt}); ok {
		s.asked = &h
	}
	return true
}

func (s *search) find(p passage) (Hit, bool) {
	start, end := s.needle.index(p.text)
	if start < 0 {
		return Hit{}, false
	}
	return Hit{Session: s.meta, Where: p.where, Snippet: newSnippet(p.text, start, end)}, true
}

// record searches a record. The first input repeats the prompt, so only one of them is told.
func (s *search) record(r Record) bool {
	prompt := s.asked
	_, input := r.Data.(UserInput)
	if input {
		s.asked = nil
	}
	for _, p := range said(r.Data) {
		h, ok := s.find(p)
		if !ok {
			continue
		}
		h.Seq, h.Kind, h.Agent = r.Seq, r.Kind(), r.Agent
		return s.hit(h) // one of a record is enough
	}
	if input && prompt != nil {
		return s.hit(*prompt)
	}
	return true
}

// passage is a text that is searched.
type passage struct{ where, text string }

// said is what somebody said in a record.
func said(d Data) []passage {
	switch d := d.(type) {
	case UserInput:
		return []passage{{"user", d.Message.Text()}}
	case SteeringInjected:
		return []passage{{"user", d.Message.Text()}}
	case TextEnd:
		return []passage{{"assistant", d.Message.Text()}}
	case ToolCallStart:
		var out []passage
		for _, text := range texts(d.Arguments) {
			out = append(out, passage{"arguments", text})
		}
		return out
	case ToolCallEnd:
		out := []passage{{"output", d.Model}}
		if d.Error != nil {
			out = append(out, passage{"output", d.Error.Message})
		}
		return out
	}
	return nil
}

// texts are the strings and numbers in a JSON value, in their order, as they are without escapes.
// The names of members are not among them.
func texts(raw json.RawMessage) []string {
	var out []string
	var objects []bool // which of the values that are open are objects
	name := false      // a name comes next, or the end of an object
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			return out
		}
		isName := name
		switch t := t.(type) {
		case json.Delim:
			isName = false
			switch t {
			case '{', '[':
				objects = append(objects, t == '{')
			default:
				objects = objects[:len(objects)-1]
			}
		case string:
			if !isName {
				out = append(out, t)
			}
		case json.Number:
			out = append(out, t.String())
		}
		name = !isName && len(objects) > 0 && objects[len(objects)-1]
	}
}
