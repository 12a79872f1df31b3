package llmtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// claudeClient talks to a server like a client that sends back everything it received.
type claudeClient struct {
	t        *testing.T
	srv      *Server
	path     string // "" means Anthropic's own
	model    string
	system   string // JSON
	tools    string // JSON
	extra    string // further members, with a comma at the end
	betas    string
	messages []string
}

const (
	claudeTool  = `{"name":"f","input_schema":{"type":"object"}}`
	otherTool   = `{"name":"g","input_schema":{"type":"object"}}`
	bindingBeta = "thinking-binding-controls-2026-08-01"
	dropping    = `"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}},`
	summarize   = `"compaction":{"type":"summarize"},`
)

// post sends the conversation and returns the status and the answer.
func (c *claudeClient) post() (int, wire.Value) {
	c.t.Helper()
	body := `{"model":"` + c.model + `","max_tokens":5000,` + c.extra
	if c.system != "" {
		body += `"system":` + c.system + `,`
	}
	if c.tools != "" {
		body += `"tools":` + c.tools + `,`
	}
	body += `"messages":[` + strings.Join(c.messages, ",") + `]}`
	path := c.path
	if path == "" {
		path = "/v1/messages"
	}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.srv.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer key")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	if c.betas != "" {
		req.Header.Set("Anthropic-Beta", c.betas)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, data
}

// ask adds a user message, sends the conversation and adds the answer.
func (c *claudeClient) ask(content string) wire.Value {
	c.t.Helper()
	c.messages = append(c.messages, `{"role":"user","content":`+content+`}`)
	status, v := c.post()
	if status != http.StatusOK {
		c.t.Fatalf("request %s\ngot %d %s, want 200", content, status, v)
	}
	c.messages = append(c.messages, `{"role":"assistant","content":`+string(v.Get("content"))+`}`)
	return v
}

// refused sends the conversation and checks the error.
func (c *claudeClient) refused(want string) {
	c.t.Helper()
	status, v := c.post()
	if got := v.Get("error", "message").Str(); status != http.StatusBadRequest || !strings.Contains(got, want) {
		c.t.Errorf("got %d %s, want 400 with %q", status, v, want)
	}
}

// accepted sends the conversation and checks that it is accepted.
func (c *claudeClient) accepted() wire.Value {
	c.t.Helper()
	status, v := c.post()
	if status != http.StatusOK {
		c.t.Errorf("got %d %s, want 200", status, v)
	}
	return v
}

// thinkingTurn answers with thinking and a text that name the call.
func thinkingTurn(n int, r *llm.Request) Turn {
	if r.Compact != "" {
		return Say("what was said")
	}
	return Turn{Parts: []llm.Part{llm.Thinking{Text: "think " + string(rune('a'+n))}, llm.Text{Text: "answer " + string(rune('a'+n))}}}
}

func newClaudeClient(t *testing.T, model string, config ServerConfig) *claudeClient {
	config.Script = &Script{Reply: thinkingTurn}
	srv := StartServer(config)
	t.Cleanup(srv.Close)
	return &claudeClient{t: t, srv: srv, model: model, system: `"be brief"`, tools: `[` + claudeTool + `]`}
}

// threeTurns returns a client after three questions, each with thinking in its answer.
func threeTurns(t *testing.T, model string, config ServerConfig) *claudeClient {
	c := newClaudeClient(t, model, config)
	for _, q := range []string{`"one"`, `"two"`, `"three"`} {
		c.ask(q)
	}
	c.messages = append(c.messages, `{"role":"user","content":"four"}`)
	return c
}

// dropQuestion removes the question at the end.
func (c *claudeClient) dropQuestion() { c.messages = c.messages[:len(c.messages)-1] }

const boundElsewhere = "Invalid `signature` in `thinking` block. The block is bound to a different conversation. " +
	"Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."

// withoutThinking removes thinking from a message.
func withoutThinking(message string) string {
	v := wire.Value(message)
	var blocks []json.RawMessage
	for it := v.Get("content").Elements(); it.Next(); {
		if !it.Value.Get("type").Is("thinking") {
			blocks = append(blocks, json.RawMessage(it.Value))
		}
	}
	return string(object("role", "assistant", "content", list(blocks...)))
}

