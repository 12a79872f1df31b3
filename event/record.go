// Package event records what happens in a session, in a log.
//
// Every durable fact (an input, a model answer, a tool result, an approval, a limit, an error, a setup change) is one
// numbered [Record]. A session's state is a fold over its records, so everything that a decision depends on is
// recorded, including the [Setup]. Conversations, user interfaces, saved sessions and resuming are all views of these
// records.
//
// Transient records show progress, such as streamed text. They have no number, are not saved, and may be dropped for
// readers that fall behind. A later durable record contains what they showed.
//
// A [Log] holds records in memory and lets any number of readers follow it. A [Store] saves logs, and a [Journal] is a
// log that is saved.
package event

import (
	"encoding/json"
	"fmt"
	"time"
)

// Seq numbers a log's durable records from 1. Transient records have 0.
type Seq uint64

// Record is one thing that happened.
type Record struct {
	Seq     Seq
	Time    time.Time
	Session string
	// Agent is the agent path: "" for the root, "1" for its first subagent, "1/2" for that subagent's second subagent.
	Agent string
	Data  Data
}

// Kind returns the kind of Data.
func (r Record) Kind() Kind { return r.Data.kind() }

// Durable reports whether the record stays in the log.
func (r Record) Durable() bool { return r.Seq != 0 }

// Kind names a type of Data.
type Kind string

// KindOf returns the kind of a record with this data.
func KindOf(d Data) Kind { return d.kind() }

// Data is a record's content: one of the types in this package.
type Data interface {
	kind() Kind
}

type recordJSON struct {
	Seq     Seq             `json:"seq,omitempty"`
	Time    time.Time       `json:"time"`
	Session string          `json:"session,omitempty"`
	Agent   string          `json:"agent,omitempty"`
	Kind    Kind            `json:"kind"`
	Data    json.RawMessage `json:"data"`
}

// MarshalJSON encodes the record.
func (r Record) MarshalJSON() ([]byte, error) { return AppendRecord(nil, r) }

// UnmarshalJSON decodes a record. Data of an unknown kind becomes Unknown, which encodes to the same JSON.
func (r *Record) UnmarshalJSON(b []byte) error {
	var j recordJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("event: invalid record: %w", err)
	}
	data, err := decodeData(j.Kind, j.Data)
	if err != nil {
		return fmt.Errorf("event: invalid record %d of kind %s: %w", j.Seq, j.Kind, err)
	}
	*r = Record{j.Seq, j.Time, j.Session, j.Agent, data}
	return nil
}

// Unknown is data whose kind this version does not support.
type Unknown struct {
	Name Kind
	Raw  json.RawMessage
}

func (u Unknown) kind() Kind { return u.Name }

// MarshalJSON returns the recorded JSON.
func (u Unknown) MarshalJSON() ([]byte, error) {
	if len(u.Raw) == 0 {
		return []byte("null"), nil
	}
	return u.Raw, nil
}
