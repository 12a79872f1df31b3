package llmtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/corpus"
	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
)

// linked is a recorded session. Steps are its exchanges' IDs.
type linked struct {
	ID       string
	Protocol string
	Steps    []string
}

// exchange is a recorded request and its answer.
type exchange struct {
	ID        string
	Model     string
	Streaming bool
	Request   struct{ Body json.RawMessage }
	Response  struct {
		Status  int
		Headers map[string]any
		Body    json.RawMessage
		Base64  []byte `json:"body_b64"`
	}
	Expect struct {
		Opaque    []string
		Reasoning string
	}
}

func (x *exchange) answer() []byte {
	if x.Response.Base64 != nil {
		return x.Response.Base64
	}
	return recorded(x.Response.Body)
}

// recorded returns a body that was recorded as text or as JSON.
func recorded(raw json.RawMessage) []byte {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []byte(s)
	}
	return raw
}

// linkedCorpus returns the sessions for a protocol and their exchanges by ID.
func linkedCorpus(t *testing.T, protocol string) ([]linked, map[string]*exchange) {
	t.Helper()
	var sessions []linked
	wanted := map[string]bool{}
	corpus.Lines(t, func(line []byte) {
		var s linked
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		if s.Protocol == protocol {
			sessions = append(sessions, s)
			for _, id := range s.Steps {
				wanted[id] = true
			}
		}
	}, "open", "sessions", "linked.jsonl")
	all := map[string]*exchange{}
	corpus.Exchanges(t, protocol, func(line []byte) {
		if !wanted[wire.Value(line).Get("id").Str()] {
			return
		}
		x := new(exchange)
		if err := json.Unmarshal(line, x); err != nil {
			t.Fatal(err)
		}
		all[x.ID] = x
	})
	return sessions, all
}

// linkedDialects maps the corpus's protocols to dialects, to the request members with the conversation, and to the
// members in it with opaque values.
var linkedDialects = map[string]struct {
	wire.Dialect
	members, keys []string
}{
	openai.Name:          {openai.NewDialect(openai.Config{}), []string{"input"}, []string{"encrypted_content"}},
	"anthropic-messages": {anthropic.NewDialect(anthropic.Config{}), []string{"messages", "container"}, []string{"signature", "data", "id", "tool_id", "container"}},
	"anthropic-vertex":   {anthropic.NewDialect(anthropic.Config{}), []string{"messages", "container"}, []string{"signature", "data", "id", "tool_id", "container"}},
	gemini.Name:          {gemini.NewDialect(gemini.Config{}), []string{"contents"}, []string{"thoughtSignature"}},
	chat.Name:            {chat.NewDialect(chat.Config{}), []string{"messages"}, []string{"reasoning", "reasoning_content", "signature", "data", "thought_signature"}},
}

// TestCorpus_OpaqueValuesAreSentBackLikeRealClientsDid replays every linked session. The next request consists of the
// answers as our adapter decodes them and the real client's messages. It must echo the same opaque values as the real
// request, in the same parts and order.
func TestCorpus_OpaqueValuesAreSentBackLikeRealClientsDid(t *testing.T) {
	want := map[string]int{openai.Name: 31, "anthropic-messages": 2, "anthropic-vertex": 0, gemini.Name: 42, chat.Name: 0} // 75 in all
	if corpus.IsSample(t) {
		want = map[string]int{openai.Name: 2, "anthropic-messages": 2, "anthropic-vertex": 0, gemini.Name: 2, chat.Name: 1}
	}
	for protocol, want := range want {
		t.Run(protocol, func(t *testing.T) {
			sessions, all := linkedCorpus(t, protocol)
			echoing, values, others := 0, 0, 0
			for _, s := range sessions {
				r := replay{t: t, session: s}
				r.run(all)
				if r.opaque > 0 {
					echoing++
				}
				values += r.opaque
				others += r.other
			}
			if echoing != want {
				t.Errorf("got %d sessions that echo an opaque value, want %d", echoing, want)
			}
			t.Logf("%d of %d sessions echo %d opaque values; %d other echoes", echoing, len(sessions), values, others)
		})
	}
}

// replay replays a session.
type replay struct {
	t       *testing.T
	session linked
	answers [][]byte // recorded so far
	known   []string // opaque values in the last answer, from the corpus
	opaque  int      // echoed known values
	other   int      // echoed values that are older, encoded differently or not listed
}

func (p *replay) run(all map[string]*exchange) {
	d := linkedDialects[p.session.Protocol]
	var r *llm.Request
	cache := &llm.Cache{}
	for i, id := range p.session.Steps {
		x := all[id]
		body := recorded(x.Request.Body)
		real, _, err := requests.Parse(d.Dialect, body)
		if err != nil {
			p.t.Fatalf("%s: %v", x.ID, err)
		}
		if i == 0 {
			r = real
		} else {
			p.said(r, real)
		}
		r.Model, r.Cache = x.Model, cache
		if i > 0 {
			p.compare(x, r, body)
		}
		p.known = x.Expect.Opaque
		p.answers = append(p.answers, x.answer(), wire.AppendString(nil, x.Expect.Reasoning))
		if i+1 < len(p.session.Steps) {
			r.Messages = append(r.Messages, p.answer(d, x))
		}
	}
}

