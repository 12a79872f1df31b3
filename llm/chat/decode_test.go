package chat

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// read decodes a streamed answer.
func read(stream string) (*llm.Response, []llm.StreamEvent, error) {
	var events []llm.StreamEvent
	a := wire.NewAssembler(Name, "m", func(ev llm.StreamEvent) bool { events = append(events, ev); return true })
	h := http.Header{}
	if !strings.HasPrefix(stream, "{") {
		h.Set("Content-Type", "text/event-stream")
	}
	err := wire.Read(NewDialect(Config{}), wire.Answer{Status: 200, Header: h, Body: strings.NewReader(stream), Stream: true}, a)
	return a.Response(), events, err
}

// sse returns a stream of deltas. A delta that starts with '!' is a whole event.
func sse(deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		if event, whole := strings.CutPrefix(d, "!"); whole {
			b.WriteString("data: " + event + "\n\n")
			continue
		}
		fmt.Fprintf(&b, "data: {\"id\":\"c1\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
	}
	return b.String()
}

const (
	stopped = `!{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done    = `![DONE]`
)

// summary describes a response in short.
func summary(r *llm.Response) string {
	var b strings.Builder
	for _, p := range r.Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			fmt.Fprintf(&b, "text(%s) ", p.Text)
		case llm.Thinking:
			fmt.Fprintf(&b, "thinking(%s|%s) ", p.Text, p.State.Data)
		case llm.ToolCall:
			fmt.Fprintf(&b, "call(%s %s %s", p.ID, p.Name, p.Arguments)
			if len(p.State.Data) > 0 {
				fmt.Fprintf(&b, "|%s", p.State.Data)
			}
			b.WriteString(") ")
		case llm.Opaque:
			fmt.Fprintf(&b, "opaque(%s|%s) ", p.Kind, p.State.Data)
		}
	}
	return fmt.Sprintf("%s%s/%s", b.String(), r.Finish.Reason, r.Finish.Raw)
}

func TestStream_DecodesServerQuirks(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"text":                        {[]string{`{"role":"assistant","content":""}`, `{"content":"Hel"}`, `{"content":"lo"}`, stopped, done}, "text(Hello) stop/stop"},
		"no [DONE]":                   {[]string{`{"content":"Hi"}`, stopped}, "text(Hi) stop/stop"},
		"no finish reason":            {[]string{`{"content":"Hi"}`, done}, "text(Hi) stop/"},
		"finish reason eos":           {[]string{`{"content":"Hi"}`, `!{"choices":[{"delta":{},"finish_reason":"eos"}]}`, done}, "text(Hi) stop/eos"},
		"unknown finish reason":       {[]string{`{"content":"Hi"}`, `!{"choices":[{"delta":{},"finish_reason":"tired"}]}`, done}, "text(Hi) other/tired"},
		"finish twice":                {[]string{`{"content":"Hi"}`, stopped, stopped, done}, "text(Hi) stop/stop"},
		"content as parts":            {[]string{`{"content":[{"type":"text","text":"H"},{"type":"text","text":"i"}]}`, stopped, done}, "text(Hi) stop/stop"},
		"thinking as parts":           {[]string{`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`, `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}],"closed":true},{"type":"text","text":"c"}]}`, stopped, done}, `thinking(ab|{"type":"thinking","thinking":[{"type":"text","text":"ab"}],"closed":true}) text(c) stop/stop`},
		"reasoning_content":           {[]string{`{"reasoning_content":"a"}`, `{"reasoning_content":"b","content":""}`, `{"content":"c"}`, stopped, done}, `thinking(ab|"reasoning_content") text(c) stop/stop`},
		"two reasoning members":       {[]string{`{"reasoning":"a","reasoning_content":"a"}`, `{"content":"c"}`, stopped, done}, `thinking(a|"reasoning") text(c) stop/stop`},
		"reasoning details":           {[]string{`{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}`, `{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","index":0}]}`, `{"reasoning_details":[{"type":"reasoning.text","signature":"sig","index":0}]}`, `{"content":"c"}`, `{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":1}]}`, stopped, done}, `thinking(ab|{"reasoning":"ab","reasoning_details":[{"type":"reasoning.text","text":"ab","index":0,"signature":"sig"},{"type":"reasoning.encrypted","data":"x","index":1}]}) text(c) stop/stop`},
		"encrypted details only":      {[]string{`{"content":"c"}`, `{"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}`, stopped, done}, `text(c) thinking(|{"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}) stop/stop`},
		"calls":                       {[]string{`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`, `{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`, stopped, done}, `call(a f {"x":1}) call(b g {}) tool_calls/stop`},
		"calls without index":         {[]string{`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}`, `{"tool_calls":[{"function":{"arguments":"}"}}]}`, `{"tool_calls":[{"id":"b","function":{"name":"f","arguments":"{}"}}]}`, stopped, done}, `call(a f {}) call(b f {}) tool_calls/stop`},
		"calls of one index":          {[]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, `{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]}`, stopped, done}, `call(a f {}) call(b f {}) tool_calls/stop`},
		"id and name repeated":        {[]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}]}`, stopped, done}, `call(a f {}) tool_calls/stop`},
		"name late":                   {[]string{`{"tool_calls":[{"index":0,"id":"a"}]}`, `{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}`, stopped, done}, `call(a f {}) tool_calls/stop`},
		"arguments as an object":      {[]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}`, stopped, done}, `call(a f {"x":1}) tool_calls/stop`},
		"thought signature of a call": {[]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]}`, stopped, done}, `call(a f {}|{"extra_content":{"google":{"thought_signature":"s"}}}) tool_calls/stop`},
		"refusal":                     {[]string{`{"refusal":"I "}`, `{"refusal":"won't"}`, stopped, done}, `opaque(refusal|{"refusal":"I won't"}) content_filter/stop`},
		"annotations":                 {[]string{`{"content":"a","annotations":[{"type":"url_citation"}]}`, stopped, done}, `opaque(annotations|{"annotations":[{"type":"url_citation"}]}) text(a) stop/stop`},
		"a truncated call":            {[]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}]}`, `!{"choices":[{"delta":{},"finish_reason":"length"}]}`, done}, "length/length"},
		"other choices are ignored":   {[]string{`!{"choices":[{"index":1,"delta":{"content":"no"}}]}`, `{"content":"yes"}`, stopped, done}, "text(yes) stop/stop"},
		"the whole message again":     {[]string{`{"content":"a"}`, `!{"choices":[{"index":0,"message":{"content":"ab"},"delta":{"content":"b"},"finish_reason":"stop"}]}`, `!{"object":"chat.completion.done","choices":[{"index":0,"message":{"content":"ab"},"finish_reason":"stop"}]}`}, "text(ab) stop/stop"},
		"a whole answer in one event": {[]string{`!{"choices":[{"index":0,"message":{"content":"ab"},"finish_reason":"stop"}]}`, done}, "text(ab) stop/stop"},
		"text, call, text":            {[]string{`{"content":"a"}`, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, `{"content":"b"}`, stopped, done}, "text(a) call(a f {}) text(b) tool_calls/stop"},
	} {
		resp, _, err := read(": comment\n\n" + sse(c.in...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := summary(resp); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

func TestStream_CallsWithoutIDsGetStableUniqueIDs(t *testing.T) {
	in := sse(`{"tool_calls":[{"id":"","function":{"name":"f","arguments":"{}"}},{"function":{"name":"f","arguments":"{}"}}]}`, `{"function_call":{"name":"g","arguments":"{"}}`, `{"function_call":{"arguments":"}"}}`, stopped, done)
	first, _, err := read(in)
	if err != nil {
		t.Fatal(err)
	}
	calls := first.ToolCalls()
	if len(calls) != 3 || calls[2].Name != "g" || calls[2].Arguments != "{}" {
		t.Fatalf("got calls %v, want f, f and g({})", calls)
	}
	if calls[0].ID == "" || calls[0].ID == calls[1].ID || calls[1].ID == calls[2].ID {
		t.Errorf("got %v, want unique ids", calls)
	}
	second, _, _ := read(in)
	if summary(first) != summary(second) {
		t.Error("decoding again gives other ids")
	}
}

func TestStream_Failures(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		kind llm.ErrorKind
		say  string
	}{
		"interrupted":            {sse(`{"content":"a"}`), llm.ErrIncomplete, "ended"},
		"error event":            {sse(`{"content":"a"}`) + "event: error\ndata: {\"error\":{\"message\":\"tool failed\",\"status_code\":400}}\n\n", llm.ErrInvalidRequest, "tool failed"},
		"error chunk":            {sse(`{"content":"a"}`, `!{"error":{"code":502,"message":"upstream"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`), llm.ErrServer, "upstream"},
		"error as text":          {sse(`!{"error":"busy","status":503}`), llm.ErrUnknown, "busy"},
		"a body with an error":   {`{"error":{"message":"no credit","code":"insufficient_quota"}}`, llm.ErrQuota, "no credit"},
		"malformed":              {sse(`{"content":"a"}`, `!{"choices":[`, done), llm.ErrMalformed, "JSON"},
		"interrupted in a call":  {sse(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}]}`, done), llm.ErrIncomplete, "arguments"},
		"an error that is null":  {sse(`!{"error":null,"choices":[{"delta":{"content":"a"}}]}`), llm.ErrIncomplete, "ended"},
		"detail instead of body": {`{"detail":"Not Found"}`, llm.ErrUnknown, "Not Found"},
	} {
		_, events, err := read(c.in)
		if err == nil || llm.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: got error %v of kind %s, want %s with %q", name, err, llm.KindOf(err), c.kind, c.say)
		}
		for _, ev := range events {
			if _, ended := ev.(llm.ToolCallEnd); ended {
				t.Errorf("%s: an incomplete call has ended", name)
			}
		}
	}
}

