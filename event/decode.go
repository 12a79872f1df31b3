package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/reins-agent/reins/internal/jsonscan"
	"github.com/reins-agent/reins/llm"
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

// envelope takes a record apart that has its members in the order in which MarshalJSON writes
// them. It does not look at the data.
func envelope(b []byte) (record Record, kind Kind, raw json.RawMessage, ok bool) {
	r := jsonscan.Read(b)
	r.Open("{")
	if r.Member("seq") {
		raw := r.Raw()
		n, err := strconv.ParseUint(string(raw), 10, 64)
		if err != nil || raw[0] == '0' {
			r.Fail()
		}
		record.Seq = Seq(n)
	}
	if !r.Member("time") || record.Time.UnmarshalJSON(r.Raw()) != nil {
		r.Fail()
	}
	if r.Member("session") {
		record.Session = r.Text()
	}
	if r.Member("agent") {
		record.Agent = r.Text()
	}
	if r.Member("kind") {
		kind = Kind(r.Text())
	}
	if r.Member("data") {
		raw = r.Last()
	}
	return record, kind, raw, r.Done() && len(raw) > 0 && raw[0] > ' ' && raw[len(raw)-1] > ' '
}

// errInvalid says that a record is not in the form that MarshalJSON gives it.
var errInvalid = errors.New("not in our own form")

// decodeOnce is decodeData without going over long texts more than once.
func decodeOnce(kind Kind, raw json.RawMessage) (Data, error) {
	switch kind {
	case KindTextEnd:
		return decodeMessage(raw, func(e *TextEnd) *llm.Message { return &e.Message }, "text", "reasoning")
	case KindUserInput:
		return decodeMessage(raw, func(e *UserInput) *llm.Message { return &e.Message })
	case KindSteeringQueued:
		return decodeMessage(raw, func(e *SteeringQueued) *llm.Message { return &e.Message })
	case KindSteeringInjected:
		return decodeMessage(raw, func(e *SteeringInjected) *llm.Message { return &e.Message })
	case KindToolCallEnd:
		return decodeResult(raw)
	}
	if _, known := decoders[kind]; !known {
		if !json.Valid(raw) {
			return nil, errInvalid
		}
		raw = bytes.Clone(raw)
	}
	return decodeData(kind, raw)
}

// decodeMessage reads data that has a message in it. Beside that may stand texts that only repeat
// what it says.
func decodeMessage[T Data](raw []byte, message func(*T) *llm.Message, beside ...string) (Data, error) {
	values, rest, ok := lift(raw, append(beside, "message")...)
	if !ok {
		return nil, errInvalid
	}
	var e T
	if err := json.Unmarshal(rest, &e); err != nil {
		return nil, err
	}
	for _, v := range values[:len(beside)] {
		if !isText(v) {
			return nil, errInvalid
		}
	}
	if m := values[len(beside)]; m != nil {
		if err := message(&e).UnmarshalJSON(m); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// decodeResult reads a ToolCallEnd. What the model sees is often the whole output, and then in
// memory once.
func decodeResult(raw []byte) (Data, error) {
	values, rest, ok := lift(raw, "output", "model_output")
	if !ok {
		return nil, errInvalid
	}
	var e ToolCallEnd
	if err := e.UnmarshalJSON(rest); err != nil {
		return nil, err
	}
	output, ok := text(values[0])
	e.Output, e.Model = tool.Text(output), output
	if ok && values[1] != nil && !bytes.Equal(values[0], values[1]) {
		e.Model, ok = text(values[1])
	}
	if !ok {
		return nil, errInvalid
	}
	return e, nil
}