func TestClaude_ThinkingIsBoundToItsPrefix(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(c *claudeClient)
		want   string // path of the refused block; "" means that the request is accepted
	}{
		"unchanged": {func(*claudeClient) {}, ""},
		"cache_control moves": {func(c *claudeClient) {
			c.messages[0] = `{"role":"user","content":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}]}`
			c.system = `[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral","ttl":"1h"}}]`
		}, ""},
		"another order of members": {func(c *claudeClient) {
			c.tools = `[{"input_schema":{"type":"object"},"name":"f"}]`
		}, ""},
		"a deferred tool is added": {func(c *claudeClient) {
			c.tools = `[` + claudeTool + `,{"name":"g","input_schema":{"type":"object"},"defer_loading":true}]`
		}, ""},
		"the first thinking is removed":  {func(c *claudeClient) { c.messages[1] = withoutThinking(c.messages[1]) }, ""},
		"the second thinking is removed": {func(c *claudeClient) { c.messages[3] = withoutThinking(c.messages[3]) }, "messages.5.content.0"},
		"the last thinking is removed":   {func(c *claudeClient) { c.messages[5] = withoutThinking(c.messages[5]) }, ""},
		"all thinking is removed": {func(c *claudeClient) {
			for i := 1; i < 6; i += 2 {
				c.messages[i] = withoutThinking(c.messages[i])
			}
		}, ""},
		"the system prompt changes":  {func(c *claudeClient) { c.system = `"be long"` }, "messages.1.content.0"},
		"a tool changes":             {func(c *claudeClient) { c.tools = `[` + otherTool + `]` }, "messages.1.content.0"},
		"a tool is added":            {func(c *claudeClient) { c.tools = `[` + claudeTool + `,` + otherTool + `]` }, "messages.1.content.0"},
		"the first question changes": {func(c *claudeClient) { c.messages[0] = `{"role":"user","content":"ONE"}` }, "messages.1.content.0"},
		"the last question changes":  {func(c *claudeClient) { c.messages[4] = `{"role":"user","content":"THREE"}` }, "messages.5.content.0"},
		"an answer changes":          {func(c *claudeClient) { c.messages[3] = strings.Replace(c.messages[3], "answer b", "answer", 1) }, "messages.5.content.0"},
		"the text of thinking changes": {func(c *claudeClient) {
			c.messages[3] = strings.Replace(c.messages[3], `"thinking":""`, `"thinking":"x"`, 1)
		}, "messages.3.content.0"},
		"the signature is made up": {func(c *claudeClient) {
			c.messages[1] = `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"text","text":"answer a"}]}`
		}, "messages.1.content.0"},
		"two answers are exchanged": {func(c *claudeClient) { c.messages[1], c.messages[3] = c.messages[3], c.messages[1] }, "messages.1.content.0"},
		"the first turn is removed": {func(c *claudeClient) { c.messages = c.messages[2:] }, "messages.1.content.0"},
		"the last turn is removed":  {func(c *claudeClient) { c.messages = append(c.messages[:4:4], c.messages[6]) }, ""},
		"a message is added at the end": {func(c *claudeClient) {
			c.messages[6] = `{"role":"user","content":[{"type":"text","text":"4"},{"type":"text","text":"5"}]}`
		}, ""},
		"an instruction is added at an end": {func(c *claudeClient) { c.messages = append(c.messages, `{"role":"system","content":"be quick"}`) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := threeTurns(t, "claude-sonnet-5-5", ServerConfig{})
			tt.change(c)
			if tt.want == "" {
				c.accepted()
				return
			}
			c.refused(tt.want + ": " + boundElsewhere)
		})
	}
}

func TestClaude_OnlySomeModelsBindThinking(t *testing.T) {
	for model, bound := range map[string]bool{
		"claude-fable-5-2": true, "claude-mythos-5-2": true, "claude-fable-5-1": true, "claude-mythos-5-1": true,
		"claude-opus-5-5": true, "claude-sonnet-5-5": true, "claude-haiku-5-5": true, "claude-haiku-5-5-20261007": true,
		"claude-opus-5": false, "claude-sonnet-5": false, "claude-opus-4-8": false, "claude-opus-4-6": false, "claude-test": false,
	} {
		c := threeTurns(t, model, ServerConfig{})
		c.system = `"be long"`
		if status, v := c.post(); (status == http.StatusBadRequest) != bound {
			t.Errorf("%s: got %d %s, want a refusal: %t", model, status, v, bound)
		}
	}
}

