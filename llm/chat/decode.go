package chat

import (
	"bytes"
	"errors"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Decode decodes a whole answer.
func (d *dialect) Decode(body []byte, a *wire.Assembler) error {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return err
	}
	if isError(v) {
		return wire.BodyError(0, v)
	}
	if v.Kind() != '{' {
		return errors.New("the answer is not a JSON object")
	}
	if !v.Get("choices").Exists() {
		// Neither an answer nor an error: return it unchanged.
		a.Part(llm.Opaque{Kind: "response", State: a.State(v)})
		a.Finish(llm.FinishOther, "")
		return nil
	}
	s := d.newStream(a)
	s.whole = true
	if err := s.chunk(v); err != nil {
		return err
	}
	return s.finish()
}

// NewDecoder returns a decoder for a streamed answer.
func (d *dialect) NewDecoder(a *wire.Assembler) wire.Decoder { return d.newStream(a) }

// isError reports whether a body or an event is an error instead of an answer.
func isError(v wire.Value) bool {
	var failed, answer bool
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "error":
			k := m.Value.Kind()
			failed = failed || k == '{' || k == '"' && len(m.Value) > 2
		case "choices":
			answer = true
		case "detail", "message", "msg", "errors":
			failed = failed || !answer && m.Value.Exists() && v.Get("choices") == nil
		}
	}
	return failed
}

// stream decodes an answer's events. A whole answer is a stream with one event.
type stream struct {
	a        *wire.Assembler
	whole    bool // not streamed
	begun    bool
	text     int // the open text part, or -1
	thinking int // the open thinking part, or -1
	member   string
	inline   inline
	details  details
	mistral  bool // the thinking arrived as content parts
	calls    []call
	legacy   int // function_call part, or -1
	refusal  []byte
	finished bool
	raw      string // the finish reason
	usage    llm.Usage
	tier     string // service tier
}

// call is a tool call that is being decoded.
type call struct {
	part  int
	index int64 // the server's, or -1
	id    string
	name  string
	made  bool // the id is made up
}

func (d *dialect) newStream(a *wire.Assembler) *stream {
	s := &stream{a: a, text: -1, thinking: -1, legacy: -1}
	if d.quirks(a.Model).NoTextTools {
		s.inline.state = inlineOff
	}
	return s
}

// Event decodes one stream event.
func (s *stream) Event(ev wire.Event) error {
	data := bytes.TrimSpace(ev.Data)
	if len(data) == 0 {
		return nil
	}
	if string(data) == "[DONE]" {
		return s.finish()
	}
	v, err := wire.ParseJSON(data)
	if err != nil {
		if ev.Cut && s.finished {
			return s.finish() // the answer was already complete
		}
		return err
	}
	if string(ev.Name) == "error" {
		return wire.BodyError(0, v)
	}
	return s.chunk(v)
}

// End finishes a complete answer without [DONE].
func (s *stream) End() {
	if s.finished {
		_ = s.finish()
	}
}

// chunk decodes one JSON object: a stream event or a whole answer.
func (s *stream) chunk(v wire.Value) error {
	var id, model, choices, usage wire.Value
	suspect := false
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "id":
			id = m.Value
		case "model":
			model = m.Value
		case "choices":
			choices = m.Value
		case "usage":
			usage = m.Value
		case "service_tier":
			s.tier = m.Value.Str()
		case "x_groq":
			if u := m.Value.Get("usage"); u.Exists() && !usage.Exists() {
				usage = u
			}
		case "error", "detail", "message", "msg", "errors":
			suspect = true
		}
	}
	if suspect && isError(v) {
		return wire.BodyError(0, v)
	}
	if !s.begun {
		s.begun = true
		s.a.Start(id.Str(), model.Str())
	}
	if usage.Kind() == '{' {
		s.count(usage)
	}
	if choices == nil && usage == nil {
		s.a.Raw("chunk", v)
		return nil
	}
	for it := choices.Elements(); it.Next(); {
		if s.choice(it.Value, v) {
			break
		}
	}
	return nil
}

