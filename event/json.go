package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/jsonscan"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// AppendRecord appends a record's JSON to b.
func AppendRecord(b []byte, r Record) ([]byte, error) {
	before, output, after, err := encodeRecord(r)
	if err != nil {
		return b, err
	}
	b = slices.Grow(b, len(before)+len(output)+len(output)/8+len(after))
	b = append(b, before...)
	for piece := range textPieces(output) {
		b = append(b, piece...)
	}
	return append(b, after...), nil
}

// WriteRecord writes a record's JSON to w, a long output in pieces.
func WriteRecord(w io.Writer, r Record) error {
	before, output, after, err := encodeRecord(r)
	if err != nil {
		return err
	}
	if _, err = w.Write(before); err != nil {
		return err
	}
	for piece := range textPieces(output) {
		if _, err = w.Write(piece); err != nil {
			return err
		}
	}
	_, err = w.Write(after)
	return err
}

// encodeRecord returns a record's JSON before and after a long output, whose text belongs inside a JSON string between
// them. output is "" if there is none.
func encodeRecord(r Record) (before []byte, output string, after []byte, err error) {
	data, output, err := encodeData(r.Data)
	if err != nil {
		return nil, "", nil, fmt.Errorf("event: cannot encode a record of kind %s: %w", r.Data.kind(), err)
	}
	// encoding/json would scan the data again, so it encodes a placeholder instead.
	const place = "0"
	head, err := json.Marshal(recordJSON{r.Seq, r.Time, r.Session, r.Agent, r.Data.kind(), json.RawMessage(place)})
	if err != nil {
		return nil, "", nil, err
	}
	at := 0
	if output != "" {
		at = bytes.Index(data, []byte(noOutput)) + len(noOutput) - 1
	}
	before = append(head[:len(head)-len(place+"}")], data[:at]...)
	return before, output, append(data[at:], '}'), nil
}

// encodeData is json.Marshal without its second pass over MarshalJSON results, for types with long values. It leaves
// out a long tool output and returns it unencoded, to be inserted in the first noOutput.
func encodeData(d Data) (data []byte, output string, err error) {
	switch d := d.(type) {
	case TextEnd:
		data, err = d.MarshalJSON()
		return data, "", err
	case ToolCallEnd:
		return d.encode(longOutput)
	}
	data, err = json.Marshal(d)
	return data, "", err
}

// longOutput is the output length above which it is encoded in pieces, without copying it whole. noOutput is the JSON
// member for an empty output.
const (
	longOutput = 64 << 10
	noOutput   = `"output":""`
)

// textPieces returns the inside of a JSON string for text.
func textPieces(text string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for text != "" {
			n := min(len(text), longOutput)
			for n < len(text) && n > longOutput-utf8.UTFMax && !utf8.RuneStart(text[n]) {
				n--
			}
			piece, _ := json.Marshal(text[:n]) // strings cannot fail
			if !yield(piece[1 : len(piece)-1]) {
				return
			}
			text = text[n:]
		}
	}
}

// DecodeRecord decodes a record and retains no part of b. It returns the same as UnmarshalJSON, but is several times
// faster for JSON written by MarshalJSON.
func DecodeRecord(b []byte) (Record, error) {
	if r, kind, raw, ok := envelope(b); ok {
		if data, err := decodeOnce(kind, raw); err == nil {
			r.Data = data
			return r, nil
		}
	}
	var r Record
	err := r.UnmarshalJSON(b)
	return r, err
}

// envelope splits a record with the member order that MarshalJSON writes. It does not check the data.
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

// errUnusual means that MarshalJSON did not write the data, or that it is invalid.
var errUnusual = errors.New("not the output of MarshalJSON")

// decodeOnce is decodeData for JSON written by MarshalJSON. It scans long texts only once.
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
	if _, known := dataTypes[kind]; !known {
		if !json.Valid(raw) {
			return nil, errUnusual
		}
		raw = bytes.Clone(raw)
	}
	return decodeData(kind, raw)
}

// decodeMessage decodes data that holds a message. The members in repeated are texts that the message contains too.
func decodeMessage[T Data](raw []byte, message func(*T) *llm.Message, repeated ...string) (Data, error) {
	values, rest, ok := lift(raw, append(repeated, "message")...)
	if !ok {
		return nil, errUnusual
	}
	var e T
	if err := json.Unmarshal(rest, &e); err != nil {
		return nil, err
	}
	for _, v := range values[:len(repeated)] {
		if !isText(v) {
			return nil, errUnusual
		}
	}
	if m := values[len(repeated)]; m != nil {
		if err := message(&e).UnmarshalJSON(m); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// decodeResult decodes a ToolCallEnd. If the model saw the whole output, both share one string.
func decodeResult(raw []byte) (Data, error) {
	values, rest, ok := lift(raw, "output", "model_output")
	if !ok {
		return nil, errUnusual
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
		return nil, errUnusual
	}
	return e, nil
}

// lift removes members from a JSON object, so that encoding/json does not scan their long values several times. It
// returns the values, nil for a missing member, and the object without them. It validates neither. ok is false unless
// the object is compact and has each member at most once.
func lift(object []byte, names ...string) (values [][]byte, rest []byte, ok bool) {
	values = make([][]byte, len(names))
	rest = append(make([]byte, 0, 256), '{')
	r := jsonscan.Read(object)
	r.Open("{")
	for r.More() {
		key, value := r.Key(), r.Raw()
		i, ok := which(key, names)
		switch {
		case !ok || i >= 0 && values[i] != nil:
			return nil, nil, false
		case i >= 0:
			values[i] = value
		default:
			rest = append(append(append(rest, '"'), key...), `":`...)
			rest = append(append(rest, value...), ',')
		}
	}
	r.Close("}")
	return values, append(bytes.TrimSuffix(rest, []byte(",")), '}'), r.Done()
}

// which returns a key's index in names, or -1. ok is false if encoding/json would match the key to a name in another
// case.
func which(key []byte, names []string) (index int, ok bool) {
	for i, name := range names {
		if string(key) == name {
			return i, true
		}
		if strings.EqualFold(string(key), name) {
			return -1, false
		}
	}
	return -1, true
}

// text decodes a JSON string. A missing value is "".
func text(value []byte) (string, bool) {
	if value == nil {
		return "", true
	}
	r := jsonscan.Read(value)
	s := r.Text()
	return s, r.Done()
}

// isText reports whether a value is missing or a JSON string.
func isText(value []byte) bool {
	if value == nil {
		return true
	}
	r := jsonscan.Read(value)
	r.Skip()
	return r.Done()
}
