//go:build unix

package oracletest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// contest is the same work done by a vendor's SDK and by Reins. Answers are in memory, so that only the clients
// are measured.
type contest struct {
	sdk string // its name
	// stream and short are answers of our server: a long stream of mostly deltas, and a whole answer of one
	// word. events is the number of events in the stream.
	stream, short canned
	events        int
	model         string
	ours          func(http.RoundTripper) llm.Provider
	request       func([]llm.Message) *llm.Request
	history       func(rounds int) []llm.Message
	// streamTheirs reads the stream with the SDK, by how it uses the events, and requestTheirs sends a history
	// of 200 messages.
	streamTheirs  map[string]func()
	requestTheirs func()
}

// canned answers every request with the same bytes.
type canned struct {
	contentType string
	answer      []byte
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.contentType}},
		Body: io.NopCloser(bytes.NewReader(c.answer)), Request: r,
	}, nil
}

// recorded returns an answer of our server and the number of events in it.
func recorded(t testing.TB, dialect, path, body string, turn llmtest.Turn) (canned, int) {
	t.Helper()
	server := llmtest.NewServer(llmtest.Play(turn))
	defer server.Close()
	req, err := http.NewRequest(http.MethodPost, server.BaseURL(dialect)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer key", "X-Api-Key": "key", "Anthropic-Version": "2023-06-01", "X-Goog-Api-Key": "key"} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v: %s", err, answer)
	}
	return canned{resp.Header.Get("Content-Type"), answer}, bytes.Count(answer, []byte("data: "))
}

// longTurn returns an answer of many words and a large call.
func longTurn() llmtest.Turn {
	return llmtest.Turn{Parts: []llm.Part{
		llm.Text{Text: strings.Repeat("The next words of an answer,\nas they arrive. ", 150)},
		llm.ToolCall{ID: "call_1", Name: "write", Arguments: `{"text":"` + strings.Repeat(`a line of code\n`, 100) + `"}`},
	}}
}

func (c contest) streamOurs(t testing.TB) func() {
	p := c.ours(c.stream)
	r := &llm.Request{Model: c.model, Messages: []llm.Message{llm.UserText("Look at a.go.")}}
	return func() {
		n := 0
		for ev, err := range p.Stream(context.Background(), r) {
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := ev.(llm.TextDelta); ok {
				n += len(d.Text)
			}
		}
		if n == 0 {
			t.Fatal("no text")
		}
	}
}

// requestOurs sends 200 messages with Reins. If cached, each request has two messages more than the previous request;
// when the history has doubled it starts again, which is part of the cost.
func (c contest) requestOurs(t testing.TB, cached bool) func() {
	p := c.ours(c.short)
	all := c.history(199)
	n, cache := 200, new(llm.Cache)
	return func() {
		r := c.request(all[:n])
		r.Unary = true
		if cached {
			r.Cache = cache
			if n += 2; n > len(all) {
				n, cache = 200, new(llm.Cache)
			}
		}
		if _, err := llm.Collect(p.Stream(context.Background(), r)); err != nil {
			t.Fatal(err)
		}
	}
}

// cost is the cost of one run.
type cost struct {
	cpu    time.Duration
	allocs float64
}

// measure runs something n times and measures CPU time and allocations.
func measure(n int, run func()) cost {
	run()
	runtime.GC()
	var before, after runtime.MemStats
	var start, end syscall.Rusage
	runtime.ReadMemStats(&before)
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &start)
	for range n {
		run()
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &end)
	runtime.ReadMemStats(&after)
	cpu := time.Duration(end.Utime.Nano() + end.Stime.Nano() - start.Utime.Nano() - start.Stime.Nano())
	return cost{cpu / time.Duration(n), float64(after.Mallocs-before.Mallocs) / float64(n)}
}

// print shows the costs on both sides. Only the allocations are asserted, because they do not depend on machine load.
func (c contest) print(t *testing.T) {
	row := func(what string, per int, want float64, theirs, ours cost) {
		n := time.Duration(per)
		cpu := float64(theirs.cpu) / float64(max(ours.cpu, 1))
		allocs := theirs.allocs / ours.allocs
		t.Logf("%-26s %s %9v %8.1f allocs | ours %9v %7.1f allocs | %5.1f× less CPU, %5.1f× fewer allocs",
			what, c.sdk, theirs.cpu/n, theirs.allocs/float64(per), ours.cpu/n, ours.allocs/float64(per), cpu, allocs)
		if allocs < want {
			t.Errorf("%s: %.1f times fewer allocations than %s, want %.0f", what, allocs, c.sdk, want)
		}
	}
	ours := measure(100, c.streamOurs(t))
	for what, theirs := range c.streamTheirs {
		row(what, c.events, 3, measure(20, theirs), ours)
	}
	request := measure(20, c.requestTheirs)
	row("request of 200 messages", 1, 3, request, measure(50, c.requestOurs(t, false)))
	row("two messages more, cached", 1, 20, request, measure(100, c.requestOurs(t, true)))
}

func (c contest) bench(b *testing.B) {
	runs := map[string]func(){
		"Request200/" + c.sdk: c.requestTheirs,
		"Stream/ours":         c.streamOurs(b),
		"Request200/ours":     c.requestOurs(b, false),
		"Request200/cached":   c.requestOurs(b, true),
	}
	for what, theirs := range c.streamTheirs {
		runs["Stream/"+c.sdk+"/"+what] = theirs
	}
	for name, run := range runs {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

const eventAlone, eventWithMessage = "streamed event", "event, message accumulated"
