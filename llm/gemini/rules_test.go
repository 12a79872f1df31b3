package gemini

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// rulesCatalogue has one model of each kind, and a family.
const rulesCatalogue = `{"models": [
	{"id": "gemini-9-new", "provider": "gemini", "name": "New", "max_output": 65536, "reasoning": true, "thinking": "level",
		"efforts": ["low", "medium", "high"], "rules": {"budget": "always", "sampling": "always", "forced_tools": "thinking", "max_unary": 32768}},
	{"id": "gemini-3-small", "provider": "gemini", "name": "Small", "reasoning": true, "thinking": "level", "efforts": ["minimal", "low", "high"]},
	{"id": "gemini-2-thinks", "provider": "gemini", "name": "Thinks", "reasoning": true, "thinking": "budget", "rules": {"thinks": true}},
	{"id": "gemini-2-may", "provider": "gemini", "name": "May", "reasoning": true, "thinking": "budget"},
	{"id": "gemini-elsewhere", "provider": "other", "name": "Elsewhere", "thinking": "level", "rules": {"sampling": "always"}}
], "families": [{"provider": "gemini", "prefix": "gemini-", "like": "gemini-9-new"}]}`

func rulesDialect(t *testing.T) wire.Dialect {
	t.Helper()
	c, err := llm.ReadCatalogue(strings.NewReader(rulesCatalogue))
	if err != nil {
		t.Fatal(err)
	}
	return NewDialect(Config{Catalogue: c})
}

