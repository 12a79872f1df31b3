package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/reins-agent/reins/tool"
)

// DecodeRecord reads a record like UnmarshalJSON does, and keeps nothing of b. It is for those who
// read many: what MarshalJSON wrote it does not look at again and again, as encoding/json would.
func DecodeRecord(b []byte) (Record, error) {
	if r, kind, raw, ok := envelope(b); ok {
		data, err := decodeOnce(kind, raw)
		if err == nil {
			r.Data = data
			return r, nil
		}
	}
	var r Record
	err := r.UnmarshalJSON(b) // also for the sake of its errors
	return r, err
}

// errInvalid says that a record is not in the form that MarshalJSON gives it.
var errInvalid = errors.New("not in our own form")

// decodeOnce is decodeData without going over long texts more than once.
func decodeOnce(kind Kind, raw json.RawMessage) (Data, error) {
	switch kind {
	case KindTextEnd:
		var e TextEnd
		_, rest, ok := lift(raw, "text", "reasoning") // which the message has in it
		if !ok {
			return nil, errInvalid
		}
		err := e.UnmarshalJSON(rest)
		return e, err
	case KindToolCallEnd:
		var e ToolCallEnd
		texts, rest, ok := lift(raw, "output", "model_output")
		if !ok {
			return nil, errInvalid
		}
		err := e.UnmarshalJSON(rest)
		e.Output, e.Model = tool.Text(texts[0]), texts[1]
		return e, err
	}
	if _, known := decoders[kind]; !known {
		if !json.Valid(raw) {
			return nil, errInvalid
		}
		raw = bytes.Clone(raw)
	}
	return decodeData(kind, raw)
}

// envelope takes a record apart that has its members in the order in which MarshalJSON writes
// them, and no escapes in what precedes the data.
func envelope(b []byte) (r Record, kind Kind, raw json.RawMessage, ok bool) {
	c := members{b, true}
	seq := c.text(`{"seq":`, ",")
	at := c.text(`"time":"`, `",`)
	if bytes.HasPrefix(c.rest, []byte(`"session"`)) {
		r.Session = c.text(`"session":"`, `",`)
	}
	if bytes.HasPrefix(c.rest, []byte(`"agent"`)) {
		r.Agent = c.text(`"agent":"`, `",`)
	}
	kind = Kind(c.text(`"kind":"`, `",`))
	c.text(`"data"`, ":")
	raw, found := bytes.CutSuffix(c.rest, []byte("}"))
	if !c.ok || !found || len(raw) == 0 || raw[0] <= ' ' || raw[len(raw)-1] <= ' ' || seq == "" || seq[0] == '0' {
		return r, "", nil, false
	}
	n, err := strconv.ParseUint(seq, 10, 64)
	if err == nil {
		err = r.Time.UnmarshalText([]byte(at))
	}
	r.Seq = Seq(n)
	return r, kind, raw, err == nil
}

// members are those of an object that are still to be read.
type members struct {
	rest []byte
	ok   bool // so far
}

// text is what stands between two marks.
func (m *members) text(before, after string) string {
	rest, found := bytes.CutPrefix(m.rest, []byte(before))
	end := bytes.Index(rest, []byte(after))
	if !m.ok || !found || end < 0 || bytes.ContainsFunc(rest[:end], special) {
		m.ok = false
		return ""
	}
	text := string(rest[:end])
	m.rest = rest[end+len(after):]
	return text
}

// special are the characters that do not simply stand for themselves in a JSON string, and all
// beyond ASCII.
func special(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }
