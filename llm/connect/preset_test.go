package connect_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

var update = flag.Bool("update", false, "rewrite testdata/presets.txt")

// given returns an environment with all of a preset's variables: keys are secret, address parts are acme.
func given(p connect.Preset) env {
	e := env{}
	if len(p.Keys) > 0 {
		e[p.Keys[len(p.Keys)-1]] = "secret"
	}
	for _, found := range regexp.MustCompile(`\{([A-Z_]+)\}`).FindAllStringSubmatch(p.BaseURL, -1) {
		e[found[1]] = "acme"
	}
	return e
}

// wired describes the request that a call would send: the address, the headers with the key and the conversation, and
// the body members.
func wired(t *testing.T, provider, model string, e env) string {
	t.Helper()
	line := ""
	client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		var members map[string]json.RawMessage
		if err := json.Unmarshal(body, &members); err != nil {
			t.Error(err)
		}
		var marked []string
		for name := range r.Header {
			value := r.Header.Get(name)
			for _, word := range []string{"secret", "conversation", "3600"} {
				if strings.Contains(value, word) {
					marked = append(marked, name+"="+value)
				}
			}
		}
		slices.Sort(marked)
		line = fmt.Sprintf("%s %s | %s | model=%s %s", r.Method, r.URL, strings.Join(marked, " "), members["model"],
			strings.Join(slices.DeleteFunc(slices.Sorted(maps.Keys(members)), func(s string) bool { return s == "model" }), " "))
		return nil, errors.New("not sent")
	})}
	c, err := connect.Open(t.Context(), provider, connect.Config{Getenv: e.get, HTTPClient: client, Retry: llm.RetryPolicy{Retries: -1}})
	if err != nil {
		t.Fatalf("%s: %v", provider, err)
	}
	r := request("", model)
	r.CacheKey, r.MaxTokens = "conversation", 100
	if _, err := c.Complete(t.Context(), r); llm.KindOf(err) != llm.ErrNetwork {
		t.Fatalf("%s: %v", provider, err)
	}
	return line
}

// TestPreset_RequestsOnTheWire compares the request of every preset with a line of testdata/presets.txt. Review the
// difference after running it with -update.
func TestPreset_RequestsOnTheWire(t *testing.T) {
	var got bytes.Buffer
	for _, p := range connect.Presets() {
		models := []string{cmp.Or(p.Model, "m")}
		switch p.Name {
		case "openrouter", "vercel":
			models = []string{"anthropic/claude-sonnet-5.5", "z-ai/glm-5.3"}
		case "opencode", "opencode-go", "cloudflare-ai-gateway":
			models = []string{"claude-sonnet-5-5", "gpt-6.1-sol", "gemini-3.8-flash", "qwen3.8-max", "workers-ai/@cf/zai/glm-5.3", "glm-5.3"}
		}
		for _, model := range models {
			fmt.Fprintf(&got, "%s: %s\n", p.Name, wired(t, p.Name, model, given(p)))
		}
	}
	const file = "testdata/presets.txt"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, wanted := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(lines), len(wanted)) {
		if i >= len(lines) || i >= len(wanted) || lines[i] != wanted[i] {
			t.Fatalf("line %d of %s:\n got %s\nwant %s", i+1, file, at(lines, i), at(wanted, i))
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "no such line"
}

func TestPreset_TableIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range connect.Names() {
		seen[name] = true
	}
	for _, p := range connect.Presets() {
		for _, name := range append([]string{p.Name}, p.Aliases...) {
			if seen[name] {
				t.Errorf("the name %s is taken twice", name)
			}
			seen[name] = true
			if canonical := (connect.Config{}).Canonical(name); canonical != p.Name {
				t.Errorf("%s means %s, want %s", name, canonical, p.Name)
			}
		}
		base := strings.TrimSuffix(p.BaseURL, "/")
		if base != p.BaseURL || !strings.HasPrefix(base, "https://") && !p.Optional || len(p.Keys) == 0 || !slices.Contains(connect.Protocols(), p.Protocol) {
			t.Errorf("the row of %s is %+v", p.Name, p)
		}
		if p.Protocol == "messages" && strings.HasSuffix(base, "/v1") {
			t.Errorf("the base URL of %s ends in /v1, which the messages protocol adds", p.Name)
		}
	}
	for _, name := range []string{"openrouter", "deepseek", "xai", "mistral", "groq", "cerebras", "moonshotai", "kimi-for-coding", "zai", "zai-coding-plan", "minimax",
		"alibaba", "alibaba-token-plan", "meta", "togetherai", "fireworks-ai", "deepinfra", "huggingface", "nvidia", "vercel", "cloudflare-ai-gateway",
		"github-copilot", "github-models", "opencode", "ollama-cloud", "baseten", "nebius", "novita-ai", "siliconflow", "perplexity",
		"moonshot", "qwen", "together", "fireworks", "google", "amazon-bedrock", "google-vertex"} {
		if !connect.Known(name) {
			t.Errorf("%s is not known", name)
		}
	}
}