func TestClaude_DropsThinkingIfAskedTo(t *testing.T) {
	c := threeTurns(t, "claude-opus-5-5", ServerConfig{CountDrops: true})
	c.extra, c.betas = dropping, bindingBeta
	v := c.accepted()
	if got := string(v.Get("input_transformations")); got != "[]" || len(c.srv.Dropped()) != 0 {
		t.Errorf("an unchanged conversation: got %s and %q, want nothing dropped", got, c.srv.Dropped())
	}
	c.messages[2] = `{"role":"user","content":"TWO"}`
	want := `[{"type":"thinking_dropped","path":"messages.3.content.0","reason":"prefix_binding_mismatch"},` +
		`{"type":"thinking_dropped","path":"messages.5.content.0","reason":"prefix_binding_mismatch"}]`
	if v := c.accepted(); string(v.Get("input_transformations")) != want {
		t.Errorf("got %s, want %s", v.Get("input_transformations"), want)
	}
	list := []string{"messages.3.content.0: prefix_binding_mismatch", "messages.5.content.0: prefix_binding_mismatch"}
	if got := c.srv.Dropped(); !slices.Equal(got, list) {
		t.Errorf("Dropped: got %q, want %q", got, list)
	}
	if got := c.srv.Violations(); len(got) != 2 || got[0].Error() != list[0] {
		t.Errorf("Violations: got %q, want %q", got, list)
	}
	// The conversation continues, and the thinking after the dropped one is valid as long as that is dropped.
	v = c.accepted()
	c.messages = append(c.messages, `{"role":"assistant","content":`+string(v.Get("content"))+`}`, `{"role":"user","content":"five"}`)
	if v := c.accepted(); string(v.Get("input_transformations")) != want {
		t.Errorf("the next request: got %s, want %s", v.Get("input_transformations"), want)
	}
}

func TestClaude_NeverDropIgnoresTheWayOut(t *testing.T) {
	c := threeTurns(t, "claude-opus-5-5", ServerConfig{NeverDrop: true})
	c.extra, c.betas, c.system = dropping, bindingBeta, `"be long"`
	c.refused("messages.1.content.0: " + boundElsewhere)
}

func TestClaude_OldAccountsOnlyReport(t *testing.T) {
	c := threeTurns(t, "claude-opus-5-5", ServerConfig{OldAccount: true})
	c.betas, c.system = bindingBeta, `"be long"`
	v := c.accepted()
	if got := v.Get("input_transformations"); !strings.Contains(string(got), `"thinking_mismatch_allowed","path":"messages.1.content.0"`) || len(c.srv.Dropped()) != 0 {
		t.Errorf("got %s and %q, want thinking_mismatch_allowed and nothing dropped", got, c.srv.Dropped())
	}
	c.extra = dropping
	if v := c.accepted(); !strings.Contains(string(v.Get("input_transformations")), `"thinking_dropped"`) {
		t.Errorf("with block_binding: got %s, want thinking_dropped", v.Get("input_transformations"))
	}
	c = threeTurns(t, "claude-fable-5-2", ServerConfig{OldAccount: true})
	c.system = `"be long"`
	c.refused(boundElsewhere)
}

func TestClaude_DropsOtherModelsThinkingSilently(t *testing.T) {
	for _, tt := range []struct {
		author, reader string
		dropped        int
	}{
		{"claude-opus-5-5", "claude-sonnet-5-5", 3},
		{"claude-opus-5-5", "claude-fable-5-1", 0},
		{"claude-fable-5-1", "claude-opus-5-5", 3},
		{"claude-fable-5-2", "claude-mythos-5-2", 0},
		{"claude-haiku-5-5", "claude-opus-5-5", 0},
		{"claude-opus-5-5", "claude-opus-5", 3},
	} {
		c := threeTurns(t, tt.author, ServerConfig{})
		c.model, c.betas = tt.reader, bindingBeta
		v := c.accepted()
		if n := strings.Count(string(v.Get("input_transformations")), "model_binding_mismatch"); n != tt.dropped || len(c.srv.Dropped()) != n {
			t.Errorf("%s reads %s: got %d dropped in %s and %q, want %d", tt.reader, tt.author, n, v, c.srv.Dropped(), tt.dropped)
		}
		// Back and forth: the thinking of each model stays valid.
		c.dropQuestion()
		c.ask(`"five"`)
		c.model = tt.author
		c.ask(`"six"`)
		c.model = tt.reader
		c.ask(`"seven"`)
	}
}

