package connect_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/exchanges"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

func TestEntry_SpeaksItsProtocolWithItsKeyAndHeaders(t *testing.T) {
	for protocol, want := range map[string]struct{ path, keyHeader, key string }{
		"":          {"/base/chat/completions", "Authorization", "Bearer entry-secret"},
		"chat":      {"/base/chat/completions", "Authorization", "Bearer entry-secret"},
		"responses": {"/base/responses", "Authorization", "Bearer entry-secret"},
		"messages":  {"/base/v1/messages", "X-Api-Key", "entry-secret"},
		"gemini":    {"/base/v1beta/models/m:generateContent", "X-Goog-Api-Key", "entry-secret"},
	} {
		srv := newRecorder(t, 400)
		c := connect.Config{Getenv: env{}.get, HTTPClient: srv.Client(), Entries: []connect.Entry{
			{Name: "other", BaseURL: "http://192.0.2.1", Load: func(context.Context) (string, http.Header, error) { panic("the key of another provider") }},
			{Name: "mine", BaseURL: srv.URL + "/base", Protocol: protocol, Load: func(context.Context) (string, http.Header, error) {
				return "entry-secret", http.Header{"X-Team": {"blue"}}, nil
			}},
		}}
		client, err := connect.Open(t.Context(), "mine", c)
		if err != nil {
			t.Fatal(err)
		}
		r := request("mine", "m")
		r.Unary = true
		if _, err := client.Complete(t.Context(), r); err == nil || !strings.HasPrefix(err.Error(), "mine: ") {
			t.Errorf("%s: the error is %v", protocol, err)
		}
		got := srv.last(t)
		if got.URL.Path != want.path || got.Header.Get(want.keyHeader) != want.key || got.Header.Get("X-Team") != "blue" {
			t.Errorf("%s: %s with %v", protocol, got.URL, got.Header)
		}
	}
}

func TestEntry_Mistakes(t *testing.T) {
	c := connect.Config{Getenv: env{}.get, Entries: []connect.Entry{
		{Name: "nowhere"}, {Name: "odd", BaseURL: "http://x", Protocol: "soap"},
		{Name: "locked", BaseURL: "http://x", Load: func(context.Context) (string, http.Header, error) { return "", nil, errors.New("no key") }},
	}}
	for name, want := range map[string]string{
		"nowhere": "provider nowhere has no base URL", "odd": `unknown protocol "soap"; use chat, responses`, "locked": "provider locked: no key", "nosuch": "use one of: openai",
	} {
		if _, err := connect.Open(t.Context(), name, c); llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

func TestEntry_ModelsAreInTheCatalogueAndTheirLimitIsSent(t *testing.T) {
	price := 2.0
	srv := exchanges.Serve(t, func(exchanges.Request) string { return "ollama-text" })
	c, _ := config(t)
	c.Entries = []connect.Entry{{Name: "mine", BaseURL: srv.URL + "/v1", Models: []llm.Model{
		{ID: "claude-opus-5-5", MaxOutput: 700, Price: &llm.Price{Input: &price, Output: &price}}, {ID: "second"},
	}}}
	catalogue, err := connect.Catalogue(nil, c.Entries)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := catalogue.Default("mine"); !ok || m.ID != "claude-opus-5-5" || m.Name != "claude-opus-5-5" {
		t.Errorf("the default is %+v", m)
	}
	if m, _ := catalogue.Lookup("", "claude-opus-5-5"); m.Provider != "anthropic" {
		t.Errorf("the name alone means the model of %s", m.Provider)
	}
	if m, _ := catalogue.Lookup("mine", "claude-opus-5-5"); m.Price == nil || *m.Price.Input != 2 {
		t.Errorf("its price is %+v", m.Price)
	}
	client, err := connect.Open(t.Context(), "mine", c)
	if err != nil {
		t.Fatal(err)
	}
	r := request("mine", "claude-opus-5-5")
	r.Unary = true
	if _, err := client.Complete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if body := srv.Requests("")[0].Body; !strings.Contains(body, `"max_tokens":700`) {
		t.Errorf("the request is %s", body)
	}
}

func TestEntry_OtherProtocolsKnowItsModelsToo(t *testing.T) {
	srv := newRecorder(t, 400)
	c := connect.Config{Getenv: env{}.get, HTTPClient: srv.Client(), Entries: []connect.Entry{
		{Name: "mine", BaseURL: srv.URL, Protocol: "messages", Models: []llm.Model{{ID: "their-model", MaxOutput: 777}, {ID: "claude-opus-5-5", MaxOutput: 778}}},
	}}
	client, err := connect.Open(t.Context(), "mine", c)
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]string{"their-model": `"max_tokens":777`, "claude-opus-5-5": `"max_tokens":778`} {
		_, _ = client.Complete(t.Context(), request("mine", model))
		if body := srv.lastBody(); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", model, body, want)
		}
	}
}

