package gemini

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// benchStream returns a typical answer of text in many responses.
func benchStream(events int) []byte {
	var b bytes.Buffer
	for i := range events {
		finish := ""
		if i == events-1 {
			finish = `"finishReason": "STOP",`
		}
		fmt.Fprintf(&b, `data: {"candidates": [{"content": {"parts": [{"text": "The next %d words of an answer,\nas they arrive. "}],"role": "model"},%s"index": 0}],"usageMetadata": {"promptTokenCount": 1200,"candidatesTokenCount": %d,"totalTokenCount": %d,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 1200}],"thoughtsTokenCount": 64},"modelVersion": "gemini-3-pro-preview","responseId": "tjXVaYaxFISTq8YP_MWiyAo"}`, i, finish, i*8, i*8+1264)
		b.WriteString("\r\n\r\n")
	}
	return b.Bytes()
}

func BenchmarkStream(b *testing.B) {
	const events = 500
	body := benchStream(events)
	d := NewDialect(Config{})
	b.ReportAllocs()
	for b.Loop() {
		a := wire.NewAssembler(Name, "gemini-3-pro-preview", func(llm.StreamEvent) bool { return true })
		if err := wire.Read(d, wire.Answer{Status: 200, Body: bytes.NewReader(body), Stream: true}, a); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}

func TestStream_TextEventsTakeFewAllocations(t *testing.T) {
	const events = 500
	body := benchStream(events)
	d := NewDialect(Config{})
	total := testing.AllocsPerRun(5, func() {
		a := wire.NewAssembler(Name, "gemini-3-pro-preview", func(llm.StreamEvent) bool { return true })
		if err := wire.Read(d, wire.Answer{Status: 200, Body: bytes.NewReader(body), Stream: true}, a); err != nil {
			t.Fatal(err)
		}
	})
	if per := total / events; per > 4 {
		t.Errorf("%.2f allocations per event, want at most 4", per)
	}
}

// bench200 returns a history of about 200 messages.
func bench200() []llm.Message { return longHistory(94) }

func BenchmarkEncode200(b *testing.B) {
	messages := bench200()
	d := NewDialect(Config{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Encode(longRequest(messages)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode200Cached adds one round, two messages, to a history that was encoded before.
func BenchmarkEncode200Cached(b *testing.B) {
	messages := bench200()
	n := len(messages) - 2
	d := NewDialect(Config{})
	cache := new(llm.Cache)
	r := longRequest(messages[:n])
	r.Cache = cache
	if _, err := d.Encode(r); err != nil {
		b.Fatal(err)
	}
	grown := append([]llm.Message(nil), messages[:n]...)
	b.ReportAllocs()
	for b.Loop() {
		if len(grown) > 4*n {
			b.StopTimer()
			grown = grown[:n:n]
			cache = new(llm.Cache)
			first := longRequest(grown)
			first.Cache = cache
			if _, err := d.Encode(first); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		grown = append(grown, messages[n], messages[n+1])
		next := longRequest(grown)
		next.Cache = cache
		if _, err := d.Encode(next); err != nil {
			b.Fatal(err)
		}
	}
}
