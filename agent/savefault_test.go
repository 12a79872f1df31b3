package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/tool"
)

// faultyLife is a session on a disk that fails, and what a reader saw.
type faultyLife struct {
	*testing.T
	life   *life
	disk   *disk
	dir    string
	config Config
	seen   map[event.Seq]string // seen by a reader
	shown  []event.Error        // failures seen by the same reader
}

func newFaultyLife(t *testing.T, e *local.Env, f fault) *faultyLife {
	t.Helper()
	r := &faultyLife{T: t, life: &life{ran: map[string]int{}}, disk: &disk{fault: f}, dir: t.TempDir(), seen: make(map[event.Seq]string)}
	r.config = longLife(t, e, r.store(filestore.Config{FS: r.disk}), r.life)
	r.config.Middleware = []tool.Middleware{large}
	r.config.ToolLimits = map[string]tool.Limit{"write": {Chars: 200}}
	return r
}

// large makes some outputs from the tool write too large for a record.
func large(ctx context.Context, c tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
	res, err := next(ctx)
	if c.Name == "write" && strings.Contains(string(c.Args), `"0"`) && err == nil {
		res.Output = tool.Text(strings.Repeat(c.ID+" ", 10_000))
	}
	return res, err
}

func (r *faultyLife) store(c filestore.Config) *filestore.Store {
	r.Helper()
	c.Dir = r.dir
	s, err := filestore.New(c)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// work creates the session, works until something fails, and closes it. Its requests equal a healthy session's, so they
// need no check.
func (r *faultyLife) work() (made bool, err error) {
	c := r.config
	c.Client = c.Client.(strict).Streamer
	s, err := New(c)
	if err != nil {
		return false, err
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		for rec, err := range s.Events(context.Background(), 0) {
			if err != nil {
				r.Error(err)
			}
			if rec.Durable() {
				r.seen[rec.Seq] = asJSON(rec)
			}
			if d, ok := rec.Data.(event.Error); ok && rec.Agent == "" {
				r.shown = append(r.shown, d)
			}
		}
	})
	err = r.converse(s)
	closing := s.Close()
	reader.Wait()
	var save *SaveError
	if errors.As(err, &save) {
		r.checkClosed(s)
		r.checkShown()
	}
	if err == nil {
		err = closing
	}
	return true, err
}

func (r *faultyLife) converse(s *Session) error {
	if err := s.FollowUp(text("more")); err != nil {
		return err
	}
	if err := s.Steer(text("left")); err != nil {
		return err
	}
	for _, input := range []string{"main", "That one."} {
		out, err := s.Submit(r.Context(), text(input))
		if err != nil {
			if out.Status != StatusFailed || s.State() != Closed {
				r.Errorf("after %v the status is %s and the state %s", err, out.Status, s.State())
			}
			return err
		}
	}
	return nil
}

func (r *faultyLife) checkClosed(s *Session) {
	r.Helper()
	if _, err := s.Submit(r.Context(), text("more")); !errors.Is(err, ErrClosed) {
		r.Errorf("the session goes on: %v", err)
	}
}

// checkShown checks that readers learn at most once that the session was not saved; they need not see a failure after
// the end of all work.
func (r *faultyLife) checkShown() {
	r.Helper()
	if len(r.shown) > 1 || len(r.shown) == 1 && r.shown[0].Class != "save" {
		r.Errorf("errors are shown: %+v", r.shown)
	}
}

// checkError checks that an error states its cause once.
func (r *faultyLife) checkError(made bool, err error) {
	r.Helper()
	var save *SaveError
	text := err.Error()
	switch {
	case !errors.Is(err, r.disk.err), !strings.Contains(text, "life"):
		r.Errorf("the error does not say what went wrong with which session: %v", err)
	case !made:
	case !errors.As(err, &save):
		r.Errorf("the error is a %T: %v", err, err)
	case strings.Count(text, "work stopped: cannot save") != 1:
		r.Errorf("the error does not say once that the work was stopped: %v", err)
	}
}

// recover opens the session on a healthy disk and finishes it.
func (r *faultyLife) recover() {
	r.Helper()
	store := r.store(filestore.Config{FS: &disk{}})
	r.checkSaved(store)
	r.config.Store = store
	s, err := Resume(r.Context(), r.config)
	if errors.Is(err, event.ErrNotFound) && len(r.seen) == 0 {
		s, err = New(r.config) // the session was never created
	}
	if err != nil {
		r.Fatal(err)
	}
	defer s.Close()
	if len(records[event.UserInput](s)) == 0 {
		if _, err := s.Submit(r.Context(), text("main")); err != nil {
			r.Fatal(err)
		}
	}
	finishLife(r.T, s)
	if err := s.Close(); err != nil {
		r.Fatal(err)
	}
	for id, n := range r.life.ran {
		if n > 1 {
			r.Errorf("the call %s ran %d times", id, n)
		}
	}
	checkHistory(r.T, s)
	checkCalls(r.T, s.log.Records(0))
	if report, err := store.Verify(r.Context(), "life"); err != nil || !report.Clean() {
		r.Errorf("%v, %v", report.Problems, err)
	}
}

