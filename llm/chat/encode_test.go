package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"pgregory.net/rapid"
)

var png = []byte("\x89PNG\r\n\x1a\n not much of a picture")

var someTools = []llm.ToolDef{
	{Name: "read", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
	{Name: "run"},
}

// longTalk returns a conversation with everything that an agent loop produces.
func longTalk(turns int, model string) []llm.Message {
	own := func(data string) llm.State {
		return llm.State{Dialect: Name, Model: model, Data: []byte(data)}
	}
	messages := []llm.Message{llm.SystemText("You are terse."), {Role: llm.RoleDeveloper, Parts: []llm.Part{llm.Text{Text: "Stay in the folder."}}}}
	for i := range turns {
		a, b := fmt.Sprintf("call_%da", i), fmt.Sprintf("call_%db", i)
		user := []llm.Part{llm.Text{Text: fmt.Sprintf("Question %d", i)}}
		if i%3 == 0 {
			user = append(user, llm.Image{Media: llm.Media{Data: png}}, llm.Document{Media: llm.Media{Data: []byte("%PDF-1.7"), Name: "a.pdf"}})
		}
		messages = append(messages, llm.Message{Role: llm.RoleUser, Parts: user},
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
				llm.Thinking{Text: "Hm.", State: own(`"reasoning_content"`)},
				llm.Text{Text: "I look."},
				llm.ToolCall{ID: a, Name: "read", Arguments: `{"path":"a"}`},
				llm.ToolCall{ID: b, Name: "run", Arguments: "not JSON", State: own(`{"extra_content":{"google":{"thought_signature":"abc"}}}`)},
			}},
			llm.ToolResults(
				llm.ToolResult{ID: a, Name: "read", Parts: []llm.Part{llm.Text{Text: "done"}, llm.Image{Media: llm.Media{Data: png}}}},
				llm.ToolResult{ID: b, Name: "run", Parts: []llm.Part{llm.Text{Text: "no such file"}}, IsError: true}))
		if i%2 == 0 {
			messages = append(messages, llm.UserText("Also this."))
		}
		messages = append(messages, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
			llm.Thinking{Text: "secret", State: own(`{"reasoning":"secret","reasoning_details":[{"type":"reasoning.encrypted","data":"xyz"}]}`)},
			llm.Text{Text: "Answer."}}})
	}
	return messages
}

func body(t testing.TB, d wire.Dialect, r *llm.Request) []byte {
	t.Helper()
	call, err := d.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	b := call.Body.Bytes()
	if !json.Valid(b) {
		t.Fatalf("the body is not JSON: %s", b)
	}
	return b
}

func dialects() map[string]wire.Dialect {
	out := map[string]wire.Dialect{"published": NewDialect(Config{}), "compatible": fixed(compatible)}
	for _, v := range vendors {
		if len(v.hosts) > 0 {
			out[v.hosts[0]] = fixed(v.quirks)
		}
	}
	return out
}

func TestEncode_ARequestIsAPrefixOfTheNext(t *testing.T) {
	messages := longTalk(50, "m")
	for name, d := range dialects() {
		cache := new(llm.Cache)
		var before []byte
		for n := 1; n <= len(messages); n++ {
			r := &llm.Request{Model: "m", Messages: messages[:n:n], Tools: someTools, Cache: cache, CacheKey: "k"}
			call, err := d.Encode(r)
			if err != nil {
				t.Fatal(err)
			}
			now := call.Body.Bytes()
			// A merged message changes the previous message's end.
			joined := d.(*dialect).quirks("m").Merge && messages[n-1].Role == llm.RoleUser
			if before != nil && !joined && !bytes.HasPrefix(now, bytes.TrimSuffix(before, []byte("]}"))) {
				t.Fatalf("%s: request %d does not continue the previous one:\n%s\n%s", name, n, before, now)
			}
			before = now
			if n%40 == 0 || n == len(messages) {
				if r.Cache = nil; !bytes.Equal(body(t, d, r), now) {
					t.Fatalf("%s: request %d differs without a cache", name, n)
				}
			}
		}
	}
}

