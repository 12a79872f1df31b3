package event

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Query selects sessions and the text to find in them.
type Query struct {
	Text string          // ignoring case
	Dir  string          // only sessions in this directory
	Tag  string          // only sessions with this tag
	Only func(Meta) bool // only sessions for which it returns true
	// PerSession and Limit limit the hits in a session and in total. 0 means no limit.
	PerSession int
	Limit      int
}

// Matches reports whether the query selects a session.
func (q Query) Matches(m Meta) bool {
	return (q.Dir == "" || m.Dir == q.Dir) && (q.Tag == "" || slices.Contains(m.Tags, q.Tag)) && (q.Only == nil || q.Only(m))
}

// Hit is a match.
type Hit struct {
	Session Meta `json:"session"`
	// Where is "title", "prompt", "summary" or "tag" for a session description. For a record it is "user", "assistant",
	// or "arguments" or "output" for a tool call.
	Where string `json:"where"`
	// Seq, Kind and Agent identify the record.
	Seq   Seq    `json:"seq,omitempty"`
	Kind  Kind   `json:"kind,omitempty"`
	Agent string `json:"agent,omitempty"`
	Snippet
}

// Search finds text in session descriptions and in messages from the user, the model and tools. It yields the most
// recently written session first, and at most one hit per record.
//
// If something cannot be read, Search yields an error with the session and continues. It ends when ctx is done.
func Search(ctx context.Context, s Store, q Query) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		if q.Text == "" {
			yield(Hit{}, errors.New("the text to search for is empty"))
			return
		}
		found := search{
			ctx:    ctx,
			store:  s,
			query:  q,
			needle: newNeedle(q.Text),
			yield:  yield,
		}
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

type search struct {
	ctx     context.Context
	store   Store
	query   Query
	needle  needle
	yield   func(Hit, error) bool
	total   int
	stopped bool // by the caller

	// Current session:
	meta   Meta
	hits   int
	prompt *Hit // not reported if the first input matches too
}

// session searches a session, and reports whether to continue with the next.
func (s *search) session(m Meta) bool {
	s.meta = m
	s.hits = 0
	s.prompt = nil
	if !s.description() {
		return s.more()
	}
	for r, err := range s.store.Load(s.ctx, m.ID, 0) {
		switch {
		case errors.Is(err, ErrNotFound): // it was just deleted
		case err != nil:
			if !s.yield(Hit{Session: m}, err) || s.ctx.Err() != nil {
				return false
			}
		case !s.record(r):
			return s.more()
		}
	}
	if s.prompt != nil {
		s.hit(*s.prompt)
	}
	return s.more()
}

func (s *search) more() bool {
	return !s.stopped && (s.query.Limit <= 0 || s.total < s.query.Limit)
}

// hit reports a hit to the caller, and reports whether to continue with the session.
func (s *search) hit(h Hit) bool {
	s.hits++
	s.total++
	s.stopped = !s.yield(h, nil)
	return s.more() && (s.query.PerSession <= 0 || s.hits < s.query.PerSession)
}

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
		s.prompt = &h
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

func (s *search) record(r Record) bool {
	prompt := s.prompt
	_, input := r.Data.(UserInput)
	if input {
		s.prompt = nil
	}
	for _, p := range passages(r.Data) {
		if h, ok := s.find(p); ok {
			h.Seq = r.Seq
			h.Kind = r.Kind()
			h.Agent = r.Agent
			return s.hit(h)
		}
	}
	if input && prompt != nil {
		return s.hit(*prompt)
	}
	return true
}

type passage struct{ where, text string }

// passages returns the texts to search in a record.
func passages(d Data) []passage {
	switch d := d.(type) {
	case UserInput:
		return []passage{{"user", d.Message.Text()}}
	case SteeringInjected:
		return []passage{{"user", d.Message.Text()}}
	case TextEnd:
		return []passage{{"assistant", d.Message.Text()}}
	case ToolCallStart:
		var args any
		dec := json.NewDecoder(bytes.NewReader(d.Arguments))
		dec.UseNumber()
		_ = dec.Decode(&args)
		return values(nil, args)
	case ToolCallEnd:
		out := []passage{{"output", d.Model}}
		if d.Error != nil {
			out = append(out, passage{"output", d.Error.Message})
		}
		return out
	}
	return nil
}

// values appends the strings and numbers in decoded JSON.
func values(out []passage, v any) []passage {
	switch v := v.(type) {
	case string:
		return append(out, passage{"arguments", v})
	case json.Number:
		return append(out, passage{"arguments", v.String()})
	case []any:
		for _, e := range v {
			out = values(out, e)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = values(out, v[name])
		}
	}
	return out
}

// Snippet is a match and some text around it on one line. White space is collapsed to single spaces.
type Snippet struct {
	Text string `json:"snippet"`
	// Start and End are the byte offsets of the match in Text.
	Start int `json:"start"`
	End   int `json:"end"`
}

// around is how many characters a snippet has before and after the match.
const around = 48

func newSnippet(text string, start, end int) Snippet {
	from, to := start, end
	for range around {
		_, n := utf8.DecodeLastRuneInString(text[:from])
		from -= n
	}
	for range around {
		_, n := utf8.DecodeRuneInString(text[to:])
		to += n
	}
	before := strings.TrimLeft(oneSpace(text[from:start]), " ")
	match := oneSpace(text[start:end])
	after := strings.TrimRight(oneSpace(text[end:to]), " ")
	if from > 0 {
		before = "…" + strings.TrimLeftFunc(before, combines)
	}
	if to < len(text) {
		after += "…"
	}
	return Snippet{before + match + after, len(before), len(before) + len(match)}
}

// combines reports whether a character combines with the one before it: an accent or a zero-width joiner.
func combines(r rune) bool { return unicode.Is(unicode.M, r) || r == '\u200d' }

// oneSpace replaces each run of white space by a space, and invalid UTF-8 by U+FFFD.
func oneSpace(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			if !space {
				b.WriteByte(' ')
			}
			space = true
			continue
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// needle is a text to find, folded.
type needle []rune

func newNeedle(text string) needle {
	var n needle
	for _, r := range text {
		n = append(n, fold(r))
	}
	return n
}

// fold returns the smallest rune that differs from r only in case.
func fold(r rune) rune {
	switch {
	case r >= utf8.RuneSelf:
		return foldWide(r)
	case 'a' <= r && r <= 'z':
		return r - 'a' + 'A' // the smallest form
	}
	return r
}

func foldWide(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// index returns the first match as byte offsets, or -1.
func (n needle) index(text string) (start, end int) {
	for i, r := range text {
		if fold(r) != n[0] {
			continue
		}
		if end, ok := n.matches(text, i); ok {
			return i, end
		}
	}
	return -1, -1
}

// matches returns where a match that begins at start ends.
func (n needle) matches(text string, start int) (end int, ok bool) {
	end = start
	for _, want := range n {
		r, size := utf8.DecodeRuneInString(text[end:])
		if size == 0 || fold(r) != want {
			return 0, false
		}
		end += size
	}
	return end, true
}
