//go:build unix

package oracletest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/wire"
)

// anthropicTransport gives one answer to every request, in memory, so that only the work of the
// clients is measured.
type anthropicTransport struct {
	contentType string
	answer      []byte
}

func (f anthropicTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {f.contentType}},
		Body: io.NopCloser(bytes.NewReader(f.answer)), Request: r,
	}, nil
}

// anthropicRecorded takes an answer of our server, and the number of events in it.
func anthropicRecorded(t testing.TB, turn llmtest.Turn, stream bool) (anthropicTransport, int) {
	t.Helper()
	server := llmtest.NewServer(llmtest.Play(turn))
	defer server.Close()
	body := `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
	if stream {
		body = strings.Replace(body, "{", `{"stream":true,`, 1)
	}
	req, err := http.NewRequest(http.MethodPost, server.BaseURL(anthropic.Name)+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "key")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v: %s", err, answer)
	}
	return anthropicTransport{resp.Header.Get("Content-Type"), answer}, bytes.Count(answer, []byte("\ndata: "))
}

// anthropicLong is an answer whose stream is mostly deltas, as a model's is.
func anthropicLong(t testing.TB) (anthropicTransport, int) {
	return anthropicRecorded(t, llmtest.Turn{Parts: []llm.Part{
		llm.Thinking{Text: strings.Repeat("Considering the matter. ", 100)},
		llm.Text{Text: strings.Repeat("The next words of an answer,\nas they arrive. ", 150)},
		llm.ToolCall{ID: "toolu_1", Name: "write", Arguments: `{"text":"` + strings.Repeat(`a line of code\n`, 100) + `"}`},
	}}, true)
}

func anthropicShort(t testing.TB) anthropicTransport {
	short, _ := anthropicRecorded(t, llmtest.Say("ok"), false)
	return short
}

func anthropicSDK(f anthropicTransport) sdk.Client {
	return sdk.NewClient(option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: f}), option.WithMaxRetries(0))
}

func anthropicOurs(f anthropicTransport) *wire.Provider {
	return anthropic.New(anthropic.Config{Endpoint: wire.Endpoint{APIKey: "key", HTTPClient: &http.Client{Transport: f}}})
}

// anthropicCost is what one run of something takes.
type anthropicCost struct {
	cpu    time.Duration
	allocs float64
}

// anthropicMeasure runs something n times and takes the processor's time and the allocations.
func anthropicMeasure(n int, run func()) anthropicCost {
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
	return anthropicCost{cpu / time.Duration(n), float64(after.Mallocs-before.Mallocs) / float64(n)}
}

// anthropicStreamTheirs reads a stream with the SDK. With accumulate it also builds the message,
// as ours always does.
func anthropicStreamTheirs(t testing.TB, f anthropicTransport, accumulate bool) func() {
	client := anthropicSDK(f)
	return func() {
		stream := client.Messages.NewStreaming(context.Background(), anthropicParams())
		var m sdk.Message
		n := 0
		for stream.Next() {
			ev := stream.Current()
			if d, ok := ev.AsAny().(sdk.ContentBlockDeltaEvent); ok {
				n += len(d.Delta.Text)
			}
			if accumulate {
				if err := m.Accumulate(ev); err != nil {
					t.Fatal(err)
				}
			}
		}
		if stream.Err() != nil || n == 0 {
			t.Fatal(stream.Err())
		}
	}
}

func anthropicStreamOurs(t testing.TB, f anthropicTransport) func() {
	p := anthropicOurs(f)
	r := &llm.Request{Model: anthropicModel, Messages: []llm.Message{llm.UserText("Look at a.go.")}}
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

// anthropicRequestTheirs sends the same history of 200 messages with the SDK.
func anthropicRequestTheirs(t testing.TB) func() {
	var params sdk.MessageNewParams
	if err := json.Unmarshal(anthropicEncoded(t, anthropicRequest(anthropicHistory(99))), &params); err != nil {
		t.Fatal(err)
	}
	client := anthropicSDK(anthropicShort(t))
	return func() {
		if _, err := client.Messages.New(context.Background(), params); err != nil {
			t.Fatal(err)
		}
	}
}

// anthropicRequestOurs sends it with ours. With a cache, each request has two messages more than
// the one before.
func anthropicRequestOurs(t testing.TB, cache *llm.Cache) func() {
	p := anthropicOurs(anthropicShort(t))
	r := anthropicRequest(anthropicHistory(99))
	all := anthropicHistory(400)
	r.Unary, r.Cache = true, cache
	n := 200
	return func() {
		if cache != nil {
			if r.Messages = all[:n]; n+2 < len(all) {
				n += 2
			}
		}
		if _, err := llm.Collect(p.Stream(context.Background(), r)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnthropic_CostNextToTheSDK prints what both sides take for the same work. Only the
// allocations are asserted, since they do not depend on what else the machine does.
func TestAnthropic_CostNextToTheSDK(t *testing.T) {
	row := func(what string, per int, want float64, theirs, ours anthropicCost) {
		n := time.Duration(per)
		cpu := float64(theirs.cpu) / float64(max(ours.cpu, 1))
		allocs := theirs.allocs / ours.allocs
		t.Logf("%-26s anthropic-sdk-go %9v %8.1f allocs | ours %9v %7.1f allocs | %5.1f× less CPU, %5.1f× fewer allocs",
			what, theirs.cpu/n, theirs.allocs/float64(per), ours.cpu/n, ours.allocs/float64(per), cpu, allocs)
		if allocs < want {
			t.Errorf("%s: %.1f times fewer allocations than the SDK, want %.0f", what, allocs, want)
		}
	}
	f, events := anthropicLong(t)
	ours := anthropicMeasure(100, anthropicStreamOurs(t, f))
	row("streamed event", events, 3, anthropicMeasure(20, anthropicStreamTheirs(t, f, false)), ours)
	row("event, with a message", events, 3, anthropicMeasure(20, anthropicStreamTheirs(t, f, true)), ours)
	request := anthropicMeasure(20, anthropicRequestTheirs(t))
	row("request of 200 messages", 1, 3, request, anthropicMeasure(50, anthropicRequestOurs(t, nil)))
	row("two messages more, cached", 1, 20, request, anthropicMeasure(200, anthropicRequestOurs(t, new(llm.Cache))))
}

func BenchmarkAnthropic(b *testing.B) {
	f, _ := anthropicLong(b)
	for _, c := range []struct {
		name string
		run  func(testing.TB) func()
	}{
		{"Stream/anthropic-sdk-go", func(t testing.TB) func() { return anthropicStreamTheirs(t, f, false) }},
		{"Stream/ours", func(t testing.TB) func() { return anthropicStreamOurs(t, f) }},
		{"Request200/anthropic-sdk-go", anthropicRequestTheirs},
		{"Request200/ours", func(t testing.TB) func() { return anthropicRequestOurs(t, nil) }},
		{"Request200/cached", func(t testing.TB) func() { return anthropicRequestOurs(t, new(llm.Cache)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			run := c.run(b)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