func TestEncode_MergesConsecutiveUserMessagesWhereRolesMustAlternate(t *testing.T) {
	call := llm.ToolCall{ID: "c", Name: "read", Arguments: "{}"}
	image := llm.Image{Media: llm.Media{Data: png}}
	messages := []llm.Message{
		llm.UserText("the task"), {Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "a summary"}, llm.Text{Text: "in two parts"}}},
		{Role: llm.RoleAssistant, Parts: []llm.Part{call}},
		llm.ToolResults(llm.ToolResult{ID: "c", Name: "read", Parts: []llm.Part{llm.Text{Text: "done"}, image}}),
		llm.UserText("steering"), {Role: llm.RoleUser}, llm.UserText("more of it"),
		llm.AssistantText("ok"), llm.UserText("one"), llm.SystemText("rule"), llm.UserText("two"),
	}
	roles := func(d wire.Dialect) (roles, texts []string) {
		for it := wire.Value(body(t, d, &llm.Request{Model: "m", Messages: messages})).Get("messages").Elements(); it.Next(); {
			roles, texts = append(roles, it.Value.Get("role").Str()), append(texts, it.Value.Get("content").Str())
		}
		return roles, texts
	}
	got, texts := roles(fixed(compatible))
	if want := []string{"user", "assistant", "tool", "user", "assistant", "user", "system", "user"}; !slices.Equal(got, want) {
		t.Errorf("got roles %v, want %v", got, want)
	}
	if want := "the task\n\na summary\n\nin two parts"; texts[0] != want {
		t.Errorf("got first message %q, want %q", texts[0], want)
	}
	if got, _ := roles(fixed(openai)); len(got) != len(messages)+1 { // the image has its own message
		t.Errorf("OpenAI got %v, want %d messages", got, len(messages)+1)
	}
}

func TestEncode_TheCacheDoesNotChangeTheBody(t *testing.T) {
	d := NewDialect(Config{})
	other := fixed(compatible)
	rapid.Check(t, func(t *rapid.T) {
		cache := new(llm.Cache)
		talks := [][]llm.Message{longTalk(4, "m"), longTalk(3, "m")}
		for range rapid.IntRange(1, 12).Draw(t, "requests") {
			talk := talks[rapid.IntRange(0, 1).Draw(t, "talk")]
			n := rapid.IntRange(1, len(talk)).Draw(t, "n")
			model := rapid.SampledFrom([]string{"m", "other"}).Draw(t, "model")
			use := rapid.SampledFrom([]wire.Dialect{d, other}).Draw(t, "dialect")
			r := &llm.Request{Model: model, Messages: talk[:n:n]}
			plain, err := use.Encode(r)
			if err != nil {
				t.Fatal(err)
			}
			r.Cache = cache
			cached, err := use.Encode(r)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(plain.Body.Bytes(), cached.Body.Bytes()) {
				t.Fatalf("with a cache:\n%s\nwithout:\n%s", cached.Body.Bytes(), plain.Body.Bytes())
			}
		}
	})
}