func TestPreset_ErrorNamesTheMissingVariable(t *testing.T) {
	for _, tt := range []struct {
		provider string
		env      env
		says     string
	}{
		{"groq", env{}, "provider groq is not configured: set GROQ_API_KEY"},
		{"moonshotai", env{}, "provider moonshot is not configured: set MOONSHOT_API_KEY"},
		{"zai", env{}, "set ZAI_API_KEY or ZHIPU_API_KEY"},
		{"cloudflare-ai-gateway", env{}, "set CLOUDFLARE_API_KEY or CLOUDFLARE_API_TOKEN, and CLOUDFLARE_ACCOUNT_ID, and CLOUDFLARE_GATEWAY_ID"},
		{"cloudflare-workers-ai", env{"CLOUDFLARE_API_KEY": "k"}, "set CLOUDFLARE_ACCOUNT_ID"},
		{"snowflake-cortex", env{"SNOWFLAKE_CORTEX_PAT": "k", "SNOWFLAKE_ACCOUNT": "evil.example/x"}, `SNOWFLAKE_ACCOUNT is "evil.example/x", which cannot be a part of the address`},
		{"github-copilot", env{"GITHUB_TOKEN": "k"}, "provider github-copilot cannot be used: it needs a sign-in with a GitHub application"},
		{"claude-code", env{}, "Anthropic's terms allow the sign-in of Claude plans only in its own applications"},
		{"sap-ai-core", env{}, "key_command"},
		{"openruoter", env{}, `unknown provider "openruoter"; did you mean openrouter?`},
		{"anthropic", env{"ANTHROPIC_AUTH_TOKEN": "sk-ant-oat01-x"}, "ANTHROPIC_AUTH_TOKEN has the token of a Claude plan: Anthropic's terms"},
		{"anthropic", env{"ANTHROPIC_API_KEY": "sk-ant-oat01-x"}, "ANTHROPIC_API_KEY has the token of a Claude plan"},
	} {
		c := connect.Config{Getenv: tt.env.get}
		_, err := connect.Open(t.Context(), tt.provider, c)
		if llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s with %v: got %v, want one sentence with %q", tt.provider, tt.env, err, tt.says)
		}
		if tt.provider == "anthropic" || tt.provider == "openruoter" {
			continue
		}
		if _, _, err = connect.Find(t.Context(), tt.provider, c, ""); llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("Find for %s with %v: got %v, want %q", tt.provider, tt.env, err, tt.says)
		}
	}
}

func TestFromEnv_PresetsAreUsedOnlyIfTheyAreNamed(t *testing.T) {
	e := env{"OPENAI_API_KEY": "k", "GROQ_API_KEY": "k", "MOONSHOT_API_KEY": "k"}
	for standard, want := range map[string][]string{"": {"openai"}, "groq": {"openai", "groq"}, "moonshotai": {"openai", "moonshot"}} {
		c, err := connect.FromEnv(connect.Config{Getenv: e.get, Default: standard})
		if err != nil || !slices.Equal(c.Providers(), want) {
			t.Errorf("default %q: got %v, want %v", standard, err, want)
		}
	}
	_, err := connect.FromEnv(connect.Config{Getenv: env{"GROQ_API_KEY": "k"}.get})
	if err == nil || !strings.Contains(err.Error(), "GROQ_API_KEY is set, so use --provider groq") {
		t.Errorf("with the key of a preset alone: got %v", err)
	}
	_, err = connect.FromEnv(connect.Config{Getenv: env{"ANTHROPIC_AUTH_TOKEN": "sk-ant-oat01-x"}.get})
	if err == nil || !strings.Contains(err.Error(), "Claude plan") {
		t.Errorf("with the token of a plan alone: got %v", err)
	}
	c, err := connect.FromEnv(connect.Config{Getenv: env{"ANTHROPIC_AUTH_TOKEN": "sk-ant-oat01-x", "ANTHROPIC_BASE_URL": "http://gateway"}.get})
	if err != nil || !slices.Equal(c.Providers(), []string{"anthropic"}) {
		t.Errorf("a token for a gateway: got %v", err)
	}
}

