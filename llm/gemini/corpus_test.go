package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/corpus"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// interaction is a recorded call.
type interaction struct {
	ID        string
	Model     string
	SDKCheck  string `json:"sdk_check"`
	Streaming bool
	Request   struct {
		Body json.RawMessage
	}
	Response struct {
		Status  int
		Headers map[string]string
		Body    json.RawMessage
		BodyB64 []byte `json:"body_b64"`
	}
	Expect struct {
		Outcome   string
		Text      string
		Reasoning string
		ToolCalls []struct {
			ID, Name  *string
			Arguments json.RawMessage
		} `json:"tool_calls"`
		FinishRaw   json.RawMessage `json:"finish_raw"`
		UsageRaw    json.RawMessage `json:"usage_raw"`
		BlockReason string          `json:"block_reason"`
		Opaque      []string
		Error       struct{ Message string }
	}
}

// recordings reads the traffic recorded for this protocol.
func recordings(t *testing.T) []interaction { return corpus.Traffic[interaction](t, "gemini") }

// text returns a body that was recorded as text or as JSON.
func text(raw json.RawMessage) []byte {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []byte(s)
	}
	return raw
}

func (x interaction) answer() []byte {
	if x.Response.BodyB64 != nil {
		return x.Response.BodyB64
	}
	return text(x.Response.Body)
}

// read decodes a recorded answer with the adapter.
func (x interaction) read() (*llm.Response, error) {
	header := make(map[string][]string)
	for k, v := range x.Response.Headers {
		header[strings.ToUpper(k[:1])+k[1:]] = []string{v}
	}
	if v, ok := x.Response.Headers["content-type"]; ok {
		header["Content-Type"] = []string{v}
	}
	a := wire.NewAssembler(Name, x.Model, nil)
	err := wire.Read(NewDialect(Config{}), wire.Answer{
		Status: x.Response.Status, Header: header, Body: bytes.NewReader(x.answer()), Stream: x.Streaming,
	}, a)
	return a.Response(), err
}

// truth is an answer's content, read from its raw body without the adapter.
type truth struct {
	text, thoughts string
	calls          []truthCall
	signatures     []string
	finish         any
	usage          map[string]any
	searches       int
	failed         bool
	opaque         int
}

type truthCall struct {
	name, id string
	args     json.RawMessage
}

type rawAnswer struct {
	Error      json.RawMessage
	Candidates []struct {
		Index        int
		FinishReason any
		Content      struct{ Parts []map[string]json.RawMessage }

		GroundingMetadata struct{ WebSearchQueries []string }
	}
	UsageMetadata map[string]any
}

func (x interaction) truth(t *testing.T) truth {
	var out truth
	for _, doc := range documents(t, x.answer()) {
		var r rawAnswer
		dec := json.NewDecoder(bytes.NewReader(doc))
		dec.UseNumber()
		if err := dec.Decode(&r); err != nil {
			t.Fatalf("%s: %v", x.ID, err)
		}
		out.failed = out.failed || r.Error != nil
		if len(r.UsageMetadata) > 0 {
			out.usage = r.UsageMetadata
		}
		for _, c := range r.Candidates {
			out.searches = max(out.searches, len(c.GroundingMetadata.WebSearchQueries))
			if c.Index != 0 {
				continue
			}
			if c.FinishReason != nil {
				out.finish = c.FinishReason
			}
			for _, p := range c.Content.Parts {
				out.part(p)
			}
		}
	}
	return out
}

func (out *truth) part(p map[string]json.RawMessage) {
	var s string
	if json.Unmarshal(p["thoughtSignature"], &s) == nil && s != "" {
		out.signatures = append(out.signatures, s)
	}
	var text string
	switch {
	case p["functionCall"] != nil:
		var c struct {
			Name, ID     string
			Args         json.RawMessage
			PartialArgs  []any
			WillContinue bool
		}
		_ = json.Unmarshal(p["functionCall"], &c)
		if c.Name != "" {
			out.calls = append(out.calls, truthCall{c.Name, c.ID, c.Args})
		}
	case json.Unmarshal(p["text"], &text) == nil && string(p["thought"]) == "true":
		out.thoughts += text
	case p["text"] != nil:
		out.text += text
	default:
		out.opaque++
	}
}

// documents returns the JSON documents in a body: events, array elements, or one object.
func documents(t *testing.T, body []byte) []json.RawMessage {
	body = bytes.TrimSpace(body)
	var docs []json.RawMessage
	switch {
	case bytes.HasPrefix(body, []byte("[")):
		if err := json.Unmarshal(body, &docs); err != nil {
			t.Fatal(err)
		}
	case bytes.HasPrefix(body, []byte("{")):
		docs = append(docs, body)
	default:
		for _, ev := range strings.Split(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n\n") {
			if data, ok := strings.CutPrefix(ev, "data:"); ok {
				docs = append(docs, json.RawMessage(data))
			}
		}
	}
	return docs
}

// signatures returns the signatures in a message.
func signatures(m llm.Message) (out []string, opaque int) {
	for _, p := range m.Parts {
		var s llm.State
		switch p := p.(type) {
		case llm.Text:
			s = p.State
		case llm.Thinking:
			s = p.State
		case llm.ToolCall:
			s = p.State
		case llm.Opaque:
			var sig string
			var raw map[string]json.RawMessage
			_ = json.Unmarshal(p.State.Data, &raw)
			if json.Unmarshal(raw["thoughtSignature"], &sig) == nil && sig != "" {
				out = append(out, sig)
			}
			opaque++
		}
		if len(s.Data) > 0 {
			out = append(out, string(s.Data))
		}
	}
	return out, opaque
}

