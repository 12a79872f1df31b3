package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// sse returns a stream of events with this data.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", wire.Value(e).Get("type").Str(), e)
	}
	return b.String()
}

func start(content string) string {
	return `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[` + content + `],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":7,"cache_creation":{"ephemeral_1h_input_tokens":3,"ephemeral_5m_input_tokens":4},"output_tokens":1}}}`
}
func begin(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}
func delta(i int, d string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d)
}
func text(i int, s string) string {
	return delta(i, `{"type":"text_delta","text":`+string(wire.AppendString(nil, s))+`}`)
}
func stop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }
func ending(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":20,"output_tokens_details":{"thinking_tokens":8}}}`
}

const done = `{"type":"message_stop"}`

// readStream returns the response, the event types, and the error.
func readStream(stream string) (*llm.Response, []string, error) {
	var kinds []string
	a := wire.NewAssembler(Name, "m", func(ev llm.StreamEvent) bool {
		kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", ev), "llm."))
		return true
	})
	err := wire.Read(NewDialect(Config{}), wire.Answer{Status: 200, Header: http.Header{}, Body: strings.NewReader(stream), Stream: true}, a)
	return a.Response(), kinds, err
}

const (
	emptyText = `{"type":"text","text":""}`
	weatherA  = `{"type":"tool_use","id":"a","name":"weather","input":{}}`
)

func partial(i int, s string) string {
	return delta(i, `{"type":"input_json_delta","partial_json":`+string(wire.AppendString(nil, s))+`}`)
}

