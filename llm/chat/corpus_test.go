package chat

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/corpus"
	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// interaction is a recorded exchange.
type interaction struct {
	ID        string
	Vendor    string
	Model     string
	Streaming bool
	SDKCheck  string `json:"sdk_check"`
	Request   struct {
		Body *string
	}
	Response struct {
		Status  int
		Headers map[string]string
		Body    *string
		BodyB64 []byte `json:"body_b64"`
	}
	Expect struct {
		Outcome   string
		Text      string
		Reasoning string
		ToolCalls []struct {
			ID        *string
			Name      string
			Arguments json.RawMessage
			Legacy    bool
		} `json:"tool_calls"`
		FinishRaw *string         `json:"finish_raw"`
		UsageRaw  json.RawMessage `json:"usage_raw"`
		Refusal   string
		Error     *struct {
			Message string
		}
	}
}

func (i interaction) body() []byte {
	if i.Response.Body != nil {
		return []byte(*i.Response.Body)
	}
	return i.Response.BodyB64
}

func recordings(t testing.TB) []interaction { return corpus.Traffic[interaction](t, "openai-chat") }

func decode(i interaction) (*llm.Response, error) {
	h := http.Header{}
	for k, v := range i.Response.Headers {
		h.Set(k, v)
	}
	a := wire.NewAssembler(Name, i.Model, nil)
	err := wire.Read(NewDialect(Config{}), wire.Answer{Status: i.Response.Status, Header: h, Body: bytes.NewReader(i.body()), Stream: i.Streaming}, a)
	return a.Response(), err
}

// deviations are answers that we decode differently from the corpus, and why.
var deviations = map[string]string{
	"856731648a88de9b": "usage: the server repeats its last event with zero counts; we use the previous ones",
	"5ffe42a40d5ff23e": "reasoning: it is in reasoning_details only, which we decode as thinking",
}

func TestCorpus_EveryAnswerDecodesWithoutLoss(t *testing.T) {
	counts := map[string]int{}
	for _, i := range recordings(t) {
		resp, err := decode(i)
		counts[i.Expect.Outcome]++
		if i.Streaming {
			counts["streamed"]++
		}
		if thinkIn.MatchString(i.Expect.Text) {
			counts["inline thinking"]++
		}
		if i.Expect.Outcome != "ok" {
			if err == nil {
				t.Errorf("%s: got no error, want one", i.ID)
			} else if e := i.Expect.Error; e != nil && e.Message != "" && !strings.Contains(err.Error(), e.Message) {
				t.Errorf("%s: got error %q, want one with %q", i.ID, err, e.Message)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s (%s): %v", i.ID, i.Vendor, err)
			continue
		}
		for _, problem := range append(againstExpectation(i, resp), againstBody(i, resp)...) {
			what, _, _ := strings.Cut(problem, ":")
			if why, known := deviations[i.ID]; known && strings.HasPrefix(why, what) {
				counts["known deviation"]++
				continue
			}
			t.Errorf("%s (%s, %s, stream %v, %s): %.700s", i.ID, i.Vendor, i.Model, i.Streaming, i.SDKCheck, problem)
		}
	}
	t.Logf("openai-chat: %v", counts)
}

func againstExpectation(i interaction, resp *llm.Response) (problems []string) {
	report := func(what string, got, want any) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		problems = append(problems, what+": got "+string(g)+", want "+string(w))
	}
	text, reasoning := i.Expect.Text, i.Expect.Reasoning
	if m := thinkIn.FindStringSubmatch(text); m != nil {
		text, reasoning = m[2], m[1]
	}
	if resp.Text() != text {
		report("text", resp.Text(), text)
	}
	if got := resp.Thinking(); got != reasoning {
		report("reasoning", got, reasoning)
	}
	if raw := i.Expect.FinishRaw; raw != nil && resp.Finish.Raw != *raw {
		report("finish", resp.Finish.Raw, *raw)
	}
	if u := i.Expect.UsageRaw; len(u) > 0 && string(u) != "null" && !requests.Equal(resp.Usage.Raw, u) {
		report("usage", resp.Usage.Raw, u)
	}
	calls := resp.ToolCalls()
	n := 0
	for _, want := range i.Expect.ToolCalls {
		if want.Legacy && want.Name == "" {
			continue // an empty form
		}
		if n >= len(calls) {
			report("calls", len(calls), len(i.Expect.ToolCalls))
			break
		}
		got := calls[n]
		n++
		if got.Name != want.Name || want.ID != nil && *want.ID != "" && got.ID != *want.ID || got.ID == "" {
			report("call", got, want)
		}
		if !sameArguments(got.Arguments, want.Arguments) {
			report("arguments", got.Arguments, want.Arguments)
		}
	}
	if n != len(calls) {
		report("calls", len(calls), n)
	}
	if want := i.Expect.Refusal; want != "" && !strings.Contains(opaque(resp, "refusal"), want) {
		report("refusal", opaque(resp, "refusal"), want)
	}
	return problems
}

// thinkIn matches a text with inline thinking. The corpus does not split it off.
var thinkIn = regexp.MustCompile(`(?s)^\s*<think>[\r\n]*(.*?)(?:</think>\s*(.*))?$`)

