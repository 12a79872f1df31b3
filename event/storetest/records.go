package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// variety returns records in all JSON forms.
func variety() []event.Record {
	cost := 0.25
	data := []event.Data{
		event.SessionStart{
			ID:     "a",
			Setup:  event.Setup{ModelSetup: event.ModelSetup{Provider: "p", Model: "m"}},
			System: "line\nline\ttab \"quoted\" \\ <&> \u2028 \U0001F600 \x00",
		},
		event.UserInput{
			Message: llm.Message{
				Role:  llm.RoleUser,
				Parts: []llm.Part{llm.Text{Text: "é"}, llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte{0, 1, 255}}}},
			},
		},
		event.ModelCallEnd{Call: 1, Model: "m", Usage: llm.Usage{Input: 1 << 40}, Cost: &cost, Duration: time.Second},
		event.TextEnd{
			Call: 1,
			Message: llm.Message{
				Role:  llm.RoleAssistant,
				Parts: []llm.Part{llm.Text{Text: "hi"}, llm.ToolCall{ID: "c", Name: "read", Arguments: `{"path":"x"}`}},
			},
		},
		event.ToolCallStart{ID: "c", Name: "read", Arguments: json.RawMessage(`{"path":"x","n":1e400}`)},
		event.ToolCallEnd{ID: "c", Name: "read", Output: tool.Text("whole"), Model: "part", Fields: map[string]any{"n": 1.0}},
		event.Error{Class: "server", Message: "no"},
	}
	out := make([]event.Record, len(data))
	for i, d := range data {
		out[i] = event.Record{Seq: event.Seq(i + 1), Time: epoch.Add(time.Duration(i)), Session: "a", Agent: "1/2", Data: d}
	}
	return out
}

func records(s *suite) {
	w := s.create("a")
	want := variety()
	s.append(w, want[0])
	s.append(w, want[1:]...)
	s.append(w)
	s.holds("a", 0, want)
	s.must(w.Close())
	s.holds("a", 0, want)
}

func loadAfter(s *suite) {
	w := s.create("a")
	s.append(w, warnings(1, 100)...)
	for _, after := range []event.Seq{0, 1, 50, 99, 100, 101, 1 << 63} {
		s.holds("a", after, warnings(after+1, min(100, max(after, 100))))
	}
}

func loadStops(s *suite) {
	w := s.create("a")
	s.append(w, warnings(1, 10)...)
	for r, err := range s.store.Load(s.Context(), "a", 0) {
		s.must(err)
		if r.Seq == 3 {
			break
		}
	}
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	var last error
	n := 0
	for _, err := range s.store.Load(ctx, "a", 0) {
		n++
		last = err
		cancel()
	}
	s.wants(last, context.Canceled)
	if n != 2 {
		s.Errorf("got %d steps after cancelling at the first, want 2", n)
	}
}

func order(s *suite) {
	for name, bad := range map[string][]event.Record{
		"first":     warnings(2, 2),
		"transient": {warning(0)},
		"gap":       {warning(1), warning(3)},
		"twice":     {warning(1), warning(1)},
	} {
		w := s.create(name)
		s.wants(w.Append(s.Context(), bad...), event.ErrOrder)
		s.must(w.Close())
		s.holds(name, 0, nil)
		w = s.open(name)
		s.append(w, warnings(1, 2)...)
		s.holds(name, 0, warnings(1, 2))
	}
}

func unknown(s *suite) {
	w := s.create("a")
	want := []event.Record{
		{Seq: 1, Time: epoch, Data: event.Unknown{Name: "FROM_THE_FUTURE", Raw: json.RawMessage(`{"x":[1,{"y":null}],"z":"\u00e9"}`)}},
	}
	s.append(w, want...)
	s.holds("a", 0, want)
}

func large(s *suite) {
	w := s.create("a")
	text := strings.Repeat("a line of output, with \"quotes\"\n", 100_000)
	want := []event.Record{
		warning(1),
		{Seq: 2, Time: epoch, Data: event.ToolCallEnd{ID: "c", Output: tool.Text(text), Model: text}},
		warning(3),
	}
	s.append(w, want...)
	s.holds("a", 0, want)
	s.holds("a", 2, want[2:])
}

func reopen(s *suite) {
	w := s.create("a")
	for seq := event.Seq(1); seq <= 20; seq++ {
		s.append(w, warning(seq))
		s.must(w.Close())
		w = s.open("a")
	}
	s.holds("a", 0, warnings(1, 20))
}

func oneWriter(s *suite) {
	w := s.create("a")
	_, err := s.store.Open(s.Context(), "a")
	s.wants(err, event.ErrLocked)
	_, err = s.store.Create(s.Context(), event.Meta{ID: "a"})
	s.wants(err, event.ErrExists)
	s.append(w, warning(1))
	s.must(w.Close())
	w = s.open("a")
	_, err = s.store.Open(s.Context(), "a")
	s.wants(err, event.ErrLocked)
	s.append(w, warning(2))
	s.create("b")
}

func readers(s *suite) {
	w := s.create("a")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var last event.Seq
			for last < 200 {
				for r, err := range s.store.Load(s.Context(), "a", last) {
					if err != nil || r.Seq != last+1 {
						s.Errorf("got record %d after %d: %v", r.Seq, last, err)
						return
					}
					last = r.Seq
				}
			}
		})
	}
	for seq := event.Seq(1); seq <= 200; seq++ {
		s.append(w, warning(seq))
	}
	wg.Wait()
}

func closed(s *suite) {
	w := s.create("a")
	s.must(w.Close())
	s.must(w.Close())
	_, _, err := w.PutBlob(s.Context(), strings.NewReader("x"))
	if errs := []error{err, w.Append(s.Context(), warning(1)), w.SetMeta(s.Context(), event.Meta{})}; errs[0] == nil || errs[1] == nil ||
		errs[2] == nil {
		s.Errorf("a closed writer returned %v, want errors", errs)
	}
	s.holds("a", 0, nil)
}

func cancelled(s *suite) {
	w := s.create("a")
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	_, err := s.store.Create(ctx, event.Meta{ID: "b"})
	s.wants(err, context.Canceled)
	_, err = s.store.Open(ctx, "a")
	s.wants(err, context.Canceled)
	s.wants(w.Append(ctx, warning(1)), context.Canceled)
	s.must(w.Close())
	s.holds("a", 0, nil)
	if n := len(s.list()); n != 1 {
		s.Errorf("got %d sessions, want 1", n)
	}
}

func concurrent(s *suite) {
	ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			w, err := s.store.Create(s.Context(), event.Meta{ID: id})
			for seq := event.Seq(1); seq <= 50 && err == nil; seq++ {
				err = w.Append(s.Context(), warning(seq))
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				s.Error(errors.Join(errors.New(id), err))
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		s.holds(id, 0, warnings(1, 50))
	}
}