func TestFind_WithoutAModelAsksAnyProvidersServer(t *testing.T) {
	lists := map[string]string{"/one/models": `{"data":[{"id":"only"}]}`, "/many/models": `{"data":[{"id":"a"},{"id":"b"}]}`, "/llama/models": "llamacpp-models"}
	srv := exchanges.Serve(t, func(r exchanges.Request) string { return lists[r.Path] })
	c, _ := config(t)
	c.Entries = []connect.Entry{
		{Name: "one", BaseURL: srv.URL + "/one", Key: "secret-key"}, {Name: "many", BaseURL: srv.URL + "/many"},
		{Name: "none", BaseURL: srv.URL + "/none"}, {Name: "far", BaseURL: "http://192.0.2.1", Protocol: "messages"},
	}
	if _, m, err := connect.Find(t.Context(), "one", c, ""); err != nil || m.ID != "only" || m.Provider != "one" || srv.Requests("/one/models")[0].Header.Get("Authorization") != "Bearer secret-key" {
		t.Errorf("one model: %+v, %v", m, err)
	}
	for name, says := range map[string]string{"many": "such as a, b", "none": "does not list its models", "far": "has no default", "openai": "has no default"} {
		if _, m, err := connect.Find(t.Context(), name, c, ""); llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	c.Getenv = env{"REINS_CHAT_BASE_URL": srv.URL + "/llama", "REINS_CHAT_API_KEY": "chat-secret"}.get
	if _, m, err := connect.Find(t.Context(), "chat", c, ""); err != nil || m.ID != "script.gguf" || srv.Requests("/llama/models")[0].Header.Get("Authorization") != "Bearer chat-secret" {
		t.Errorf("chat: %+v, %v", m, err)
	}
}

func TestFind_AsksAnyProviderOnThisMachineAboutAModel(t *testing.T) {
	ollama := newOllama(t, "4096")
	c, _ := config(t)
	c.Entries = []connect.Entry{{Name: "mine", BaseURL: ollama.URL + "/v1", Protocol: "responses"}, {Name: "far", BaseURL: "http://192.0.2.1/v1"}}
	for provider, base := range map[string]string{"chat": ollama.URL + "/v1", "openai": ollama.URL + "/v1", "anthropic": ollama.URL, "mine": ""} {
		c.BaseURL = base
		srv, m, err := connect.Find(t.Context(), provider, c, "scripted-think")
		if err != nil || srv == nil || srv.Name != "Ollama" || m.Provider != provider || m.ContextWindow != 4096 || !m.Vision {
			t.Errorf("%s: %v, %+v, %v", provider, srv, m, err)
		}
	}
	c.BaseURL = ""
	if srv, m, err := connect.Find(t.Context(), "far", c, "x"); err != nil || srv != nil || m.ID != "x" {
		t.Errorf("a server elsewhere: %v, %+v, %v", srv, m, err)
	}
	c.BaseURL = exchanges.Serve(t, func(exchanges.Request) string { return "" }).URL + "/v1"
	if _, m, err := connect.Find(t.Context(), "chat", c, "x"); err != nil || m.ID != "x" || m.ContextWindow != 0 {
		t.Errorf("a server that does not tell: %+v, %v", m, err)
	}
}

func TestHeader_ReachesOnlyTheOpenedProviderAndIsNotLogged(t *testing.T) {
	srv := newRecorder(t, 400)
	var log bytes.Buffer
	keys := env{"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": srv.URL, "OPENAI_ORG_ID": "org", "ANTHROPIC_API_KEY": "k2", "ANTHROPIC_BASE_URL": srv.URL}
	c := connect.Config{Getenv: keys.get, HTTPClient: srv.Client(), Debug: &log, Header: http.Header{"X-Gate": {"open-sesame"}, "Openai-Organization": {"mine"}}}
	client, err := connect.Open(t.Context(), "openai", c)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = client.Complete(t.Context(), request("openai", "m"))
	if h := srv.last(t).Header; h.Get("X-Gate") != "open-sesame" || h.Get("Openai-Organization") != "mine" {
		t.Errorf("the headers are %v", h)
	}
	if strings.Contains(log.String(), "sesame") || !strings.Contains(log.String(), "X-Gate") {
		t.Errorf("the log has the value, or not the name:\n%s", log.String())
	}
	if client, err = connect.FromEnv(c); err != nil {
		t.Fatal(err)
	}
	_, _ = client.Complete(t.Context(), request("anthropic", "m"))
	if h := srv.last(t).Header; h.Get("X-Gate") != "" {
		t.Errorf("another provider got the header: %v", h)
	}
}

func TestLocal_TheLimitForTheFirstByteCanBeSet(t *testing.T) {
	for limit, want := range map[int64]string{0: "", 1: "no response within 1ns"} {
		answered := make(chan struct{})
		srv := exchanges.Serve(t, func(exchanges.Request) string {
			if limit > 0 {
				<-answered // it answers too late, however fast it is
			}
			return "ollama-text"
		})
		c, _ := config(t)
		c.BaseURL, c.Retry.Retries = srv.URL+"/v1", -1
		if limit > 0 {
			c.Limits.FirstByte = 1
		}
		client, err := connect.Open(t.Context(), "local", c)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Complete(t.Context(), request("local", "scripted-text"))
		close(answered)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a limit of %d: %v, want %q", limit, err, want)
		}
	}
}
