package filestore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/reins-agent/reins/event"
)

// The lines of a log: a header first, then records and descriptions in any order.
type (
	header struct {
		Format  int    `json:"format"`
		Session string `json:"session"`
	}
	description struct {
		Meta event.Meta `json:"meta"`
	}
)

var (
	headerStart = []byte(`{"format":`)
	metaStart   = []byte(`{"meta":`)
	recordStart = []byte(`{"seq":`)
)

// entry is a line of a log that is sound: one of the three.
type entry struct {
	header *header
	meta   *event.Meta
	record []byte // in the current format; good until the next is read
	seq    event.Seq
}

// logReader reads the lines of a log.
type logReader struct {
	*scanner
	formats formats
	format  int    // of the lines at hand
	session string // for errors
}

// next is the next entry. A line that is damaged is a *event.CorruptError, behind which one can go
// on; every other error is the end, io.EOF the good one.
func (l *logReader) next() (entry, error) {
	line, err := l.scanner.next()
	if errors.Is(err, errTooLong) {
		return entry{}, l.corrupt(err)
	}
	if err != nil {
		return entry{}, err
	}
	object, err := openLine(line)
	if err != nil {
		return entry{}, l.corrupt(cmp.Or(lostHere(line), err))
	}
	e, err := l.parse(object)
	if err != nil {
		return entry{}, l.corrupt(err)
	}
	if e.header != nil {
		if err := l.formats.check(e.header.Format); err != nil {
			return entry{}, fmt.Errorf("session %s: %w", l.session, err)
		}
		l.format = e.header.Format
	}
	return e, nil
}

func (l *logReader) corrupt(err error) error {
	return &event.CorruptError{Session: l.session, Offset: l.start, Line: l.number, Err: err}
}

func (l *logReader) parse(object []byte) (entry, error) {
	switch {
	case bytes.HasPrefix(object, recordStart):
		seq, ok := number(object[len(recordStart):])
		if !ok {
			return entry{}, errors.New("it has no number")
		}
		record, err := l.formats.record(l.format, object)
		return entry{record: record, seq: seq}, err
	case bytes.HasPrefix(object, metaStart):
		raw, err := l.formats.meta(l.format, object)
		if err != nil {
			return entry{}, err
		}
		var d description
		err = json.Unmarshal(raw, &d)
		return entry{meta: &d.Meta}, err
	case bytes.HasPrefix(object, headerStart):
		var h header
		err := json.Unmarshal(object, &h)
		return entry{header: &h}, err
	}
	return entry{}, errors.New("it is no sort of line that a log has")
}

// number reads the number of a record, which stands at the start of b.
func number(b []byte) (event.Seq, bool) {
	var n event.Seq
	for i, c := range b {
		if c < '0' || c > '9' {
			return n, n > 0
		}
		if i == 19 {
			break // more digits than a number has
		}
		n = n*10 + event.Seq(c-'0')
	}
	return 0, false
}

// recordTime reads the time of a record without the rest of it. It is zero if it is not where this
// version writes it.
func recordTime(record []byte) time.Time {
	_, rest, _ := bytes.Cut(record[:min(len(record), 100)], []byte(`,"time":"`))
	text, _, found := bytes.Cut(rest, []byte(`"`))
	if !found {
		return time.Time{}
	}
	t, _ := time.Parse(time.RFC3339Nano, string(text))
	return t
}

// readLog reads the lines of a log behind what an index covers.
func (s *Store) readLog(in io.Reader, id string, covered index) *logReader {
	return &logReader{newScanner(in, covered.Lines, covered.Size), s.formats, max(covered.Format, 1), id}
}