func TestStream_Answers(t *testing.T) {
	tests := []struct {
		name   string
		events []string
		want   string // the parts, as MarshalPart writes them
		finish llm.FinishReason
	}{
		{"text, thinking and a call", []string{start(""),
			begin(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"hm"}`), delta(0, `{"type":"signature_delta","signature":"s1"}`), stop(0),
			begin(1, emptyText), text(1, "a"), text(1, "b\n"), stop(1),
			begin(2, weatherA), partial(2, ""), partial(2, `{"city":`), partial(2, ` "Rome"}`), stop(2), ending("tool_use"), done},
			`{"type":"thinking","text":"hm","state":{"dialect":"anthropic","model":"m","data":"{\"signature\":\"s1\"}"}}{"type":"text","text":"ab\n"}{"type":"tool_call","id":"a","name":"weather","arguments":"{\"city\": \"Rome\"}"}`, llm.FinishToolCalls},
		{"a call without arguments", []string{start(""), begin(0, weatherA), stop(0), ending("tool_use"), done},
			`{"type":"tool_call","id":"a","name":"weather","arguments":"{}"}`, llm.FinishToolCalls},
		{"beginnings and ends come twice", []string{start(""), start(""), begin(0, emptyText), begin(0, emptyText), text(0, "x"), stop(0), stop(0),
			begin(1, `{"type":"redacted_thinking","data":"zz"}`), begin(1, `{"type":"redacted_thinking","data":"zz"}`), stop(1), stop(1),
			begin(2, weatherA), begin(2, weatherA), partial(2, "{}"), stop(2), stop(2), ending("tool_use"), ending("tool_use"), done, done},
			`{"type":"text","text":"x"}{"type":"thinking","redacted":true,"state":{"dialect":"anthropic","model":"m","data":"{\"data\":\"zz\"}"}}{"type":"tool_call","id":"a","name":"weather","arguments":"{}"}`, llm.FinishToolCalls},
		{"message_start holds content", []string{start(`{"type":"text","text":"pre"},{"type":"tool_use","id":"a","name":"weather","input":{"c":1}}`), ending("tool_use"), done},
			`{"type":"text","text":"pre"}{"type":"tool_call","id":"a","name":"weather","arguments":"{\"c\":1}"}`, llm.FinishToolCalls},
		{"message_start holds content that is streamed again", []string{start(`{"type":"text","text":"hello"}`), begin(0, emptyText), text(0, "hel"), text(0, "lo you"), stop(0), ending("end_turn"), done},
			`{"type":"text","text":"hello you"}`, llm.FinishStop},
		{"message_start holds content that goes on", []string{start(`{"type":"text","text":"hello"}`), text(0, " you"), stop(0), ending("end_turn"), done},
			`{"type":"text","text":"hello you"}`, llm.FinishStop},
		{"another message takes over in the middle of a call", []string{start(""), begin(0, weatherA), partial(0, `{"ci`), strings.Replace(start(""), "msg_1", "msg_2", 1),
			begin(0, `{"type":"tool_use","id":"b","name":"weather","input":{}}`), partial(0, `{}`), stop(0), ending("tool_use"), done},
			`{"type":"tool_call","id":"b","name":"weather","arguments":"{}"}`, llm.FinishToolCalls},
		{"a call that was cut off", []string{start(""), begin(0, weatherA), partial(0, `{"ci`), stop(0), ending("max_tokens"), done}, ``, llm.FinishLength},
		{"a call that was cut off before its arguments", []string{start(""), begin(0, weatherA), partial(0, ""), stop(0), ending("max_tokens"), done}, ``, llm.FinishLength},
		{"server tools", []string{start(""), begin(0, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`), partial(0, `{"q":`), partial(0, `"x"}`), stop(0),
			begin(1, `{"type":"web_search_tool_result","tool_use_id":"s","content":[{"u":1}]}`), stop(1), ending("pause_turn"), done},
			`{"type":"opaque","kind":"server_tool_use","state":{"dialect":"anthropic","model":"m","data":"{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":{\"q\":\"x\"}}"}}` +
				`{"type":"opaque","kind":"web_search_tool_result","state":{"dialect":"anthropic","model":"m","data":"{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s\",\"content\":[{\"u\":1}]}"}}`, llm.FinishPause},
		{"an unknown block and its deltas", []string{start(""), begin(0, `{"type":"compaction","content":null}`), delta(0, `{"type":"compaction_delta","content":"a"}`), delta(0, `{"type":"compaction_delta","content":"b"}`), stop(0), ending("end_turn"), done},
			`{"type":"opaque","kind":"compaction","state":{"dialect":"anthropic","model":"m","data":"{\"type\":\"compaction\",\"content\":\"ab\"}"}}`, llm.FinishStop},
		{"citations", []string{start(""), begin(0, `{"type":"text","text":"","citations":[]}`), delta(0, `{"type":"citations_delta","citation":{"n":1}}`), text(0, "x"), delta(0, `{"type":"citations_delta","citation":{"n":2}}`), stop(0), ending("end_turn"), done},
			`{"type":"text","text":"x","state":{"dialect":"anthropic","model":"m","data":"{\"citations\":[{\"n\":1},{\"n\":2}]}"}}`, llm.FinishStop},
		{"the output tool makes text", []string{start(""), begin(0, `{"type":"tool_use","id":"a","name":"reins_json_output","input":{}}`), partial(0, `{"n":`), partial(0, `1}`), stop(0), ending("tool_use"), done},
			`{"type":"text","text":"{\"n\":1}"}`, llm.FinishStop},
		{"the container", []string{start(""), begin(0, emptyText), text(0, "x"), stop(0), `{"type":"message_delta","delta":{"stop_reason":"end_turn","container":{"id":"c"}},"usage":{}}`, done},
			`{"type":"text","text":"x"}{"type":"opaque","kind":"container","state":{"dialect":"anthropic","model":"m","data":"{\"id\":\"c\"}"}}`, llm.FinishStop},
		{"a delta without a start", []string{start(""), text(3, "x"), ending("end_turn"), done}, `{"type":"text","text":"x"}`, llm.FinishStop},
		{"reasons", []string{start(""), ending("refusal"), done}, ``, llm.FinishContentFilter},
		{"the window is full", []string{start(""), ending("model_context_window_exceeded"), done}, ``, llm.FinishLength},
		{"an unknown reason", []string{start(""), ending("bored"), done}, ``, llm.FinishOther},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, _, err := readStream(sse(tt.events...))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, p := range resp.Message.Parts {
				b, err := llm.MarshalPart(p)
				if err != nil {
					t.Fatal(err)
				}
				got.Write(b)
			}
			if got.String() != tt.want || resp.Finish.Reason != tt.finish {
				t.Errorf("got %s, %v\nwant %s, %v", got.String(), resp.Finish, tt.want, tt.finish)
			}
		})
	}
}

func TestStream_UsageCountsTheCacheAsInput(t *testing.T) {
	resp, _, err := readStream(sse(start(""), ending("end_turn"), done))
	if err != nil {
		t.Fatal(err)
	}
	u := resp.Usage
	if u.Input != 22 || u.CacheRead != 5 || u.CacheWrite != 7 || u.CacheWriteLong != 3 || u.Output != 20 || u.Reasoning != 8 {
		t.Errorf("usage is %+v", u)
	}
	if want := `{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":7,"cache_creation":{"ephemeral_1h_input_tokens":3,"ephemeral_5m_input_tokens":4},"output_tokens":20,"output_tokens_details":{"thinking_tokens":8}}`; string(u.Raw) != want {
		t.Errorf("the raw usage is %s", u.Raw)
	}
}

func TestStream_EndsOnlyWithMessageStop(t *testing.T) {
	whole := sse(start(""), begin(0, emptyText), text(0, "x"), stop(0), ending("end_turn"), done)
	if _, _, err := readStream(whole); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) - len("\n\n") {
		if _, _, err := readStream(whole[:n]); llm.KindOf(err) != llm.ErrIncomplete {
			t.Fatalf("cut at byte %d the error is %v", n, err)
		}
	}
}

func TestStream_Errors(t *testing.T) {
	tests := []struct {
		name, event string
		kind        llm.ErrorKind
	}{
		{"overloaded", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrServer},
		{"rate limit", `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, llm.ErrRateLimit},
		{"without a type", `{"error":{"type":"api_error","message":"oops"}}`, llm.ErrServer},
		{"malformed", `{"type":"content_block_delta","index":0,`, llm.ErrMalformed},
	}
	for _, tt := range tests {
		_, _, err := readStream(sse(start(""), begin(0, emptyText)) + "data: " + tt.event + "\n\n" + sse(done))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != tt.kind {
			t.Errorf("%s: the error is %v", tt.name, err)
		}
	}
}

func TestStream_UnknownEventsArePassedOn(t *testing.T) {
	resp, kinds, err := readStream(sse(start(""), `{"type":"novelty","x":1}`, begin(0, emptyText), delta(0, `{"type":"novel_delta","x":1}`), text(0, "x"), `{"type":"ping"}`, stop(0), ending("end_turn"), done))
	if err != nil || resp.Text() != "x" {
		t.Fatal(resp, err)
	}
	if want := "[Start Raw TextStart Raw TextDelta TextEnd Finish]"; fmt.Sprint(kinds) != want {
		t.Errorf("the events are %v, want %s", kinds, want)
	}
}

func TestStream_AnInterruptedCallHasNoEnd(t *testing.T) {
	_, kinds, err := readStream(sse(start(""), begin(0, weatherA), partial(0, `{"ci`), stop(0), ending("max_tokens"), done))
	if err != nil || strings.Contains(fmt.Sprint(kinds), "ToolCallEnd") {
		t.Errorf("the events are %v, the error is %v", kinds, err)
	}
}

func TestStream_HeldBytesAreLimited(t *testing.T) {
	events := []string{start(""), begin(0, `{"type":"novelty"}`)}
	for range 100 {
		events = append(events, delta(0, `{"type":"x_delta","x":"`+strings.Repeat("y", 1000)+`"}`))
	}
	a := wire.NewAssembler(Name, "m", nil)
	err := wire.Read(NewDialect(Config{}), wire.Answer{Status: 200, Header: http.Header{}, Body: strings.NewReader(sse(events...)), Stream: true, Limits: llm.Limits{MaxTotal: 50000}}, a)
	if llm.KindOf(err) != llm.ErrMalformed {
		t.Errorf("the error is %v", err)
	}
}

func TestDecode_WholeAnswers(t *testing.T) {
	body := `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"hm","signature":"s1"},{"type":"text","text":"a","citations":null},{"type":"tool_use","id":"a","name":"weather","input":{"city": "Rome"},"caller":{"type":"direct"}},{"type":"novelty","x":1}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`
	a := wire.NewAssembler(Name, "m", nil)
	if err := NewDialect(Config{}).Decode([]byte(body), a); err != nil {
		t.Fatal(err)
	}
	m := a.Response().Message
	if len(m.Parts) != 4 || m.Text() != "a" || m.Thinking() != "hm" || m.ToolCalls()[0].Arguments != `{"city": "Rome"}` {
		t.Errorf("the message is %+v", m)
	}
	if string(m.ToolCalls()[0].State.Data) != `{"caller":{"type":"direct"}}` || m.Parts[1].(llm.Text).State.Data != nil {
		t.Errorf("the state is wrong: %+v", m)
	}
	a = wire.NewAssembler(Name, "m", nil)
	cut := strings.Replace(strings.Replace(body, "tool_use\",\"usage", "max_tokens\",\"usage", 1), `,{"type":"novelty","x":1}`, "", 1)
	if err := NewDialect(Config{}).Decode([]byte(cut), a); err != nil || len(a.Response().ToolCalls()) != 0 || len(a.Response().Message.Parts) != 2 {
		t.Errorf("a call that may be cut off is there: %+v, %v", a.Response(), err)
	}
	for _, bad := range []string{`{}`, `[]`, `{"content":`, `{"type":"error","error":{"type":"api_error","message":"x"}}`} {
		if err := NewDialect(Config{}).Decode([]byte(bad), wire.NewAssembler(Name, "m", nil)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// An answer that is sent back must begin with its thinking, redacted or not.
func TestDecode_WholeAnswerBlocksKeepTheirOrder(t *testing.T) {
	const answer = `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","content":[
		{"type":"redacted_thinking","data":"abc"},
		{"type":"text","text":"Let me see."},
		{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{}},
		{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}]}`
	a := wire.NewAssembler(Name, "m", nil)
	if err := NewDialect(Config{}).Decode([]byte(answer), a); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range a.Response().Message.Parts {
		got += fmt.Sprintf("%T ", p)
	}
	if want := fmt.Sprintf("%T %T %T %T ", llm.Thinking{}, llm.Text{}, llm.Opaque{}, llm.ToolCall{}); got != want {
		t.Errorf("got parts %s, want %s", got, want)
	}
}

func TestStream_ReportsDroppedThinking(t *testing.T) {
	dropped := `"input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"prefix_binding_mismatch"},` +
		`{"type":"thinking_mismatch_allowed","path":"messages.3.content.0","reason":"prefix_binding_mismatch"},{"type":"news","path":"x"}]`
	begun := strings.Replace(start(""), `"stop_reason":null`, `"stop_reason":null,`+dropped, 1)
	resp, _, err := readStream(sse(begun, begin(0, emptyText), text(0, "hi"), stop(0), ending("end_turn"), done))
	want := []llm.Dropped{
		{Path: "messages.1.content.0", Reason: "prefix_binding_mismatch"},
		{Path: "messages.3.content.0", Reason: "prefix_binding_mismatch", Allowed: true},
	}
	if err != nil || fmt.Sprint(resp.Dropped) != fmt.Sprint(want) {
		t.Errorf("got %+v, %v, want %+v", resp.Dropped, err, want)
	}
	a := wire.NewAssembler(Name, "m", nil)
	body := `{"id":"m","type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn",` + dropped + `,"usage":{"input_tokens":1,"service_tier":"priority"}}`
	if err := NewDialect(Config{}).Decode([]byte(body), a); err != nil || len(a.Response().Dropped) != 2 || a.Response().Usage.Tier != "priority" {
		t.Errorf("a whole answer: got %+v, %v", a.Response(), err)
	}
}

func TestStream_ARefusalHasItsCategory(t *testing.T) {
	end := strings.Replace(ending("refusal"), `"stop_sequence":null`, `"stop_sequence":null,"stop_details":{"type":"refusal","category":"cyber"}`, 1)
	resp, _, err := readStream(sse(start(""), end, done))
	if err != nil || resp.Finish != (llm.FinishInfo{Reason: llm.FinishContentFilter, Raw: "refusal", Detail: "cyber"}) {
		t.Errorf("got %+v, %v", resp.Finish, err)
	}
}

func TestStream_HiddenThinkingShowsItsProgress(t *testing.T) {
	count := func(n string) string {
		return delta(0, `{"type":"thinking_delta","estimated_tokens":`+n+`,"thinking":""}`)
	}
	var tokens []int64
	a := wire.NewAssembler(Name, "m", func(ev llm.StreamEvent) bool {
		if p, ok := ev.(llm.ThinkingProgress); ok {
			tokens = append(tokens, p.Tokens)
		}
		return true
	})
	stream := sse(start(""), begin(0, `{"type":"thinking","thinking":"","signature":""}`), count("50"), count("null"), count("100"),
		delta(0, `{"type":"signature_delta","signature":"sig"}`), stop(0), begin(1, emptyText), text(1, "hi"), stop(1), ending("end_turn"), done)
	err := wire.Read(NewDialect(Config{}), wire.Answer{Status: 200, Header: http.Header{}, Body: strings.NewReader(stream), Stream: true}, a)
	if err != nil || fmt.Sprint(tokens) != "[50 150]" {
		t.Errorf("got %v, %v, want the sums 50 and 150", tokens, err)
	}
	thinking, ok := a.Response().Message.Parts[0].(llm.Thinking)
	if !ok || thinking.Text != "" || string(thinking.State.Data) != `{"signature":"sig"}` {
		t.Errorf("got %+v, want hidden thinking with its signature", a.Response().Message.Parts[0])
	}
}
