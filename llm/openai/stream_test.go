package openai

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// sse frames events, numbering them.
func sse(events ...string) []byte {
	var b strings.Builder
	for i, data := range events {
		if rest, ok := strings.CutPrefix(data, "{"); ok && !strings.Contains(data, "sequence_number") {
			data = fmt.Sprintf(`{"sequence_number":%d,%s`, i+1, rest)
		}
		b.WriteString("data: " + data + "\n\n")
	}
	return []byte(b.String())
}

const (
	created   = `{"type":"response.created","response":{"id":"resp_1","model":"gpt-5.5-2026","status":"in_progress","error":null,"output":[]}}`
	completed = `{"type":"response.completed","response":{"id":"resp_1","model":"gpt-5.5-2026","status":"completed","error":null,"output":[],"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":1},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":12}}}`
)

// script decodes events and returns the result, one event per line.
func script(t *testing.T, body []byte) (string, error) {
	t.Helper()
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	a := wire.NewAssembler(Name, model, func(ev llm.StreamEvent) bool {
		switch ev := ev.(type) {
		case llm.Start:
			say("start %s %s", ev.ID, ev.Model)
		case llm.TextStart:
			say("text %d", ev.Index)
		case llm.TextDelta:
			say("+%d %q", ev.Index, ev.Text)
		case llm.TextEnd:
			say("end %d %q %s", ev.Index, ev.Text.Text, ev.Text.State.Data)
		case llm.ThinkingStart:
			say("thinking %d", ev.Index)
		case llm.ThinkingDelta:
			say("+%d %q", ev.Index, ev.Text)
		case llm.ThinkingEnd:
			say("end %d %q %s", ev.Index, ev.Thinking.Text, ev.Thinking.State.Data)
		case llm.ToolCallStart:
			say("call %d %s %s %v", ev.Index, ev.ID, ev.Name, ev.Custom)
		case llm.ToolCallDelta:
			say("+%d %q", ev.Index, ev.Arguments)
		case llm.ToolCallEnd:
			say("end %d %s %s %q %s", ev.Index, ev.Call.ID, ev.Call.Name, ev.Call.Arguments, ev.Call.State.Data)
		case llm.PartDone:
			say("part %d %s", ev.Index, ev.Part.(llm.Opaque).Kind)
		case llm.Raw:
			say("raw %s", ev.Type)
		case llm.Finish:
			say("finish %s %s with %d parts", ev.Response.Finish.Reason, ev.Response.Finish.Raw, len(ev.Response.Message.Parts))
		}
		return true
	})
	err := wire.Read(NewDialect(Config{}), wire.Answer{Body: strings.NewReader(string(body)), Stream: true}, a)
	return strings.Join(out, "\n"), err
}

func TestStream_Events(t *testing.T) {
	cases := map[string]struct {
		events []string
		want   string
	}{
		"text": {[]string{created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}`,
			`{"type":"response.content_part.added","output_index":0,"content_index":0,"part":{"type":"output_text","text":""}}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"He"}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"llo"}`,
			`{"type":"response.output_text.annotation.added","output_index":0}`,
			`{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"Hello"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","phase":"final_answer","role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[],"logprobs":[]}]}}`,
			completed},
			`start resp_1 gpt-5.5-2026
text 0
+0 "He"
+0 "llo"
raw response.output_text.annotation.added
end 0 "Hello" {"message":{"id":"m","phase":"final_answer"}}
finish stop completed with 1 parts`},
		"items that are only done": {[]string{created, `{"type":"ping"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r","summary":[{"text":"A"},{"text":"B"}]}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"{}"}}`,
			`{"type":"response.output_item.done","output_index":2,"item":{"type":"image_generation_call","id":"i","result":"AA"}}`,
			completed},
			`start resp_1 gpt-5.5-2026
raw ping
thinking 0
+0 "A\n\nB"
end 0 "A\n\nB" {"type":"reasoning","id":"r","summary":[{"text":"A"},{"text":"B"}],"_after":"- 0 yyKc5IQiIyU"}
call 1 c f false
+1 "{}"
end 1 c f "{}" {"id":"fc","_after":"r 0 CPRLB7WQGiU"}
part 2 image_generation_call
finish tool_calls completed with 3 parts`},
		"items that only the response has": {[]string{created,
			`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"},{"type":"refusal","refusal":"no"}]}]}}`},
			`start resp_1 gpt-5.5-2026
text 0
+0 "hi"
end 0 "hi" ` + `
text 1
+1 "no"
end 1 "no" {"part":{"type":"refusal"}}
finish content_filter completed with 2 parts`},
		"summaries and freeform calls": {[]string{created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r"}}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"A"}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"B"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r","summary":[{"text":"A"},{"text":"B"}]}}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"custom_tool_call","id":"ct","call_id":"c","name":"patch","input":""}}`,
			`{"type":"response.custom_tool_call_input.delta","output_index":1,"delta":"*** "}`,
			`{"type":"response.custom_tool_call_input.done","output_index":1,"input":"*** End"}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"custom_tool_call","id":"ct","call_id":"c","name":"patch","input":"*** End"}}`,
			completed},
			`start resp_1 gpt-5.5-2026
