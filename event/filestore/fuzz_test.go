package filestore

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/reins-agent/reins/event"
)

// FuzzLog reads the input as a log, unchanged and with correct checksums.
func FuzzLog(f *testing.F) {
	s := newStore(f, Config{})
	saved(f, s, "a", 3)
	log := readLogFile(f, s, "a")
	f.Add(log)
	f.Add(log[:len(log)-5])
	f.Add([]byte(`{"seq":1,"time":"2026-01-02T03:04:05Z","kind":"WARNING","data":{}}`))
	f.Add([]byte(`{"seq":99999999999999999999999,"kind":1}`))
	f.Add([]byte(`{"format":2}` + "\n" + `{"meta":{"last":7}}`))
	f.Add([]byte(`{"format":-1}` + "\n\n" + `{"meta":[]}` + "\n{}\n{"))
	f.Add([]byte(`{"format":1,"session":"a"}` + "\n" + `{"lost":{"bytes":9,"first":1,"last":2}}   ` + "\n" + `{"meta":{"last":2}}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		readAll(t, b)
		var summed []byte
		for line := range bytes.SplitSeq(b, []byte("\n")) {
			summed, _ = endLine(append(summed, line...), len(summed))
		}
		readAll(t, summed)
	})
}

func readAll(t *testing.T, b []byte) {
	c := checker{in: readLog(bytes.NewReader(b), "a", index{})}
	var x index
	end := int64(0)
	for {
		e, err := c.next()
		var damage *event.CorruptError
		if err != nil && !errors.As(err, &damage) {
			if err == io.EOF && c.in.end+c.in.torn != int64(len(b)) {
				t.Fatalf("complete lines have %d bytes and the rest %d, want %d in total", c.in.end, c.in.torn, len(b))
			}
			return
		}
		if c.in.start != end || c.in.end <= end || damage != nil && damage.Offset != end {
			t.Fatalf("got a line from %d to %d after %d", c.in.start, c.in.end, end)
		}
		end = c.in.end
		if damage == nil {
			x.add(e)
		}
		if e.record != nil {
			_, _ = c.decode(e)
		}
	}
}
