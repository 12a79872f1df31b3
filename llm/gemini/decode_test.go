package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// receive reads an answer and returns its events as text.
func receive(body, contentType string, stream bool) (*llm.Response, []string, error) {
	var events []string
	a := wire.NewAssembler(Name, "gemini-3-pro", func(ev llm.StreamEvent) bool {
		if raw, ok := ev.(llm.Raw); ok {
			events = append(events, fmt.Sprintf("Raw %s %s", raw.Type, raw.Data))
		} else if _, ok := ev.(llm.Finish); !ok {
			events = append(events, strings.TrimPrefix(fmt.Sprintf("%T %+v", ev, ev), "llm."))
		}
		return true
	})
	err := wire.Read(NewDialect(Config{}), wire.Answer{
		Status: 200, Header: http.Header{"Content-Type": {contentType}}, Body: strings.NewReader(body), Stream: stream,
	}, a)
	return a.Response(), events, err
}

func sse(docs ...string) string {
	var b strings.Builder
	for _, d := range docs {
		b.WriteString("data: " + d + "\r\n\r\n")
	}
	return b.String()
}

// content returns a response with one candidate of these parts.
func content(parts, more string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + more + `}],"responseId":"R-1","modelVersion":"m"}`
}

const stop = `,"finishReason":"STOP"`

func TestDecode_Parts(t *testing.T) {
	own := func(s string) llm.State { return state("gemini-3-pro", s) }
	for _, c := range []struct {
		name string
		docs []string
		want []llm.Part
	}{
		{"text grows over responses", []string{content(`{"text":"a"}`, ""), content(`{"text":"b"},{"text":""}`, stop)}, []llm.Part{llm.Text{Text: "ab"}}},
		{"thoughts and text alternate", []string{content(`{"text":"t","thought":true},{"text":"u","thought":true},{"text":"a"}`, ""), content(`{"text":"v","thought":true}`, stop)},
			[]llm.Part{llm.Thinking{Text: "tu"}, llm.Text{Text: "a"}, llm.Thinking{Text: "v"}}},
		{"a signed text is a part of its own", []string{content(`{"text":"a"}`, ""), content(`{"text":"b","thoughtSignature":"S"}`, ""), content(`{"text":"c"}`, stop)},
			[]llm.Part{llm.Text{Text: "a"}, llm.Text{Text: "b", State: own("S")}, llm.Text{Text: "c"}}},
		{"a signature on empty text is kept", []string{content(`{"text":"a"}`, ""), content(`{"text":"","thoughtSignature":"S"}`, stop)},
			[]llm.Part{llm.Text{Text: "a"}, llm.Text{State: own("S")}}},
		{"calls get ids from the response's", []string{content(`{"functionCall":{"name":"f","args":{"n":1.50}},"thoughtSignature":"S"},{"functionCall":{"name":"g"}}`, stop)},
			[]llm.Part{llm.ToolCall{ID: callIDPrefix + "R-1-0", Name: "f", Arguments: `{"n":1.50}`, State: own("S")}, llm.ToolCall{ID: callIDPrefix + "R-1-1", Name: "g", Arguments: "{}"}}},
		{"a call sent twice counts once", []string{content(`{"functionCall":{"id":"x","name":"f","args":{}}}`, ""), content(`{"functionCall":{"id":"x","name":"f","args":{}}}`, stop)},
			[]llm.Part{llm.ToolCall{ID: "x", Name: "f", Arguments: "{}"}}},
		{"a streamed call", []string{
			content(`{"functionCall":{"name":"f","id":"x","willContinue":true},"thoughtSignature":"S"}`, ""),
			content(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0].b","stringValue":"x","willContinue":true},{"jsonPath":"$.a[0].b","stringValue":"\"y"}],"willContinue":true}}`, ""),
			content(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a[1]","numberValue":1.5},{"jsonPath":"$['c d'].e","boolValue":false},{"jsonPath":"$.n","nullValue":"NULL_VALUE"}]}}`, stop)},
			[]llm.Part{llm.ToolCall{ID: "x", Name: "f", Arguments: `{"a":[{"b":"x\"y"},1.5],"c d":{"e":false},"n":null}`, State: own("S")}}},
		{"other parts are opaque", []string{content(`{"text":"a"},{"executableCode":{"code":"1"},"thoughtSignature":"S"},{"codeExecutionResult":{"outcome":"OUTCOME_OK"}},{"thoughtSignature":"T"}`, stop)},
			[]llm.Part{llm.Text{Text: "a"}, llm.Opaque{Kind: "executableCode", State: own(`{"executableCode":{"code":"1"},"thoughtSignature":"S"}`)},
				llm.Opaque{Kind: "codeExecutionResult", State: own(`{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}`)}, llm.Opaque{Kind: "thoughtSignature", State: own(`{"thoughtSignature":"T"}`)}}},
		{"files", []string{content(`{"inlineData":{"mimeType":"image/png","data":"cG5n"}},{"inlineData":{"mimeType":"image/png","data":"cG5n"},"thoughtSignature":"S"}`, stop)},
			[]llm.Part{llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte("png")}}, llm.Opaque{Kind: "inlineData", State: own(`{"inlineData":{"mimeType":"image/png","data":"cG5n"},"thoughtSignature":"S"}`)}}},
		{"only the first candidate counts", []string{`{"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]}},{"index":0,"content":{"parts":[{"text":"yes"}]},"finishReason":"STOP"}]}`},
			[]llm.Part{llm.Text{Text: "yes"}}},
		{"a finish reason on every response", []string{content(`{"text":"a"}`, stop), content(`{"text":"b"}`, stop)}, []llm.Part{llm.Text{Text: "ab"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for form, body := range map[string]string{
				"text/event-stream": sse(c.docs...), "application/json": "[" + strings.Join(c.docs, "\n,\r\n") + "]",
			} {
				resp, _, err := receive(body, form, true)
				if err != nil || !reflect.DeepEqual(resp.Message.Parts, c.want) {
					t.Errorf("%s: %+v, %v\nwant %+v", form, resp.Message.Parts, err, c.want)
				}
			}
		})
	}
}

