package chat

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// benchStream returns a stream like OpenAI's: text, a tool call and token counts.
func benchStream() (stream []byte, events int) {
	var b strings.Builder
	chunk := func(delta, finish string) {
		events++
		fmt.Fprintf(&b, `data: {"id":"chatcmpl-C6bkF43YPpt2nQKdjU5XrPT0JYIzS","object":"chat.completion.chunk","created":1755691095,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_0ba0d124f1","choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null,"obfuscation":"a8fK2mQ"}`+"\n\n", delta, finish)
	}
	chunk(`{"role":"assistant","content":"","refusal":null}`, "null")
	for i := range 400 {
		chunk(fmt.Sprintf(`{"content":" word%d"}`, i), "null")
	}
	chunk(`{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"read","arguments":""}}]}`, "null")
	for i := range 100 {
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":"%d,"}}]}`, i), "null")
	}
	chunk(`{}`, `"tool_calls"`)
	b.WriteString(`data: {"id":"chatcmpl-C6bk","object":"chat.completion.chunk","created":1755691095,"model":"gpt-4o-mini-2024-07-18","choices":[],"usage":{"prompt_tokens":26,"completion_tokens":133,"total_tokens":159}}` + "\n\ndata: [DONE]\n\n")
	return []byte(b.String()), events + 1
}

func BenchmarkStream(b *testing.B) {
	stream, events := benchStream()
	d := NewDialect(Config{})
	h := http.Header{"Content-Type": {"text/event-stream"}}
	b.ReportAllocs()
	for b.Loop() {
		a := wire.NewAssembler(Name, "m", func(llm.StreamEvent) bool { return true })
		if err := wire.Read(d, wire.Answer{Status: 200, Header: h, Body: bytes.NewReader(stream), Stream: true}, a); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

func benchMessages() []llm.Message {
	messages := []llm.Message{llm.SystemText(strings.Repeat("Be careful. ", 50))}
	for i := 0; len(messages) < 200; i++ {
		id := fmt.Sprintf("call_%d", i)
		messages = append(messages,
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "I read the file."}, llm.ToolCall{ID: id, Name: "read", Arguments: `{"path":"main.go","offset":10}`}}},
			llm.ToolResults(llm.ToolResult{ID: id, Name: "read", Parts: []llm.Part{llm.Text{Text: strings.Repeat("\tfmt.Println(\"hello, wörld\")\n", 20)}}}))
	}
	return messages
}

func BenchmarkEncode200(b *testing.B) {
	d := NewDialect(Config{})
	messages := benchMessages()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Encode(&llm.Request{Model: "m", Messages: messages, Tools: someTools}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode200Cached(b *testing.B) {
	d := NewDialect(Config{})
	messages := benchMessages()
	cache := new(llm.Cache)
	r := &llm.Request{Model: "m", Messages: messages[:len(messages):len(messages)], Tools: someTools, Cache: cache}
	if _, err := d.Encode(r); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(r.Messages) > 2200 { // start a new conversation
			b.StopTimer()
			r.Messages = messages[:len(messages):len(messages)]
			_, _ = d.Encode(r)
			b.StartTimer()
		}
		n := len(messages)
		r.Messages = append(r.Messages, messages[n-2], messages[n-1])
		if _, err := d.Encode(r); err != nil {
			b.Fatal(err)
		}
	}
}
