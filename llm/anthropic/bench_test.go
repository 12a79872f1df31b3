package anthropic

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// benchStream returns a typical stream: thinking, text, and a call.
func benchStream() (stream []byte, events int) {
	list := []string{start(""), `{"type":"ping"}`, begin(0, `{"type":"thinking","thinking":"","signature":""}`)}
	for i := range 100 {
		list = append(list, delta(0, fmt.Sprintf(`{"type":"thinking_delta","thinking":" considering %d"}`, i)))
	}
	list = append(list, delta(0, `{"type":"signature_delta","signature":"EqoBCkgIARABGAIiQL"}`), stop(0), begin(1, emptyText))
	for i := range 300 {
		list = append(list, text(1, fmt.Sprintf(" word %d of it", i)))
	}
	list = append(list, stop(1), begin(2, weatherA), partial(2, `{"city":"`))
	for range 100 {
		list = append(list, partial(2, `line of code\n`))
	}
	list = append(list, partial(2, `"}`), stop(2), ending("tool_use"), done)
	return []byte(sse(list...)), len(list)
}

func BenchmarkStream(b *testing.B) {
	stream, events := benchStream()
	d := NewDialect(Config{})
	b.ReportAllocs()
	for b.Loop() {
		a := wire.NewAssembler(Name, "m", func(llm.StreamEvent) bool { return true })
		if err := wire.Read(d, wire.Answer{Status: 200, Header: http.Header{}, Body: bytes.NewReader(stream), Stream: true}, a); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

func TestStream_AllocationsPerEvent(t *testing.T) {
	stream, events := benchStream()
	d := NewDialect(Config{})
	n := testing.AllocsPerRun(10, func() {
		a := wire.NewAssembler(Name, "m", func(llm.StreamEvent) bool { return true })
		if err := wire.Read(d, wire.Answer{Status: 200, Header: http.Header{}, Body: bytes.NewReader(stream), Stream: true}, a); err != nil {
			t.Fatal(err)
		}
	}) / float64(events)
	if n > 4 {
		t.Errorf("an event takes %.1f allocations, at most 4 are wanted", n)
	}
}

// benchHistory returns a conversation of 200 messages.
func benchHistory() []llm.Message {
	messages := []llm.Message{llm.SystemText("You are a coding agent.")}
	for n := range 67 {
		c := llm.ToolCall{ID: fmt.Sprintf("toolu_%d", n), Name: "bash", Arguments: `{"command":"go test ./..."}`}
		messages = append(messages,
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{signed("thinking about it", "m"), llm.Text{Text: "Let me run the tests."}, c}},
			llm.ToolResults(llm.TextResult(c, string(bytes.Repeat([]byte("ok  \texample.com/pkg\t0.012s\n"), 20)), false)),
			llm.UserText("go on"))
	}
	return messages[:200]
}

func BenchmarkEncode200(b *testing.B) {
	d := NewDialect(Config{})
	r := &llm.Request{Model: "m", Messages: benchHistory(), Tools: []llm.ToolDef{weather}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Encode(r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode200Cached appends two messages to a history of 198 that was sent before.
func BenchmarkEncode200Cached(b *testing.B) {
	d := NewDialect(Config{})
	history := benchHistory()
	r := &llm.Request{Model: "m", Tools: []llm.ToolDef{weather}}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r.Cache, r.Messages = new(llm.Cache), history[:198]
		if _, err := d.Encode(r); err != nil {
			b.Fatal(err)
		}
		r.Messages = history
		b.StartTimer()
		if _, err := d.Encode(r); err != nil {
			b.Fatal(err)
		}
	}
}
