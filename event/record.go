package event

import (
	"encoding/json"
	"fmt"
	"time"
)

// Seq numbers the durable records of a log from 1. Transient records have 0.
type Seq uint64

// Record is one thing that happened.
type Record struct {
	Seq     Seq
	Time    time.Time
	Session string
	// Agent is the path of the agent in its tree: "" is the root, "1" its first subagent, "1/2"
	// that one's second.
	Agent string
	Data  Data
}

// Kind is the kind of the record.
func (r Record) Kind() Kind { return r.Data.Kind() }

// Durable reports whether the record stays in the log.
func (r Record) Durable() bool { return r.Seq != 0 }

// Kind names what happened.
type Kind string

// Data is what happened: one of the types of this package, or Unknown.
type Data interface {
	Kind() Kind
}

type recordJSON struct {
	Seq     Seq             `json:"seq,omitempty"`
	Time    time.Time       `json:"time"`
	Session string          `json:"session,omitempty"`
	Agent   string          `json:"agent,omitempty"`
	Kind    Kind            `json:"kind"`
	Data    json.RawMessage `json:"data"`
}

// MarshalJSON writes the record.
func (r Record) MarshalJSON() ([]byte, error) { return AppendRecord(nil, r) }

// UnmarshalJSON reads the record. A kind that this version does not know becomes Unknown, and is
// written back as it was.
func (r *Record) UnmarshalJSON(b []byte) error {
	var j recordJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("event: the record is not readable: %w", err)
	}
	data, err := decodeData(j.Kind, j.Data)
	if err != nil {
		return fmt.Errorf("event: the record %d of kind %s is not readable: %w", j.Seq, j.Kind, err)
	}
	*r = Record{j.Seq, j.Time, j.Session, j.Agent, data}
	return nil
}

// Unknown is a record of a kind that this version does not know.
type Unknown struct {
	Name Kind
	Raw  json.RawMessage
}

// Kind is the kind as it was written.
func (u Unknown) Kind() Kind { return u.Name }

// MarshalJSON writes the data as it was.
func (u Unknown) MarshalJSON() ([]byte, error) {
	if len(u.Raw) == 0 {
		return []byte("null"), nil
	}
	return u.Raw, nil
}

func decodeData(kind Kind, raw json.RawMessage) (Data, error) {
	decode, known := decoders[kind]
	if !known {
		return Unknown{kind, raw}, nil
	}
	return decode(raw)
}

func decoder[T Data](raw json.RawMessage) (Data, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}
