package gemini

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Decode reads a whole answer: one response, or the array of responses that streamGenerateContent returns
// without alt=sse.
func (d dialect) Decode(body []byte, a *wire.Assembler) error {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return err
	}
	dec := newDecoder(a)
	if err := dec.answer(v); err != nil {
		return err
	}
	if v.Kind() == '{' && dec.answered {
		dec.finished = true // a whole answer may have no finish reason
	}
	dec.End()
	return nil
}

func (dialect) NewDecoder(a *wire.Assembler) wire.Decoder { return newDecoder(a) }

// decoder reads the responses in one answer. Some models send a finish reason with every response, so only the end of
// the stream ends the answer.
type decoder struct {
	a        *wire.Assembler
	open     int  // the open text or thought, or -1
	thought  bool // the open part is a thought
	streamed *streamedCall
	calls    int
	ids      map[string]bool
	idStem   string
	usage    []byte
	searches int64
	finish   string
	blocked  bool
	finished bool
	answered bool // there was a candidate
}

func newDecoder(a *wire.Assembler) *decoder { return &decoder{a: a, open: -1} }

func (d *decoder) Event(ev wire.Event) error {
	if string(ev.Data) == "[DONE]" {
		return nil
	}
	v, err := wire.ParseJSON(ev.Data)
	if err != nil {
		return err
	}
	return d.answer(v)
}

// Usage returns the last response's counts.
func (d *decoder) Usage() (u llm.Usage, final bool) {
	if len(d.usage) == 0 {
		return u, false
	}
	return d.counts(), d.finished
}

// counts returns the counts so far.
func (d *decoder) counts() llm.Usage {
	u := readUsage(d.usage)
	u.Searches = d.searches
	return u
}

// End finishes the answer if there was a finish reason and no call is incomplete.
func (d *decoder) End() {
	if !d.finished {
		return
	}
	reason := finishReason(d.finish)
	switch {
	case d.blocked:
		reason = llm.FinishContentFilter
	case reason == llm.FinishStop && d.streamed != nil:
		return
	case reason == llm.FinishStop && d.calls > 0:
		reason = llm.FinishToolCalls
	}
	if len(d.usage) > 0 {
		d.a.Usage(d.counts())
	}
	d.a.Finish(reason, d.finish)
}

func (d *decoder) answer(v wire.Value) error {
	switch v.Kind() {
	case '{':
		return d.response(v)
	case '[':
		for it := v.Elements(); it.Next() && !d.a.Full(); {
			if it.Value.Kind() != '{' {
				return errors.New("the response is not an array of objects")
			}
			if err := d.response(it.Value); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("the response is not a JSON object")
}

func (d *decoder) response(v wire.Value) error {
	var candidates, id, model, feedback wire.Value
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "candidates":
			candidates = m.Value
		case "usageMetadata":
			if m.Value.Kind() == '{' {
				d.usage = append(d.usage[:0], m.Value...)
			}
		case "responseId":
			id = m.Value
		case "modelVersion":
			model = m.Value
		case "promptFeedback":
			feedback = m.Value
		case "error":
			if m.Value.Exists() {
				return wire.BodyError(0, v)
			}
		case "createTime":
		default:
			d.a.Raw(string(m.Key), m.Value)
		}
	}
	d.start(id, model)
	if reason := feedback.Get("blockReason"); reason.Exists() && !candidates.Exists() {
		d.finish = name(reason)
		d.blocked = true
		d.finished = true
		d.a.Raw("promptFeedback", feedback)
	}
	for it := candidates.Elements(); it.Next(); {
		if it.Value.Get("index").Int() == 0 {
			return d.candidate(it.Value)
		}
	}
	return nil
}

// start sets the id and model, which later responses repeat.
func (d *decoder) start(id, model wire.Value) {
	if r := d.a.Response(); r.ID == "" || r.Model == "" {
		d.a.Start(id.Str(), model.Str())
	}
}

func (d *decoder) candidate(v wire.Value) error {
	d.answered = true
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "content":
			for it := m.Value.Get("parts").Elements(); it.Next() && !d.a.Full(); {
				if err := d.part(it.Value); err != nil {
					return err
				}
			}
		case "finishReason":
			if reason := name(m.Value); m.Value.Exists() && reason != "0" && reason != "FINISH_REASON_UNSPECIFIED" {
				d.finish, d.finished = reason, true
			}
		case "index", "safetyRatings", "avgLogprobs", "tokenCount":
		case "groundingMetadata":
			n := int64(0)
			for it := m.Value.Get("webSearchQueries").Elements(); it.Next(); {
				n++
			}
			d.searches = max(d.searches, n) // later responses repeat it
			d.a.Raw(string(m.Key), m.Value)
		default:
			d.a.Raw(string(m.Key), m.Value)
		}
	}
	return nil
}

