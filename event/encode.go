package event

import (
	"encoding/json"
	"fmt"
)

// AppendRecord adds a record to b in the form that MarshalJSON gives it.
func AppendRecord(b []byte, r Record) ([]byte, error) {
	data, err := encodeData(r.Data)
	if err != nil {
		return b, fmt.Errorf("event: a record of kind %s has no JSON form: %w", r.Data.Kind(), err)
	}
	// The data takes the place of another value, since encoding/json would go over all of it.
	const place = "0"
	head, err := json.Marshal(recordJSON{r.Seq, r.Time, r.Session, r.Agent, r.Data.Kind(), json.RawMessage(place)})
	if err != nil {
		return b, err
	}
	b = append(b, head[:len(head)-len(place+"}")]...)
	b = append(b, data...)
	return append(b, '}'), nil
}

// encodeData is json.Marshal, which goes over what a MarshalJSON gives once more. Ours, of the long
// ones, come from json.Marshal themselves.
func encodeData(d Data) ([]byte, error) {
	switch d := d.(type) {
	case TextEnd:
		return d.MarshalJSON()
	case ToolCallEnd:
		return d.MarshalJSON()
	}
	return json.Marshal(d)
}
