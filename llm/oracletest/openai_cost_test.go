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

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/llm/wire"
)

// openaiTransport answers every request in memory, so that only the clients' own work counts.
type openaiTransport struct {
	contentType string
	answer      []byte
}

func (f openaiTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {f.contentType}},
		Body: io.NopCloser(bytes.NewReader(f.answer)), Request: r,
	}, nil
}

// openaiRecorded takes an answer of our server, and the number of events in it.
func openaiRecorded(t testing.TB, turn llmtest.Turn, stream bool) (openaiTransport, int) {
	t.Helper()
	server := llmtest.NewServer(llmtest.Play(turn))
	defer server.Close()
	body := `{"model":"gpt-5.5","input":"hi"}`
	if stream {
		body = `{"model":"gpt-5.5","input":"hi","stream":true}`
	}
	req, err := http.NewRequest(http.MethodPost, server.BaseURL(openai.Name)+"/responses", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer key")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v: %s", err, answer)
	}
	return openaiTransport{resp.Header.Get("Content-Type"), answer}, bytes.Count(answer, []byte("\ndata: "))
}

// openaiLong is an answer whose stream is mostly deltas, as a model's is.
func openaiLong(t testing.TB) (openaiTransport, int) {
	return openaiRecorded(t, llmtest.Turn{Parts: []llm.Part{
		llm.Thinking{Text: strings.Repeat("Considering the matter. ", 100)},
		llm.Text{Text: strings.Repeat("The next words of an answer,\nas they arrive. ", 150)},
		llm.ToolCall{ID: "call_1", Name: "write", Arguments: `{"text":"` + strings.Repeat(`a line of code\n`, 100) + `"}`},
	}}, true)
}

func openaiShort(t testing.TB) openaiTransport {
	short, _ := openaiRecorded(t, llmtest.Say("ok"), false)
	return short
}

func openaiSDK(f openaiTransport) sdk.Client {
	return sdk.NewClient(option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: f}), option.WithMaxRetries(0))
}

func openaiOurs(f openaiTransport) *wire.Provider {
	return openai.New(openai.Config{Endpoint: wire.Endpoint{APIKey: "key", HTTPClient: &http.Client{Transport: f}}})
}

// openaiCost is what one run of something takes.
type openaiCost struct {
	cpu    time.Duration
	allocs float64
}

// openaiMeasure runs something n times and takes the processor's time and the allocations.
func openaiMeasure(n int, run func()) openaiCost {
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
	return openaiCost{cpu / time.Duration(n), float64(after.Mallocs-before.Mallocs) / float64(n)}
}

// openaiStreamTheirs reads a stream with the SDK and takes each event apart, as a caller must.
func openaiStreamTheirs(t testing.TB, f openaiTransport) func() {
	client := openaiSDK(f)
	return func() {
		stream := client.Responses.NewStreaming(context.Background(), openaiParams())
		n := 0
		for stream.Next() {
			if ev, ok := stream.Current().AsAny().(responses.ResponseTextDeltaEvent); ok {
				n += len(ev.Delta)
			}
		}
		if stream.Err() != nil || n == 0 {
			t.Fatal(stream.Err())
		}
	}
}

func openaiStreamOurs(t testing.TB, f openaiTransport) func() {
	p := openaiOurs(f)
	r := &llm.Request{Model: openaiModel, Messages: []llm.Message{llm.UserText("Look at a.go.")}}
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

// openaiRequestTheirs sends the same history of 200 messages with the SDK.
func openaiRequestTheirs(t testing.TB) func() {
	var params responses.ResponseNewParams
	if err := json.Unmarshal(openaiEncoded(t, openaiRequest(openaiHistory(99))), &params); err != nil {
		t.Fatal(err)
	}
	client := openaiSDK(openaiShort(t))
	return func() {
		if _, err := client.Responses.New(context.Background(), params); err != nil {
			t.Fatal(err)
		}
	}
}

// openaiRequestOurs sends it with ours. With a cache, each request has two messages more than the
// one before.
func openaiRequestOurs(t testing.TB, cache *llm.Cache) func() {
	p := openaiOurs(openaiShort(t))
	r := openaiRequest(openaiHistory(99))
	all := openaiHistory(400)
	r.Unary = true
	r.Cache = cache
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

// TestOpenAI_CostNextToTheSDK prints what both sides take for the same work. Only the allocations
// are asserted, since they do not depend on what else the machine does.
func TestOpenAI_CostNextToTheSDK(t *testing.T) {
	row := func(what string, per int, want float64, theirs, ours openaiCost) {
		n := time.Duration(per)
		cpu := float64(theirs.cpu) / float64(max(ours.cpu, 1))
		allocs := theirs.allocs / ours.allocs
		t.Logf("%-26s openai-go %9v %8.1f allocs | ours %9v %7.1f allocs | %5.1f× less CPU, %5.1f× fewer allocs",
			what, theirs.cpu/n, theirs.allocs/float64(per), ours.cpu/n, ours.allocs/float64(per), cpu, allocs)
		if allocs < want {
			t.Errorf("%s: %.1f times fewer allocations than the SDK, want %.0f", what, allocs, want)
		}
	}
	f, events := openaiLong(t)
	row("streamed event", events, 3, openaiMeasure(20, openaiStreamTheirs(t, f)), openaiMeasure(100, openaiStreamOurs(t, f)))
	request := openaiMeasure(20, openaiRequestTheirs(t))
	row("request of 200 messages", 1, 3, request, openaiMeasure(50, openaiRequestOurs(t, nil)))
	row("two messages more, cached", 1, 20, request, openaiMeasure(200, openaiRequestOurs(t, new(llm.Cache))))
}

func BenchmarkOpenAI(b *testing.B) {
	f, _ := openaiLong(b)
	for _, c := range []struct {
		name string
		run  func(testing.TB) func()
	}{
		{"Stream/openai-go", func(t testing.TB) func() { return openaiStreamTheirs(t, f) }},
		{"Stream/ours", func(t testing.TB) func() { return openaiStreamOurs(t, f) }},
		{"Request200/openai-go", openaiRequestTheirs},
		{"Request200/ours", func(t testing.TB) func() { return openaiRequestOurs(t, nil) }},
		{"Request200/cached", func(t testing.TB) func() { return openaiRequestOurs(t, new(llm.Cache)) }},
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
