package event_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

var epoch = time.Date(2020, 11, 15, 9, 30, 0, 0, time.UTC)

// stores are the stores to test.
var stores = map[string]func(*testing.T) event.Store{
	"memory": func(*testing.T) event.Store { return new(event.Memory) },
	"files":  func(t *testing.T) event.Store { return newFiles(t, t.TempDir()) },
}

func newFiles(t *testing.T, dir string) *filestore.Store {
	t.Helper()
	s, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// save creates a session with a record for each data.
func save(t *testing.T, s event.Store, m event.Meta, data ...event.Data) {
	t.Helper()
	w, err := s.Create(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range data {
		r := event.Record{Seq: event.Seq(i + 1), Time: epoch.Add(time.Duration(i) * time.Second), Session: m.ID, Data: d}
		if err := event.Save(t.Context(), w, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.SetMeta(t.Context(), m), w.Close()); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s event.Store, id string) []event.Record {
	t.Helper()
	var out []event.Record
	for r, err := range s.Load(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func metas(t *testing.T, s event.Store) []string {
	t.Helper()
	var out []string
	for m, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m.ID)
	}
	return out
}

func price(p float64) *float64 { return &p }

// long is an output that goes into a blob.
var long = strings.Repeat("a line of output\n", 10_000)

// work returns a session with blobs, model calls and their costs.
func work() []event.Data {
	picture := llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte(strings.Repeat("pixels", 2000))}}
	return []event.Data{
		event.SessionStart{ID: "a", Setup: event.Setup{ModelSetup: event.ModelSetup{Provider: "p", Model: "m"}}},
		event.UserInput{Message: llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "look"}, picture}}},
		event.ModelCallEnd{Call: 1, Usage: llm.Usage{Input: 10, Output: 1}, Cost: price(0.5)},
		event.ToolCallStart{ID: "c", Name: "shell"},
		event.ToolCallEnd{ID: "c", Name: "shell", Output: tool.Text(long), Model: "a line"},
		event.ModelCallEnd{Call: 2, Usage: llm.Usage{Input: 20, Output: 2}, Cost: price(0.25)},
		event.Warning{Message: "the end"},
	}
}

func described() event.Meta {
	return event.Meta{
		ID: "a", Title: "Title", Prompt: "look", Summary: "sum", Tags: []string{"x", "y"}, Provider: "p", Model: "m",
		Dir: "/src", Branch: "main", Turns: 9, Usage: llm.Usage{Input: 99}, Cost: price(9),
	}
}

func TestFork_CopiesRecordsUpToANumber(t *testing.T) {
	for name, open := range stores {
		for _, at := range []event.Seq{1, 3, 5, 7} {
			t.Run(fmt.Sprintf("%s at %d", name, at), func(t *testing.T) {
				s := open(t)
				save(t, s, described(), work()...)
				m, err := event.Fork(t.Context(), s, "a", at, event.Meta{ID: "b"})
				if err != nil {
					t.Fatal(err)
				}
				want := load(t, s, "a")[:at]
				for i := range want {
					want[i].Session = "b"
				}
				if diff := cmp.Diff(want, load(t, s, "b")); diff != "" {
					t.Errorf("the records differ (-want +got):\n%s", diff)
				}
				if m.Last != at || m.ForkedAt != at || m.Parent != "a" {
					t.Errorf("the fork is %+v", m)
				}
				if got := load(t, s, "a"); len(got) != 7 || got[0].Session != "a" {
					t.Error("the parent was changed")
				}
			})
		}
	}
}

func TestFork_InheritsTheDescription(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			save(t, s, described(), work()...)
			m, err := event.Fork(t.Context(), s, "a", 3, event.Meta{ID: "b", Title: "Mine", Tags: []string{}, Dir: "/other"})
			if err != nil {
				t.Fatal(err)
			}
			want := described()
			want.ID, want.Title, want.Dir, want.Tags = "b", "Mine", "/other", nil
			want.Summary = "" // it covers more than the fork
			want.Parent, want.ForkedAt, want.Last = "a", 3, 3
			want.Turns, want.Usage, want.Cost = 1, llm.Usage{Input: 10, Output: 1}, price(0.5)
			want.Created, want.Updated = m.Created, m.Updated
			if len(m.Tags) == 0 {
				m.Tags = nil
			}
			if diff := cmp.Diff(want, m); diff != "" {
				t.Errorf("the description differs (-want +got):\n%s", diff)
			}
			whole, err := event.Fork(t.Context(), s, "a", 0, event.Meta{ID: "c"})
			if err != nil {
				t.Fatal(err)
			}
			if whole.Last != 7 || whole.Turns != 9 || *whole.Cost != 9 || len(whole.Tags) != 2 {
				t.Errorf("a fork of all of it is %+v", whole)
			}
		})
	}
}

