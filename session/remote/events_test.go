package remote_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/session/remote"
)

// cutter loses the connections of the events: each stream ends in the middle of an event, after some whole ones.
type cutter struct {
	http.Handler
	next atomic.Int64 // how many events the next stream has
	lost atomic.Int64
}

func (c *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/events" {
		w = &cut{ResponseWriter: w, cutter: c, left: int(c.next.Add(1)%7) + 1}
	}
	c.Handler.ServeHTTP(w, r)
}

type cut struct {
	http.ResponseWriter
	cutter *cutter
	left   int
}

func (c *cut) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cut) Write(b []byte) (int, error) {
	whole := 0
	for c.left > 0 {
		i := bytes.Index(b[whole:], []byte("\n\n"))
		if i < 0 {
			return c.ResponseWriter.Write(b)
		}
		whole += i + 2
		c.left--
	}
	_, _ = c.ResponseWriter.Write(b[:min(whole+20, len(b))])
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	c.cutter.lost.Add(1)
	panic(http.ErrAbortHandler)
}

func TestClient_EventsAreCompleteWhereverTheConnectionIsLost(t *testing.T) {
	local := open(t, home.Dir(t.TempDir()), "",
		llmtest.Call("update_plan", `{"plan":[{"step":"read","status":"in_progress"}]}`),
		llmtest.Turn{Parts: llmtest.Say(strings.Repeat("words of the answer ", 40)).Parts, Chunk: 8},
	)
	c := &cutter{Handler: remote.NewServer(local)}
	web := httptest.NewServer(c)
	defer web.Close()
	const readers = 6
	var lists [readers + 1][]event.Record
	var all sync.WaitGroup
	for i := range lists {
		var h session.Handle = local
		if i < readers {
			k, err := remote.Connect(t.Context(), remote.Config{URL: web.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			h = k
		}
		all.Go(func() {
			var err error
			if lists[i], err = collect(t.Context(), h); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	if err := local.Reconfigure(t.Context(), session.Settings{Mode: policy.ModeAcceptEdits}); err != nil {
		t.Fatal(err)
	}
	if err := local.Submit(t.Context(), session.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	want := lists[readers]
	for i, got := range lists[:readers] {
		if diff := cmp.Diff(durable(want), durable(got)); diff != "" {
			t.Errorf("reader %d (-in the process +remote):\n%s", i, diff)
		}
		if diff := cmp.Diff(screen(want), screen(got)); diff != "" {
			t.Errorf("reader %d shows (-in the process +remote):\n%s", i, diff)
		}
		ordered(t, got)
	}
	if c.lost.Load() < 10 {
		t.Errorf("only %d connections were lost", c.lost.Load())
	}
}

// durable returns the records that have numbers, encoded.
func durable(list []event.Record) (out []string) {
	for _, r := range list {
		if r.Seq > 0 {
			b, _ := r.MarshalJSON()
			out = append(out, string(b))
		}
	}
	return out
}

// ordered checks that no transient record comes twice or late.
func ordered(t *testing.T, list []event.Record) {
	t.Helper()
	for i := 1; i < len(list); i++ {
		if a, b := list[i-1], list[i]; a.Seq == 0 && b.Seq == 0 && !b.Time.After(a.Time) {
			t.Errorf("transient records at %v and %v", a.Time, b.Time)
		}
	}
}

func TestClient_EventsEndWithTheSession(t *testing.T) {
	local := open(t, home.Dir(t.TempDir()), "", llmtest.Say("done"))
	c := serve(t, local, nil)
	if err := c.Submit(t.Context(), session.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	var last event.Record
	go func() {
		for r, err := range c.Events(t.Context(), 0) {
			if err != nil {
				ended <- err
				return
			}
			last = r
		}
		ended <- nil
	}()
	if err := local.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || last.Kind() != event.KindSessionEnd {
		t.Errorf("the events ended with a record of kind %s, error %v", last.Kind(), err)
	}
	if err := c.Submit(t.Context(), session.Input{Text: "more"}); !errors.Is(err, session.ErrClosed) {
		t.Errorf("an input after the end failed with %v", err)
	}
}

func TestClient_CloseEndsEventsAndMethods(t *testing.T) {
	local := open(t, home.Dir(t.TempDir()), "")
	c := serve(t, local, nil)
	ended := make(chan error, 1)
	first := make(chan struct{})
	go func() {
		for r, err := range c.Events(t.Context(), 0) {
			if err != nil {
				ended <- err
				return
			}
			if r.Seq == 1 {
				close(first)
			}
		}
		ended <- nil
	}()
	if err := local.Reconfigure(t.Context(), session.Settings{Mode: policy.ModeAcceptEdits}); err != nil {
		t.Fatal(err)
	}
	<-first
	c.Close()
	if err := <-ended; err != nil {
		t.Errorf("the events ended with %v", err)
	}
	if err := c.Interrupt(t.Context()); !errors.Is(err, session.ErrClosed) {
		t.Errorf("a method failed with %v", err)
	}
	if _, err := local.Info(t.Context()); err != nil {
		t.Errorf("the session ended with its client: %v", err)
	}
}
