package filestore

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/reins-agent/reins/event"
)

// loss is a missing log end that meta.json covers.
type loss struct {
	Bytes int64     `json:"bytes"`
	First event.Seq `json:"first,omitempty"` // lost records, if any
	Last  event.Seq `json:"last,omitempty"`
}

// lost returns what is missing from a log that ends at the given byte and record.
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
		return fmt.Sprintf("the log is %d bytes too short, but its last record is intact", l.Bytes)
	case l.First == l.Last:
		return fmt.Sprintf("the log has lost its last %d bytes with record %d", l.Bytes, l.Last)
	}
	return fmt.Sprintf("the log has lost its last %d bytes with records %d to %d", l.Bytes, l.First, l.Last)
}

// lostLine takes a loss's place in the log. It has no checksum, so that all readers report it as damage.
type lostLine struct {
	Lost loss `json:"lost"`
}

// lostHere returns an error if a line is a lostLine.
func lostHere(line []byte) error {
	var l lostLine
	start := bytes.NewReader(line[:min(len(line), 200)])
	if json.NewDecoder(start).Decode(&l) != nil || l.Lost.Bytes <= 0 {
		return nil
	}
	return fmt.Errorf("noted when the session was continued: %v", l.Lost)
}

// fill writes a line of equal size in place of a loss, so that meta.json fits the log again. If it is interrupted, the
// log is still too short, or its last line is incomplete.
func (l loss) fill(log File, at int64) error {
	line, err := json.Marshal(lostLine{l})
	if err != nil {
		return err
	}
	room := l.Bytes - 1
	line = append(line, bytes.Repeat([]byte(" "), keepSize)...)
	// Beyond keepSize the file has a hole.
	if _, err := log.WriteAt(line[:min(room, keepSize)], at); err != nil {
		return err
	}
	if _, err := log.WriteAt([]byte("\n"), at+room); err != nil {
		return err
	}
	return log.Sync()
}

// repairs returns the lines that Open would add to a log that has lost its end.
func (x status) repairs() ([]byte, error) {
	if x.lost.Bytes == 0 {
		return nil, nil
	}
	lines, err := json.Marshal(lostLine{x.lost})
	if err != nil {
		return nil, err
	}
	lines = append(lines, '\n')
	if lines, err = appendJSON(lines, header{format, x.Meta.ID}); err != nil {
		return nil, err
	}
	return appendJSON(lines, description{x.Meta})
}
