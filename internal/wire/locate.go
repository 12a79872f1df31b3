package wire

import (
	"bytes"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/llm"
)

var (
	idIn = lazy.Regexp(`[A-Za-z0-9_|][A-Za-z0-9_|.:\-]{3,199}`)
	// pathIn matches paths as providers write them: messages.3.content.0.image, messages.[3].role,
	// input[5].content[1], contents[3].parts[1].inline_data, #/messages/3/content and "messages", 3, "content".
	pathIn = lazy.Regexp(`\b(?:messages|input|contents)(?:\.?\[\d{1,9}\]|[./]\d{1,9}\b|['"\\]+, ?\d{1,9}\b)` +
		`(?:\.?\[\d{1,9}\]|[./]\w{1,64}|['"\\]*, ?['"\\]*\w{1,64})*`)
	stepIn = lazy.Regexp(`\w+`)
	// fileIn matches errors about a file's content, but not errors from models that accept no files.
	fileIn = lazy.Regexp(`(?i)(?:could not|unable to|failed to|cannot) (?:process|decode|load|identify|fetch)\b[^.]{0,30} (?:image|url)` +
		`|(?:invalid|unsupported)[_ ]?(?:image|file)|image is not valid|not represent a valid image` +
		`|image (?:exceeds|dimensions|does not match|format is not supported|input is not supported)` +
		`|image(?: is|_)? ?too[_ ]large|image_parse_error|image\.source`)
)

// locate returns the part of r that the provider refused, or nil if the error does not tell. The
// error may name an id, or a path such as "messages.5.content.0". If it is about a file and names
// none, that is the newest file.
func locate(d Dialect, r *llm.Request, e *llm.Error) *llm.Item {
	switch e.Kind {
	case llm.ErrInvalidRequest, llm.ErrContextLength, llm.ErrNotFound:
	default:
		return nil
	}
	const limit = 16 << 10
	message, body := e.Message[:min(len(e.Message), limit)], string(e.Body[:min(len(e.Body), limit)])
	at := byID(r, message)
	if at == nil {
		at = byPath(d, r, message+"\n"+body)
	}
	if !fileIn().MatchString(message) && !fileIn().MatchString(body) {
		return at
	}
	var newest, within *llm.Item
	rewrite(r.Messages, func(file llm.Item, p llm.Part) llm.Part {
		switch p.(type) {
		case llm.Image, llm.Audio, llm.Document:
			newest = &file
			if at != nil && file.Message == at.Message && (at.Part < 0 || file.Part == at.Part) {
				within = &file
			}
		}
		return p
	})
	if within != nil {
		return within
	}
	return newest
}

// byID returns the newest part whose id is in the message. An id may stand for a call and for its result.
func byID(r *llm.Request, message string) (found *llm.Item) {
	ids := make(map[string]bool)
	for _, word := range idIn().FindAllString(message, 200) {
		ids[strings.TrimRight(word, ".:-")] = true
	}
	wantResult := containsAny(strings.ToLower(message), []string{
		"no tool call found", "unexpected `tool_use_id`", "single result", "tool_result` block must have"})
	for i, m := range r.Messages {
		for j, p := range m.Parts {
			_, isResult := p.(llm.ToolResult)
			if hasID(p, ids) && (found == nil || isResult == wantResult) {
				found = &llm.Item{Message: i, Part: j, Inner: -1}
			}
		}
	}
	return found
}

func hasID(p llm.Part, ids map[string]bool) bool {
	var state llm.State
	switch p := p.(type) {
	case llm.ToolResult:
		return ids[p.ID]
	case llm.ToolCall:
		if ids[p.ID] {
			return true
		}
		state = p.State
	case llm.Text:
		state = p.State
	case llm.Thinking:
		state = p.State
	case llm.Opaque:
		state = p.State
	}
	v, _ := ParseJSON(state.Data)
	return ids[v.Get("id").Str()] || ids[v.Get("message", "id").Str()]
}

// byPath returns the part that the first path in the text leads to.
func byPath(d Dialect, r *llm.Request, text string) *llm.Item {
	for _, found := range pathIn().FindAllString(text, 8) {
		l := locator{dialect: d, request: r, path: stepIn().FindAllString(found, 32)}
		if l.sent = l.encode(r.Messages); l.sent != nil {
			if at := l.origin(); at != nil {
				return at
			}
		}
	}
	return nil
}

// locator finds the request part that a value in its encoded form comes from. Adapters join, split and move messages.
// So it changes parts, encodes the request again, and compares the value.
type locator struct {
	dialect Dialect
	request *llm.Request
	path    []string
	sent    Value
}

// encode returns the value at the path in the encoded messages, or nil.
func (l *locator) encode(messages []llm.Message) Value {
	r := *l.request
	r.Messages, r.Cache = messages, nil
	call, err := l.dialect.Encode(&r)
	if err != nil {
		return nil
	}
	v, _ := ParseJSON(call.Body.Bytes())
	return follow(v, l.path)
}