func TestEncode_ReturnedBytesDoNotChange(t *testing.T) {
	d := NewDialect(Config{})
	messages := longTalk(20, "m")
	cache := new(llm.Cache)
	var calls []*llm.Call
	var copies [][]byte
	for n := 1; n <= len(messages); n++ {
		call, err := d.Encode(&llm.Request{Model: "m", Messages: messages[:n:n], Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		calls, copies = append(calls, call), append(copies, call.Body.Bytes())
	}
	if _, err := d.Encode(&llm.Request{Model: "m", Messages: longTalk(2, "m"), Cache: cache}); err != nil {
		t.Fatal(err)
	}
	for i, call := range calls {
		if !bytes.Equal(call.Body.Bytes(), copies[i]) {
			t.Fatalf("request %d changed after it was returned", i)
		}
	}
}

func TestEncode_AssistantMessages(t *testing.T) {
	state := func(data string) llm.State { return llm.State{Dialect: Name, Model: "m", Data: []byte(data)} }
	foreign := llm.State{Dialect: "anthropic", Data: []byte("sig")}
	for name, c := range map[string]struct {
		parts  []llm.Part
		quirks quirks
		want   string
	}{
		"calls without text have null content": {[]llm.Part{llm.ToolCall{ID: "1", Name: "f"}}, quirks{},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		"texts of an assistant are joined": {[]llm.Part{llm.Text{Text: "a"}, llm.Text{Text: "b"}}, quirks{}, `{"role":"assistant","content":"ab"}`},
		"foreign thinking is dropped":      {[]llm.Part{llm.Thinking{Text: "x", State: foreign}, llm.Text{Text: "a"}}, quirks{}, `{"role":"assistant","content":"a"}`},
		"foreign opaque parts are dropped": {[]llm.Part{llm.Opaque{Kind: "x", State: foreign}, llm.Text{Text: "a"}}, quirks{}, `{"role":"assistant","content":"a"}`},
		"thinking of another model is dropped": {[]llm.Part{llm.Thinking{Text: "x", State: llm.State{Dialect: Name, Model: "n", Data: []byte(`"reasoning"`)}}, llm.Text{Text: "a"}}, quirks{},
			`{"role":"assistant","content":"a"}`},
		"own thinking is sent back in its member": {[]llm.Part{llm.Thinking{Text: "x", State: state(`"reasoning_content"`)}, llm.Text{Text: "a"}}, quirks{},
			`{"role":"assistant","content":"a","reasoning_content":"x"}`},
		"the server's member wins": {[]llm.Part{llm.Thinking{Text: "x", State: state(`"reasoning_content"`)}, llm.Text{Text: "a"}}, quirks{Reasoning: "reasoning"},
			`{"role":"assistant","content":"a","reasoning":"x"}`},
		"missing reasoning is sent empty where it is required": {[]llm.Part{llm.ToolCall{ID: "1", Name: "f", Arguments: "{}"}}, quirks{ReasoningDue: true},
			`{"role":"assistant","content":null,"reasoning_content":"","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		"a thinking part is sent back in place": {[]llm.Part{llm.Thinking{Text: "x", State: state(`{"type":"thinking","thinking":[]}`)}, llm.Text{Text: "a"}}, quirks{},
			`{"role":"assistant","content":[{"type":"thinking","thinking":[]},{"type":"text","text":"a"}]}`},
		"broken arguments are wrapped": {[]llm.Part{llm.ToolCall{ID: "1", Name: "f", Arguments: `{"a`}}, quirks{},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"_raw\":\"{\\\"a\"}"}}]}`},
		"free text of a custom call is wrapped": {[]llm.Part{llm.ToolCall{ID: "1", Name: "f", Arguments: "hi", Custom: true}}, quirks{},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"input\":\"hi\"}"}}]}`},
		"an empty message is dropped": {[]llm.Part{llm.Thinking{Text: "x", State: foreign}}, quirks{}, ``},
		"a refusal is sent back":      {[]llm.Part{llm.Opaque{Kind: "refusal", State: state(`{"refusal":"no"}`)}}, quirks{}, `{"role":"assistant","content":"","refusal":"no"}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleAssistant, Parts: c.parts}}}
			got := string(body(t, fixed(c.quirks), r))
			_, got, _ = strings.Cut(got, `"messages":[`)
			if got = strings.TrimSuffix(got, "]}"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestEncode_ToolResults(t *testing.T) {
	results := llm.ToolResults(
		llm.ToolResult{ID: "call_123456", Name: "f", Parts: []llm.Part{llm.Text{Text: "a"}, llm.Image{Media: llm.Media{URL: "https://x/y.png"}}}},
		llm.ToolResult{ID: "abcdefghi", Name: "g", Parts: []llm.Part{llm.Text{Text: "bad"}}, IsError: true})
	r := &llm.Request{Model: "m", Messages: []llm.Message{results, llm.UserText("go on")}}
	plain := string(body(t, NewDialect(Config{}), r))
	for _, want := range []string{
		`{"role":"tool","tool_call_id":"call_123456","content":"a\n(The tool also returned files; they follow in the next user message.)"},{"role":"tool","tool_call_id":"abcdefghi","content":"Error: bad"},{"role":"user","content":[{"type":"text"`,
		`{"type":"image_url","image_url":{"url":"https://x/y.png"}}]},{"role":"user","content":"go on"}]}`,
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("want\n%s\nin\n%s", want, plain)
		}
	}
	mistral := string(body(t, fixed(quirksFor("https://api.mistral.ai/v1", "m")), r))
	for _, want := range []string{`"tool_call_id":"abcdefghi","name":"g"`, `"content":[{"type":"text","text":"a"},{"type":"image_url"`, `{"role":"assistant","content":"Understood."},{"role":"user","content":"go on"}`} {
		if !strings.Contains(mistral, want) {
			t.Errorf("want\n%s\nin\n%s", want, mistral)
		}
	}
	if strings.Contains(mistral, "call_123456") {
		t.Error("Mistral got an invalid id")
	}
}

func TestEncode_HeadFollowsTheQuirks(t *testing.T) {
	no, budget, temp := false, 2000, 0.5
	r := llm.Request{Model: "m", MaxTokens: 10, Temperature: &temp, Stop: []string{"x"}, Effort: "high", CacheKey: "k", ParallelTools: &no,
		Tools:      []llm.ToolDef{{Name: "f", Strict: &no}, {Name: "patch", Freeform: &llm.Freeform{Syntax: "lark", Definition: "start: x"}}, {Hosted: llm.State{Dialect: "gemini", Data: []byte("{}")}}},
		ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired},
		Output:     &llm.OutputFormat{Name: "o", Schema: json.RawMessage(`{"type":"object"}`)}}
	thinking := llm.Request{Model: "m", ThinkingBudget: &budget, Unary: true}
	off := llm.Request{Model: "m", Effort: "none", Unary: true}
	for _, c := range []struct {
		url  string
		r    llm.Request
		want string
	}{
		{"https://api.openai.com/v1", r, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":10,"temperature":0.5,"stop":["x"],"reasoning_effort":"high","response_format":{"type":"json_schema","json_schema":{"name":"o","schema":{"type":"object"}}},"prompt_cache_key":"k","parallel_tool_calls":false,"tool_choice":"required","tools":[{"type":"function","function":{"name":"f","strict":false,"parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":"patch","parameters":{"type":"object","properties":{"input":{"type":"string","description":"Text that follows this lark grammar:\nstart: x"}},"required":["input"],"additionalProperties":false}}}],"messages":[]}`},
		{"https://api.z.ai/api/paas/v4", r, `"thinking":{"type":"enabled"},"reasoning_effort":"high","response_format":{"type":"json_object"},"tool_choice":"auto"`},
		{"https://openrouter.ai/api/v1", r, `"reasoning":{"effort":"high"}`},
		{"https://openrouter.ai/api/v1", thinking, `{"model":"m","reasoning":{"max_tokens":2000},"messages":[]}`},
		{"https://dashscope-intl.aliyuncs.com/compatible-mode/v1", off, `{"model":"m","enable_thinking":false,"messages":[]}`},
		{"https://api.deepseek.com", off, `{"model":"m","thinking":{"type":"disabled"},"messages":[]}`},
		{"http://localhost:8000/v1", llm.Request{Model: "Qwen/Qwen3-8B", Effort: "none", Unary: true}, `"chat_template_kwargs":{"enable_thinking":false}`},
		{"http://localhost:8000/v1", r, `"max_tokens":10`},
		{"https://api.mistral.ai/v1", r, `{"model":"m","stream":true,"max_tokens":10`},
	} {
		d := fixed(quirksFor(c.url, c.r.Model))
		if got := string(body(t, d, &c.r)); !strings.Contains(got, c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.url, got, c.want)
		}
	}
}

func TestEncode_OptionsComeLastAndWin(t *testing.T) {
	r := &llm.Request{Model: "m", Effort: "low", Temperature: new(float64), Options: map[string]llm.Options{
		Name:     {Body: map[string]json.RawMessage{"temperature": []byte("1"), "seed": []byte("7"), "messages": []byte("[1]"), "stream_options": []byte(`{"x":1}`), "reasoning_effort": []byte("null")}, Header: map[string]string{"X-Title": "t"}},
		"gemini": {Body: map[string]json.RawMessage{"a": []byte("1")}},
	}}
	d := NewDialect(Config{})
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true,"x":1},"seed":7,"temperature":1,"messages":[]}`
	if got := string(body(t, d, r)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	call, _ := d.Encode(r)
	if call.Header.Get("X-Title") != "t" || call.Path != "/chat/completions" || !call.Stream {
		t.Errorf("got call %+v, want a stream to /chat/completions with the header", call)
	}
}

func TestEncode_UnreadableMediaIsAnError(t *testing.T) {
	r := &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Image{Media: llm.Media{Path: "no/such/file.png"}}}}}, Cache: new(llm.Cache)}
	for range 2 {
		if _, err := NewDialect(Config{}).Encode(r); llm.KindOf(err) != llm.ErrInvalidRequest {
			t.Errorf("got error %v, want an invalid request", err)
		}
	}
}
