package chat_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/conformance"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/llmtest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for name, c := range map[string]chat.Config{"compatible": {}, "text tools off": chat.Config{}.With(chat.Quirks{NoTextTools: true}), "published": chat.Config{}.With(chat.Quirks{})} {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, conformance.Subject{Dialect: chat.Name, Model: "gpt-test", Open: func(e llm.Endpoint) llm.Provider {
				c.Endpoint = e
				return chat.New(c)
			}})
		})
	}
}

func TestAzure_RequestsGoToTheDeployment(t *testing.T) {
	var got []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r)
		_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`))
	}))
	defer server.Close()
	for _, version := range []string{"2024-10-21", ""} {
		config := chat.Azure(server.URL+"/", version, chat.Config{Endpoint: llm.Endpoint{APIKey: "secret-key", HTTPClient: server.Client()}})
		p := chat.New(config)
		if _, err := llm.Collect(p.Stream(context.Background(), &llm.Request{Model: "my gpt", Unary: true, Messages: []llm.Message{llm.UserText("hi")}})); err != nil {
			t.Fatal(err)
		}
		if p.Name() != "azure" {
			t.Errorf("got name %q, want azure", p.Name())
		}
	}
	if u := got[0].URL; u.EscapedPath() != "/openai/deployments/my%20gpt/chat/completions" || u.RawQuery != "api-version=2024-10-21" {
		t.Errorf("got URL %s, want that of the deployment", u)
	}
	if u := got[1].URL; u.Path != "/openai/v1/chat/completions" || u.RawQuery != "" {
		t.Errorf("got URL %s, want that of the v1 API", u)
	}
	for _, r := range got {
		if r.Header.Get("api-key") != "secret-key" || r.Header.Get("Authorization") != "" {
			t.Errorf("got headers %v, want the key in api-key", r.Header)
		}
	}
}

func TestStream_RecoversTextToolsExceptForOpenAI(t *testing.T) {
	printed := "<tool_call>{\"name\": \"read\", \"arguments\": {}}</tool_call>"
	server := llmtest.NewServer(&llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return llmtest.Say(printed) }})
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	openai := chat.QuirksFor(chat.BaseURL, "m")
	for name, c := range map[string]struct {
		config chat.Config
		calls  int
	}{
		"by default": {chat.Config{}, 1},
		"off":        {chat.Config{}.With(chat.Quirks{NoTextTools: true}), 0},
		"OpenAI":     {chat.Config{}.With(openai), 0},
	} {
		c.config.Endpoint = llm.Endpoint{BaseURL: server.BaseURL(chat.Name), APIKey: "key", HTTPClient: client}
		r := &llm.Request{Model: "m", Messages: []llm.Message{llm.UserText("hi")}, Tools: []llm.ToolDef{{Name: "read", Parameters: json.RawMessage(`{"type":"object"}`)}}}
		resp, err := llm.Collect(chat.New(c.config).Stream(context.Background(), r))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(resp.ToolCalls()); n != c.calls || (n == 0) != strings.Contains(resp.Text(), "<tool_call>") {
			t.Errorf("%s: got %d calls and text %q, want %d calls", name, n, resp.Text(), c.calls)
		}
	}
}

func TestNew_Defaults(t *testing.T) {
	if got := chat.New(chat.Config{}).Name(); got != "chat" {
		t.Errorf("got name %q, want chat", got)
	}
	if chat.Name != "openai-chat" || chat.BaseURL != "https://api.openai.com/v1" {
		t.Errorf("got dialect %q and base URL %q", chat.Name, chat.BaseURL)
	}
}

func TestQuirksFor_MatchesHostsPortsAndModels(t *testing.T) {
	compatible := chat.Quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true, Merge: true}
	openai := chat.Quirks{MaxToolID: 40, NoTopK: true, NoTextTools: true, Tiers: true, OpenAI: true}
	older, azure, template := openai, openai, compatible
	older.NoDeveloper, older.OpenAI = true, false
	azure.NoCacheKey, azure.KeyHeader, azure.Tiers = true, "api-key", false
	router := chat.Quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: chat.EffortObject, Documents: "file"}
	claude := router
	claude.CacheControl = true
	template.Effort = chat.EffortTemplate
	kimi, qwen := chat.QuirksFor("https://api.moonshot.ai/v1", "m"), chat.QuirksFor("https://dashscope.aliyuncs.com/v1", "m")
	if !kimi.ReasoningDue || qwen == compatible {
		t.Errorf("the quirks of Moonshot are %+v, and of DashScope %+v", kimi, qwen)
	}
	ollama := compatible
	ollama.Reasoning, ollama.NoParallel = "reasoning", true
	for _, c := range []struct {
		url, model string
		want       chat.Quirks
	}{
		{"https://api.openai.com/v1", "gpt-5", openai},
		{"https://api.openai.com/v1", "gpt-3.5-turbo", older},
		{"https://name.openai.azure.com/openai/v1", "m", azure},
		{"https://openrouter.ai/api/v1", "openai/gpt-6-luna", router},
		{"https://openrouter.ai/api/v1", "anthropic/claude-sonnet-5.5", claude},
		{"https://fakeopenai.azure.com/v1", "m", compatible},
		{"http://localhost:11434/v1", "m", ollama},
		{"http://localhost:8000/v1", "m", compatible},
		{"http://localhost:8000/v1", "Qwen/Qwen3-8B", template},
		{"https://api.kimi.com/coding/v1", "m", kimi},
		{"https://coding-intl.dashscope.aliyuncs.com/v1", "m", qwen},
		{"https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1", "m", qwen},
		{"https://token-plan-ams.xiaomimimo.com/v1", "m", chat.QuirksFor("https://api.xiaomimimo.com/v1", "m")},
		{"://", "m", compatible},
	} {
		if got := chat.QuirksFor(c.url, c.model); got != c.want {
			t.Errorf("QuirksFor(%q, %q) is\n%+v, want\n%+v", c.url, c.model, got, c.want)
		}
	}
}