func TestPreset_AnEntryWithItsNameReplacesIt(t *testing.T) {
	srv := newRecorder(t, 400)
	for _, name := range []string{"groq", "moonshotai", "google"} {
		c := connect.Config{Getenv: env{}.get, HTTPClient: srv.Client(), Entries: []connect.Entry{{Name: name, BaseURL: srv.URL + "/mine"}}}
		client, err := connect.Open(t.Context(), name, c)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = client.Complete(t.Context(), request(name, "m"))
		if got := srv.last(t); got.URL.Path != "/mine/chat/completions" {
			t.Errorf("%s: got %s, want the address of the entry", name, got.URL)
		}
	}
}

func TestPreset_AnotherAddressKeepsTheQuirks(t *testing.T) {
	srv := newRecorder(t, 400)
	client, err := connect.Open(t.Context(), "mistral", connect.Config{Getenv: env{"MISTRAL_API_KEY": "secret"}.get, HTTPClient: srv.Client(), BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = client.Complete(t.Context(), request("", "m"))
	if got := srv.last(t); got.Header.Get("Authorization") != "Bearer secret" || strings.Contains(srv.body, "stream_options") {
		t.Errorf("got %v with %s, want the key and no stream_options", got.Header, srv.body)
	}
}

func TestServing_FindsPresetModelsUnderItsName(t *testing.T) {
	for _, tt := range []struct {
		provider, model string
		standard        string
		window          int64
	}{
		{"kimi-for-coding", "k3", "kimi-for-coding", 1048576},
		{"kimi-for-coding", "kimi-k3", "kimi-for-coding", 1048576},
		{"zai-coding-plan", "glm-5.3", "glm-5.3", 1000000},
		{"xai", "grok-4.7", "grok-4.7", 500000},
		{"openrouter", "anthropic/claude-sonnet-5.5", "anthropic/claude-sonnet-5.5", 1000000},
	} {
		c, err := connect.Config{}.Serving(tt.provider)
		if err != nil {
			t.Fatal(err)
		}
		standard, _ := c.Default(tt.provider)
		m, ok := c.Exact(tt.provider, tt.model)
		if standard.ID != tt.standard || !ok || m.ContextWindow != tt.window {
			t.Errorf("%s: the default is %q and %s has the window %d (%v); want %q and %d", tt.provider, standard.ID, tt.model, m.ContextWindow, ok, tt.standard, tt.window)
		}
	}
	for _, p := range connect.Presets() {
		c, err := connect.Config{}.Serving(p.Name)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		if m, ok := c.Default(p.Name); ok != (p.Model != "") || m.ID != p.Model {
			t.Errorf("%s: the default is %q, want %q", p.Name, m.ID, p.Model)
		}
	}
}

func TestList_ReportsReadyProvidersAndKeySources(t *testing.T) {
	e := env{"OPENAI_API_KEY": "k", "ZHIPU_API_KEY": "k", "CLOUDFLARE_API_TOKEN": "k", "CLOUDFLARE_ACCOUNT_ID": "acme", "AZURE_OPENAI_ENDPOINT": "x", "AZURE_OPENAI_API_KEY": "k", "MY_KEY": "k"}
	c := connect.Config{Getenv: e.get, Entries: []connect.Entry{
		{Name: "mine", BaseURL: "https://mine.example/v1", KeyFrom: "MY_KEY"}, {Name: "other", BaseURL: "https://o.example", Protocol: "messages", KeyFrom: "NO_KEY"},
		{Name: "groq", BaseURL: "https://proxy.example", KeyFrom: "key_command"},
	}}
	got := map[string]connect.Status{}
	for _, s := range c.List() {
		if _, twice := got[s.Name]; twice {
			t.Errorf("%s is listed twice", s.Name)
		}
		got[s.Name] = s
	}
	for _, want := range []struct {
		name, protocol, base, from string
		ready                      bool
	}{
		{"openai", "responses", "https://api.openai.com/v1", "OPENAI_API_KEY", true},
		{"anthropic", "messages", "https://api.anthropic.com", "", false},
		{"zai", "chat", "https://api.z.ai/api/paas/v4", "ZHIPU_API_KEY", true},
		{"cloudflare-workers-ai", "chat", "https://api.cloudflare.com/client/v4/accounts/acme/ai/v1", "CLOUDFLARE_API_TOKEN", true},
		{"cloudflare-ai-gateway", "chat", "https://gateway.ai.cloudflare.com/v1/acme/{CLOUDFLARE_GATEWAY_ID}/compat", "", false},
		{"azure", "responses", "x", "AZURE_OPENAI_API_KEY", true},
		{"mine", "chat", "https://mine.example/v1", "MY_KEY", true},
		{"other", "messages", "https://o.example", "", false},
		{"groq", "chat", "https://proxy.example", "key_command", true},
		{"lmstudio", "chat", "http://127.0.0.1:1234/v1", "", false},
	} {
		if s := got[want.name]; s.Protocol != want.protocol || s.BaseURL != want.base || s.From != want.from || s.Ready != want.ready {
			t.Errorf("got %+v, want %+v", s, want)
		}
	}
}

func TestPreset_EffortFollowsTheProtocol(t *testing.T) {
	for _, tt := range []struct{ provider, model, key, want string }{
		{"openrouter", "anthropic/claude-sonnet-5.5", "OPENROUTER_API_KEY", `"output_config":{"effort":"high"}`},
		{"openrouter", "z-ai/glm-5.3", "OPENROUTER_API_KEY", `"reasoning":{"effort":"high"}`},
		{"vercel", "anthropic/claude-opus-4.7", "AI_GATEWAY_API_KEY", `"output_config":{"effort":"high"}`},
		{"minimax", "MiniMax-M3.1-Flash", "MINIMAX_API_KEY", `"output_config":{"effort":"high"}`},
		{"minimax-cn", "MiniMax-M3.1-Flash", "MINIMAX_CN_API_KEY", `"output_config":{"effort":"high"}`},
		{"xai", "grok-4.7", "XAI_API_KEY", `"reasoning":{"effort":"high"`},
		{"opencode", "claude-opus-5-5", "OPENCODE_API_KEY", `"output_config":{"effort":"high"}`},
	} {
		var body []byte
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			body, _ = io.ReadAll(r.Body)
			return nil, errors.New("not sent")
		})}
		c, err := connect.Open(t.Context(), tt.provider, connect.Config{Getenv: env{tt.key: "k"}.get, HTTPClient: client, Retry: llm.RetryPolicy{Retries: -1}})
		if err != nil {
			t.Fatal(err)
		}
		r := request("", tt.model)
		r.Effort = "high"
		if _, err := c.Complete(t.Context(), r); llm.KindOf(err) != llm.ErrNetwork || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s %s: got %v with %s, want %s", tt.provider, tt.model, err, body, tt.want)
		}
	}
}

func TestPreset_TheKeyIsNamedAndNotShown(t *testing.T) {
	srv := newRecorder(t, 401)
	const secret = "odd secret of mine"
	for _, tt := range []struct{ provider, key, says string }{
		{"groq", "GROQ_API_KEY", "the key is from GROQ_API_KEY"},
		{"cloudflare-ai-gateway", "CLOUDFLARE_API_TOKEN", "the credentials are from CLOUDFLARE_API_TOKEN"},
	} {
		var log bytes.Buffer
		c, err := connect.Open(t.Context(), tt.provider, connect.Config{Getenv: env{tt.key: secret}.get, HTTPClient: srv.Client(), BaseURL: srv.URL, Debug: &log})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Complete(t.Context(), request("", "m"))
		if llm.KindOf(err) != llm.ErrAuthentication || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want an error with %q", tt.provider, err, tt.says)
		}
		if strings.Contains(err.Error()+log.String(), secret) || !strings.Contains(log.String(), "[redacted]") {
			t.Errorf("%s: the secret is visible in %v or\n%s", tt.provider, err, log.String())
		}
	}
}
