package event

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// gated is a writer that saves when its gate is opened.
type gated struct {
	Writer
	gate chan struct{}
}

func (w gated) Append(context.Context, ...Record) error { <-w.gate; return nil }
func (w gated) Close() error                            { return nil }

func TestJournal_ReadersSeeARecordWhenItIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := gated{gate: make(chan struct{})}
		j := NewJournal(NewLog(nil), w, 0)
		var seen []Record
		go func() {
			for r := range j.Events(t.Context(), 0) {
				seen = append(seen, r)
			}
		}()
		j.Append(Record{Data: Warning{Message: "a"}})
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(seen)+len(j.Records(0)) != 0 {
			t.Errorf("a reader saw %v before it was saved", seen)
		}
		close(w.gate)
		synctest.Wait()
		if len(seen) != 1 || seen[0].Seq != 1 {
			t.Errorf("a reader saw %v, want record 1", seen)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}
