package remote_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/session/remote"
)

// memory is a network in memory.
type memory struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newMemory() *memory { return &memory{conns: make(chan net.Conn), done: make(chan struct{})} }

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.once.Do(func() { close(m.done) }); return nil }
func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case m.conns <- there:
		return here, nil
	case <-m.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// fake is a session whose methods tests replace.
type fake struct {
	session.Handle
	log     *event.Log
	compact func(context.Context) (event.Compaction, error)
	submit  func(context.Context, session.Input) error
}

func (f *fake) Info(context.Context) (session.Info, error) { return session.Info{ID: "fake"}, nil }
func (f *fake) Events(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error] {
	return f.log.Events(ctx, after)
}
func (f *fake) Compact(ctx context.Context) (event.Compaction, error) { return f.compact(ctx) }
func (f *fake) Submit(ctx context.Context, in session.Input) error    { return f.submit(ctx, in) }

// within runs a test in a bubble, with a server for a handler.
func within(t *testing.T, h http.Handler, f func(t *testing.T, m *memory)) {
	t.Helper()
	m := newMemory()
	s := &http.Server{Handler: h}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(m)
	}()
	f(t, m)
	s.Close()
	<-served
}

func connect(t *testing.T, m *memory) session.Handle {
	t.Helper()
	c, err := remote.Connect(t.Context(), remote.Config{
		URL:  "http://memory",
		HTTP: &http.Client{Transport: &http.Transport{DialContext: m.dial}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func input(text string) event.Record {
	return event.Record{Data: event.UserInput{Message: llm.UserText(text)}}
}

func TestServer_AQuietStreamShowsThatItIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{log: event.NewLog(nil)}
		s := remote.NewServer(f)
		within(t, s, func(t *testing.T, m *memory) {
			c := connect(t, m)
			begin := time.Now()
			go func() {
				time.Sleep(time.Hour)
				f.log.Append(input("late"))
				f.log.Close()
			}()
			lost := 0
			for r, err := range c.Events(t.Context(), 0) {
				if err != nil {
					lost++
				}
				if d, ok := r.Data.(event.UserInput); !ok || d.Message.Text() != "late" {
					t.Errorf("got %+v", r)
				}
			}
			if took := time.Since(begin); lost > 0 || took != time.Hour {
				t.Errorf("%d errors in %v", lost, took)
			}
			c.Close()
		})
	})
}

func TestClient_AServerThatFallsSilentIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		within(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/info" {
				fmt.Fprint(w, `{"result":{"id":"fake"}}`)
				return
			}
			requests++
			after := r.Header.Get("Last-Event-ID")
			b, _ := event.AppendRecord(nil, event.Record{Seq: event.Seq(requests), Data: event.Warning{Message: after}})
			fmt.Fprintf(w, "id: %d\nevent: record\ndata: %s\n\n", requests, b)
			_ = http.NewResponseController(w).Flush()
			if requests == 3 {
				fmt.Fprint(w, "event: end\ndata: {}\n\n")
				return
			}
			<-r.Context().Done()
		}), func(t *testing.T, m *memory) {
			c := connect(t, m)
			var got []string
			for r, err := range c.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r.Data.(event.Warning).Message)
			}
			if fmt.Sprint(got) != "[0 1 2]" {
				t.Errorf("the streams began after %q", got)
			}
			c.Close()
		})
	})
}

func TestServer_AClientThatStopsReadingIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{log: event.NewLog(nil)}
		within(t, remote.NewServer(f), func(t *testing.T, m *memory) {
			conn, err := m.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(conn, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
			in := bufio.NewReader(conn)
			if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
				t.Fatal(line, err)
			}
			begin := time.Now()
			for range 10_000 { // none of them waits for the client
				f.log.Append(input(strings.Repeat("x", 100)))
			}
			if took := time.Since(begin); took != 0 {
				t.Errorf("the session waited %v", took)
			}
			time.Sleep(time.Minute)
			if _, err := io.Copy(io.Discard, in); err != nil {
				t.Errorf("the connection is still open: %v", err)
			}
			conn.Close()
		}) // the bubble ends only if no goroutine is left
	})
}

