//go:build unix

package oracletest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"syscall"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/wire"
)

// geminiTransport answers every request in memory, so that only the clients' own work counts.
type geminiTransport struct {
	contentType string
	answer      []byte
}

func (f geminiTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {f.contentType}},
		Body: io.NopCloser(bytes.NewReader(f.answer)), Request: r,
	}, nil
}

// geminiStream is an answer of text in so many events.
func geminiStream(events int) geminiTransport {
	var b bytes.Buffer
	for i := range events {
		finish := ""
		if i == events-1 {
			finish = `"finishReason": "STOP",`
		}
		fmt.Fprintf(&b, `data: {"candidates": [{"content": {"parts": [{"text": "The next %d words of an answer,\nas they arrive. "}],"role": "model"},%s"index": 0}],"usageMetadata": {"promptTokenCount": 1200,"candidatesTokenCount": %d,"totalTokenCount": %d,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 1200}],"thoughtsTokenCount": 64},"modelVersion": "gemini-3-pro-preview","responseId": "tjXVaYaxFISTq8YP_MWiyAo"}`, i, finish, i*8, i*8+1264)
		b.WriteString("\r\n\r\n")
	}
	return geminiTransport{"text/event-stream", b.Bytes()}
}

var geminiShort = geminiTransport{"application/json", []byte(`{"candidates":[{"content":{"parts":[{"text":"ok"}],"role":"model"},"finishReason":"STOP"}]}`)}

func geminiSDK(t testing.TB, f geminiTransport) *genai.Client {
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: f}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func geminiOurs(f geminiTransport) *wire.Provider {
	return gemini.New(gemini.Config{Endpoint: wire.Endpoint{APIKey: "k", HTTPClient: &http.Client{Transport: f}}})
}

// geminiCost is what one run of something takes.
type geminiCost struct {
	cpu    time.Duration
	allocs float64
}

// geminiMeasure runs something n times and takes the processor's time and the allocations.
func geminiMeasure(n int, run func()) geminiCost {
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
	return geminiCost{cpu / time.Duration(n), float64(after.Mallocs-before.Mallocs) / float64(n)}
}

const geminiEvents = 500

func geminiStreamTheirs(t testing.TB) func() {
	client := geminiSDK(t, geminiStream(geminiEvents))
	return func() {
		for _, err := range client.Models.GenerateContentStream(context.Background(), geminiModel, genai.Text("hi"), nil) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func geminiStreamOurs(t testing.TB) func() {
	p := geminiOurs(geminiStream(geminiEvents))
	r := &llm.Request{Model: geminiModel, Messages: []llm.Message{llm.UserText("hi")}}
	return func() {
		for _, err := range p.Stream(context.Background(), r) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// geminiRequestTheirs sends the same history of 200 messages with the SDK.
func geminiRequestTheirs(t testing.TB) func() {
	var body geminiBody
	if err := json.Unmarshal(geminiEncoded(t, geminiRequest(geminiHistory(99))), &body); err != nil {
		t.Fatal(err)
	}
	client := geminiSDK(t, geminiShort)
	config := &genai.GenerateContentConfig{SystemInstruction: body.SystemInstruction, Tools: body.Tools, ToolConfig: body.ToolConfig, MaxOutputTokens: 1000}
	return func() {
		if _, err := client.Models.GenerateContent(context.Background(), geminiModel, body.Contents, config); err != nil {
			t.Fatal(err)
		}
	}
}

func geminiRequestOurs(t testing.TB) func() {
	p := geminiOurs(geminiShort)
	r := geminiRequest(geminiHistory(99))
	r.Unary = true
	return func() {
		if _, err := llm.Collect(p.Stream(context.Background(), r)); err != nil {
			t.Fatal(err)
		}
	}
}

// geminiRequestCached sends a history of 200 messages that was encoded before, with two messages
// more each time. Once it has grown by half it starts again, which is then part of the cost.
func geminiRequestCached(t testing.TB) func() {
	p := geminiOurs(geminiShort)
	messages := geminiHistory(149)
	n := len(messages)
	var cache *llm.Cache
	return func() {
		if n += 2; n > len(messages) {
			n, cache = 200, new(llm.Cache)
		}
		r := geminiRequest(messages[:n])
		r.Unary, r.Cache = true, cache
		if _, err := llm.Collect(p.Stream(context.Background(), r)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGemini_CostNextToTheSDK prints what both sides take for the same work. Only the allocations
// are asserted, since they do not depend on what else the machine does.
func TestGemini_CostNextToTheSDK(t *testing.T) {
	row := func(what string, per int, want float64, theirs, ours geminiCost) {
		n := time.Duration(per)
		cpu := float64(theirs.cpu) / float64(max(ours.cpu, 1))
		allocs := theirs.allocs / ours.allocs
		t.Logf("%-26s genai %9v %8.1f allocs | ours %9v %7.1f allocs | %5.1f× less CPU, %5.1f× fewer allocs",
			what, theirs.cpu/n, theirs.allocs/float64(per), ours.cpu/n, ours.allocs/float64(per), cpu, allocs)
		if allocs < want {
			t.Errorf("%s: %.1f times fewer allocations than the SDK, want %.0f", what, allocs, want)
		}
	}
	row("streamed event", geminiEvents, 3, geminiMeasure(20, geminiStreamTheirs(t)), geminiMeasure(100, geminiStreamOurs(t)))
	request := geminiMeasure(20, geminiRequestTheirs(t))
	row("request of 200 messages", 1, 3, request, geminiMeasure(50, geminiRequestOurs(t)))
	row("two messages more, cached", 1, 20, request, geminiMeasure(50, geminiRequestCached(t)))
}

func BenchmarkGemini(b *testing.B) {
	for _, c := range []struct {
		name string
		run  func(testing.TB) func()
	}{
		{"Stream/genai", geminiStreamTheirs},
		{"Stream/ours", geminiStreamOurs},
		{"Request200/genai", geminiRequestTheirs},
		{"Request200/ours", geminiRequestOurs},
		{"Request200/cached", geminiRequestCached},
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
