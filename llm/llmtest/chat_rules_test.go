package llmtest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm/chat"
)

// TestChat_RefusesUnsupportedModelSettings has the refused and the accepted form of each rule.
func TestChat_RefusesUnsupportedModelSettings(t *testing.T) {
	const tools = `"tools":[` + chatOneTool + `]`
	ask := func(members string) string {
		if members != "" {
			members += ","
		}
		return members + `"messages":[` + chatAsk + `]`
	}
	calls := func(members, thought string) string {
		message := strings.Replace(chatTwoCalls, `"content":null`, `"content":null`+thought, 1)
		return members + tools + `,"messages":[` + chatAsk + `,` + message + `,` + chatAnswer + `]`
	}
	const needed = "must be passed back"
	for _, tt := range []struct{ model, members, want string }{
		// OpenAI
		{"gpt-6.1-sol", ask(tools), "use /v1/responses"},
		{"gpt-6.1-sol", ask(""), ""},
		{"gpt-6.1-terra", ask(tools + `,"reasoning_effort":"none"`), ""},
		{"gpt-6.1-terra", ask(tools), "use /v1/responses"},
		{"gpt-5.6-sol", ask(tools + `,"reasoning_effort":"low"`), "use /v1/responses"},
		{"gpt-5.6-sol", ask(tools + `,"reasoning_effort":"none"`), ""},
		{"gpt-6-astra", ask(tools), "use /v1/responses"},
		{"gpt-5.5", ask(tools), ""},
		{"gpt-6.1-sol", ask(`"reasoning_effort":"none"`), "'reasoning_effort' does not support 'none'"},
		{"gpt-6-sol", ask(`"temperature":1`), "'temperature'"},
		{"gpt-6-sol", ask(`"logprobs":true`), "'logprobs'"},
		{"gpt-5.5", ask(`"prompt_cache_options":{"ttl":"30m"}`), "prompt_cache_options"},
		{"gpt-5.5", ask(`"cache_control":{"type":"ephemeral"}`), "cache_control"},
		// DeepSeek
		{"deepseek-flash", calls("", ""), needed},
		{"deepseek-v4-pro", calls("", `,"reasoning_content":""`), ""},
		{"deepseek-v4-pro", calls("", `,"reasoning_content":"hm"`), ""},
		{"deepseek-v4-pro", calls(`"thinking":{"type":"disabled"},`, ""), ""},
		{"deepseek-flash", ask(`"reasoning_effort":"max"`), ""},
		{"deepseek-flash", ask(`"reasoning_effort":"xhigh"`), "reasoning_effort"},
		{"deepseek-flash", ask(`"enable_thinking":true`), "enable_thinking"},
		// Moonshot
		{"kimi-k3", calls("", ""), needed},
		{"kimi-k3", calls("", `,"reasoning_content":""`), ""},
		{"kimi-k3", ask(`"reasoning_effort":"low"`), ""},
		{"kimi-k3", ask(`"reasoning_effort":"medium"`), "reasoning_effort"},
		{"kimi-k3.1-pro", ask(`"reasoning_effort":"none"`), "reasoning_effort"},
		{"kimi-k3", ask(`"thinking":{"type":"disabled"}`), "thinking.type"},
		{"kimi-k3", ask(`"thinking":{"type":"enabled"}`), "thinking.type"},
		{"kimi-k3", ask(`"temperature":1`), ""},
		{"kimi-k3", ask(`"temperature":0.6`), "temperature"},
		{"kimi-k2.7-code", ask(`"thinking":{"type":"enabled"}`), ""},
		{"kimi-k2.7-code", ask(`"thinking":{"type":"disabled"}`), "thinking.type"},
		// MiniMax
		{"MiniMax-M3.1-Flash", calls("", ""), needed},
		{"MiniMax-M3.1-Flash", calls("", `,"reasoning_details":[]`), ""},
		{"MiniMax-M3.1-Flash", ask(`"thinking":{"type":"disabled"}`), "2013"},
		{"MiniMax-M3.1-Flash", ask(`"reasoning_effort":"none"`), "requires adaptive thinking"},
		{"MiniMax-M3.1-Flash", ask(`"reasoning_effort":"max"`), ""},
		// others
		{"qwen3.8-max", ask(`"reasoning_effort":"xhigh"`), ""},
		{"qwen3.8-max", ask(`"reasoning_effort":"high"`), "reasoning_effort"},
		{"qwen3.8-max", ask(`"enable_thinking":false`), ""},
		{"glm-5.3", ask(`"reasoning_effort":"high"`), ""},
		{"glm-5.3", ask(`"reasoning_effort":"medium"`), "reasoning_effort"},
		{"glm-5.3", calls("", ""), ""},
		{"m", calls("", ""), ""},
	} {
		body := `{"model":"` + tt.model + `",` + tt.members + `}`
		err := Validate(chat.Name, []byte(body))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got %v\nwant %q", body, err, tt.want)
		}
	}
}

func TestChat_CountsRequestsThatOpenRouterCaches(t *testing.T) {
	srv := StartServer(ServerConfig{Script: Play(Say("1"), Say("2"), Say("3"), Say("4"), Say("5"))})
	defer srv.Close()
	const part = `[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]`
	for i, tt := range []struct {
		body   string
		cached int
	}{
		{`{"model":"anthropic/claude-opus-5.5","messages":[` + chatAsk + `]}`, 0},
		{`{"model":"anthropic/claude-opus-5.5","cache_control":{"type":"ephemeral"},"messages":[` + chatAsk + `]}`, 1},
		{`{"model":"anthropic/claude-opus-5.5","messages":` + part + `}`, 2},
		{`{"model":"z-ai/glm-5.3","messages":` + part + `}`, 2},
	} {
		status := post(t, srv.BaseURL("chat")+"/chat/completions", "key", tt.body)
		if got := srv.Cached(); status != http.StatusOK || got != tt.cached {
			t.Errorf("request %d: got status %d and %d cached, want 200 and %d", i, status, got, tt.cached)
		}
	}
}