func TestFork_CopiesOnlyItsBlobs(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			save(t, s, described(), work()...)
			for id, at := range map[string]event.Seq{"early": 2, "late": 5} {
				if _, err := event.Fork(t.Context(), s, "a", at, event.Meta{ID: id}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Delete(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			var output string
			for r, err := range event.Read(t.Context(), s, "late", 0) {
				if err != nil {
					t.Fatal(err)
				}
				if e, ok := r.Data.(event.ToolCallEnd); ok {
					output = tool.String(e.Output)
				}
				for _, b := range event.Blobs(r) {
					if _, err := s.OpenBlob(t.Context(), "early", b.Hash); err == nil {
						t.Error("the early fork has the blob of a later record")
					}
				}
			}
			if output != long {
				t.Errorf("the output has %d bytes, want %d", len(output), len(long))
			}
			for _, err := range event.Read(t.Context(), s, "early", 0) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestFork_ManyRecordsAreWrittenInPieces(t *testing.T) {
	var data []event.Data
	for i := range 1000 {
		data = append(data, event.Warning{Message: strings.Repeat("x", i%7)})
	}
	s := new(event.Memory)
	save(t, s, event.Meta{ID: "a"}, data...)
	spy := &appends{Store: s}
	if _, err := event.Fork(t.Context(), spy, "a", 0, event.Meta{ID: "b"}); err != nil {
		t.Fatal(err)
	}
	if spy.most != 64 || spy.calls != 16 {
		t.Errorf("written in %d pieces of at most %d records, want 16 of 64", spy.calls, spy.most)
	}
	if got := len(load(t, s, "b")); got != len(data) {
		t.Errorf("%d records, want %d", got, len(data))
	}
}

// appends counts Append calls and can make one fail.
type appends struct {
	event.Store
	failAt      int // the call that fails, from 1
	calls, most int
}

func (a *appends) Create(ctx context.Context, m event.Meta) (event.Writer, error) {
	w, err := a.Store.Create(ctx, m)
	return spyWriter{w, a}, err
}

type spyWriter struct {
	event.Writer
	spy *appends
}

var errFull = errors.New("the disk is full")

func (w spyWriter) Append(ctx context.Context, records ...event.Record) error {
	w.spy.calls++
	if w.spy.calls == w.spy.failAt {
		return errFull
	}
	w.spy.most = max(w.spy.most, len(records))
	return w.Writer.Append(ctx, records...)
}

func TestFork_LeavesNothingAfterAFailure(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			var data []event.Data
			for range 600 {
				data = append(data, event.Warning{Message: "x"})
			}
			save(t, s, event.Meta{ID: "a"}, data...)
			_, err := event.Fork(t.Context(), &appends{Store: s, failAt: 2}, "a", 0, event.Meta{ID: "b"})
			if !errors.Is(err, errFull) {
				t.Errorf("the error is %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			_, err = event.Fork(ctx, &cancelling{Store: s, cancel: cancel}, "a", 0, event.Meta{ID: "c"})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
			if got := metas(t, s); len(got) != 1 {
				t.Errorf("there are %v", got)
			}
			if _, err := event.Fork(t.Context(), s, "a", 0, event.Meta{ID: "b"}); err != nil {
				t.Errorf("the next attempt: %v", err)
			}
		})
	}
}

// cancelling cancels a context while records are read.
type cancelling struct {
	event.Store
	cancel func()
}

func (c *cancelling) Load(ctx context.Context, id string, after event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for r, err := range c.Store.Load(ctx, id, after) {
			if r.Seq == 300 {
				c.cancel()
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func TestFork_RefusesInvalidArguments(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			save(t, s, described(), work()...)
			if _, err := event.Fork(t.Context(), s, "a", 8, event.Meta{ID: "b"}); err == nil || !strings.Contains(err.Error(), "at record 8: its last record is 7") {
				t.Errorf("after the end: %v", err)
			}
			if _, err := event.Fork(t.Context(), s, "none", 0, event.Meta{ID: "b"}); !errors.Is(err, event.ErrNotFound) {
				t.Errorf("of nothing: %v", err)
			}
			if _, err := event.Fork(t.Context(), s, "a", 0, event.Meta{ID: "A"}); !errors.Is(err, event.ErrExists) {
				t.Errorf("over another: %v", err)
			}
			if _, err := event.Fork(t.Context(), s, "a", 0, event.Meta{ID: "../b"}); !errors.Is(err, event.ErrBadID) {
				t.Errorf("outside: %v", err)
			}
			if got := metas(t, s); len(got) != 1 {
				t.Errorf("there are %v", got)
			}
		})
	}
}

func TestFork_MayRunBesideAWriter(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			save(t, s, described(), work()...)
			w, err := s.Open(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if m, err := event.Fork(t.Context(), s, "a", 0, event.Meta{ID: "b"}); err != nil || m.Last != 7 {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

// damage changes the log line that contains text.
func damage(t *testing.T, dir, id, text string) {
	t.Helper()
	name := filepath.Join(dir, id, "log.jsonl")
	b, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(b), text) {
		t.Fatalf("%q is not in %s: %v", text, name, err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(b), text, strings.Repeat("#", len(text)), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSalvage_AcceptsADamagedRecord(t *testing.T) {
	dir := t.TempDir()
	s := newFiles(t, dir)
	save(t, s, described(), work()...)
	damage(t, dir, "a", "MODEL_CALL_END")
	var corrupt *event.CorruptError
	if _, err := event.Fork(t.Context(), s, "a", 0, event.Meta{ID: "b"}); !errors.As(err, &corrupt) {
		t.Errorf("the error is %v", err)
	}
	if m, err := event.Fork(t.Context(), s, "a", 2, event.Meta{ID: "before"}); err != nil || m.Last != 2 {
		t.Errorf("a fork before the damage is %+v, %v", m, err)
	}
	m, err := event.Salvage(t.Context(), s, "a", 0, event.Meta{ID: "c"})
	if err != nil || m.Last != 7 {
		t.Fatalf("%+v, %v", m, err)
	}
	got := load(t, s, "c")
	w, ok := got[2].Data.(event.Warning)
	if !ok || !strings.Contains(w.Message, "record 3 of session a could not be read") || got[6].Kind() != event.KindWarning {
		t.Errorf("the third record is %+v", got[2].Data)
	}
	if report, err := s.Verify(t.Context(), "c"); err != nil || !report.Clean() {
		t.Errorf("the fork is damaged: %v, %v", report, err)
	}
	if m, err := event.Salvage(t.Context(), s, "a", 3, event.Meta{ID: "d"}); err != nil || m.Last != 2 || m.ForkedAt != 2 {
		t.Errorf("up to the damage it is %+v, %v", m, err)
	}
}

func TestSalvage_AcceptsALostBlob(t *testing.T) {
	for name, spoil := range map[string]func(string) error{
		"lost":    os.Remove,
		"damaged": func(name string) error { return os.WriteFile(name, []byte("other"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := newFiles(t, dir)
			save(t, s, described(), work()...)
			blobs, err := filepath.Glob(filepath.Join(dir, "a", "blobs", "*"))
			if err != nil || len(blobs) != 2 {
				t.Fatalf("%v, %v", blobs, err)
			}
			for _, b := range blobs {
				if err := spoil(b); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := event.Fork(t.Context(), s, "a", 0, event.Meta{ID: "b"}); err == nil || !strings.Contains(err.Error(), "record 2: ") {
				t.Errorf("the error is %v", err)
			}
			if got := metas(t, s); len(got) != 1 {
				t.Errorf("there are %v", got)
			}
			if m, err := event.Salvage(t.Context(), s, "a", 0, event.Meta{ID: "c"}); err != nil || m.Last != 7 {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

func TestSalvage_RefusesAFullDisk(t *testing.T) {
	s := new(event.Memory)
	save(t, s, described(), work()...)
	if _, err := event.Salvage(t.Context(), fullStore{s}, "a", 0, event.Meta{ID: "b"}); !errors.Is(err, errFull) {
		t.Errorf("the error is %v", err)
	}
}

type fullStore struct{ event.Store }

func (s fullStore) Create(ctx context.Context, m event.Meta) (event.Writer, error) {
	w, err := s.Store.Create(ctx, m)
	return fullWriter{w}, err
}

type fullWriter struct{ event.Writer }

func (fullWriter) PutBlob(context.Context, io.Reader) (string, int64, error) { return "", 0, errFull }
