package connect_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type env map[string]string

func (e env) get(name string) string { return e[name] }

func TestFromEnv_OnlyProvidersWithCredentials(t *testing.T) {
	tests := []struct {
		name string
		env  env
		want []string
	}{
		{"openai", env{"OPENAI_API_KEY": "k"}, []string{"openai"}},
		{"anthropic by key", env{"ANTHROPIC_API_KEY": "k"}, []string{"anthropic"}},
		{"anthropic by token", env{"ANTHROPIC_AUTH_TOKEN": "k"}, []string{"anthropic"}},
		{"gemini", env{"GEMINI_API_KEY": "k"}, []string{"gemini"}},
		{"gemini by Google's key", env{"GOOGLE_API_KEY": "k"}, []string{"gemini"}},
		{"chat needs no key", env{"REINS_CHAT_BASE_URL": "http://x/v1"}, []string{"chat"}},
		{"a chat key alone is nothing", env{"REINS_CHAT_API_KEY": "k", "OPENAI_API_KEY": "k"}, []string{"openai"}},
		{"a base URL alone is nothing", env{"OPENAI_BASE_URL": "http://x", "GEMINI_API_KEY": "k"}, []string{"gemini"}},
		{"blank is not set", env{"OPENAI_API_KEY": " \n", "GEMINI_API_KEY": "k"}, []string{"gemini"}},
		{"all", env{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k", "REINS_CHAT_BASE_URL": "http://x"},
			[]string{"openai", "anthropic", "gemini", "chat"}},
	}
	for _, tt := range tests {
		c, err := connect.FromEnv(connect.Config{Getenv: tt.env.get})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := c.Providers(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestFromEnv_NothingSetExplainsInOneLine(t *testing.T) {
	_, err := connect.FromEnv(connect.Config{Getenv: env{}.get})
	if llm.KindOf(err) != llm.ErrConfiguration {
		t.Fatalf("the error is %v", err)
	}
	for _, says := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "REINS_CHAT_BASE_URL", "reins demo"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q does not say %s", err, says)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is more than one line", err)
	}
}

func TestFromEnv_DefaultProvider(t *testing.T) {
	two := env{"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}
	c, err := connect.FromEnv(connect.Config{Getenv: two.get})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Complete(t.Context(), &llm.Request{}); llm.KindOf(err) != llm.ErrConfiguration {
		t.Errorf("a request without a provider: got %v, want a configuration error", err)
	}
	if _, err := connect.FromEnv(connect.Config{Getenv: two.get, Default: "anthropic"}); llm.KindOf(err) != llm.ErrConfiguration {
		t.Errorf("an unknown default: got %v, want a configuration error", err)
	}
}

// recorder is a server that records its requests and fails them.
type recorder struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	body     string // body of the last request
	status   int
	echo     bool
}

func newRecorder(t *testing.T, status int) *recorder {
	t.Helper()
	r := &recorder{status: status}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.requests, r.body = append(r.requests, req), string(body)
		r.mu.Unlock()
		w.WriteHeader(r.status)
		if r.echo {
			fmt.Fprintf(w, `{"error":{"message":"no: %v"}}`, req.Header)
		}
	}))
	t.Cleanup(func() {
		r.Client().CloseIdleConnections()
		r.Close()
	})
	return r
}

func (r *recorder) lastBody() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body
}

func (r *recorder) last(t *testing.T) *http.Request {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.requests) == 0 {
		t.Fatal("no request was made")
	}
	return r.requests[len(r.requests)-1]
}

func request(provider, model string) *llm.Request {
	return &llm.Request{Provider: provider, Model: model, Messages: []llm.Message{llm.UserText("hi")}}
}

