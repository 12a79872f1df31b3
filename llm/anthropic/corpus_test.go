package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/corpus"
	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// interaction is a recorded call.
type interaction struct {
	ID        string
	Model     string
	Streaming bool
	SDKCheck  string `json:"sdk_check"`
	Request   struct {
		Path    string
		Headers map[string]any
		Body    string
	}
	Response struct {
		Status  int
		Headers map[string]any
		Body    string
		BodyB64 string `json:"body_b64"`
	}
	Expect *struct {
		Outcome   string
		Text      string
		Reasoning string
		ToolCalls []struct {
			ID, Name  string
			Arguments json.RawMessage
		} `json:"tool_calls"`
		FinishRaw  string          `json:"finish_raw"`
		UsageRaw   json.RawMessage `json:"usage_raw"`
		Model      string
		Opaque     []string
		Redacted   []string
		OtherItems []string `json:"other_items"`
		Error      json.RawMessage
	}
}

func (ia *interaction) body(t testing.TB) []byte {
	if ia.Response.BodyB64 == "" {
		return []byte(ia.Response.Body)
	}
	b, err := base64.StdEncoding.DecodeString(ia.Response.BodyB64)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(ia *interaction, body []byte) (*llm.Response, error) {
	h := http.Header{}
	for k, v := range ia.Response.Headers {
		if s, ok := v.(string); ok {
			h.Set(k, s)
		}
	}
	a := wire.NewAssembler(Name, ia.Model, func(llm.StreamEvent) bool { return true })
	err := wire.Read(NewDialect(Config{}), wire.Answer{
		Status: ia.Response.Status, Header: h, Body: bytes.NewReader(body), Stream: ia.Streaming,
	}, a)
	return a.Response(), err
}

// TestCorpus_EveryAnswerDecodesWithoutLoss compares each recorded answer with the corpus and with the raw body.
func TestCorpus_EveryAnswerDecodesWithoutLoss(t *testing.T) {
	for _, protocol := range []string{"anthropic-messages", "anthropic-vertex"} {
		counts := map[string]int{}
		for _, ia := range corpus.Traffic[interaction](t, protocol) {
			body := ia.body(t)
			resp, err := read(&ia, body)
			counts[ia.Expect.Outcome]++
			if ia.Expect.Outcome != "ok" {
				if err == nil {
					t.Errorf("%s: an error was expected", ia.ID)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", ia.ID, err)
				continue
			}
			kind := "unary"
			if ia.Streaming {
				kind = "stream"
			}
			counts[kind]++
			counts["tool calls"] += len(resp.ToolCalls())
			for _, problem := range append(againstExpect(&ia, resp), againstRaw(body, resp)...) {
				if ia.ID == splicedID && strings.HasPrefix(problem, "tool calls") {
					counts["cut-off calls left out"]++
					continue
				}
				t.Errorf("%s (%s): %s", ia.ID, kind, problem)
			}
		}
		t.Logf("%s: %v", protocol, counts)
	}
}

// splicedID is a stream that is interrupted in a tool call and continues with another message. The
// corpus lists the interrupted call; the decoder drops it.
const splicedID = "e35e4d84ac988974"

func againstExpect(ia *interaction, resp *llm.Response) (problems []string) {
	problem := func(what string, got, want any) {
		problems = append(problems, fmt.Sprintf("%s: got %.300q, want %.300q", what, fmt.Sprint(got), fmt.Sprint(want)))
	}
	e := ia.Expect
	if resp.Text() != e.Text {
		problem("text", resp.Text(), e.Text)
	}
	var thinking strings.Builder
	state := map[string]bool{}
	var others []string
	for _, p := range resp.Message.Parts {
		switch p := p.(type) {
		case llm.Thinking:
			thinking.WriteString(p.Text)
			var s struct{ Signature, Data string }
			_ = json.Unmarshal(p.State.Data, &s)
			state[s.Signature], state[s.Data] = true, true
		case llm.Opaque:
			if p.Kind != containerKind {
				others = append(others, p.Kind)
			}
		}
	}
	if thinking.String() != e.Reasoning {
		problem("thinking", thinking.String(), e.Reasoning)
	}
	for _, s := range append(e.Opaque, e.Redacted...) {
		if !state[s] {
			problem("state", "nothing", s)
		}
	}
	if fmt.Sprint(others) != fmt.Sprint(e.OtherItems) {
		problem("other items", others, e.OtherItems)
	}
	if resp.Finish.Raw != e.FinishRaw {
		problem("finish", resp.Finish.Raw, e.FinishRaw)
	}
	if !sameJSON(resp.Usage.Raw, e.UsageRaw) {
		problem("usage", string(resp.Usage.Raw), string(e.UsageRaw))
	}
	calls := resp.ToolCalls()
	if len(calls) != len(e.ToolCalls) {
		problem("tool calls", calls, e.ToolCalls)
		return problems
	}
	for i, c := range calls {
		if w := e.ToolCalls[i]; c.ID != w.ID || c.Name != w.Name || !sameJSON([]byte(c.Arguments), w.Arguments) {
			problem("tool calls", c, w)
		}
	}
	return problems
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// rawAnswer is an answer as read by encoding/json.
type rawAnswer struct {
	text, thinking, finish string
	signatures             []string
	arguments              map[string]string // by call id; the bytes
	usage                  map[string]any
}

func readRaw(body []byte) rawAnswer {
	ra := rawAnswer{arguments: map[string]string{}, usage: map[string]any{}}
	var whole struct {
		Content    []map[string]json.RawMessage
		StopReason string `json:"stop_reason"`
		Usage      map[string]any
	}
	if json.Unmarshal(body, &whole) == nil {
		for _, b := range whole.Content {
			ra.block(b, true)
		}
		ra.finish, ra.usage = whole.StopReason, whole.Usage
		return ra
	}
	open := ""
	for _, line := range strings.Split(string(body), "\n") {
		data, ok := strings.CutPrefix(line, "data:")
		if !ok {
			continue
		}
		var ev struct {
			Type    string
			Message struct{ Usage map[string]any }
			Block   map[string]json.RawMessage `json:"content_block"`
			Delta   struct {
				Text, Thinking, Signature string
				PartialJSON               string `json:"partial_json"`
				StopReason                string `json:"stop_reason"`
			}
			Usage map[string]any
		}
		_ = json.Unmarshal([]byte(data), &ev)
		for _, u := range []map[string]any{ev.Message.Usage, ev.Usage} {
			for k, v := range u {
				ra.usage[k] = v
			}
		}
		if ev.Type == "content_block_start" {
			open = ra.block(ev.Block, false)
		}
		ra.text += ev.Delta.Text
		ra.thinking += ev.Delta.Thinking
		if ev.Delta.Signature != "" {
			ra.signatures = append(ra.signatures, ev.Delta.Signature)
		}
		if open != "" {
			ra.arguments[open] += ev.Delta.PartialJSON
		}
		if ev.Delta.StopReason != "" {
			ra.finish = ev.Delta.StopReason
		}
	}
	return ra
}

// block reads a content block and returns its id if it is a tool call.
func (ra *rawAnswer) block(b map[string]json.RawMessage, whole bool) (id string) {
	str := func(k string) (s string) {
		_ = json.Unmarshal(b[k], &s)
		return s
	}
	ra.text += str("text")
	ra.thinking += str("thinking")
	for _, k := range []string{"signature", "data"} {
		if s := str(k); s != "" {
			ra.signatures = append(ra.signatures, s)
		}
	}
	if str("type") != "tool_use" {
		return ""
	}
	id = str("id")
	ra.arguments[id] = ""
	if whole {
		ra.arguments[id] = string(b["input"])
	}
	return id
}

func againstRaw(body []byte, resp *llm.Response) (problems []string) {
	ra := readRaw(body)
	problem := func(what string, got, want any) {
		problems = append(problems, fmt.Sprintf("%s, raw: got %.300q, want %.300q", what, fmt.Sprint(got), fmt.Sprint(want)))
	}
	if resp.Text() != ra.text {
		problem("text", resp.Text(), ra.text)
	}
	if got := strings.ReplaceAll(resp.Thinking(), "\n\n", ""); got != strings.ReplaceAll(ra.thinking, "\n\n", "") {
		problem("thinking", got, ra.thinking)
	}
	if resp.Finish.Raw != ra.finish {
		problem("finish", resp.Finish.Raw, ra.finish)
	}
	if calls := resp.ToolCalls(); len(calls) != len(ra.arguments) {
		problem("tool calls", calls, ra.arguments)
	}
	for _, c := range resp.ToolCalls() {
		if want := ra.arguments[c.ID]; c.Arguments != want && !(want == "" && c.Arguments == "{}") {
			problem("tool calls", c.Arguments, want)
		}
	}
	all, _ := json.Marshal(resp.Message)
	for _, s := range ra.signatures {
		if !bytes.Contains(all, []byte(s)) {
			problem("signature", "nothing", s)
		}
	}
	num := func(k string) int64 { f, _ := ra.usage[k].(float64); return int64(f) }
	read, write := num("cache_read_input_tokens"), num("cache_creation_input_tokens")
	if u := resp.Usage; u.Input != num("input_tokens")+read+write || u.Output != num("output_tokens") || u.CacheRead != read || u.CacheWrite != write {
		problem("usage", u, ra.usage)
	}
	return problems
}

// TestCorpus_EveryBedrockAnswerDecodesWithoutLoss compares Claude's recorded answers on Bedrock, whole and in the
// framing of AWS, with the raw body.
func TestCorpus_EveryBedrockAnswerDecodesWithoutLoss(t *testing.T) {
	whole, streams := 0, 0
	for _, ia := range corpus.Traffic[interaction](t, "bedrock-invoke") {
		body := ia.body(t)
		raw := unframed(t, body)
		if !bytes.Contains(raw, []byte(`"stop_reason"`)) || !bytes.Contains(raw, []byte(`"content"`)) {
			continue // another protocol
		}
		resp, err := read(&ia, body)
		if err != nil {
			t.Errorf("%s: %v", ia.ID, err)
			continue
		}
		for _, problem := range againstRaw(raw, resp) {
			t.Errorf("%s: %s", ia.ID, problem)
		}
		if ia.Streaming {
			streams++
			if _, err := read(&ia, body[:len(body)-1]); llm.KindOf(err) != llm.ErrIncomplete {
				t.Errorf("%s: without its last byte: got %v, want an incomplete stream", ia.ID, err)
			}
		} else {
			whole++
		}
	}
	if whole == 0 || streams == 0 && !corpus.IsSample(t) {
		t.Errorf("compared %d answers and %d streams, want both", whole, streams)
	}
	t.Logf("compared %d answers and %d streams", whole, streams)
}

// unframed returns the events in a stream of AWS as server-sent events, and any other body unchanged. It verifies
// nothing.
func unframed(t testing.TB, body []byte) (sse []byte) {
	if len(body) == 0 || body[0] != 0 {
		return body
	}
	for len(body) >= 16 {
		total, head := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
		var chunk struct{ Bytes []byte }
		if err := json.Unmarshal(body[12+head:total-4], &chunk); err != nil {
			t.Fatal(err)
		}
		sse = append(append(append(sse, "data:"...), chunk.Bytes...), '\n')
		body = body[total:]
	}
	return sse
}

// TestCorpus_EveryRequestParsesAndEncodesToItself sends each recorded request through Parse and
// Encode. Only the documented normalisations may change it.
func TestCorpus_EveryRequestParsesAndEncodesToItself(t *testing.T) {
	for _, protocol := range []string{"anthropic-messages", "anthropic-vertex", "bedrock-invoke"} {
		n, leaves, options, opaque := 0, 0, map[string]int{}, map[string]int{}
		for _, ia := range corpus.Traffic[interaction](t, protocol) {
			if ia.Request.Body == "" || protocol == "bedrock-invoke" && !strings.Contains(ia.Request.Body, `"anthropic_version"`) {
				continue
			}
			d := NewDialect(Config{})
			r, dropped, err := requests.Parse(d, []byte(ia.Request.Body))
			if err != nil {
				t.Errorf("%s: %v", ia.ID, err)
				continue
			}
			for k := range r.Options[Name].Body {
				options[k]++
			}
			for _, m := range r.Messages {
				for _, p := range m.Parts {
					if o, ok := p.(llm.Opaque); ok {
						opaque[o.Kind]++
					}
				}
			}
			if len(dropped) > 0 {
				t.Errorf("%s: dropped %v", ia.ID, dropped)
			}
			if r.Model == "" {
				r.Model = "claude"
			}
			call, err := d.Encode(r)
			if err != nil {
				t.Errorf("%s: %v", ia.ID, err)
				continue
			}
			want, got := flatten(t, []byte(ia.Request.Body)), flatten(t, call.Body.Bytes())
			if protocol != "anthropic-messages" {
				delete(got, ".model")
			}
			if diff := compare(want, got); len(diff) > 0 {
				t.Errorf("%s: %s", ia.ID, strings.Join(diff[:min(len(diff), 8)], "\n\t"))
			}
			n++
			leaves += len(want)
		}
		t.Logf("%s: %d requests, %d values, kept as options %v, kept as opaque %v", protocol, n, leaves, options, opaque)
	}
}

// flatten returns a request as paths and values, normalised as Parse documents.
func flatten(t testing.TB, body []byte) map[string]string {
	var root map[string]any
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatal(err)
	}
	if s, ok := root["system"].(string); ok {
		root["system"] = textBlock1(s)
	}
	messages, _ := root["messages"].([]any)
	var merged []any
	for _, m := range messages {
		m := m.(map[string]any)
		if s, ok := m["content"].(string); ok {
			m["content"] = textBlock1(s)
		}
		for _, b := range m["content"].([]any) {
			if b := b.(map[string]any); b["type"] == "tool_result" {
				if s, ok := b["content"].(string); ok && s != "" {
					b["content"] = textBlock1(s)
				}
			}
		}
		if k := len(merged) - 1; k >= 0 && merged[k].(map[string]any)["role"] == m["role"] {
			last := merged[k].(map[string]any)
			last["content"] = append(last["content"].([]any), m["content"].([]any)...)
		} else {
			merged = append(merged, m)
		}
	}
	root["messages"] = merged
	out := map[string]string{}
	flattenInto(out, "", root)
	return out
}

func textBlock1(s string) []any { return []any{map[string]any{"type": "text", "text": s}} }

func flattenInto(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		if len(v) == 0 {
			out[path] = "{}"
		}
		for k, x := range v {
			flattenInto(out, path+"."+k, x)
		}
	case []any:
		if len(v) == 0 {
			out[path] = "[]"
		}
		for i, x := range v {
			flattenInto(out, fmt.Sprintf("%s[%d]", path, i), x)
		}
	default:
		out[path] = fmt.Sprint(v)
	}
}

func compare(want, got map[string]string) (diff []string) {
	for k, w := range want {
		if g, ok := got[k]; !ok {
			diff = append(diff, "lost "+k)
		} else if g != w {
			diff = append(diff, fmt.Sprintf("changed %s: %.80q to %.80q", k, w, g))
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			diff = append(diff, "added "+k)
		}
	}
	sort.Strings(diff)
	return diff
}