// said appends the real client's messages after the last answer.
func (p *replay) said(r, real *llm.Request) {
	from := len(real.Messages)
	for from > 0 && real.Messages[from-1].Role != llm.RoleAssistant {
		from--
	}
	r.Messages = append(r.Messages, real.Messages[from:]...)
}

func (p *replay) answer(d wire.Dialect, x *exchange) llm.Message {
	p.t.Helper()
	header := http.Header{}
	for k, v := range x.Response.Headers {
		if s, ok := v.(string); ok {
			header.Set(k, s)
		}
	}
	a := wire.NewAssembler(d.Name(), x.Model, nil)
	err := wire.Read(d, wire.Answer{Status: x.Response.Status, Header: header, Body: bytes.NewReader(x.answer()), Stream: x.Streaming}, a)
	if err != nil {
		p.t.Fatalf("%s: %v", x.ID, err)
	}
	return a.Response().Message
}

// compare checks that our request has the same echoes as the real request.
func (p *replay) compare(x *exchange, r *llm.Request, real []byte) {
	d := linkedDialects[p.session.Protocol]
	call, err := d.Encode(r)
	if err != nil {
		p.t.Fatalf("%s: %v", x.ID, err)
	}
	ours := echoes(tree(p.t, call.Body.Bytes(), d.members), "", d.keys)
	seen := map[string]bool{}
	for _, e := range echoes(tree(p.t, real, d.members), "", d.keys) {
		if !p.answered(e.value) || seen[e.value] {
			continue // made up by the client, or repeated
		}
		seen[e.value] = true
		i := slices.IndexFunc(ours, e.same)
		if i < 0 && !slices.Contains(p.known, e.value) {
			// OpenAI encrypts reasoning again when a stream ends. Both values are valid.
			i = slices.IndexFunc(ours, func(o echo) bool { return o.key == "encrypted" && slices.Contains(p.known, o.value) })
		}
		if i < 0 {
			p.t.Errorf("%s: %.40s… in %s of %.40q is not sent back; got %.200s", x.ID, e.value, e.key, e.place, ours)
			continue
		}
		ours = ours[i+1:]
		if slices.Contains(p.known, e.value) {
			p.opaque++
		} else {
			p.other++
		}
	}
}

// answered reports whether an answer contains a value.
func (p *replay) answered(value string) bool {
	quoted := wire.AppendString(nil, value)
	return slices.ContainsFunc(p.answers, func(a []byte) bool {
		return bytes.Contains(a, quoted) || bytes.Contains(a, []byte(standardBase64(string(quoted))))
	})
}

// echo is a value that is sent back, and its place.
type echo struct{ key, value, place string }

// same reports whether two echoes are equal. Some clients use the other base64 alphabet.
func (e echo) same(o echo) bool {
	return e.key == o.key && e.place == o.place && standardBase64(e.value) == standardBase64(o.value)
}

func standardBase64(s string) string { return strings.NewReplacer("-", "+", "_", "/").Replace(s) }

// echoes returns the values for the keys in v, in order. Place identifies the object around v.
func echoes(v any, place string, keys []string) (out []echo) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, echoes(e, place, keys)...)
		}
	case map[string]any:
		if p := placeOf(v); p != "" {
			place = p
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if s, ok := v[key].(string); ok && s != "" && slices.Contains(keys, key) {
				out = append(out, echo{strings.TrimSuffix(key, "_content"), s, place})
			} else {
				out = append(out, echoes(v[key], place, keys)...)
			}
		}
	}
	return slices.Compact(out) // some clients send reasoning twice
}

// placeOf identifies an object by its call, its calls' IDs or its text, or returns "". Real clients invent IDs for
// Gemini's calls, and some change arguments.
func placeOf(object map[string]any) string {
	if call, ok := object["functionCall"].(map[string]any); ok {
		return fmt.Sprint("call of ", call["name"])
	}
	if calls, ok := object["tool_calls"].([]any); ok {
		ids := "calls"
		for _, c := range calls {
			ids += fmt.Sprint(" ", c.(map[string]any)["id"])
		}
		return ids
	}
	for _, key := range []string{"thinking", "text"} {
		if s, ok := object[key].(string); ok && s != "" && object["type"] != "reasoning.text" {
			return key + " " + s
		}
	}
	return ""
}

// tree returns these members from a request.
func tree(t *testing.T, body []byte, members []string) any {
	t.Helper()
	var request map[string]any
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(request, func(key string, _ any) bool { return !slices.Contains(members, key) })
	return request
}
