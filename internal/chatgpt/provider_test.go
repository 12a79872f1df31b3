package chatgpt

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/openai"
)

func provider(t *testing.T, a *Account) *Provider {
	t.Helper()
	p, err := New(Config{Account: a})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask makes one call with the retries of sessions.
func ask(t *testing.T, p *Provider, r *llm.Request) (string, error) {
	t.Helper()
	c, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{p}, Middleware: []llm.Middleware{llm.SessionRetries().Middleware()}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Complete(t.Context(), r)
	if err != nil {
		return "", err
	}
	return resp.Message.Text(), nil
}

func ping() *llm.Request {
	return &llm.Request{Model: "gpt-6.1-sol", Messages: []llm.Message{llm.UserText("ping")}}
}

func TestStream_UsesTheTokenAfterItWasSaved(t *testing.T) {
	s := startServer(t)
	a := s.account()
	p := provider(t, a)
	if _, err := ask(t, p, ping()); llm.KindOf(err) != llm.ErrAuthentication || !strings.Contains(err.Error(), "run `reins login chatgpt`") || len(s.bodies) != 0 {
		t.Errorf("without a sign-in: %v", err)
	}
	signIn(t, a)
	s.api = func(http.ResponseWriter, *http.Request) bool {
		if got := content(t, a); got.AccessToken != s.access || got.RefreshToken != s.refresh {
			t.Errorf("the token is used before it is saved: %+v", got)
		}
		return false
	}
	for _, wait := range []time.Duration{0, time.Hour} {
		s.advance(wait)
		if text, err := ask(t, p, ping()); text != "pong" || err != nil {
			t.Errorf("after %v: got %q, %v", wait, text, err)
		}
	}
	if s.refreshs != 1 {
		t.Errorf("%d refreshes, want 1", s.refreshs)
	}
}

func TestStream_RefreshesOnceIfTheTokenIsRefused(t *testing.T) {
	s := startServer(t)
	a := s.account()
	signIn(t, a)
	s.advance(54*time.Minute + time.Second)
	p := provider(t, a)
	s.access = "access-secret-other"
	if text, err := ask(t, p, ping()); text != "pong" || err != nil || s.refreshs != 1 || len(s.bodies) != 2 {
		t.Errorf("got %q, %v after %d refreshes and %d calls, want 1 and 2", text, err, s.refreshs, len(s.bodies))
	}
	s.advance(54*time.Minute + time.Second)
	s.api = func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"no %s","code":"%s"}}`, r.Header.Get("Authorization"), s.access)
		return true
	}
	_, err := ask(t, p, ping())
	if llm.KindOf(err) != llm.ErrAuthentication || s.refreshs != 2 || len(s.bodies) != 4 {
		t.Errorf("got %v after %d refreshes and %d calls, want 2 and 4", err, s.refreshs, len(s.bodies))
	}
	e, _ := errors.AsType[*llm.Error](err)
	noSecrets(t, fmt.Sprintf("%v %+v %s", err, e, e.Body))
}

func TestStream_ExplainsPlanLimitsWithoutRetries(t *testing.T) {
	for _, c := range []struct {
		status     int
		code, body string
		kind       llm.ErrorKind
		want       string
	}{
		{429, "subscription_sharing_usage_limit_exceeded", `{"error":{"code":"%s","message":"x"}}`, llm.ErrQuota, "you can see when it resets and allow more at https://chatgpt.com/settings/usage"},
		{429, "subscription_sharing_usage_limit_exceeded", `{"detail":{"error_code":"%s"}}`, llm.ErrQuota, "used up"},
		{200, "subscription_sharing_usage_limit_exceeded", "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"%s\",\"message\":\"x\"}}}\n\n", llm.ErrQuota, "used up"},
		{429, "subscription_sharing_workplace_individual_usage_limit_exceeded", `{"error":{"code":"%s"}}`, llm.ErrQuota, "an administrator of the workspace can allow more"},
		{403, "subscription_sharing_user_not_eligible", `{"error":{"code":"%s"}}`, llm.ErrAccessDenied, "it needs ChatGPT Plus or Pro"},
		{401, "subscription_sharing_invalid_user", `{"error":{"code":"%s"}}`, llm.ErrAuthentication, "run `reins login chatgpt` again"},
		{403, "chatpass_v2_scope_not_authorized", `{"error":{"code":"%s"}}`, llm.ErrAuthentication, "run `reins login chatgpt` and allow it"},
	} {
		s := startServer(t)
		a := s.account()
		signIn(t, a)
		s.api = func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "1")
			if c.status == 200 {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			w.WriteHeader(c.status)
			fmt.Fprintf(w, c.body, c.code)
			return true
		}
		_, err := ask(t, provider(t, a), ping())
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Kind != c.kind || !strings.Contains(e.Message, c.want) || e.Code != c.code || e.Retryable() || len(s.bodies) != 1 || e.Provider != "chatgpt" {
			t.Errorf("%d %s: got %v after %d calls, want %s: %s", c.status, c.code, err, len(s.bodies), c.kind, c.want)
		}
	}
}

func TestRewrite_SendsOnlyAllowedMembers(t *testing.T) {
	s := startServer(t)
	a := s.account()
	signIn(t, a)
	r := &llm.Request{
		Model:     "gpt-6.1-sol",
		Unary:     true,
		MaxTokens: 99,
		CacheKey:  "k",
		Effort:    "high",
		Messages:  []llm.Message{llm.SystemText("be brief"), llm.UserText("ping")},
		Tools: []llm.ToolDef{
			{Name: "read", Description: "Reads.", Parameters: json.RawMessage(`{"type":"object"}`)},
			{Name: "patch", Freeform: &llm.Freeform{}},
			{Name: "web", Hosted: llm.State{Dialect: openai.Name, Data: json.RawMessage(`{"type":"web_search"}`)}},
		},
	}
	if text, err := ask(t, provider(t, a), r); text != "pong" || err != nil {
		t.Fatalf("got %q, %v", text, err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"model":            `"gpt-6.1-sol"`,
		"store":            `false`,
		"stream":           `true`,
		"instructions":     `"be brief"`,
		"tools":            `[{"type":"web_search"}]`,
		"prompt_cache_key": `"k"`,
		"input": `[{"type":"additional_tools","role":"developer","tools":[` +
			`{"type":"function","name":"read","description":"Reads.","parameters":{"type":"object"},"strict":false},{"type":"custom","name":"patch"}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"ping"}]}]`,
	} {
		if text := string(got[name]); text != want {
			t.Errorf("%s is %s, want %s", name, text, want)
		}
	}
	for _, name := range []string{"max_output_tokens", "prompt_cache_options", "prompt_cache_retention", "temperature", "previous_response_id"} {
		if got[name] != nil {
			t.Errorf("%s is %s, want none", name, got[name])
		}
	}
}

func TestRewrite_MakesSystemItemsDeveloperItems(t *testing.T) {
	c := &llm.Call{Body: llm.Body{[]byte(`{"input":[{"type":"message","role":"system","content":"\"role\":\"system\""},`), []byte(`{"role":"user","content":"x"}]}`)}}
	if err := rewrite(&llm.Request{}, c); err != nil {
		t.Fatal(err)
	}
	want := `{"store":false,"stream":true,"input":[{"type":"message","role":"developer","content":"\"role\":\"system\""},{"role":"user","content":"x"}]}`
	if got := string(c.Body.Bytes()); got != want || !c.Stream {
		t.Errorf("got %s, want %s", got, want)
	}
	c = &llm.Call{Body: llm.Body{[]byte(`{"input":"hi","store":true,"user":"u","metadata":{}}`)}}
	want = `{"store":false,"stream":true,"input":[{"role":"user","content":"hi"}]}`
	if err := rewrite(&llm.Request{}, c); err != nil || string(c.Body.Bytes()) != want {
		t.Errorf("got %s, %v, want %s", c.Body.Bytes(), err, want)
	}
}

func TestRewrite_ReportsSettingsThatTheCallerAskedFor(t *testing.T) {
	option := func(name string) llm.Request {
		return llm.Request{Options: map[string]llm.Options{openai.Name: {Body: map[string]json.RawMessage{name: json.RawMessage(`1`)}}}}
	}
	for want, r := range map[string]llm.Request{
		"the temperature":                  {Temperature: new(0.5)},
		"top_p":                            {TopP: new(0.5)},
		"the lifetime of the prompt cache": {CacheTTL: "12h"},
		"the option background":            option("background"),
		"the option previous_response_id":  option("previous_response_id"),
		"the option max_tool_calls":        option("max_tool_calls"),
	} {
		err := rewrite(&r, &llm.Call{Body: llm.Body{[]byte(`{}`)}})
		if llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), want+" cannot be set with a ChatGPT plan") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestNew_RefusesAnotherBaseURL(t *testing.T) {
	_, err := New(Config{Account: &Account{}, Endpoint: llm.Endpoint{BaseURL: "https://evil.example"}})
	if llm.KindOf(err) != llm.ErrConfiguration {
		t.Errorf("got %v", err)
	}
}

func TestModels_AreOpenAIsWithoutPrices(t *testing.T) {
	list := Models(llm.DefaultCatalogue())
	standard := 0
	for _, m := range list {
		if m.Provider != "chatgpt" || *m.Price.Input != 0 || *m.Price.Output != 0 || m.Rules.Cache != "" || m.Retired {
			t.Errorf("%+v", m)
		}
		if m.Default {
			standard++
		}
	}
	if len(list) < 5 || standard != 1 {
		t.Errorf("%d models with %d defaults", len(list), standard)
	}
}
