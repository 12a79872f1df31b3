package bedrock

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/internal/corpus"
	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// interaction is a recorded call.
type interaction struct {
	ID, Model string
	Streaming bool
	Request   struct{ Body string }
	Response  struct {
		Status  int
		Headers map[string]any
		Body    string
		BodyB64 []byte `json:"body_b64"`
	}
}

// recorded returns the recorded calls. The sample has none for this protocol.
func recorded(t *testing.T) []interaction {
	t.Helper()
	if corpus.IsSample(t) {
		t.Skip("the sample has no calls of Converse")
	}
	return corpus.Traffic[interaction](t, "bedrock-converse")
}

func (ia *interaction) body() []byte {
	if ia.Response.BodyB64 != nil {
		return ia.Response.BodyB64
	}
	return []byte(ia.Response.Body)
}

func (ia *interaction) read(body []byte) (*llm.Response, error) {
	h := http.Header{}
	for k, v := range ia.Response.Headers {
		if s, ok := v.(string); ok {
			h.Set(k, s)
		}
	}
	a := wire.NewAssembler(Name, ia.Model, func(llm.StreamEvent) bool { return true })
	err := wire.Read(NewDialect(Config{}), wire.Answer{Status: ia.Response.Status, Header: h, Body: bytes.NewReader(body), Stream: ia.Streaming}, a)
	return a.Response(), err
}

// answer is the content of a recorded answer, read with encoding/json.
type answer struct {
	text, thinking, stop string
	arguments            map[string]any // by id
	state                []string       // signatures and redacted content
	input, output, total int64
}

// members of whole answers and of events
type content struct {
	Text    string
	ToolUse *struct {
		ToolUseID, Name, Type string
		Input                 any
	}
	ReasoningContent struct {
		Text, Signature, RedactedContent string
		ReasoningText                    struct{ Text, Signature string }
	}
	CitationsContent struct{ Content []struct{ Text string } }
}

func expected(t *testing.T, body []byte) (a answer) {
	t.Helper()
	a.arguments = map[string]any{}
	open, partial := map[int]string{}, map[string]string{}
	for _, raw := range payloads(body) {
		var v struct {
			Output            struct{ Message struct{ Content []content } }
			StopReason        string
			Usage             struct{ InputTokens, OutputTokens, TotalTokens int64 }
			ContentBlockIndex int
			Start, Delta      content
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		for _, c := range append(v.Output.Message.Content, v.Delta) {
			a.text += c.Text
			for _, inner := range c.CitationsContent.Content {
				a.text += inner.Text
			}
			r := c.ReasoningContent
			a.thinking += r.Text + r.ReasoningText.Text
			for _, s := range []string{r.Signature, r.ReasoningText.Signature, r.RedactedContent} {
				if s != "" {
					a.state = append(a.state, s)
				}
			}
			if c.ToolUse == nil || c.ToolUse.Type == "server_tool_use" {
			} else if c.ToolUse.ToolUseID != "" {
				a.arguments[c.ToolUse.ToolUseID] = c.ToolUse.Input
			} else {
				partial[open[v.ContentBlockIndex]] += c.ToolUse.Input.(string)
			}
		}
		if v.Start.ToolUse != nil {
			open[v.ContentBlockIndex] = v.Start.ToolUse.ToolUseID
			partial[v.Start.ToolUse.ToolUseID] = ""
		}
		if v.StopReason != "" {
			a.stop = v.StopReason
		}
		a.input, a.output, a.total = a.input+v.Usage.InputTokens, a.output+v.Usage.OutputTokens, a.total+v.Usage.TotalTokens
	}
	for id, text := range partial {
		var input any = map[string]any{}
		if text != "" {
			if err := json.Unmarshal([]byte(text), &input); err != nil {
				t.Fatal(err)
			}
		}
		a.arguments[id] = input
	}
	return a
}

// payloads returns a whole answer, or the payloads of a stream's messages. It verifies nothing.
func payloads(body []byte) (list [][]byte) {
	if body[0] == '{' {
		return [][]byte{body}
	}
	for len(body) > 0 {
		total, head := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
		list = append(list, body[12+head:total-4])
		body = body[total:]
	}
	return list
}

func TestCorpus_EveryAnswerDecodesWithoutLoss(t *testing.T) {
	counts := map[string]int{}
	for _, ia := range recorded(t) {
		resp, err := ia.read(ia.body())
		if ia.Response.Status != http.StatusOK {
			e, ok := err.(*llm.Error)
			if !ok || e.Message == "" || e.Status != ia.Response.Status {
				t.Errorf("%s: got %v, want an error of status %d", ia.ID, err, ia.Response.Status)
			}
			counts["errors"]++
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", ia.ID, err)
			continue
		}
		want := expected(t, ia.body())
		got := answer{text: resp.Text(), stop: resp.Finish.Raw, arguments: map[string]any{}, output: resp.Usage.Output, total: resp.Usage.Input + resp.Usage.Output}
		for _, p := range resp.Message.Parts {
			if th, ok := p.(llm.Thinking); ok {
				var state struct{ Signature, RedactedContent string }
				_ = json.Unmarshal(th.State.Data, &state)
				got.thinking += th.Text
				if s := state.Signature + state.RedactedContent; s != "" {
					got.state = append(got.state, s)
				}
			}
		}
		for _, c := range resp.ToolCalls() {
			var input any
			if err := json.Unmarshal([]byte(c.Arguments), &input); err != nil {
				t.Errorf("%s: the arguments %q: %v", ia.ID, c.Arguments, err)
			}
			got.arguments[c.ID] = input
		}
		if want.stop == "max_tokens" {
			got.arguments, want.arguments = nil, nil // the last call may be incomplete
		}
		got.input = resp.Usage.Input - resp.Usage.CacheRead - resp.Usage.CacheWrite
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", ia.ID, got, want)
		}
		if ia.Streaming {
			counts["streams"]++
			if _, err := ia.read(ia.body()[:len(ia.body())-1]); llm.KindOf(err) != llm.ErrIncomplete {
				t.Errorf("%s: without its last byte: got %v, want an incomplete stream", ia.ID, err)
			}
		} else {
			counts["answers"]++
		}
		counts["calls"] += len(resp.ToolCalls())
	}
	t.Log(counts)
	for _, what := range []string{"streams", "answers", "calls", "errors"} {
		if counts[what] == 0 {
			t.Errorf("no %s were compared", what)
		}
	}
}