// follow returns the last list element on the path, or nil if the path leads nowhere. It ignores names
// that are not members, because Anthropic's paths also contain the types of blocks.
func follow(v Value, path []string) (at Value) {
	for _, step := range path {
		if n, err := strconv.Atoi(step); err == nil {
			it := v.Elements()
			for ; it.Next() && n > 0; n-- {
			}
			if n > 0 || it.Value == nil {
				return nil
			}
			v, at = it.Value, it.Value
		} else if next := member(v, step); next != nil {
			v = next
		}
	}
	return at
}

// member returns the member with this name, in snake_case or in camelCase: Google accepts both.
func member(v Value, name string) Value {
	for m := v.Members(); m.Next(); {
		if strings.EqualFold(strings.ReplaceAll(string(m.Key), "_", ""), strings.ReplaceAll(name, "_", "")) {
			return m.Value
		}
	}
	return nil
}

// origin returns the newest message that the value comes from, because the provider accepted the earlier messages, and
// its part if there is only one.
func (l *locator) origin() *llm.Item {
	after := sort.Search(len(l.request.Messages), func(i int) bool {
		return !l.affected(func(at llm.Item) bool { return at.Message >= i })
	})
	if after == 0 {
		return nil
	}
	at := &llm.Item{Message: after - 1, Inner: -1}
	parts := l.request.Messages[at.Message].Parts
	at.Part = only(len(parts), func(j int) bool {
		return l.affected(func(other llm.Item) bool { return other.Message == at.Message && other.Part == j })
	})
	if at.Part >= 0 {
		if result, ok := parts[at.Part].(llm.ToolResult); ok {
			at.Inner = only(len(result.Parts), func(k int) bool {
				return l.affected(func(other llm.Item) bool { return other == llm.Item{Message: at.Message, Part: at.Part, Inner: k} })
			})
		}
	}
	return at
}

// only returns the one index below n for which f is true, or -1.
func only(n int, f func(int) bool) int {
	found := -1
	for i := range n {
		switch {
		case !f(i):
		case found >= 0:
			return -1
		default:
			found = i
		}
	}
	return found
}

// affected reports whether changing these parts changes the value.
func (l *locator) affected(change func(llm.Item) bool) bool {
	v := l.encode(rewrite(l.request.Messages, func(at llm.Item, p llm.Part) llm.Part {
		if change(at) {
			return changed(p)
		}
		return p
	}))
	return v != nil && !bytes.Equal(v, l.sent)
}

// rewrite returns the messages with every part replaced by what f returns for it.
func rewrite(messages []llm.Message, f func(at llm.Item, p llm.Part) llm.Part) []llm.Message {
	messages = slices.Clone(messages)
	for i, m := range messages {
		messages[i].Parts = slices.Clone(m.Parts)
		for j, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				r.Parts = slices.Clone(r.Parts)
				for k, inner := range r.Parts {
					r.Parts[k] = f(llm.Item{Message: i, Part: j, Inner: k}, inner)
				}
				p = r
			}
			messages[i].Parts[j] = f(llm.Item{Message: i, Part: j, Inner: -1}, p)
		}
	}
	return messages
}

// changed returns a part with other content that is sent in the same form.
func changed(p llm.Part) llm.Part {
	switch p := p.(type) {
	case llm.Text:
		p.Text, p.State = changedText(p.Text), changedState(p.State)
		return p
	case llm.Thinking:
		p.Text, p.State = changedText(p.Text), changedState(p.State)
		return p
	case llm.Opaque:
		p.State = changedState(p.State)
		return p
	case llm.ToolCall:
		p.Arguments = `{"~":0}`
		return p
	case llm.ToolResult:
		if len(p.Parts) == 0 {
			p.Parts = []llm.Part{llm.Text{Text: "~"}}
		}
		return p
	case llm.Image:
		p.Media = changedMedia(p.Media)
		return p
	case llm.Audio:
		p.Media = changedMedia(p.Media)
		return p
	case llm.Document:
		p.Media = changedMedia(p.Media)
		return p
	}
	return p
}

// changedText keeps empty text empty, because adapters omit it.
func changedText(s string) string {
	if s == "" {
		return ""
	}
	return s + "~"
}

func changedState(s llm.State) llm.State {
	if v, err := ParseJSON(s.Data); err == nil && v.Kind() == '{' {
		s.Data = bytes.Replace(v, []byte("{"), []byte(`{"~":0,`), 1)
		s.Data = bytes.Replace(s.Data, []byte(`0,}`), []byte(`0}`), 1)
	}
	return s
}

func changedMedia(m llm.Media) llm.Media {
	if in, err := Inline(m); err == nil {
		m = in
	}
	if m.Data != nil {
		m.Data = append(slices.Clip(m.Data), '~')
	} else {
		m.URL += "~"
	}
	return m
}
