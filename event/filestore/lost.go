package filestore

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/reins-agent/reins/event"
)

// known is what meta.json says of a session. The log is flushed before meta.json is written, so a
// log that has less than meta.json knows of was damaged, whatever crash there was. It has to be
// read before the log is, which may grow meanwhile.
type known struct {
	index
	there bool // there is a meta.json, though perhaps one that cannot be read
}

// gone is the error for a log that has not one whole line: of a session that was not created to the
// end, if there is no meta.json, and otherwise of one that lost its log.
func (k known) gone(id, how string) error {
	if !k.there || k.Meta.ID != "" && k.Meta.ID != id {
		return fmt.Errorf("session %s %w", id, event.ErrNotFound)
	}
	knows := "cannot be read either"
	if k.Lines > 0 {
		knows = fmt.Sprintf("knows of %d bytes, up to record %d", k.Size, k.Meta.Last)
	}
	return &event.CorruptError{Session: id, Line: 1, Err: fmt.Errorf(
		"the log %s, though there is a %s, which %s: bring %s back from a backup, or delete the session",
		how, indexName, knows, logName)}
}

const (
	isGone  = "is gone"
	isEmpty = "has not one whole line"
)

// loss is what a log does not have any more behind its last whole line. If something before that is
// missing it is short as well.
type loss struct {
	Bytes int64     `json:"bytes"`
	First event.Seq `json:"first,omitempty"` // the numbers of the records in it, if there are any
	Last  event.Seq `json:"last,omitempty"`
}

// lost is what the log, which ends at the given place and with the given record, has lost.
func (k known) lost(end int64, last event.Seq) loss {
	if k.Size <= end {
		return loss{}
	}
	l := loss{Bytes: k.Size - end}
	if k.Meta.Last > last {
		l.First, l.Last = last+1, k.Meta.Last
	}
	return l
}

func (l loss) String() string {
	switch {
	case l.Last == 0:
		return fmt.Sprintf("the log is %d bytes too short, though its last record is there", l.Bytes)
	case l.First == l.Last:
		return fmt.Sprintf("the log has lost its end: %d bytes, and with them record %d", l.Bytes, l.Last)
	}
	return fmt.Sprintf("the log has lost its end: %d bytes, and with them the records from %d to %d", l.Bytes, l.First, l.Last)
}

// lostLine stands in the log for what was lost. It has no checksum, so that it is a damaged line for
// all who read it, and the loss is not forgotten.
type lostLine struct {
	Lost loss `json:"lost"`
}

// lostHere is the error for a line that stands for what was lost, and nil for every other.
func lostHere(line []byte) error {
	var l lostLine
	start := bytes.NewReader(line[:min(len(line), 200)])
	if json.NewDecoder(start).Decode(&l) != nil || l.Lost.Bytes <= 0 {
		return nil
	}
	return fmt.Errorf("noted when the session was continued: %v", l.Lost)
}

// fill puts a line in the place of what the log has lost, exactly as long, so that it fits to
// meta.json again. Whatever keeps it from getting to the end, the log is still too short then, or
// its last line is not whole.
func (l loss) fill(log File, at int64) error {
	line, err := json.Marshal(lostLine{l})
	if err != nil {
		return err
	}
	room := l.Bytes - 1
	line = append(line, bytes.Repeat([]byte(" "), keepSize)...)
	// What is larger becomes a hole.
	if _, err := log.WriteAt(line[:min(room, keepSize)], at); err != nil {
		return err
	}
	if _, err := log.WriteAt([]byte("\n"), at+room); err != nil {
		return err
	}
	return log.Sync()
}

// amends are the lines to add to a copy of a log that has lost its end, to the same effect as those
// that a writer adds.
func (s *Store) amends(x status) ([]byte, error) {
	if x.lost.Bytes == 0 {
		return nil, nil
	}
	lines, err := json.Marshal(lostLine{x.lost})
	if err != nil {
		return nil, err
	}
	lines = append(lines, '\n')
	if lines, err = appendJSON(lines, header{s.formats.current(), x.Meta.ID}); err != nil {
		return nil, err
	}
	return appendJSON(lines, description{x.Meta})
}
