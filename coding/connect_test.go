package coding_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm/connect"
)

func TestConnect_UsesProvidersThatNeedOnlyAKey(t *testing.T) {
	for _, tt := range []struct {
		provider, model string
		keys            string
		want            string // provider, model, and all providers of the client
	}{
		{"deepseek", "", "DEEPSEEK_API_KEY", "deepseek deepseek-v4-pro deepseek"},
		{"moonshotai", "", "MOONSHOT_API_KEY", "moonshot kimi-k3 moonshot"},
		{"kimi-for-coding", "k3", "KIMI_API_KEY", "kimi-for-coding k3 kimi-for-coding"},
		{"", "deepseek-v4-pro", "DEEPSEEK_API_KEY", "deepseek deepseek-v4-pro deepseek"},
		{"", "deepseek-v4-pro", "OPENAI_API_KEY DEEPSEEK_API_KEY", "deepseek deepseek-v4-pro openai deepseek"},
		{"", "deepseek-v4-pro", "OPENAI_API_KEY", "openai deepseek-v4-pro openai"}, // without the key, as any other name
		{"", "gpt-6.1-sol", "OPENAI_API_KEY DEEPSEEK_API_KEY", "openai gpt-6.1-sol openai"},
		{"google", "gemini-3.8-flash", "GEMINI_API_KEY", "gemini gemini-3.8-flash gemini"},
	} {
		getenv := func(name string) string {
			if slices.Contains(strings.Fields(tt.keys), name) {
				return "key"
			}
			return ""
		}
		k, err := coding.Connect(t.Context(), tt.provider, tt.model, connect.Config{Getenv: getenv})
		if err != nil {
			t.Errorf("%s %s: %v", tt.provider, tt.model, err)
			continue
		}
		if got := strings.Join(append([]string{k.Provider, k.Model}, k.Client.Providers()...), " "); got != tt.want {
			t.Errorf("%s %s with %s: got %s, want %s", tt.provider, tt.model, tt.keys, got, tt.want)
		}
		if m, _ := k.Catalogue.Lookup(k.Provider, k.Model); m.ContextWindow == 0 {
			t.Errorf("%s %s: the context window is unknown", tt.provider, tt.model)
		}
	}
}

func TestConnect_ANewModelOfAFamilyChoosesTheProviderOfTheFamily(t *testing.T) {
	keys := map[string]string{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
	for model, want := range map[string]string{"claude-opus-99": "anthropic", "gpt-99": "openai", "unheard-of": "openai"} {
		k, err := coding.Connect(t.Context(), "", model, connect.Config{Getenv: func(name string) string { return keys[name] }})
		if err != nil || k.Provider != want {
			t.Errorf("%s is sent to %q, %v; want %s", model, k.Provider, err, want)
		}
	}
}
