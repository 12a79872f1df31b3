package wire

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/reins-agent/reins/llm"
)

// tagMap is a request as it was sent, but with tags in the place of its contents.
type tagMap struct {
	tagger
	request *llm.Request
	body    Value
}

// newMaps encodes the request with tags. What has no content to put a tag in is tagged in further
// maps only: results of which an adapter sends the files elsewhere, and empty texts, which most
// adapters leave out. A map is dropped if its tags changed the structure of what is sent, for then
// it would tell nothing of the places in the real request.
func newMaps(d Dialect, r *llm.Request) (maps []*tagMap) {
	sent, ok := encodeWhole(d, r, r.Messages)
	if !ok {
		return nil
	}
	mark := unused(sent)
	for _, t := range []tagger{{mark: mark}, {mark: mark, results: true}, {mark: mark, empties: true}} {
		m := &tagMap{tagger: t, request: r}
		if m.body, ok = encodeWhole(d, r, m.messages(r.Messages)); ok && sameShape(sent, m.body) {
			maps = append(maps, m)
		}
	}
	return maps
}

func encodeWhole(d Dialect, r *llm.Request, messages []llm.Message) (Value, bool) {
	plain := *r
	plain.Messages, plain.Cache = messages, nil
	call, err := d.Encode(&plain)
	if err != nil {
		return nil, false
	}
	v, err := ParseJSON(call.Body.Bytes())
	return v, err == nil
}

// unused is a word that does not occur in the body.
func unused(body []byte) string {
	for n := 0; ; n++ {
		if mark := "Qtag" + strconv.Itoa(n) + "q"; !bytes.Contains(body, []byte(mark)) {
			return mark
		}
	}
}

// structural names the members that lead to items and to parts of items.
func structural(key string) bool {
	switch key {
	case "messages", "input", "contents", "system", "systemInstruction", "content", "parts", "output", "tool_calls", "functionResponse":
		return true
	}
	return false
}

// sameShape reports whether all lists of items and parts in a are lists of as many in b.
func sameShape(a, b Value) bool {
	switch a.Kind() {
	case '[':
		if b.Kind() != '[' {
			return false
		}
		x, y := a.Elements(), b.Elements()
		for x.Next() {
			if !y.Next() || !sameShape(x.Value, y.Value) {
				return false
			}
		}
		return !y.Next()
	case '{':
		for m := a.Members(); m.Next(); {
			if structural(string(m.Key)) && !sameShape(m.Value, b.Get(string(m.Key))) {
				return false
			}
		}
	}
	return true
}

// tagger makes messages whose parts carry tags.
type tagger struct {
	mark    string
	results bool       // results get a text of their own
	empties bool       // empty texts get tags
	places  []llm.Item // by number
}

// tag makes the tag of a place: the mark, a number and a letter to end it.
func (t *tagger) tag(at llm.Item) string {
	t.places = append(t.places, at)
	return t.mark + strconv.Itoa(len(t.places)-1) + "z"
}

// tags lists the places whose tags stand in a value.
func (t *tagger) tags(v Value) (found []llm.Item) {
	for rest := []byte(v); ; {
		i := bytes.Index(rest, []byte(t.mark))
		if i < 0 {
			return found
		}
		rest = rest[i+len(t.mark):]
		digits, _, _ := bytes.Cut(rest[:min(len(rest), 12)], []byte("z"))
		if n, err := strconv.Atoi(string(digits)); err == nil && n >= 0 && n < len(t.places) {
			found = append(found, t.places[n])
		}
	}
}

func (t *tagger) messages(messages []llm.Message) []llm.Message {
	out := make([]llm.Message, len(messages))
	for i, m := range messages {
		out[i] = llm.Message{Role: m.Role, Parts: make([]llm.Part, len(m.Parts))}
		for j, p := range m.Parts {
			out[i].Parts[j] = t.part(p, llm.Item{Message: i, Part: j, Inner: -1})
		}
	}
	return out
}

// part is p with a tag in the place of its content. Whatever decides on how it is sent stays.
func (t *tagger) part(p llm.Part, at llm.Item) llm.Part {
	tag := t.tag(at)
	switch p := p.(type) {
	case llm.Text:
		p.Text, p.State = t.text(p.Text, tag), tagState(p.State, tag)
		return p
	case llm.Thinking:
		p.Text, p.State = t.text(p.Text, tag), tagState(p.State, tag)
		if p.Redacted && !bytes.Contains(p.State.Data, []byte(tag)) && len(p.State.Data) > 0 {
			p.State.Data = []byte(tag)
		}
		return p
	case llm.ToolCall:
		p.State = tagState(p.State, tag)
		p.Arguments = `{"tag":"` + tag + `"}`
		return p
	case llm.ToolResult:
		return t.result(p, at, tag)
	case llm.Opaque:
		p.State = tagState(p.State, tag)
		return p
	case llm.Image:
		p.Media = tagMedia(p.Media, tag)
		return p
	case llm.Audio:
		p.Media = tagMedia(p.Media, tag)
		return p
	case llm.Document:
		p.Media = tagMedia(p.Media, tag)
		return p
	}
	return p
}

func (t *tagger) text(text, tag string) string {
	if text == "" && !t.empties {
		return ""
	}
	return tag
}

// result tags the parts of a result, and one that says nothing by its first text.
func (t *tagger) result(r llm.ToolResult, at llm.Item, tag string) llm.Part {
	parts := make([]llm.Part, len(r.Parts), len(r.Parts)+1)
	for k, p := range r.Parts {
		at.Inner = k
		parts[k] = t.part(p, at)
	}
	silent := !slices.ContainsFunc(parts, func(p llm.Part) bool {
		text, ok := p.(llm.Text)
		return !ok || text.Text != "" || len(text.State.Data) > 0
	})
	switch {
	case t.results || len(parts) == 0:
		parts = append(parts, llm.Text{Text: tag})
	case silent:
		parts[0] = llm.Text{Text: tag}
	}
	r.Parts = parts
	return r
}

// tagState adds a member to state that is an object; other state stays as it is.
func tagState(s llm.State, tag string) llm.State {
	v, err := ParseJSON(s.Data)
	if err != nil || v.Kind() != '{' {
		return s
	}
	e := Encoder{Buf: bytes.Clone(v[:len(v)-1])}
	e.Key("tag")
	e.Str(tag)
	e.Close('}')
	s.Data = e.Buf
	return s
}

// tagMedia is a reference to a file of the same type.
func tagMedia(m llm.Media, tag string) llm.Media {
	if in, err := Inline(m); err == nil {
		m.MIME = in.MIME
	}
	return llm.Media{MIME: m.MIME, URL: "https://" + tag + "/", Name: m.Name}
}