// checkSaved checks that the store has every record that a reader has seen, and every call that ran.
func (r *faultyLife) checkSaved(store *filestore.Store) {
	r.Helper()
	saved := make(map[event.Seq]string)
	began := make(map[string]bool)
	for rec, err := range event.Read(r.Context(), store, "life", 0) {
		if errors.Is(err, event.ErrNotFound) {
			break
		}
		if err != nil {
			r.Fatal(err)
		}
		saved[rec.Seq] = asJSON(rec)
		if d, ok := rec.Data.(event.ToolCallStart); ok {
			began[d.ID] = true
		}
	}
	for seq, want := range r.seen {
		if saved[seq] != want {
			r.Errorf("record %d was shown as\n%.300s\nand is saved as\n%.300s", seq, want, saved[seq])
		}
	}
	for id := range r.life.ran {
		if !began[id] {
			r.Errorf("the call %s ran, and it is not saved that it was to", id)
		}
	}
}

// asJSON returns a record with its output in it, wherever that was stored.
func asJSON(r event.Record) string {
	if e, ok := r.Data.(event.ToolCallEnd); ok && e.OutputBlob != nil {
		e.Output, e.OutputBlob = tool.Text(tool.String(e.Output)), nil
		r.Data = e
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func half(size int) int    { return size / 2 }
func allBut1(size int) int { return size - 1 }

func newLocalEnv(t *testing.T) *local.Env {
	t.Helper()
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestSave_DiskThatFailsAtAnyMomentStopsTheWorkAndLosesNothingAcknowledged(t *testing.T) {
	e := newLocalEnv(t)
	for _, c := range []struct {
		name string
		step int // between two moments
		fault
	}{
		{"full", thorough.Of(1, 5), fault{op: "write", err: syscall.ENOSPC}},
		{"full in the middle of a line", thorough.Of(1, 5), fault{op: "write", err: syscall.ENOSPC, part: half}},
		{"full at the end of a line", thorough.Of(1, 5), fault{op: "write", err: syscall.ENOSPC, part: allBut1}},
		{"full for a moment", thorough.Of(1, 5), fault{op: "write", err: syscall.ENOSPC, part: half, once: true}},
		{"short write", thorough.Of(1, 5), fault{op: "write", err: io.ErrShortWrite, part: half, once: true}},
		{"written, but with an error", thorough.Of(1, 5), fault{op: "write", err: syscall.EIO, part: func(n int) int { return n }}},
		{"flush fails", thorough.Of(1, 5), fault{op: "sync", err: syscall.EIO}},
		{"flush fails once", thorough.Of(1, 5), fault{op: "sync", err: syscall.EIO, once: true}},
		{"turns read-only", thorough.Of(1, 5), fault{op: "write", err: syscall.EROFS}},
		{"no new files", thorough.Of(1, 2), fault{op: "name", err: syscall.EROFS}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stopped := 0
			for c.at = 1 + rand.IntN(c.step); !t.Failed(); c.at += c.step {
				r := newFaultyLife(t, e, c.fault)
				made, err := r.work()
				if !r.disk.hasFailed() {
					break // the disk failed before
				}
				if err == nil {
					t.Errorf("operation %d fails, and nobody says so", c.at)
				} else {
					r.checkError(made, err)
				}
				r.recover()
				stopped++
			}
			t.Logf("%d moments", stopped)
			if stopped < 3 {
				t.Errorf("the disk failed in %d runs, want at least 3", stopped)
			}
		})
	}
}

func TestSave_LostIndexIsNoReasonToStop(t *testing.T) {
	r := newFaultyLife(t, newLocalEnv(t), fault{op: "index", at: 1, err: syscall.ENOSPC})
	if _, err := r.work(); err != nil {
		t.Fatal(err)
	}
	if !r.disk.hasFailed() {
		t.Error("no index was written")
	}
	if m, err := r.config.Store.Meta(t.Context(), "life"); err != nil || m.Prompt != "main" || m.Turns == 0 {
		t.Errorf(`got %+v, %v, want no error, Prompt "main", Turns not 0`, m, err)
	}
	r.recover()
}

func TestSave_ClockGoingBackwardsLosesNothing(t *testing.T) {
	r := newFaultyLife(t, newLocalEnv(t), fault{})
	var hours atomic.Int64
	r.config.Store = r.store(filestore.Config{FS: r.disk, Now: func() time.Time { return time.Now().Add(-time.Duration(hours.Add(1)) * time.Hour) }})
	if _, err := r.work(); err != nil {
		t.Fatal(err)
	}
	m, err := r.config.Store.Meta(t.Context(), "life")
	if err != nil || m.Updated.Before(m.Created) {
		t.Errorf("got %+v, %v, want no error, Updated not before Created", m, err)
	}
	r.recover()
}

func TestResume_ClockThatWentBackwardsTakesNoWorkingTimeBack(t *testing.T) {
	r := newFaultyLife(t, newLocalEnv(t), fault{})
	if _, err := r.work(); err != nil {
		t.Fatal(err)
	}
	var back []event.Record
	for rec, err := range event.Read(t.Context(), r.config.Store, "life", 0) {
		if err != nil {
			t.Fatal(err)
		}
		rec.Time = time.Unix(1e9-int64(rec.Seq), 0)
		back = append(back, rec)
	}
	store := &event.Memory{}
	put(t, store, back)
	r.config.Store = store
	s, err := Resume(t.Context(), r.config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if worked := s.Total().Worked; worked < 0 {
		t.Errorf("the session is said to have worked for %v", worked)
	}
}