func TestClient_AChangeIsMadeOnceAlthoughTheConnectionIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		f := &fake{log: event.NewLog(nil), submit: func(context.Context, session.Input) error {
			made++
			time.Sleep(time.Second)
			return session.ErrBusy
		}}
		s := remote.NewServer(f)
		losses := 0
		within(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/submit" && losses < 3 {
				losses++
				ctx, cancel := context.WithTimeout(r.Context(), 300*time.Millisecond)
				defer cancel()
				s.ServeHTTP(discard{http.Header{}}, r.WithContext(ctx))
				panic(http.ErrAbortHandler)
			}
			s.ServeHTTP(w, r)
		}), func(t *testing.T, m *memory) {
			c := connect(t, m)
			if err := c.Submit(t.Context(), session.Input{Text: "go"}); !errors.Is(err, session.ErrBusy) {
				t.Errorf("failed with %v", err)
			}
			if made != 1 || losses != 3 {
				t.Errorf("made %d times after %d losses", made, losses)
			}
			c.Close()
		})
	})
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func TestClient_AChangeIsNotRepeatedInAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		f := &fake{log: event.NewLog(nil), submit: func(context.Context, session.Input) error { made++; return nil }}
		first, second := remote.NewServer(f), remote.NewServer(f)
		killed := false
		within(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case killed:
				second.ServeHTTP(w, r)
			case r.URL.Path == "/submit":
				first.ServeHTTP(discard{http.Header{}}, r)
				killed = true
				panic(http.ErrAbortHandler)
			default:
				first.ServeHTTP(w, r)
			}
		}), func(t *testing.T, m *memory) {
			c := connect(t, m)
			if err := c.Submit(t.Context(), session.Input{Text: "go"}); !errors.Is(err, remote.ErrUnconfirmed) || made != 1 {
				t.Errorf("failed with %v, made %d times", err, made)
			}
			if err := c.Submit(t.Context(), session.Input{Text: "go"}); err != nil || made != 2 {
				t.Errorf("the next change failed with %v", err)
			}
			c.Close()
		})
	})
}

func TestServer_AChangeEndsAfterItsClientHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Duration, 1)
		f := &fake{log: event.NewLog(nil), compact: func(ctx context.Context) (event.Compaction, error) {
			begin := time.Now()
			<-ctx.Done()
			ended <- time.Since(begin)
			return event.Compaction{}, context.Cause(ctx)
		}}
		within(t, remote.NewServer(f), func(t *testing.T, m *memory) {
			c := connect(t, m)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := c.Compact(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("failed with %v", err)
			}
			if took := <-ended; took != 70*time.Second {
				t.Errorf("it ended after %v", took)
			}
			c.Close()
		})
	})
}

func TestClient_AnUnreachableServerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m *memory
		var c session.Handle
		within(t, remote.NewServer(&fake{log: event.NewLog(nil)}), func(t *testing.T, in *memory) { m, c = in, connect(t, in) })
		m.Close()
		begin := time.Now()
		var failed error
		for _, err := range c.Events(t.Context(), 0) {
			failed = err
		}
		if took := time.Since(begin); !errors.Is(failed, remote.ErrUnreachable) || took < 10*time.Second || took > 12*time.Second {
			t.Errorf("the events ended with %v after %v", failed, took)
		}
		if err := c.Interrupt(t.Context()); !errors.Is(err, remote.ErrUnreachable) {
			t.Errorf("a method failed with %v", err)
		}
		c.Close()
	})
}

func TestServer_RefusesWhatIsTooLargeOrUnclear(t *testing.T) {
	local := open(t, home.Dir(t.TempDir()), "")
	s := remote.NewServer(local)
	m := newMemory()
	web := &http.Server{Handler: s}
	go web.Serve(m)
	defer web.Close()
	client := &http.Client{Transport: &http.Transport{DialContext: m.dial}}
	for _, c := range []struct {
		method, path, key string
		body              io.Reader
		status            int
	}{
		{"POST", "submit", "a", io.LimitReader(zeros{}, 65<<20), http.StatusRequestEntityTooLarge},
		{"POST", "submit", "b", strings.NewReader("{"), http.StatusBadRequest},
		{"POST", "submit", "c", strings.NewReader("[]"), http.StatusBadRequest},
		{"POST", "submit", "", strings.NewReader(`{"text":"x"}`), http.StatusServiceUnavailable},
		{"POST", "submit", strings.Repeat("k", 65), strings.NewReader(`{"text":"x"}`), http.StatusServiceUnavailable},
		{"GET", "submit", "d", nil, http.StatusMethodNotAllowed},
		{"GET", "events?after=x", "", nil, http.StatusBadRequest},
		{"GET", "nothing", "", nil, http.StatusNotFound},
	} {
		q, err := http.NewRequestWithContext(t.Context(), c.method, "http://memory/"+c.path, c.body)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Reins-Call", c.key)
		resp, err := client.Do(q)
		if err != nil {
			t.Errorf("%s %s: %v", c.method, c.path, err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s %s: got %s, want %d", c.method, c.path, resp.Status, c.status)
		}
	}
	if s, err := local.Snapshot(t.Context()); err != nil || s.Len() > 0 {
		t.Errorf("the session has %d items, %v", s.Len(), err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