func TestFromEnv_EveryVariableReachesTheWire(t *testing.T) {
	srv := newRecorder(t, 400)
	e := env{
		"OPENAI_API_KEY": "openai-secret\n", "OPENAI_BASE_URL": srv.URL + "/oa", "OPENAI_ORG_ID": "org", "OPENAI_PROJECT_ID": "proj",
		"ANTHROPIC_API_KEY": "anthropic-secret", "ANTHROPIC_BASE_URL": srv.URL + "/an",
		"GEMINI_API_KEY": "gemini-secret", "GOOGLE_API_KEY": "google-secret", "GEMINI_BASE_URL": srv.URL + "/ge",
		"REINS_CHAT_BASE_URL": srv.URL + "/ch", "REINS_CHAT_API_KEY": "chat-secret",
	}
	c, err := connect.FromEnv(connect.Config{Getenv: e.get, HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	for provider, want := range map[string]struct {
		path    string
		headers map[string]string
	}{
		"openai":    {"/oa/", map[string]string{"Authorization": "Bearer openai-secret", "OpenAI-Organization": "org", "OpenAI-Project": "proj"}},
		"anthropic": {"/an/", map[string]string{"X-Api-Key": "anthropic-secret"}},
		"gemini":    {"/ge/", map[string]string{"X-Goog-Api-Key": "gemini-secret"}},
		"chat":      {"/ch/", map[string]string{"Authorization": "Bearer chat-secret"}},
	} {
		if _, err := c.Complete(t.Context(), request(provider, "m")); err == nil {
			t.Errorf("%s: the call did not fail", provider)
		}
		got := srv.last(t)
		if !strings.HasPrefix(got.URL.Path, want.path) {
			t.Errorf("%s: it went to %s", provider, got.URL)
		}
		for k, v := range want.headers {
			if got.Header.Get(k) != v {
				t.Errorf("%s: %s is %q, want %q", provider, k, got.Header.Get(k), v)
			}
		}
		if strings.Contains(got.URL.String(), "secret") {
			t.Errorf("%s: the key is in the URL %s", provider, got.URL)
		}
	}
}

func TestFromEnv_AnthropicTokenIsABearer(t *testing.T) {
	srv := newRecorder(t, 400)
	e := env{"ANTHROPIC_AUTH_TOKEN": "token", "ANTHROPIC_BASE_URL": srv.URL}
	c, err := connect.FromEnv(connect.Config{Getenv: e.get, HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Complete(t.Context(), request("", "claude-opus-5-5")) // fails; only the request matters
	if h := srv.last(t).Header; h.Get("Authorization") != "Bearer token" || h.Get("X-Api-Key") != "" {
		t.Errorf("the headers are %v", h)
	}
}

// transport answers HTTP requests in memory.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestFromEnv_DefaultURLs(t *testing.T) {
	var got string
	client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		got = r.URL.String()
		return nil, errors.New("not sent")
	})}
	e := env{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
	c, err := connect.FromEnv(connect.Config{Getenv: e.get, HTTPClient: client, Retry: llm.RetryPolicy{Retries: -1}})
	if err != nil {
		t.Fatal(err)
	}
	for provider, want := range map[string]string{
		"openai":    "https://api.openai.com/v1/responses",
		"anthropic": "https://api.anthropic.com/v1/messages",
		"gemini":    "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
	} {
		if _, err := c.Complete(t.Context(), request(provider, "m")); llm.KindOf(err) != llm.ErrNetwork || got != want {
			t.Errorf("%s: got %s (%v), want %s", provider, got, err, want)
		}
	}
}

func TestFromEnv_RetriesAndMiddlewareAreInPlace(t *testing.T) {
	srv := newRecorder(t, 503)
	e := env{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": srv.URL}
	c, err := connect.FromEnv(connect.Config{Getenv: e.get, HTTPClient: srv.Client(), Retry: llm.RetryPolicy{Retries: 3, Base: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Complete(t.Context(), request("", "m")); llm.KindOf(err) != llm.ErrServer {
		t.Errorf("the error is %v", err)
	}
	if n := len(srv.requests); n != 4 {
		t.Errorf("%d requests were made, want 4", n)
	}
}

func TestOpen_UsesTheAddressThatIsGiven(t *testing.T) {
	srv := newRecorder(t, 400)
	for _, name := range connect.Names() {
		e := env{"OPENAI_BASE_URL": "http://127.0.0.1:1", "REINS_CHAT_BASE_URL": "http://127.0.0.1:1"}
		c, err := connect.Open(t.Context(), name, connect.Config{Getenv: e.get, BaseURL: srv.URL + "/" + name, HTTPClient: srv.Client()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := c.Complete(t.Context(), request("", "m")); llm.KindOf(err) != llm.ErrInvalidRequest {
			t.Errorf("%s: the error is %v", name, err)
		}
		if got := srv.last(t); !strings.HasPrefix(got.URL.Path, "/"+name+"/") {
			t.Errorf("%s: it went to %s", name, got.URL)
		}
	}
}

func TestOpen_ErrorNamesTheMissingVariable(t *testing.T) {
	for name, says := range map[string]string{
		"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN", "gemini": "GEMINI_API_KEY or GOOGLE_API_KEY",
		"chat": "REINS_CHAT_BASE_URL", "bing": "openai, anthropic, gemini, chat, local", "": "openai",
	} {
		_, err := connect.Open(t.Context(), name, connect.Config{Getenv: env{}.get})
		if llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want an error that says %s", name, err, says)
		}
	}
}

func TestAuthentication_ARefusedKeyIsNamedByItsVariableAndNotShown(t *testing.T) {
	srv := newRecorder(t, 401)
	srv.echo = true
	for name, tt := range map[string]struct {
		provider string
		env      env
		says     string
	}{
		"openai":          {"openai", env{"OPENAI_API_KEY": "odd secret"}, "the key is from OPENAI_API_KEY"},
		"anthropic key":   {"anthropic", env{"ANTHROPIC_API_KEY": "odd secret"}, "the key is from ANTHROPIC_API_KEY"},
		"anthropic token": {"anthropic", env{"ANTHROPIC_API_KEY": "x", "ANTHROPIC_AUTH_TOKEN": "odd secret"}, "the key is from ANTHROPIC_AUTH_TOKEN"},
		"gemini":          {"gemini", env{"GEMINI_API_KEY": "odd secret", "GOOGLE_API_KEY": "x"}, "the key is from GEMINI_API_KEY"},
		"google":          {"gemini", env{"GOOGLE_API_KEY": "odd secret"}, "the key is from GOOGLE_API_KEY"},
		"chat":            {"chat", env{"REINS_CHAT_API_KEY": "odd secret"}, "the key is from REINS_CHAT_API_KEY"},
		"no key":          {"chat", env{}, "no key was sent; set REINS_CHAT_API_KEY"},
	} {
		c, err := connect.Open(t.Context(), tt.provider, connect.Config{Getenv: tt.env.get, BaseURL: srv.URL, HTTPClient: srv.Client()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Complete(t.Context(), request("", "m"))
		if llm.KindOf(err) != llm.ErrAuthentication || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "odd secret") {
			t.Errorf("%s: %v, want it to say %q", name, err, tt.says)
		}
	}
}

func TestDebug_LogsEverythingExceptCredentials(t *testing.T) {
	srv := newRecorder(t, 400)
	srv.echo = true
	e := env{"OPENAI_API_KEY": "odd secret", "OPENAI_BASE_URL": srv.URL, "ANTHROPIC_AUTH_TOKEN": "token-of-mine", "ANTHROPIC_BASE_URL": srv.URL}
	var log bytes.Buffer
	c, err := connect.FromEnv(connect.Config{Getenv: e.get, HTTPClient: srv.Client(), Debug: &log})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"openai", "anthropic"} {
		_, err := c.Complete(t.Context(), request(p, "some-model"))
		var e *llm.Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		for _, secret := range []string{"odd secret", "token-of-mine"} {
			if strings.Contains(err.Error()+string(e.Body), secret) {
				t.Errorf("%s: a credential is visible in the error %v", p, err)
			}
		}
	}
	for _, says := range []string{"> POST " + srv.URL, "some-model", "< HTTP/1.1 400", "Authorization: [redacted]", "no: map["} {
		if !strings.Contains(log.String(), says) {
			t.Errorf("the log does not say %q:\n%s", says, log.String())
		}
	}
	for _, secret := range []string{"odd secret", "token-of-mine"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("a credential is visible in the log:\n%s", log.String())
		}
	}
}

func TestDebug_StreamIsLoggedAndForwarded(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"hello"},"finish_reason":null}]}`+"\n\n"+
			`data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer srv.Close()
	defer srv.Client().CloseIdleConnections()
	var log bytes.Buffer
	c, err := connect.Open(t.Context(), "chat", connect.Config{Getenv: env{}.get, BaseURL: srv.URL, HTTPClient: srv.Client(), Debug: &log})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Complete(t.Context(), request("", "m"))
	if err != nil || resp.Text() != "hello" {
		t.Fatalf("%v, %v", resp, err)
	}
	if !strings.Contains(log.String(), `"content":"hello"`) {
		t.Errorf("the log is\n%s", log.String())
	}
}

func TestDebug_CredentialsInABaseURLAreHidden(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Location", req.URL.String())
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"message":"no: %s"}}`, req.URL)
	}))
	defer srv.Close()
	defer srv.Client().CloseIdleConnections()
	base := strings.Replace(srv.URL, "http://", "http://someone:pass-word-1@", 1) + "/v1/?key=hush%2Fhush&api-version=3"
	for name, e := range map[string]env{
		"openai": {"OPENAI_API_KEY": "secret-1", "OPENAI_BASE_URL": base}, "anthropic": {"ANTHROPIC_API_KEY": "secret-1", "ANTHROPIC_BASE_URL": base},
		"gemini": {"GEMINI_API_KEY": "secret-1", "GEMINI_BASE_URL": base}, "chat": {"REINS_CHAT_BASE_URL": base}, "local": nil,
	} {
		var log bytes.Buffer
		c := connect.Config{Getenv: e.get, HTTPClient: srv.Client(), Debug: &log}
		if name == "local" {
			c.BaseURL = base
		}
		client, err := connect.Open(t.Context(), name, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Complete(t.Context(), request("", "m")); llm.KindOf(err) != llm.ErrInvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
		line, _, _ := strings.Cut(log.String(), "\n")
		if !strings.HasPrefix(line, "> POST http://[redacted]@127.0.0.1:") || !strings.Contains(line, "/v1/") || !strings.Contains(line, "?key=[redacted]&api-version=3") {
			t.Errorf("%s: the first line is %s", name, line)
		}
		if !strings.Contains(log.String(), "no: /v1/") { // the server echoes the URL
			t.Errorf("%s: the answer is not logged:\n%s", name, log.String())
		}
		for _, secret := range []string{"pass-word-1", "hush%2Fhush", "hush/hush"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("%s: %s is visible in the log:\n%s", name, secret, log.String())
			}
		}
	}
}