func TestClaude_DisplayHidesThinkingText(t *testing.T) {
	for _, tt := range []struct{ model, extra, want string }{
		{"claude-opus-5-5", ``, ""},
		{"claude-opus-5-5", `"thinking":{"type":"adaptive"},`, ""},
		{"claude-opus-5-5", `"thinking":{"type":"adaptive","display":"omitted"},`, ""},
		{"claude-opus-5-5", `"thinking":{"type":"adaptive","display":"summarized"},`, "think a"},
		{"claude-sonnet-5-5", `"thinking":{"type":"between_tools"},`, "think a"},
		{"claude-opus-4-7", `"thinking":{"type":"adaptive"},`, ""},
		{"claude-opus-4-6", `"thinking":{"type":"adaptive"},`, "think a"},
		{"claude-test", `"thinking":{"type":"adaptive"},`, "think a"},
	} {
		c := newClaudeClient(t, tt.model, ServerConfig{})
		c.extra = tt.extra
		it := c.ask(`"one"`).Get("content").Elements()
		it.Next()
		if got := it.Value.Get("thinking"); got.Kind() != '"' || got.Str() != tt.want || it.Value.Get("signature").Str() == "" {
			t.Errorf("%s %s: got %s, want the text %q and a signature", tt.model, tt.extra, it.Value, tt.want)
		}
		c.ask(`"two"`)
	}
}

func TestClaude_ASessionContinuesOnAnotherServer(t *testing.T) {
	c := threeTurns(t, "claude-fable-5-2", ServerConfig{})
	c.srv = newClaudeClient(t, c.model, ServerConfig{}).srv
	c.accepted()
}

func TestClaude_CompactionKeepsThinkingInKeptTurnsValid(t *testing.T) {
	const beta = "compact-2026-09-04"
	compact := func(c *claudeClient, n int) []string { // returns the conversation with its first n messages summarized
		whole := c.messages
		c.messages, c.extra = whole[:n:n], summarize
		c.betas = beta
		v := c.accepted()
		if got := v.Get("stop_reason").Str(); got != "compaction" {
			t.Fatalf("got stop_reason %q in %s, want compaction", got, v)
		}
		it := v.Get("content").Elements()
		if it.Next(); it.Value.Get("content").Str() != "what was said" || it.Value.Get("signature").Str() == "" || it.Next() {
			t.Fatalf("got %s, want one signed compaction block", v)
		}
		c.extra = ""
		return append([]string{`{"role":"assistant","content":` + string(v.Get("content")) + `}`}, whole[n:]...)
	}
	for name, tt := range map[string]struct {
		n      int
		change func(c *claudeClient)
		want   string
	}{
		"after an answer":           {4, func(*claudeClient) {}, ""},
		"after a question":          {3, func(*claudeClient) {}, ""},
		"all":                       {6, func(*claudeClient) {}, ""},
		"again":                     {2, func(c *claudeClient) { c.messages = compact(c, 3) }, ""},
		"a kept turn changes":       {2, func(c *claudeClient) { c.messages[1] = `{"role":"user","content":"TWO"}` }, boundElsewhere},
		"a kept turn is left out":   {2, func(c *claudeClient) { c.messages = slices.Delete(c.messages, 1, 3) }, boundElsewhere},
		"the system prompt changes": {2, func(c *claudeClient) { c.system = `"be long"` }, boundElsewhere},
		"the system prompt changes with nothing kept": {6, func(c *claudeClient) { c.system = `"be long"` }, ""},
		"the summary changes":                         {2, func(c *claudeClient) { c.messages[0] = strings.Replace(c.messages[0], "said", "done", 1) }, "Invalid `signature` in `compaction` block"},
		"the client writes the summary": {2, func(c *claudeClient) {
			c.messages = append([]string{`{"role":"user","content":"what was said"}`, `{"role":"assistant","content":"I see"}`}, c.messages[1:]...)
		}, boundElsewhere},
		"without the beta":       {2, func(c *claudeClient) { c.betas = "" }, "compact-2026-09-04"},
		"the block is not first": {2, func(c *claudeClient) { c.messages = append([]string{`{"role":"user","content":"hi"}`}, c.messages...) }, "first in messages"},
	} {
		t.Run(name, func(t *testing.T) {
			c := threeTurns(t, "claude-opus-5-5", ServerConfig{})
			c.messages = compact(c, tt.n)
			tt.change(c)
			if tt.want != "" {
				c.refused(tt.want)
				return
			}
			c.accepted()
			c.dropQuestion()
			c.ask(`"four"`)
			c.ask(`"five"`)
		})
	}
}

