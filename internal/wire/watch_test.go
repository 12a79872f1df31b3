package wire_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	jsonHead   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
)

// piped returns a provider whose server is a function behind a pipe. In a synctest bubble the limits run on the fake
// clock. The connection is closed when the server returns.
func piped(limits llm.Limits, dialTime time.Duration, serve func(c net.Conn)) *wire.Provider {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		select {
		case <-time.After(dialTime):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			req, err := http.ReadRequest(bufio.NewReader(server))
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err == nil {
				serve(server)
			}
		}()
		return client, nil
	}
	return wire.NewProvider(toy{}, llm.Endpoint{
		Name: "toy", BaseURL: "http://toy.test", Limits: limits,
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}},
	})
}

// talk makes a call and returns the text, the duration and the error.
func talk(ctx context.Context, p *wire.Provider, r *llm.Request) (text string, took time.Duration, err error) {
	start := time.Now()
	for ev, e := range p.Stream(ctx, r) {
		if e != nil {
			err = e
		}
		if d, ok := ev.(llm.TextDelta); ok {
			text += d.Text
		}
	}
	return text, time.Since(start), err
}

// bubble runs a test with a fake clock, then lets waiting servers finish.
func bubble(t *testing.T, f func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		f(t)
		<-time.After(100 * time.Hour)
	})
}

var short = llm.Limits{Connect: time.Second, FirstByte: 10 * time.Second, Unary: 30 * time.Second, Idle: 5 * time.Second}

func write(c net.Conn, parts ...any) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			if _, err := io.WriteString(c, p); err != nil {
				return
			}
		case time.Duration:
			<-time.After(p)
		}
	}
}

func TestLimits(t *testing.T) {
	tests := []struct {
		name   string
		unary  bool
		dial   time.Duration
		answer []any // text to write and times to wait
		took   time.Duration
		text   string
		says   string // "" means success
	}{
		{"all in time", false, 900 * time.Millisecond, []any{9 * time.Second, streamHead, "data: a\n\n", 4 * time.Second, "data: b\n\n", 4 * time.Second, "data: [DONE]\n\n"},
			17900 * time.Millisecond, "ab", ""},
		{"no connection", false, time.Hour, nil, time.Second, "", "no connection within 1s"},
		{"no first byte", false, 0, []any{time.Hour}, 10 * time.Second, "", "no response within 10s"},
		{"a whole answer has more time", true, 0, []any{29 * time.Second, jsonHead, `"hello"`}, 29 * time.Second, "hello", ""},
		{"but not forever", true, 0, []any{time.Hour}, 30 * time.Second, "", "no response within 30s"},
		{"idle before the first event", false, 0, []any{streamHead, time.Hour}, 5 * time.Second, "", "no data arrived for 5s"},
		{"idle in the middle", false, 0, []any{streamHead, "data: a\n\n", time.Hour}, 5 * time.Second, "a", "no data arrived for 5s"},
		{"comments are signs of life", false, 0, []any{streamHead, 4 * time.Second, ": ping\n\n", 4 * time.Second, ": ping\n\n", 4 * time.Second, "data: a\n\ndata: [DONE]\n\n"},
			12 * time.Second, "a", ""},
		{"idle in an error's body", false, 0, []any{"HTTP/1.1 500 No\r\nConnection: close\r\n\r\nhalf a", time.Hour}, 5 * time.Second, "", "no data arrived for 5s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := piped(short, tt.dial, func(c net.Conn) { write(c, tt.answer...) })
				text, took, err := talk(t.Context(), p, &llm.Request{Unary: tt.unary})
				if text != tt.text || took != tt.took {
					t.Errorf("%q after %v, want %q after %v", text, took, tt.text, tt.took)
				}
				if tt.says == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				var e *llm.Error
				if !errors.As(err, &e) || e.Kind != llm.ErrTimeout || !strings.Contains(e.Message, tt.says) || !e.Retryable() {
					t.Errorf("got %v, want a timeout that says %q", err, tt.says)
				}
			})
		})
	}
}

func TestAttack_AnswerThatNeverEndsIsStoppedAndNotRetried(t *testing.T) {
	for name, drop := range map[string]string{"comments": ": ping\n\n", "bytes": "x", "events": "data: \n\n"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				calls := 0
				p := piped(llm.Limits{}, 0, func(c net.Conn) {
					calls++
					write(c, streamHead, "data: a\n\n")
					for err := error(nil); err == nil; <-time.After(time.Minute) {
						_, err = io.WriteString(c, drop)
					}
				})
				client, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{p}, Middleware: []llm.Middleware{llm.SessionRetries().Middleware()}})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				_, err = llm.Collect(client.Stream(t.Context(), &llm.Request{Model: "m"}))
				if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.ErrTimeout || e.Message != "the response was not complete within 1h0m0s" || e.Retryable() {
					t.Errorf("got %v, want a final timeout", err)
				}
				if took := time.Since(start); took != time.Hour || calls != 1 {
					t.Errorf("it took %v and %d calls, want 1h and 1", took, calls)
				}
			})
		})
	}
}

func TestLimits_NegativeMeansUnlimited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := piped(llm.Limits{Connect: -1, FirstByte: -1, Idle: -1, Call: -1, MaxEvent: -1, MaxTotal: -1}, time.Hour, func(c net.Conn) {
			write(c, 24*time.Hour, streamHead, 24*time.Hour, "data: a\n\ndata: [DONE]\n\n")
		})
		if text, took, err := talk(t.Context(), p, &llm.Request{}); text != "a" || took != 49*time.Hour || err != nil {
			t.Errorf("got %q after %v, %v, want \"a\" after 49h", text, took, err)
		}
	})
}

func TestCancel(t *testing.T) {
	stop := errors.New("stopped by the user")
	for name, answer := range map[string][]any{
		"before the first byte": {time.Hour},
		"in the middle":         {streamHead, "data: a\n\n", time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := piped(short, 0, func(c net.Conn) { write(c, answer...) })
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(stop) })
				_, took, err := talk(ctx, p, &llm.Request{})
				var e *llm.Error
				if !errors.As(err, &e) || e.Kind != llm.ErrCancelled || !errors.Is(err, stop) || e.Retryable() {
					t.Errorf("the error is %v", err)
				}
				if took != time.Second {
					t.Errorf("the call took %v, want 1s", took)
				}
			})
		})
	}
}

func TestCancel_TheCallersDeadlineIsATimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := piped(short, 0, func(c net.Conn) { write(c, time.Hour) })
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, took, err := talk(ctx, p, &llm.Request{})
		if llm.KindOf(err) != llm.ErrTimeout || !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
			t.Errorf("got %v after %v, want a timeout after 3s", err, took)
		}
	})
}

func TestCancel_BreakClosesTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		closed := make(chan error, 1)
		p := piped(short, 0, func(c net.Conn) {
			write(c, streamHead, "data: a\n\n")
			_, err := c.Read(make([]byte, 1))
			closed <- err
		})
		for ev := range p.Stream(t.Context(), &llm.Request{}) {
			if _, ok := ev.(llm.TextDelta); ok {
				break
			}
		}
		if err := <-closed; err == nil {
			t.Error("the server received more data")
		}
	})
}
