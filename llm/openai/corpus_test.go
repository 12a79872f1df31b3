package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/corpus"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// interaction is one recorded exchange in the corpus.
type interaction struct {
	ID        string `json:"id"`
	Streaming bool   `json:"streaming"`
	Check     string `json:"sdk_check"`
	Request   struct {
		Body json.RawMessage `json:"body"`
	} `json:"request"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    *string           `json:"body"`
		Base64  []byte            `json:"body_b64"`
	} `json:"response"`
	Expect struct {
		Outcome   string `json:"outcome"`
		Text      string `json:"text"`
		Reasoning string `json:"reasoning"`
		ToolCalls []struct {
			ID        string          `json:"id"`
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"tool_calls"`
		FinishRaw  string          `json:"finish_raw"`
		UsageRaw   json.RawMessage `json:"usage_raw"`
		Opaque     []string        `json:"opaque"`
		OtherItems []string        `json:"other_items"`
		Model      string          `json:"model"`
		Error      struct {
			Message string `json:"message"`
			Code    string `json:"code"`
		} `json:"error"`
	} `json:"expect"`
}

func (x *interaction) response() []byte {
	if x.Response.Body != nil {
		return []byte(*x.Response.Body)
	}
	return x.Response.Base64
}

// request is the recorded request body, or nil.
func (x *interaction) request(t *testing.T) []byte {
	raw := x.Request.Body
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var text string
	if raw[0] != '"' {
		return raw
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

func recordings(t *testing.T) []interaction {
	return corpus.Traffic[interaction](t, "openai-responses")
}

// decode reads an answer and also returns what its events added up to.
func decode(status int, header http.Header, body []byte, stream bool) (resp *llm.Response, streamed *llm.Message, err error) {
	streamed = &llm.Message{}
	deltas := make(map[int]string)
	a := wire.NewAssembler(Name, "test-model", func(ev llm.StreamEvent) bool {
		switch ev := ev.(type) {
		case llm.TextDelta:
			deltas[ev.Index] += ev.Text
		case llm.ThinkingDelta:
			deltas[ev.Index] += ev.Text
		case llm.ToolCallDelta:
			deltas[ev.Index] += ev.Arguments
		case llm.TextEnd:
			streamed.Parts = append(streamed.Parts, llm.Text{Text: deltas[ev.Index]})
		case llm.ThinkingEnd:
			streamed.Parts = append(streamed.Parts, llm.Thinking{Text: deltas[ev.Index]})
		case llm.ToolCallEnd:
			c := ev.Call
			c.Arguments = deltas[ev.Index]
			streamed.Parts = append(streamed.Parts, c)
		}
		return true
	})
	err = wire.Read(NewDialect(Config{}), wire.Answer{Status: status, Header: header, Body: bytes.NewReader(body), Stream: stream}, a)
	return a.Response(), streamed, err
}

func TestCorpus_EveryInteractionDecodesWithoutLoss(t *testing.T) {
	counts := make(map[string]int)
	for _, x := range recordings(t) {
		header := make(http.Header)
		if ct := x.Response.Headers["content-type"]; strings.Contains(ct, "/") {
			header.Set("Content-Type", ct)
		}
		resp, streamed, err := decode(x.Response.Status, header, x.response(), x.Streaming)
		counts[x.Expect.Outcome]++
		if x.Expect.Outcome != "ok" {
			checkError(t, x, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.ID, err)
			continue
		}
		checkExpectation(t, x, resp)
		checkRaw(t, x, resp, counts)
		// In this recording the deltas were shortened by hand.
		if x.ID != "bcaea29cdcfa05a9" && (streamed.Text() != resp.Text() || streamed.Thinking() != resp.Thinking()) {
			t.Errorf("%s: the deltas do not add up to the response", x.ID)
		}
	}
	t.Logf("decoded: %v", counts)
}

func checkError(t *testing.T, x interaction, err error) {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: got %v, want an error", x.ID, err)
		return
	}
	if e.Message != x.Expect.Error.Message || x.Expect.Error.Code != "" && e.Code != x.Expect.Error.Code {
		t.Errorf("%s: got %q %q, want %+v", x.ID, e.Code, e.Message, x.Expect.Error)
	}
	if e.Kind == llm.ErrUnknown || e.Kind == llm.ErrMalformed {
		t.Errorf("%s: error kind %s", x.ID, e.Kind)
	}
}

func checkExpectation(t *testing.T, x interaction, resp *llm.Response) {
	t.Helper()
	want := x.Expect
	if resp.Text() != want.Text {
		t.Errorf("%s: text\n got %q\nwant %q", x.ID, resp.Text(), want.Text)
	}
	// How summary parts are separated is our choice.
	if squeeze(resp.Thinking()) != squeeze(want.Reasoning) {
		t.Errorf("%s: thinking\n got %q\nwant %q", x.ID, resp.Thinking(), want.Reasoning)
	}
	calls := resp.ToolCalls()
	if len(calls) != len(want.ToolCalls) {
		t.Errorf("%s: %d calls, want %d", x.ID, len(calls), len(want.ToolCalls))
		return
	}
	for i, c := range want.ToolCalls {
		if calls[i].ID != c.ID || calls[i].Name != c.Name {
			t.Errorf("%s: call %d is %s %s, want %s %s", x.ID, i, calls[i].ID, calls[i].Name, c.ID, c.Name)
		}
	}
	if resp.Finish.Raw != want.FinishRaw {
		t.Errorf("%s: finish %q, want %q", x.ID, resp.Finish.Raw, want.FinishRaw)
	}
	if want.Model != "" && resp.Model != want.Model {
		t.Errorf("%s: model %q, want %q", x.ID, resp.Model, want.Model)
	}
	if !sameJSON(resp.Usage.Raw, want.UsageRaw) {
		t.Errorf("%s: usage %s, want %s", x.ID, resp.Usage.Raw, want.UsageRaw)
	}
	for _, secret := range want.Opaque {
		if !slices.ContainsFunc(resp.Message.Parts, func(p llm.Part) bool { return wire.Value(stateOf(p)).Get("encrypted_content").Is(secret) }) {
			t.Errorf("%s: an opaque value is lost", x.ID)
		}
	}
	var kinds []string
	for _, p := range resp.Message.Parts {
		if o, ok := p.(llm.Opaque); ok {
			kinds = append(kinds, o.Kind)
		}
	}
	for _, kind := range want.OtherItems {
		if !slices.Contains(kinds, kind) {
			t.Errorf("%s: a %s item is lost", x.ID, kind)
		}
	}
}

func stateOf(p llm.Part) []byte {
	switch p := p.(type) {
	case llm.Text:
		return p.State.Data
	case llm.Thinking:
		return p.State.Data
	case llm.ToolCall:
		return p.State.Data
	case llm.Opaque:
		return p.State.Data
	}
	return nil
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(orNull(a), &x) != nil || json.Unmarshal(orNull(b), &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

func orNull(b []byte) []byte {
	if len(b) == 0 {
		return []byte("null")
	}
	return b
}