// part reads one content part.
func (d *decoder) part(v wire.Value) error {
	var text, sig, call, data wire.Value
	thought, other := false, false
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "text":
			text = m.Value
		case "thought":
			thought = m.Value.Bool()
		case "thoughtSignature":
			sig = m.Value
		case "functionCall":
			call = m.Value
		case "inlineData":
			data = m.Value
		default:
			other = true
		}
	}
	switch {
	case call.Kind() == '{':
		d.close()
		return d.call(call, sig)
	case other || text == nil && (sig != nil || thought || data != nil):
		d.close()
		d.whole(v, data, other || sig != nil || thought)
	case text.Kind() == '"':
		d.text(text, thought, sig)
	}
	return nil
}

// text appends to the open part. If the kind changes or there is a signature, it opens another.
func (d *decoder) text(text wire.Value, thought bool, sig wire.Value) {
	if len(text) == len(`""`) && sig == nil {
		return
	}
	if d.open >= 0 && (d.thought != thought || sig != nil) {
		d.close()
	}
	if d.open < 0 {
		d.thought = thought
		if thought {
			d.open = d.a.BeginThinking()
		} else {
			d.open = d.a.BeginText()
		}
	}
	d.a.Delta(d.open, text.Str())
	if sig != nil {
		d.a.SetState(d.open, d.a.State([]byte(sig.Str())))
		d.close()
	}
}

func (d *decoder) close() {
	if d.open >= 0 {
		d.a.End(d.open)
		d.open = -1
	}
}

// whole adds a part that is not text. A file becomes an image, audio or document, unless keep is set because it
// must be sent back whole.
func (d *decoder) whole(v, data wire.Value, keep bool) {
	if !keep {
		if p, ok := wire.GoogleMedia(data); ok {
			d.a.Part(p)
			return
		}
	}
	d.a.Part(llm.Opaque{Kind: kind(v), State: d.a.State(v)})
}

// kind returns a part's name: its first member that is not about thoughts.
func kind(v wire.Value) string {
	found := ""
	for m := v.Members(); m.Next(); {
		switch key := string(m.Key); {
		case key != "thought" && key != "thoughtSignature" && key != "thought_signature":
			return key
		case found == "":
			found = key
		}
	}
	return found
}

func (d *decoder) call(v, sig wire.Value) error {
	if v.Get("willContinue").Bool() || d.streamed != nil && v.Get("name") == nil {
		return d.streamedCall(v, sig)
	}
	d.endStreamed()
	id := v.Get("id").Str()
	if id != "" && d.repeated(id) {
		return nil
	}
	args := v.Get("args")
	if args.Kind() != '{' {
		args = wire.Value("{}")
	}
	i := d.beginCall(id, v.Get("name").Str(), sig)
	d.a.Delta(i, string(args))
	d.a.End(i)
	return nil
}

// repeated reports whether there was a call with this id: a repeated event must not run a tool twice.
func (d *decoder) repeated(id string) bool {
	if d.ids[id] {
		return true
	}
	if d.ids == nil {
		d.ids = make(map[string]bool)
	}
	d.ids[id] = true
	return false
}

func (d *decoder) beginCall(id, name string, sig wire.Value) int {
	if id == "" {
		id = d.newID()
	}
	d.calls++
	i := d.a.BeginCall(id, name, false)
	if sig != nil {
		d.a.SetState(i, d.a.State([]byte(sig.Str())))
	}
	return i
}

// newID returns an id that is unique in the conversation and valid for other providers.
func (d *decoder) newID() string {
	if d.idStem == "" {
		d.idStem = d.a.Response().ID
		if !usable(d.idStem) {
			var b [9]byte
			rand.Read(b[:])
			d.idStem = hex.EncodeToString(b[:])
		}
	}
	return callIDPrefix + d.idStem + "-" + strconv.Itoa(d.calls)
}

// usable reports whether every provider accepts an ID's characters and length.
func usable(id string) bool {
	for _, c := range []byte(id) {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return id != "" && len(id) <= 40
}