func TestUsage_MeansTheSameForEveryServer(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want llm.Usage
	}{
		"openai":     {`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}`, llm.Usage{Input: 10, Output: 5, Reasoning: 2, CacheRead: 4}},
		"deepseek":   {`{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}`, llm.Usage{Input: 10, Output: 5, CacheRead: 8}},
		"openrouter": {`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":1,"cache_write_tokens":3}}`, llm.Usage{Input: 10, Output: 5, CacheRead: 1, CacheWrite: 3}},
		"xai":        {`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":22,"completion_tokens_details":{"reasoning_tokens":7}}`, llm.Usage{Input: 10, Output: 12, Reasoning: 7}},
		"moonshot":   {`{"prompt_tokens":10,"completion_tokens":5,"cached_tokens":6}`, llm.Usage{Input: 10, Output: 5, CacheRead: 6}},
		"uncached":   {`{"prompt_tokens":3,"completion_tokens":5,"cache_creation_input_tokens":20}`, llm.Usage{Input: 23, Output: 5, CacheWrite: 20}},
	} {
		got := usage(wire.Value(c.in))
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	resp, _, err := read(sse(`{"content":"a"}`, stopped, `!{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}`, `!{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, done))
	if err != nil || resp.Usage.Input != 3 || string(resp.Usage.Raw) != `{"prompt_tokens":3,"completion_tokens":1}` {
		t.Errorf("got usage %+v, error %v; want the first counts", resp.Usage, err)
	}
}

func TestEncode_SendsAnswersBackWithTheirState(t *testing.T) {
	for name, message := range map[string]string{
		"reasoning_content": `{"role":"assistant","content":"a","reasoning_content":"r"}`,
		"details":           `{"role":"assistant","content":"a","reasoning":"r","reasoning_details":[{"type":"reasoning.text","text":"r","signature":"s","index":0},{"type":"reasoning.encrypted","data":"d","index":1}]}`,
		"mistral":           `{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}],"closed":true},{"type":"text","text":"a"}]}`,
		"google":            `{"role":"assistant","content":"a","extra_content":{"google":{"thought_signature":"s"}}}`,
		"google call":       `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]}`,
	} {
		a := wire.NewAssembler(Name, "m", nil)
		d := NewDialect(Config{})
		if err := d.Decode([]byte(`{"choices":[{"index":0,"message":`+message+`,"finish_reason":"stop"}]}`), a); err != nil {
			t.Fatal(name, err)
		}
		var sent struct{ Messages []json.RawMessage }
		if err := json.Unmarshal(body(t, d, &llm.Request{Model: "m", Messages: []llm.Message{a.Response().Message}}), &sent); err != nil {
			t.Fatal(err)
		}
		if missing, err := requests.Lost([]byte(message), sent.Messages[0]); err != nil || len(missing) > 0 {
			t.Errorf("%s: lost %v in %s", name, missing, sent.Messages[0])
		}
	}
}

func TestDecode_ReturnsAnUnknownBodyAsAnOpaquePart(t *testing.T) {
	a := wire.NewAssembler(Name, "m", nil)
	if err := NewDialect(Config{}).Decode([]byte(`{"hello":1}`), a); err != nil {
		t.Fatal(err)
	}
	if got := summary(a.Response()); got != `opaque(response|{"hello":1}) other/` {
		t.Errorf("got %s, want the body as an opaque part", got)
	}
}