// streamedCalls are interactions whose expectation lists a streamed call's pieces as calls.
var streamedCalls = map[string]bool{"7313baf20b172fa2": true}

func TestCorpus_EveryAnswerDecodesWithoutLoss(t *testing.T) {
	counts := map[string]int{}
	for _, x := range recordings(t) {
		resp, err := x.read()
		want := x.truth(t)
		if x.Expect.Outcome != "ok" || want.failed {
			var e *llm.Error
			if !errors.As(err, &e) || e.Message == "" || e.Kind == llm.ErrMalformed || e.Kind == llm.ErrUnknown {
				t.Errorf("%s: error %v, want a typed one (%s)", x.ID, err, x.Expect.Error.Message)
			}
			counts[x.Expect.Outcome]++
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.ID, err)
			continue
		}
		counts["ok, sdk "+x.SDKCheck]++
		counts["tool calls"] += len(want.calls)
		counts["signatures"] += len(want.signatures)
		for _, problem := range compare(resp, want, x) {
			t.Errorf("%s: %s", x.ID, problem)
		}
	}
	t.Logf("decoded: %v", counts)
}

func compare(resp *llm.Response, want truth, x interaction) (problems []string) {
	check := func(what string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			problems = append(problems, fmt.Sprintf("%s = %v, want %v", what, got, want))
		}
	}
	check("text", resp.Text(), want.text)
	check("text of the corpus", resp.Text(), x.Expect.Text)
	thoughts := strings.ReplaceAll(resp.Thinking(), "\n", "")
	check("thoughts", thoughts, strings.ReplaceAll(want.thoughts, "\n", ""))
	check("thoughts of the corpus", thoughts, strings.ReplaceAll(x.Expect.Reasoning, "\n", ""))
	sigs, opaque := signatures(resp.Message)
	check("signatures", sigs, want.signatures)
	check("opaque parts", opaque, want.opaque)
	for _, s := range x.Expect.Opaque {
		check("signature of the corpus kept", slices.Contains(sigs, s), true)
	}
	if want.finish != nil {
		check("finish", resp.Finish.Raw, fmt.Sprint(want.finish))
	}
	if x.Expect.BlockReason != "" {
		check("block", resp.Finish, llm.FinishInfo{Reason: llm.FinishContentFilter, Raw: x.Expect.BlockReason})
	}
	problems = append(problems, compareUsage(resp.Usage, want.usage, want.searches)...)
	return append(problems, compareCalls(resp.ToolCalls(), want.calls, x)...)
}

func compareUsage(u llm.Usage, raw map[string]any, searches int) (problems []string) {
	n := func(key string) int64 {
		v, _ := raw[key].(json.Number)
		i, _ := v.Int64()
		return i
	}
	want := llm.Usage{
		Input:     n("promptTokenCount") + n("toolUsePromptTokenCount"),
		Output:    n("candidatesTokenCount") + n("thoughtsTokenCount"),
		Reasoning: n("thoughtsTokenCount"),
		CacheRead: n("cachedContentTokenCount"),
		Searches:  int64(searches),
	}
	if service, ok := raw["serviceTier"].(string); ok {
		want.Tier = service
	} else if traffic, ok := raw["trafficType"].(string); ok {
		want.Tier = map[string]string{"ON_DEMAND": "standard", "ON_DEMAND_FLEX": "flex"}[traffic]
	}
	if (len(u.Raw) > 0) != (raw != nil) {
		problems = append(problems, "the raw usage is missing")
	}
	if u.Raw = nil; !reflect.DeepEqual(u, want) {
		problems = append(problems, fmt.Sprintf("usage = %+v, want %+v", u, want))
	}
	return problems
}

func compareCalls(got []llm.ToolCall, want []truthCall, x interaction) (problems []string) {
	if len(got) != len(want) || !streamedCalls[x.ID] && len(got) != len(x.Expect.ToolCalls) {
		return []string{fmt.Sprintf("%d calls, want %d (corpus: %d)", len(got), len(want), len(x.Expect.ToolCalls))}
	}
	seen := map[string]bool{}
	for i, c := range got {
		if c.Name != want[i].name || want[i].id != "" && c.ID != want[i].id {
			problems = append(problems, fmt.Sprintf("call %d is %s %s, want %s %s", i, c.ID, c.Name, want[i].id, want[i].name))
		}
		if seen[c.ID] || (want[i].id == "") != strings.HasPrefix(c.ID, callIDPrefix) {
			problems = append(problems, "the id "+c.ID+" is not unique, or not known as ours")
		}
		seen[c.ID] = true
		if streamedCalls[x.ID] {
			if !json.Valid([]byte(c.Arguments)) || len(c.Arguments) < 100 {
				problems = append(problems, "the streamed call is incomplete: "+c.Arguments)
			}
			continue
		}
		args := string(want[i].args)
		if args == "" {
			args = "{}"
		}
		if c.Arguments != args {
			problems = append(problems, fmt.Sprintf("arguments %s, want the bytes %s", c.Arguments, args))
		}
	}
	return problems
}