// choice decodes a choice if it is the first, and reports whether it is.
func (s *stream) choice(v, chunk wire.Value) bool {
	var delta, message, finish wire.Value
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "delta":
			delta = m.Value
		case "message":
			message = m.Value
		case "finish_reason":
			finish = m.Value
		case "index":
			if m.Value.Int() != 0 {
				return false
			}
		}
	}
	// Some servers repeat the whole message with or after the deltas, and some send an empty delta with a whole
	// message.
	if s.whole && hasMembers(message) || !hasMembers(delta) && !s.a.Begun() {
		delta = message
	}
	s.delta(delta, chunk)
	if finish.Exists() {
		if raw := finish.Str(); raw != "" {
			s.raw, s.finished = raw, true
		} else if finish.Kind() == '0' {
			s.raw, s.finished = string(finish), true
		}
	}
	return true
}

func hasMembers(v wire.Value) bool {
	m := v.Members()
	return m.Next()
}

// delta decodes the message or a piece of it.
func (s *stream) delta(v, chunk wire.Value) {
	var content, details, calls, legacy wire.Value
	reasoned := false
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "role":
		case "content":
			content = m.Value
		case "reasoning_content", "reasoning", "thinking":
			if m.Value.Kind() == '"' && len(m.Value) > 2 && !reasoned {
				reasoned = true
				s.flush()
				s.reason(string(m.Key), m.Value.Str())
			}
		case "reasoning_details":
			details = m.Value
		case "tool_calls":
			calls = m.Value
		case "function_call":
			legacy = m.Value
		case "refusal":
			if m.Value.Kind() == '"' && s.a.Hold(len(m.Value)) {
				s.refusal = append(s.refusal, m.Value.Str()...)
			}
		default:
			s.other(m.Key, m.Value)
		}
	}
	if hasElements(details) {
		s.detail(details, reasoned)
	}
	s.content(content)
	for it := calls.Elements(); it.Next() && !s.a.Full(); {
		s.call(it.Value, chunk)
	}
	if legacy.Kind() == '{' {
		s.function(legacy, chunk)
	}
}

func hasElements(v wire.Value) bool {
	it := v.Elements()
	return it.Next()
}

// content decodes text, or a list of parts.
func (s *stream) content(v wire.Value) {
	switch v.Kind() {
	case '"':
		if len(v) > 2 {
			s.write(v.Str())
		}
	case '[':
		for it := v.Elements(); it.Next() && !s.a.Full(); {
			s.contentPart(it.Value)
		}
	}
}

func (s *stream) contentPart(v wire.Value) {
	kind := v.Get("type")
	switch {
	case v.Kind() == '"':
		s.write(v.Str())
	case kind.Is("text"), kind.Is("output_text"):
		s.write(v.Get("text").Str())
	case kind.Is("thinking"):
		s.mistral = true
		thinking := v.Get("thinking")
		if thinking.Kind() == '"' {
			s.reason("thinking", thinking.Str())
		}
		for it := thinking.Elements(); it.Next(); {
			s.reason("thinking", it.Value.Get("text").Str())
		}
	default:
		s.a.Part(llm.Opaque{Kind: kind.Str(), State: s.a.State(v)})
	}
}

// write adds to the text. Thinking at its start is split off.
func (s *stream) write(text string) {
	if s.inline.state != inlineOff && s.a.Hold(len(text)) {
		var thinking string
		thinking, text = s.inline.split(text)
		s.reason("", thinking)
	}
	s.say(text)
}

// flush decodes held text that might have begun a tag.
func (s *stream) flush() {
	thinking, text := s.inline.flush()
	s.reason("", thinking)
	s.say(text)
}

func (s *stream) say(text string) {
	if text == "" {
		return
	}
	if s.text < 0 {
		s.endThinking()
		s.text = s.a.BeginText()
	}
	s.a.Delta(s.text, text)
}

// other stores an unknown message member, unless it is empty.
func (s *stream) other(key []byte, v wire.Value) {
	if v.Kind() == '{' && hasMembers(v) && !blank(v) || v.Kind() == '[' && hasElements(v) {
		data := append([]byte("{"), wire.AppendString(nil, string(key))...)
		data = append(append(append(data, ':'), v...), '}')
		s.a.Part(llm.Opaque{Kind: string(key), State: s.a.State(data)})
	}
}

// blank reports whether all members of an object are empty.
func blank(v wire.Value) bool {
	for m := v.Members(); m.Next(); {
		switch m.Value.Kind() {
		case '"':
			if len(m.Value) > 2 {
				return false
			}
		case '0':
			if m.Value.Float() != 0 {
				return false
			}
		case '{', '[', 't':
			return false
		}
	}
	return true
}