func TestDecode_IdsAreUniqueWithoutAResponseId(t *testing.T) {
	seen := map[string]bool{}
	for range 50 {
		resp, _, err := receive(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}],"responseId":"not/usable"}`, "application/json", false)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range resp.ToolCalls() {
			if seen[c.ID] || !strings.HasPrefix(c.ID, callIDPrefix) || !usable(strings.TrimPrefix(c.ID, callIDPrefix)) {
				t.Fatalf("id %q", c.ID)
			}
			seen[c.ID] = true
		}
	}
}

func TestDecode_FinishReasons(t *testing.T) {
	call := `{"functionCall":{"name":"f"}}`
	for _, c := range []struct {
		parts, finish string
		want          llm.FinishReason
		raw           string
	}{
		{`{"text":"a"}`, `"STOP"`, llm.FinishStop, "STOP"},
		{call, `"STOP"`, llm.FinishToolCalls, "STOP"},
		{call, `1`, llm.FinishToolCalls, "1"},
		{`{"text":"a"}`, `2`, llm.FinishLength, "2"},
		{`{"text":"a"}`, `"MAX_TOKENS"`, llm.FinishLength, "MAX_TOKENS"},
		{``, `"SAFETY"`, llm.FinishContentFilter, "SAFETY"},
		{``, `"RECITATION"`, llm.FinishContentFilter, "RECITATION"},
		{``, `"PROHIBITED_CONTENT"`, llm.FinishContentFilter, "PROHIBITED_CONTENT"},
		{``, `"MALFORMED_FUNCTION_CALL"`, llm.FinishError, "MALFORMED_FUNCTION_CALL"},
		{``, `"UNEXPECTED_TOOL_CALL"`, llm.FinishError, "UNEXPECTED_TOOL_CALL"},
		{``, `"LANGUAGE"`, llm.FinishOther, "LANGUAGE"},
		{``, `"SOMETHING_NEW"`, llm.FinishOther, "SOMETHING_NEW"},
		{``, `99`, llm.FinishOther, "99"},
	} {
		resp, _, err := receive(sse(content(c.parts, `,"finishReason":`+c.finish)), "text/event-stream", true)
		if want := (llm.FinishInfo{Reason: c.want, Raw: c.raw}); err != nil || resp.Finish != want {
			t.Errorf("%s with %s: %+v, %v; want %+v", c.finish, c.parts, resp.Finish, err, want)
		}
	}
}

func TestDecode_BlockedPromptIsAContentFilterFinish(t *testing.T) {
	body := `{"promptFeedback":{"blockReason":"OTHER","blockReasonMessage":"no"},"usageMetadata":{"promptTokenCount":3},"responseId":"r"}`
	for _, b := range []string{body, sse(body)} {
		resp, events, err := receive(b, "", true)
		if err != nil || resp.Finish != (llm.FinishInfo{Reason: llm.FinishContentFilter, Raw: "OTHER"}) || resp.Usage.Input != 3 {
			t.Errorf("%+v %v", resp, err)
		}
		if !strings.Contains(strings.Join(events, "\n"), "Raw promptFeedback") {
			t.Errorf("events %q do not tell the reason", events)
		}
	}
}

func TestDecode_UsageCountsThoughtsAndToolPrompts(t *testing.T) {
	raw := `{"promptTokenCount":100,"toolUsePromptTokenCount":20,"cachedContentTokenCount":60,"candidatesTokenCount":7,"thoughtsTokenCount":5,"totalTokenCount":132}`
	resp, _, err := receive(sse(content(`{"text":"a"}`, ""), `{"usageMetadata":`+raw+`,"candidates":[{"finishReason":"STOP"}]}`), "text/event-stream", true)
	want := llm.Usage{Input: 120, Output: 12, Reasoning: 5, CacheRead: 60, Raw: json.RawMessage(raw)}
	if err != nil || !reflect.DeepEqual(resp.Usage, want) {
		t.Errorf("%+v, %v; want %+v", resp.Usage, err, want)
	}
}

func TestDecode_StreamsThatBreak(t *testing.T) {
	begin := content(`{"text":"a"}`, "")
	for _, c := range []struct {
		name, body string
		kind       llm.ErrorKind
	}{
		{"no finish reason", sse(begin), llm.ErrIncomplete},
		{"an unspecified finish reason", sse(content(`{"text":"a"}`, `,"finishReason":"FINISH_REASON_UNSPECIFIED"`)), llm.ErrIncomplete},
		{"cut in an event", sse(begin) + `data: {"candidates":[{"con`, llm.ErrIncomplete},
		{"cut in a streamed call", sse(content(`{"functionCall":{"name":"f","willContinue":true}}`, stop)), llm.ErrIncomplete},
		{"empty", "", llm.ErrIncomplete},
		{"no JSON", sse("oops"), llm.ErrMalformed},
		{"no object", sse("7"), llm.ErrMalformed},
		{"array of no objects", sse("[7]"), llm.ErrMalformed},
		{"path of a streamed call", sse(content(`{"functionCall":{"name":"f","willContinue":true,"partialArgs":[{"jsonPath":"x"}]}}`, "")), llm.ErrMalformed},
		{"server error", sse(begin, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`), llm.ErrServer},
		{"error behind a finish", sse(content(`{"text":"a"}`, stop), `{"error":{"code":500,"message":"Internal error","status":"INTERNAL"}}`), llm.ErrServer},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, events, err := receive(c.body, "text/event-stream", true)
			if llm.KindOf(err) != c.kind {
				t.Errorf("error %v of kind %s, want %s", err, llm.KindOf(err), c.kind)
			}
			if strings.Contains(strings.Join(events, "\n"), "ToolCallEnd") {
				t.Errorf("a call that was cut off ended: %q", events)
			}
		})
	}
}

func TestDecode_DropsAStreamedCallTruncatedForLength(t *testing.T) {
	body := sse(content(`{"functionCall":{"name":"f","willContinue":true}}`, ""),
		content(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}],"willContinue":true}}`, `,"finishReason":"MAX_TOKENS"`))
	resp, events, err := receive(body, "text/event-stream", true)
	if err != nil || len(resp.ToolCalls()) != 0 || resp.Finish.Reason != llm.FinishLength {
		t.Errorf("%+v %v", resp, err)
	}
	if strings.Contains(strings.Join(events, "\n"), "ToolCallEnd") {
		t.Errorf("events %q", events)
	}
}

func TestDecode_ErrorArrayAnsweredToAStreamIsTyped(t *testing.T) {
	body := `[{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x","retryDelay":"34.5s"}]}}]`
	_, _, err := receive(body, "application/json", true)
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrRateLimit || e.Status != 429 || e.RetryAfter != 34500*time.Millisecond {
		t.Errorf("%+v", err)
	}
}

func TestDecode_StreamEvents(t *testing.T) {
	body := sse(content(`{"text":"t","thought":true}`, ""),
		`{"candidates":[{"content":{"parts":[{"text":"a"}]},"groundingMetadata":{"x":1}}],"newThing":2}`,
		content(`{"functionCall":{"name":"f","args":{"a":1}}}`, stop))
	_, events, err := receive(body, "text/event-stream", true)
	want := []string{
		"Start {ID:R-1 Model:m RequestID:}",
		"ThinkingStart {Index:0}", "ThinkingDelta {Index:0 Text:t}",
		"Raw newThing 2",
		"ThinkingEnd {Index:0 Thinking:{Text:t Redacted:false State:{Dialect: Model: Data:[]}}}",
		"TextStart {Index:1}", "TextDelta {Index:1 Text:a}",
		`Raw groundingMetadata {"x":1}`,
		"TextEnd {Index:1 Text:{Text:a State:{Dialect: Model: Data:[]}}}",
		"ToolCallStart {Index:2 ID:gemini-call-R-1-0 Name:f Custom:false}",
		`ToolCallDelta {Index:2 Arguments:{"a":1}}`,
		`ToolCallEnd {Index:2 Call:{ID:gemini-call-R-1-0 Name:f Arguments:{"a":1} Custom:false State:{Dialect: Model: Data:[]}}}`,
	}
	if err != nil || !reflect.DeepEqual(events, want) {
		t.Errorf("%v\ngot  %q\nwant %q", err, events, want)
	}
}

func TestDecode_WholeAnswersWithoutAFinishReason(t *testing.T) {
	resp, _, err := receive(content(`{"functionCall":{"name":"f"}}`, ""), "application/json", false)
	if err != nil || resp.Finish != (llm.FinishInfo{Reason: llm.FinishToolCalls}) {
		t.Errorf("%+v %v", resp.Finish, err)
	}
	for _, empty := range []string{`{}`, `{"candidates":[],"usageMetadata":{"promptTokenCount":3}}`} {
		if _, _, err := receive(empty, "application/json", false); llm.KindOf(err) != llm.ErrIncomplete {
			t.Errorf("%s: error %v, want an incomplete answer", empty, err)
		}
	}
}