// sameArguments compares arguments with the corpus's, which are parsed if possible.
func sameArguments(got string, want json.RawMessage) bool {
	var s string
	if json.Unmarshal(want, &s) == nil && s == got {
		return true
	}
	return requests.Equal([]byte(got), want) || strings.TrimSpace(got) == "" && requests.Equal([]byte("{}"), want)
}

func opaque(resp *llm.Response, kind string) string {
	for _, p := range resp.Message.Parts {
		if o, ok := p.(llm.Opaque); ok && o.Kind == kind {
			return string(o.State.Data)
		}
	}
	return ""
}

// rawAnswer is an answer decoded by encoding/json.
type rawAnswer struct {
	Choices []struct {
		Index        int
		Delta        map[string]json.RawMessage
		Message      map[string]json.RawMessage
		FinishReason *string `json:"finish_reason"`
	}
}

// againstBody compares the response with the body decoded by encoding/json: text, arguments, reasoning details and
// signatures.
func againstBody(i interaction, resp *llm.Response) (problems []string) {
	var text, secrets []string
	args := map[string]string{}
	for _, event := range events(i) {
		var a rawAnswer
		if json.Unmarshal(event, &a) != nil {
			continue
		}
		for _, c := range a.Choices {
			m := c.Delta
			if len(m) == 0 {
				m = c.Message
			}
			if c.Index != 0 {
				continue
			}
			var s string
			if json.Unmarshal(m["content"], &s) == nil {
				text = append(text, s)
			}
			secrets = append(secrets, secretsIn(m["reasoning_details"])...)
			secrets = append(secrets, secretsIn(m["extra_content"])...)
			var calls []struct {
				Index    *int
				Function struct{ Arguments string }
			}
			_ = json.Unmarshal(m["tool_calls"], &calls)
			for n, call := range calls {
				if call.Index != nil && i.Streaming {
					n = *call.Index
				}
				args[string(rune('a'+n))] += call.Function.Arguments
			}
		}
	}
	if got := thinkIn.ReplaceAllString(strings.Join(text, ""), "$2"); !strings.Contains(resp.Text(), got) {
		problems = append(problems, "text: the body has "+got)
	}
	var want, got []string
	for _, a := range args {
		want = append(want, a)
	}
	for _, c := range resp.ToolCalls() {
		got = append(got, c.Arguments)
	}
	sort.Strings(want)
	sort.Strings(got)
	if len(want) > 0 && !reflect.DeepEqual(got, want) {
		problems = append(problems, "argument bytes: got "+strings.Join(got, " ")+", want "+strings.Join(want, " "))
	}
	kept, _ := json.Marshal(resp.Message)
	for _, s := range secrets {
		quoted, _ := json.Marshal(s)
		if !bytes.Contains(kept, quoted[1:len(quoted)-1]) {
			problems = append(problems, "state: lost "+s)
		}
	}
	return problems
}

// secretsIn returns the values in provider state that must be sent back unchanged.
func secretsIn(raw json.RawMessage) (out []string) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				if s, ok := x.(string); ok && (k == "data" || k == "signature" || k == "thought_signature") {
					out = append(out, s)
				}
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
	return out
}

// events returns an answer's JSON objects.
func events(i interaction) [][]byte {
	body := i.body()
	if !i.Streaming || bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return [][]byte{body}
	}
	var out [][]byte
	for _, line := range strings.Split(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n") {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			out = append(out, []byte(strings.TrimSpace(data)))
		}
	}
	return out
}

func TestCorpus_EveryRequestEncodesToItself(t *testing.T) {
	d := NewDialect(Config{})
	count, paths := 0, map[string]int{}
	for _, i := range recordings(t) {
		if i.Request.Body == nil {
			continue
		}
		count++
		r, dropped, err := requests.Parse(d, []byte(*i.Request.Body))
		if err != nil {
			t.Errorf("%s: %v", i.ID, err)
			continue
		}
		call, err := d.Encode(throughJSON(t, r))
		if err != nil {
			t.Errorf("%s: %v", i.ID, err)
			continue
		}
		missing, err := requests.Lost([]byte(*i.Request.Body), call.Body.Bytes())
		if err != nil {
			t.Errorf("%s: %v", i.ID, err)
		}
		if !reflect.DeepEqual(missing, dropped) {
			t.Errorf("%s: lost %v, but Parse reported %v", i.ID, missing, dropped)
		}
		added, _ := requests.Lost(call.Body.Bytes(), []byte(*i.Request.Body))
		for _, p := range added {
			if !strings.HasPrefix(p, "tools[") && !strings.HasSuffix(p, ".type") {
				t.Errorf("%s (%s): added %s", i.ID, i.Vendor, p)
			}
		}
		for _, p := range missing {
			paths[digits.Replace(p)]++
			t.Errorf("%s (%s): lost %s", i.ID, i.Vendor, p)
		}
	}
	t.Logf("openai-chat: %d requests, not modelled: %v", count, paths)
}

// throughJSON encodes a request in our own format and decodes it, as between "reins wire parse" and "encode".
func throughJSON(t *testing.T, r *llm.Request) *llm.Request {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var out llm.Request
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

var digits = strings.NewReplacer("0", "", "1", "", "2", "", "3", "", "4", "", "5", "", "6", "", "7", "", "8", "", "9", "")