func TestClaude_CompactionWithoutTextFails(t *testing.T) {
	c := newClaudeClient(t, "claude-opus-5-5", ServerConfig{})
	c.srv.config.Script.Reply = func(int, *llm.Request) Turn { return Turn{} }
	c.messages, c.extra, c.betas = []string{`{"role":"user","content":"one"}`}, summarize, "compact-2026-09-04"
	it := c.accepted().Get("content").Elements()
	if it.Next(); string(it.Value.Get("content")) != "null" {
		t.Errorf("got %s, want a compaction block with null content", it.Value)
	}
}

func TestClaude_StreamsSignaturesCompactionAndProgress(t *testing.T) {
	c := newClaudeClient(t, "claude-opus-5-5", ServerConfig{})
	c.messages = []string{`{"role":"user","content":"one"}`}
	c.extra, c.betas = `"stream":true,`, bindingBeta+",thinking-token-count-2026-05-13"
	_, v := c.post()
	for _, want := range []string{`"input_transformations":[]`, `"thinking":"","estimated_tokens":2`, `"signature_delta"`, `"service_tier":"standard"`} {
		if !bytes.Contains(v, []byte(want)) {
			t.Errorf("the stream has no %s: %s", want, v)
		}
	}
	c.extra, c.betas = `"stream":true,`+summarize, "compact-2026-09-04"
	_, v = c.post()
	for _, want := range []string{`"content_block":{"type":"compaction","content":null`, `"compaction_delta","content":"what was said"`, `"stop_reason":"compaction"`} {
		if !bytes.Contains(v, []byte(want)) {
			t.Errorf("the stream has no %s: %s", want, v)
		}
	}
}

func TestClaude_RefusalsHaveACategory(t *testing.T) {
	c := newClaudeClient(t, "claude-opus-5-5", ServerConfig{})
	c.srv.config.Script.Reply = func(int, *llm.Request) Turn { return Turn{Finish: llm.FinishContentFilter, Detail: "cyber"} }
	c.messages = []string{`{"role":"user","content":"one"}`}
	v := c.accepted()
	if got := v.Get("stop_details", "category").Str(); got != "cyber" || !v.Get("stop_reason").Is("refusal") {
		t.Errorf("got %s, want a refusal of the category cyber", v)
	}
	c.extra = `"stream":true,`
	if _, v := c.post(); !bytes.Contains(v, []byte(`"stop_details":{"type":"refusal","category":"cyber"`)) {
		t.Errorf("got the stream %s, want the category cyber", v)
	}
}

func TestClaude_TheInputHasALimit(t *testing.T) {
	c := newClaudeClient(t, "claude-haiku-4-5", ServerConfig{})
	c.messages = []string{`{"role":"user","content":"` + strings.Repeat("word", 199_000) + `"}`}
	c.accepted()
	c.messages = []string{`{"role":"user","content":"` + strings.Repeat("word", 200_000) + `"}`}
	c.refused("prompt is too long: 2000")
	c.model = "claude-opus-5-5"
	c.accepted()
	c = newClaudeClient(t, "claude-test", ServerConfig{MaxInput: 100})
	c.messages = []string{`{"role":"user","content":"` + strings.Repeat("word", 100) + `"}`}
	c.refused("maximum")
}

func TestClaude_HostsHaveTheSameRules(t *testing.T) {
	c := threeTurns(t, "anthropic.claude-opus-5-5", ServerConfig{})
	c.path = "/anthropic/v1/messages"
	c.accepted()
	c.system = `"be long"`
	c.refused(boundElsewhere)
	c.model = "claude-opus-5-5"
	c.refused("anthropic.claude-opus-5-5")
	for model, want := range map[string]string{
		"us.anthropic.claude-opus-5-5":             "claude-opus-5-5",
		"global.anthropic.claude-opus-4-6-v1":      "claude-opus-4-6",
		"anthropic.claude-haiku-4-5-20251001-v1:0": "claude-haiku-4-5",
		"claude-haiku-4-5@20251001":                "claude-haiku-4-5",
		"claude-sonnet-5-5":                        "claude-sonnet-5-5",
		"anthropic/claude-opus-5.5":                "",
		"claude-opus-5-5-preview":                  "",
		"m":                                        "",
	} {
		got := ""
		if r := claudeRulesOf(model); r != nil {
			got = r.name
		}
		if got != want {
			t.Errorf("%s has the rules of %q, want %q", model, got, want)
		}
	}
}