thinking 0
+0 "A"
+0 "\n\n"
+0 "B"
end 0 "A\n\nB" {"type":"reasoning","id":"r","summary":[{"text":"A"},{"text":"B"}],"_after":"- 0 yyKc5IQiIyU"}
call 1 c patch true
+1 "*** "
+1 "End"
end 1 c patch "*** End" {"id":"ct","_after":"r 0 16urptQJbIQ"}
finish tool_calls completed with 2 parts`},
		"a call cut off by the length is no call": {[]string{created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f"}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}`,
			`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}`},
			`start resp_1 gpt-5.5-2026
call 0 c f false
+0 "{}"
finish length incomplete:max_output_tokens with 0 parts`},
		"a call that says it is incomplete is no call": {[]string{created,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":","status":"incomplete"}}`,
			`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"steered"},"output":[]}}`},
			`start resp_1 gpt-5.5-2026
call 0 c f false
+0 "{\"a\":"
finish pause incomplete:steered with 0 parts`},
		"events that come twice count once": {[]string{created, created,
			`{"type":"response.output_item.added","sequence_number":7,"output_index":0,"item":{"type":"message","id":"m"}}`,
			`{"type":"response.output_item.added","sequence_number":7,"output_index":0,"item":{"type":"message","id":"m"}}`,
			`{"type":"response.output_text.delta","sequence_number":8,"output_index":0,"content_index":0,"delta":"x"}`,
			`{"type":"response.output_text.delta","sequence_number":8,"output_index":0,"content_index":0,"delta":"x"}`,
			`{"type":"response.output_item.done","sequence_number":9,"output_index":0,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"x"}]}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"x"}]}}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":1,"delta":"late"}`,
			completed},
			`start resp_1 gpt-5.5-2026
text 0
+0 "x"
end 0 "x" {"message":{"id":"m"}}
finish stop completed with 1 parts`},
		"items without a place, or all at the same": {[]string{created,
			`{"type":"response.output_item.added","item":{"type":"function_call","id":"1","call_id":"a","name":"f"}}`,
			`{"type":"response.function_call_arguments.delta","delta":"{}"}`,
			`{"type":"response.output_item.done","item":{"type":"function_call","id":"1","call_id":"a","name":"f","arguments":"{}"}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"2","call_id":"b","name":"f"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"2","call_id":"b","name":"f","arguments":"{}"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"3","call_id":"c","name":"f","arguments":"{}"}}`,
			completed, "[DONE]"},
			`start resp_1 gpt-5.5-2026
call 0 a f false
+0 "{}"
end 0 a f "{}" {"id":"1"}
call 1 b f false
+1 "{}"
end 1 b f "{}" {"id":"2"}
call 2 c f false
+2 "{}"
end 2 c f "{}" {"id":"3"}
finish tool_calls completed with 3 parts`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := script(t, sse(c.events...))
			if err != nil || got != c.want {
				t.Errorf("error %v, got\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}

func TestStream_Errors(t *testing.T) {
	for name, c := range map[string]struct {
		event string
		kind  llm.ErrorKind
		text  string
	}{
		"an error event":          {`{"type":"error","error":{"type":"server_error","code":"server_error","message":"oops"}}`, llm.ErrServer, "oops"},
		"a flat error event":      {`{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null}`, llm.ErrRateLimit, "slow down"},
		"a failed response":       {`{"type":"response.failed","response":{"status":"failed","error":{"code":"insufficient_quota","message":"no money"}}}`, llm.ErrQuota, "no money"},
		"a policy":                {`{"type":"response.failed","response":{"status":"failed","error":{"code":"bio_policy","message":"no"}}}`, llm.ErrContentFilter, "no"},
		"another policy":          {`{"type":"response.failed","response":{"status":"failed","error":{"code":"misalignment_policy_violation","message":"no"}}}`, llm.ErrContentFilter, "no"},
		"another region":          {`{"type":"response.failed","response":{"status":"failed","error":{"code":"data_residency_mismatch","message":"no"}}}`, llm.ErrAccessDenied, "no"},
		"a failure without words": {`{"type":"response.failed","response":{"status":"failed","error":null}}`, llm.ErrServer, "without a reason"},
		"an error without a type": {`{"error":{"message":"bad gateway","type":"api_error"}}`, llm.ErrServer, "bad gateway"},
		"a broken event":          {`{"type":`, llm.ErrMalformed, "malformed JSON"},
		"nothing more":            {`[DONE]`, llm.ErrIncomplete, "ended before"},
		"an empty last event":     {`{"type":"response.completed"}`, llm.ErrMalformed, "neither"},
	} {
		_, err := script(t, sse(created, c.event))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.text) {
			t.Errorf("%s: got %v, want %s with %q", name, err, c.kind, c.text)
		}
	}
}

func TestDecode_ErrorInASuccessfulResponse(t *testing.T) {
	for body, kind := range map[string]llm.ErrorKind{
		`{"error":{"message":"no key","code":"invalid_api_key"}}`:                       llm.ErrAuthentication,
		`{"status":"failed","output":[],"error":{"code":"server_error","message":"x"}}`: llm.ErrServer,
		`{"detail":"hello"}`:               llm.ErrMalformed,
		`[1]`:                              llm.ErrMalformed,
		`{"status":"completed","output":[`: llm.ErrMalformed,
		`{"status":"completed","error":null,"output":[]}`: "",
	} {
		_, _, err := decode(200, nil, []byte(body), false)
		if kind == "" && err == nil {
			continue
		}
		if llm.KindOf(err) != kind {
			t.Errorf("%s: got %v, want %s", body, err, kind)
		}
	}
}

func TestStream_UsageIsNormalised(t *testing.T) {
	resp, _, err := decode(200, nil, sse(created, completed), true)
	if err != nil {
		t.Fatal(err)
	}
	u := resp.Usage
	if u.Input != 5 || u.Output != 7 || u.CacheRead != 3 || u.CacheWrite != 1 || u.Reasoning != 2 || len(u.Raw) == 0 {
		t.Errorf("got %+v", u)
	}
}

func TestDecode_TierAndLongCacheWrites(t *testing.T) {
	const body = `{"id":"r","model":"m","status":"completed","service_tier":"priority","output":[],"usage":{"input_tokens":90,"output_tokens":2,` +
		`"input_tokens_details":{"cached_tokens":5,"cache_write_tokens":60,"cache_write_tokens_details":{"ttl_30m_tokens":20,"ttl_12h_tokens":40}}}}`
	for _, stream := range []bool{false, true} {
		data := []byte(body)
		if stream {
			data = sse(created, `{"type":"response.completed","response":`+body+`}`)
		}
		resp, _, err := decode(200, nil, data, stream)
		if err != nil {
			t.Fatal(err)
		}
		u := resp.Usage
		u.Raw = nil
		if want := (llm.Usage{Input: 90, Output: 2, CacheRead: 5, CacheWrite: 60, CacheWriteLong: 40, Tier: "priority"}); !reflect.DeepEqual(u, want) {
			t.Errorf("stream %t: got %+v, want %+v", stream, u, want)
		}
	}
}

// recordedLike returns a typical stream: a reasoning summary, a long text and a call.
func recordedLike(deltas int) ([]byte, int) {
	events := []string{created,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_0a63f40a2632b743","type":"reasoning","encrypted_content":"gAAAAABo","summary":[]}}`,
	}
	add := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	for i := range deltas / 4 {
		add(`{"type":"response.reasoning_summary_text.delta","item_id":"rs_0a63f40a2632b743","output_index":0,"summary_index":0,"delta":" thought%d"}`, i)
	}
	add(`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_0a63f40a2632b743","type":"reasoning","encrypted_content":"%s","summary":[]}}`, strings.Repeat("gAAAAABo", 200))
	add(`{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_0a63f40a2632b743","type":"message","status":"in_progress","content":[],"phase":"commentary","role":"assistant"}}`)
	add(`{"type":"response.content_part.added","content_index":0,"item_id":"msg_0a63f40a2632b743","output_index":1,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}`)
	for i := range deltas / 2 {
		add(`{"type":"response.output_text.delta","content_index":0,"delta":" wörd%d\n","item_id":"msg_0a63f40a2632b74300699f8819a5e08196","logprobs":[],"output_index":1}`, i)
	}
	add(`{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_0a63f40a2632b743","type":"message","status":"completed","content":[],"phase":"commentary","role":"assistant"}}`)
	add(`{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_1","name":"write"}}`)
	add(`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"{\"x\":\""}`)
	for range deltas / 4 {
		add(`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"ab\\n"}`)
	}
	add(`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"\"}"}`)
	add(`{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"write"}}`)
	events = append(events, completed)
	return sse(events...), len(events)
}

func BenchmarkStream(b *testing.B) {
	body, n := recordedLike(1000)
	d := NewDialect(Config{})
	b.ReportAllocs()
	for b.Loop() {
		a := wire.NewAssembler(Name, model, func(llm.StreamEvent) bool { return true })
		if err := wire.Read(d, wire.Answer{Body: strings.NewReader(string(body)), Stream: true}, a); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
	b.ReportMetric(float64(n), "events")
}

func TestStream_AllocationsPerEvent(t *testing.T) {
	body, n := recordedLike(1000)
	d := NewDialect(Config{})
	per := testing.AllocsPerRun(5, func() {
		a := wire.NewAssembler(Name, model, func(llm.StreamEvent) bool { return true })
		if err := wire.Read(d, wire.Answer{Body: strings.NewReader(string(body)), Stream: true}, a); err != nil {
			t.Fatal(err)
		}
	}) / float64(n)
	if per > 4 {
		t.Errorf("%.1f allocations per event, want at most 4", per)
	}
}
