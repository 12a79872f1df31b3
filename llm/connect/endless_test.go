package connect_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// endless are events that a server repeats without end, by provider. %d is the event number.
var endless = map[string]map[string]string{
	"openai": {
		"text":  `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"$TEXT"}`,
		"calls": `{"type":"response.function_call_arguments.delta","output_index":%d,"delta":""}`,
		"parts": `{"type":"response.output_text.delta","output_index":%d,"content_index":4000,"delta":""}`,
		"items": `{"type":"response.output_item.added","output_index":%d,"item":{"type":"unknown","id":"i"}}`,
		"state": `{"type":"response.output_item.done","output_index":%d,"item":{"type":"reasoning","encrypted_content":"$TEXT"}}`,
	},
	"anthropic": {
		"text":      `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"$TEXT"}}`,
		"calls":     `{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"t%[1]d","name":"x","input":{}}}`,
		"signature": `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"$TEXT"}}`,
		"usage":     `{"type":"message_delta","delta":{},"usage":{"k%d":"$TEXT"}}`,
		"messages":  `{"type":"message_start","message":{"id":"m%d","content":[{"type":"text","text":"$TEXT"}]}}`,
	},
	"gemini": {
		"text":      `{"candidates":[{"content":{"parts":[{"text":"$TEXT"}]}}]}`,
		"calls":     `{"candidates":[{"content":{"parts":[{"functionCall":{"id":"%d","name":"x","args":{}}}]}}]}`,
		"signature": `{"candidates":[{"content":{"parts":[{"text":"x","thoughtSignature":"$TEXT"}]}}]}`,
		"image":     `{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"$TEXT"}}]}}]}`,
		"arguments": `{"candidates":[{"content":{"parts":[{"functionCall":{"willContinue":true,"partialArgs":[{"jsonPath":"$.a%d.b.c.d.e.f.g.h.i.j","stringValue":""}]}}]}}]}`,
	},
	"chat": {
		"text":    `{"choices":[{"delta":{"content":"$TEXT"}}]}`,
		"calls":   `{"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"t%[1]d","function":{"name":"x","arguments":""}}]}}]}`,
		"refusal": `{"choices":[{"delta":{"refusal":"$TEXT"}}]}`,
		"details": `{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"$TEXT"}]}}]}`,
		"members": `{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"k%d":1}]}}]}`,
	},
}

// firstEvent has events that precede the endless events.
var firstEvent = map[string]string{
	"gemini/arguments":    `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"x","willContinue":true}}]}}]}` + "\n\n",
	"anthropic/signature": `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}` + "\n\n",
}

func TestAttack_EndlessAnswerNeedsLittleMemory(t *testing.T) {
	const limit = 64 << 20
	for provider, events := range endless {
		for name, event := range events {
			t.Run(provider+"/"+name, func(t *testing.T) {
				event := "data: " + strings.ReplaceAll(event, "$TEXT", strings.Repeat("abcd", 1000)) + "\n\n"
				testEndless(t, provider, limit, func(w io.Writer) error {
					_, err := io.WriteString(w, firstEvent[provider+"/"+name])
					for n := 0; err == nil; n++ {
						if strings.Contains(event, "%") {
							_, err = fmt.Fprintf(w, event, n)
						} else {
							_, err = io.WriteString(w, event)
						}
					}
					return err
				})
			})
		}
		t.Run(provider+"/one event", func(t *testing.T) {
			line := strings.Repeat("x", 1<<16)
			testEndless(t, provider, limit, func(w io.Writer) error {
				_, err := io.WriteString(w, `data: {"x":"`)
				for err == nil {
					_, err = io.WriteString(w, line)
				}
				return err
			})
		})
	}
}

// testEndless reads an answer that never ends, from a server on this machine, and checks how much the heap grows.
func testEndless(t *testing.T, provider string, limit uint64, write func(io.Writer) error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		write(&limited{w, 32 << 20})
	}))
	defer server.Close()
	client, err := connect.Open(t.Context(), provider, connect.Config{
		Getenv: func(name string) string { return map[bool]string{true: "key"}[strings.HasSuffix(name, "_API_KEY")] }, BaseURL: server.URL,
	})
	if err != nil {
		t.Fatal(err)
	}
	start, peak := heap(true), uint64(0)
	n := 0
	for _, err = range client.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.UserText("hello")}}) {
		if n++; n%64 == 0 {
			peak = max(peak, heap(false))
		}
	}
	peak = max(peak, heap(false))
	if llm.KindOf(err) != llm.ErrMalformed || !strings.Contains(err.Error(), "the response is larger than the limit of 8388608 bytes") {
		t.Errorf("got %v, want an error about the limit", err)
	}
	if grown := peak - min(peak, start); grown > limit {
		t.Errorf("the heap grew by %d MiB, want at most %d", grown>>20, limit>>20)
	} else {
		t.Logf("the heap grew by %d MiB", grown>>20)
	}
}

// limited fails after a number of bytes, so that a client without limits cannot use all memory.
type limited struct {
	io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, io.ErrShortWrite
	}
	return l.Writer.Write(p)
}

func heap(collect bool) uint64 {
	if collect {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