// TestCorpus_EveryRequestParsesAndEncodesToItself allows that consecutive messages with the same role are merged, and
// that empty members and the default status of tool results are omitted.
func TestCorpus_EveryRequestParsesAndEncodesToItself(t *testing.T) {
	n := 0
	d := NewDialect(Config{})
	for _, ia := range recorded(t) {
		var want map[string]any
		if err := json.Unmarshal([]byte(ia.Request.Body), &want); err != nil {
			continue // one recording is damaged
		}
		merge(want)
		r, dropped, err := requests.Parse(d, []byte(ia.Request.Body))
		if err != nil || len(dropped) > 0 {
			t.Errorf("%s: dropped %v, %v", ia.ID, dropped, err)
			continue
		}
		r.Model = "m"
		call, err := d.Encode(r)
		if err != nil {
			t.Errorf("%s: %v", ia.ID, err)
			continue
		}
		var got map[string]any
		if err := json.Unmarshal(call.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v in %s", ia.ID, err, call.Body.Bytes())
		}
		if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", ia.ID, diff)
		}
		n++
	}
	t.Logf("compared %d requests", n)
}

// merge merges consecutive messages of one role.
func merge(request map[string]any) {
	var merged []any
	for _, m := range request["messages"].([]any) {
		m := m.(map[string]any)
		if n := len(merged); n > 0 && merged[n-1].(map[string]any)["role"] == m["role"] {
			last := merged[n-1].(map[string]any)
			last["content"] = append(last["content"].([]any), m["content"].([]any)...)
		} else {
			merged = append(merged, m)
		}
	}
	request["messages"] = merged
}

// plain removes what Parse and Encode may change.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			list, isList := x.([]any)
			object, isObject := x.(map[string]any)
			if x == nil || k == "status" && x == "success" || isList && len(list) == 0 || isObject && len(object) == 0 && k == "inferenceConfig" {
				delete(v, k)
				continue
			}
			v[k] = plain(x)
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}