func TestRules_DecideTheRequest(t *testing.T) {
	d := rulesDialect(t)
	const tail = `"contents":[{"role":"user","parts":[{"text":"q"}]}]}`
	thinking := func(config string) string { return `{"generationConfig":{"thinkingConfig":{` + config + `}},` + tail }
	for _, c := range []struct {
		name string
		r    llm.Request
		want string
	}{
		{"thoughts are shown without an effort", llm.Request{Model: "gemini-9-new"}, thinking(`"includeThoughts":true`)},
		{"thoughts are omitted on request", llm.Request{Model: "gemini-9-new", Display: "omitted"}, `{` + tail},
		{"thoughts are omitted beside an effort", llm.Request{Model: "gemini-9-new", Effort: "low", Display: "omitted"},
			thinking(`"thinkingLevel":"low"`)},
		{"summaries by name", llm.Request{Model: "gemini-9-new", Display: "summarized"}, thinking(`"includeThoughts":true`)},
		{"a budget model that thinks", llm.Request{Model: "gemini-2-thinks"}, thinking(`"includeThoughts":true`)},
		{"a budget model that might not think", llm.Request{Model: "gemini-2-may"}, `{` + tail},
		{"minimal where it is listed", llm.Request{Model: "gemini-3-small", Effort: "minimal"},
			thinking(`"thinkingLevel":"minimal","includeThoughts":true`)},
		{"minimal where it is not", llm.Request{Model: "gemini-9-new", Effort: "minimal"},
			thinking(`"thinkingLevel":"low","includeThoughts":true`)},
		{"none where it is not listed", llm.Request{Model: "gemini-9-new", Effort: "none"}, thinking(`"thinkingLevel":"low"`)},
		{"more than the model has", llm.Request{Model: "gemini-9-new", Effort: "max"}, thinking(`"thinkingLevel":"high","includeThoughts":true`)},
		{"medium between two", llm.Request{Model: "gemini-3-small", Effort: "medium"}, thinking(`"thinkingLevel":"high","includeThoughts":true`)},
		{"minimal for a new model of the family", llm.Request{Model: "gemini-10-next", Effort: "minimal"},
			thinking(`"thinkingLevel":"low","includeThoughts":true`)},
		{"minimal for a model of no family", llm.Request{Model: "tunedModels/mine", Effort: "minimal"},
			thinking(`"thinkingLevel":"low","includeThoughts":true`)},
		{"an old name is not like the newest", llm.Request{Model: "gemini-2.5-unknown", Effort: "low"},
			thinking(`"thinkingBudget":1024,"includeThoughts":true`)},
		{"a budget where it is accepted", llm.Request{Model: "gemini-3-small", ThinkingBudget: ptr(7)},
			thinking(`"thinkingBudget":7,"includeThoughts":true`)},
		{"a name of another provider has no rules here", llm.Request{Model: "gemini-elsewhere", TopK: ptr(1)},
			`{"generationConfig":{"topK":1},` + tail},
		{"the limit of a stream", llm.Request{Model: "gemini-9-new", MaxTokens: 65536, Display: "omitted"},
			`{"generationConfig":{"maxOutputTokens":65536},` + tail},
		{"the limit of a whole answer", llm.Request{Model: "gemini-9-new", MaxTokens: 65536, Unary: true, Display: "omitted"},
			`{"generationConfig":{"maxOutputTokens":32768},` + tail},
		{"less than the limit of a whole answer", llm.Request{Model: "gemini-9-new", MaxTokens: 100, Unary: true, Display: "omitted"},
			`{"generationConfig":{"maxOutputTokens":100},` + tail},
		{"no limit in a whole answer", llm.Request{Model: "gemini-9-new", Unary: true, Display: "omitted"}, `{` + tail},
		{"service tier", llm.Request{Model: "gemini-2-may", Tier: "flex"}, `{"serviceTier":"flex",` + tail},
		{"the option wins over the tier",
			llm.Request{Model: "gemini-2-may", Tier: "flex",
				Options: map[string]llm.Options{Name: {Body: map[string]json.RawMessage{"serviceTier": json.RawMessage(`"priority"`)}}}},
			`{"serviceTier":"priority",` + tail},
		{"JSON is never requested by a forced tool",
			llm.Request{Model: "gemini-9-new", Display: "omitted", Output: &llm.OutputFormat{Schema: json.RawMessage(`{}`)}},
			`{"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{}},` + tail},
	} {
		c.r.Messages = []llm.Message{llm.UserText("q")}
		call, err := d.Encode(&c.r)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := string(call.Body.Bytes()); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestRules_UnsupportedSettingsAreErrors(t *testing.T) {
	d := rulesDialect(t)
	for _, c := range []struct {
		name string
		r    llm.Request
		want string
	}{
		{"budget", llm.Request{ThinkingBudget: ptr(0)}, "gemini-9-new does not accept a thinking budget; set the effort instead: low, medium, high"},
		{"temperature", llm.Request{Temperature: ptr(1.0)}, "gemini-9-new does not accept temperature; set the effort instead"},
		{"forced tool", llm.Request{ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired}},
			"gemini-9-new does not accept a forced tool; use the tool choice auto and ask for the tool in a message"},
		{"tier", llm.Request{Tier: "ultrafast"}, `Gemini has no service tier "ultrafast"; use flex, standard or priority`},
		{"cache", llm.Request{CacheTTL: "1h"}, `gemini-9-new has no cache lifetime "1h", because Gemini caches by itself; leave it unset`},
		{"compaction", llm.Request{Compact: "be brief"}, "Gemini does not compact conversations; summarize them with a request instead"},
		{"a new model of the family", llm.Request{Model: "gemini-10-next", ThinkingBudget: ptr(5)},
			"gemini-10-next does not accept a thinking budget; set the effort instead: low, medium, high"},
	} {
		if c.r.Model == "" {
			c.r.Model = "gemini-9-new"
		}
		c.r.Messages = []llm.Message{llm.UserText("q")}
		_, err := d.Encode(&c.r)
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrConfiguration || e.Message != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// The first call of each step needs a signature: its own if this model made it, or else Google's stand-in.
func TestSignatures_AreReplayedOrReplaced(t *testing.T) {
	const own, other = "gemini-9-new", "gemini-3-small"
	const standIn = "skip_thought_signature_validator"
	call := func(id, model, sig string) llm.ToolCall {
		c := llm.ToolCall{ID: id, Name: "f", Arguments: `{}`}
		if sig != "" {
			c.State = state(model, sig)
		}
		return c
	}
	answer := func(calls ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleAssistant, Parts: calls} }
	results := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.RoleTool}
		for _, id := range ids {
			m.Parts = append(m.Parts, llm.ToolResult{ID: id, Name: "f", Parts: []llm.Part{llm.Text{Text: "ok"}}})
		}
		return m
	}
	ask := llm.UserText("q")
	for _, c := range []struct {
		name     string
		model    string
		messages []llm.Message
		want     []string // of each call, "" for none
	}{
		{"byte for byte", own, []llm.Message{ask, answer(call("a", own, "x+/_-=\u00e9")), results("a")}, []string{"x+/_-=\u00e9"}},
		{"parallel calls have one", own,
			[]llm.Message{ask, answer(call("a", own, "s"), call("b", own, ""), call("c", own, "")), results("a", "b", "c")}, []string{"s", "", ""}},
		{"each step has one", own, []llm.Message{ask, answer(call("a", own, "s")), results("a"), answer(call("b", own, "t")), results("b")},
			[]string{"s", "t"}},
		{"another model of the dialect", own, []llm.Message{ask, answer(call("a", other, "s"), call("b", other, "")), results("a", "b")},
			[]string{standIn, ""}},
		{"another vendor", own, []llm.Message{ask, answer(call("a", "", "")), results("a")}, []string{standIn}},
		{"switched twice", own,
			[]llm.Message{ask, answer(call("a", own, "s")), results("a"), answer(call("b", other, "t")), results("b"), answer(call("c", own, "u")),
				results("c")},
			[]string{"s", standIn, "u"}},
		{"the signed call was removed from an answer", own, []llm.Message{ask, answer(call("b", own, "")), results("b")}, []string{standIn}},
		{"a foreign call before an own one", own, []llm.Message{ask, answer(call("a", "", ""), call("b", own, "s")), results("a", "b")},
			[]string{standIn, "s"}},
		{"imported steps one after the other", own,
			[]llm.Message{ask, answer(call("a", "", "")), results("a"), answer(call("b", "", "")), results("b")}, []string{standIn, standIn}},
		{"an unknown model of the family", "gemini-next", []llm.Message{ask, answer(call("a", own, "s")), results("a")}, []string{standIn}},
		{"a model that needs none", "gemini-2-may", []llm.Message{ask, answer(call("a", own, "s")), results("a")}, []string{""}},
	} {
		encoded, err := rulesDialect(t).Encode(&llm.Request{Model: c.model, Messages: c.messages})
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Contents []struct {
				Parts []struct {
					FunctionCall     *struct{}
					ThoughtSignature string
				}
			}
		}
		if err := json.Unmarshal(encoded.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, content := range body.Contents {
			for _, p := range content.Parts {
				if p.FunctionCall != nil {
					got = append(got, p.ThoughtSignature)
				}
			}
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestResults_HaveTheirCallsIDAndName(t *testing.T) {
	messages := []llm.Message{llm.UserText("q"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "a", Name: "read"}, llm.ToolCall{ID: callIDPrefix + "1", Name: "grep"}}},
		llm.ToolResults(llm.ToolResult{ID: "a", Name: "Read file"}, llm.ToolResult{ID: callIDPrefix + "1"}, llm.ToolResult{ID: "gone", Name: "old"})}
	want := `{"role":"user","parts":[{"functionResponse":{"id":"a","name":"read","response":{"result":""}}},` +
		`{"functionResponse":{"name":"grep","response":{"result":""}}},{"functionResponse":{"id":"gone","name":"old","response":{"result":""}}}]}]`
	if got := contentsOf(t, &llm.Request{Model: "gemini-2.5-flash", Messages: messages}); !strings.HasSuffix(got, want) {
		t.Errorf("got  %s\nwant %s at the end", got, want)
	}
}

func TestUsage_HasTheServiceTier(t *testing.T) {
	for raw, want := range map[string]string{
		`"serviceTier":"priority"`:                                      "priority",
		`"serviceTier":"SERVICE_TIER_FLEX"`:                             "flex",
		`"serviceTier":"unspecified"`:                                   "",
		`"trafficType":"ON_DEMAND"`:                                     "standard",
		`"trafficType":"ON_DEMAND_PRIORITY"`:                            "priority",
		`"trafficType":"PROVISIONED_THROUGHPUT"`:                        "provisioned_throughput",
		`"serviceTier":"flex","trafficType":"TRAFFIC_TYPE_UNSPECIFIED"`: "flex",
		`"promptTokenCount":1`:                                          "",
	} {
		if got := readUsage(wire.Value(`{` + raw + `}`)).Tier; got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}
