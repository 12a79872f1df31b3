package connect_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/exchanges"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// ollamaServer is an Ollama server. It loads a model when it is used.
type ollamaServer struct {
	*exchanges.Server
	loaded bool
	window string
}

func newOllama(t *testing.T, window string) *ollamaServer {
	t.Helper()
	o := &ollamaServer{window: window}
	o.Server = exchanges.Serve(t, func(r exchanges.Request) string {
		switch r.Path {
		case "/v1/models":
			return "ollama-models"
		case "/api/show":
			capabilities := `["completion","tools"]`
			switch {
			case strings.Contains(r.Body, "scripted-broken"), strings.Contains(r.Body, "plain"):
				capabilities = `["completion"]`
			case strings.Contains(r.Body, "scripted-think"):
				capabilities = `["completion","tools","thinking","vision"]`
			}
			return `{"parameters":"num_ctx                        8192\nstop                           \"x\"","capabilities":` + capabilities +
				`,"model_info":{"general.architecture":"llama","llama.context_length":131072}}`
		case "/api/generate":
			o.loaded = true
			return `{"model":"x","done":true,"done_reason":"load"}`
		case "/api/ps":
			if !o.loaded {
				return `{"models":[]}`
			}
			return `{"models":[{"name":"scripted-call:latest","context_length":` + window + `},{"name":"scripted-think:latest","context_length":` + window + `}]}`
		}
		return "ollama-no-v1"
	})
	return o
}

// newLlama returns a llama-server with one model, which loads for so many requests.
func newLlama(t *testing.T, loads int) *exchanges.Server {
	t.Helper()
	return exchanges.Serve(t, func(r exchanges.Request) string {
		switch {
		case r.Path == "/v1/models" && loads > 0:
			loads--
			return "llamacpp-loading-models"
		case r.Path == "/v1/models":
			return "llamacpp-models"
		case r.Path == "/props":
			return `{"default_generation_settings":{"n_ctx":32768},"total_slots":1,"modalities":{"vision":true,"audio":false}}`
		case r.Path == "/v1/chat/completions":
			return "llamacpp-text"
		}
		return ""
	})
}

func place(name string, s *exchanges.Server) connect.Place {
	return connect.Place{Name: name, Port: port(s.Listener)}
}

func config(t *testing.T, places ...connect.Place) (connect.Config, *[]string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	said := new([]string)
	return connect.Config{
		Getenv: env{}.get, HTTPClient: client, Search: connect.Search{Places: places, Timeout: 10 * time.Second}, Progress: func(text string) { *said = append(*said, text) },
	}, said
}

func TestFind_ChoosesTheServerWithTheModel(t *testing.T) {
	ollama, llama := newOllama(t, "4096"), newLlama(t, 0)
	c, _ := config(t, place("Ollama", ollama.Server), place("llama.cpp", llama))
	for model, want := range map[string]string{"script.gguf": llama.URL, "scripted-call": ollama.URL, "scripted-call:latest": ollama.URL} {
		srv, m, err := connect.Find(t.Context(), "local", c, model)
		if err != nil || srv.BaseURL != want+"/v1" || m.ID != model || m.Provider != "local" {
			t.Errorf("%s: %v with %+v, %v", model, srv, m, err)
		}
	}
}

func TestFind_AnUnknownModelNamesServersAndSimilarModels(t *testing.T) {
	ollama, llama := newOllama(t, "4096"), newLlama(t, 0)
	c, _ := config(t, place("Ollama", ollama.Server), place("llama.cpp", llama))
	_, _, err := connect.Find(t.Context(), "local", c, "scripted-cal")
	if llm.KindOf(err) != llm.ErrConfiguration {
		t.Fatalf("the error is %v", err)
	}
	for _, says := range []string{"Ollama at " + ollama.URL + "/v1", "llama.cpp at " + llama.URL + "/v1", `"scripted-cal"`, "have scripted-call"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q does not say %s", err, says)
		}
	}
}

func TestFind_WithoutANameChoosesTheFirstModelWithTools(t *testing.T) {
	ollama := newOllama(t, "4096")
	c, _ := config(t, place("Ollama", ollama.Server))
	_, m, err := connect.Find(t.Context(), "local", c, "")
	if err != nil || m.ID != "scripted-call:latest" { // scripted-broken is newer and has none
		t.Errorf("%+v, %v", m, err)
	}
	plain := exchanges.Serve(t, func(r exchanges.Request) string {
		switch r.Path {
		case "/v1/models":
			return `{"data":[{"id":"a","owned_by":"library"},{"id":"b","owned_by":"library"}]}`
		case "/api/show":
			return `{"capabilities":["completion"]}`
		}
		return ""
	})
	c, _ = config(t, place("Ollama", plain))
	if _, m, err = connect.Find(t.Context(), "local", c, ""); err != nil || m.ID != "a" {
		t.Errorf("no model has tools: %+v, %v", m, err)
	}
}

func TestFind_AsksOllamaForTheWindowAndLoadsTheModelForIt(t *testing.T) {
	ollama := newOllama(t, "4096")
	c, said := config(t, place("Ollama", ollama.Server))
	_, m, err := connect.Find(t.Context(), "local", c, "scripted-think")
	want := llm.Model{ID: "scripted-think", Provider: "local", Name: "scripted-think", ContextWindow: 4096, MaxOutput: 2048, Tools: true, Vision: true, Reasoning: true}
	if err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("%+v, %v\nwant %+v", m, err, want)
	}
	if !slices.Equal(*said, []string{"loading scripted-think"}) || len(ollama.Requests("/api/generate")) != 1 {
		t.Errorf("it said %q", *said)
	}
	if _, _, err := connect.Find(t.Context(), "local", c, "scripted-call"); err != nil || len(ollama.Requests("/api/generate")) != 1 {
		t.Errorf("a loaded model is loaded again, or %v", err)
	}
}

func TestFind_WithoutALoadedModelUsesTheModelfilesWindow(t *testing.T) {
	ollama := newOllama(t, "4096")
	c, _ := config(t, place("Ollama", ollama.Server))
	_, m, err := connect.Find(t.Context(), "local", c, "plain") // is not in the list of running models
	if err != nil || m.ContextWindow != 8192 || m.Tools {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestFind_AsksLlamaServerForWindowAndVision(t *testing.T) {
	c, _ := config(t, place("llama.cpp", newLlama(t, 0)))
	_, m, err := connect.Find(t.Context(), "local", c, "")
	if err != nil || m.ID != "script.gguf" || m.ContextWindow != 32768 || m.MaxOutput != 16384 || !m.Vision || !m.Tools {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestFind_AsksOtherServersForTheirWindow(t *testing.T) {
	vllm := exchanges.Serve(t, func(r exchanges.Request) string {
		if r.Path == "/v1/models" {
			return `{"object":"list","data":[{"id":"Qwen/Qwen3","owned_by":"vllm","max_model_len":40960}]}`
		}
		return ""
	})
	studio := exchanges.Serve(t, func(r exchanges.Request) string {
		switch r.Path {
		case "/v1/models":
			return `{"data":[{"id":"embed","owned_by":"organization_owner"},{"id":"qwen/qwen3-vl","owned_by":"organization_owner"}]}`
		case "/api/v0/models/embed":
			return `{"id":"embed","type":"embeddings","max_context_length":2048}`
		case "/api/v0/models/qwen/qwen3-vl":
			return `{"id":"qwen/qwen3-vl","type":"vlm","max_context_length":131072,"loaded_context_length":16384,"capabilities":["tool_use"]}`
		}
		return ""
	})
	c, _ := config(t, place("vLLM", vllm))
	if _, m, err := connect.Find(t.Context(), "local", c, ""); err != nil || m.ContextWindow != 40960 || m.MaxOutput != 0 {
		t.Errorf("vLLM: %+v, %v", m, err)
	}
	c, _ = config(t, place("LM Studio", studio))
	if _, m, err := connect.Find(t.Context(), "local", c, ""); err != nil || m.ID != "qwen/qwen3-vl" || m.ContextWindow != 16384 || !m.Vision || !m.Tools {
		t.Errorf("LM Studio: %+v, %v", m, err)
	}
}

func TestFind_WaitsForAServerThatIsLoading(t *testing.T) {
	llama := newLlama(t, 3)
	c, said := config(t, place("llama.cpp", llama))
	c.Retry.Base = time.Millisecond
	_, m, err := connect.Find(t.Context(), "local", c, "")
	if err != nil || m.ID != "script.gguf" {
		t.Errorf("%+v, %v", m, err)
	}
	if want := []string{"llama.cpp at " + llama.URL + "/v1 is loading its model; waiting"}; !slices.Equal(*said, want) {
		t.Errorf("it said %q, want %q", *said, want)
	}
	c.BaseURL = newLlama(t, 2).URL + "/v1"
	if _, m, err = connect.Find(t.Context(), "local", c, "script.gguf"); err != nil || m.ContextWindow != 32768 {
		t.Errorf("at a base URL: %+v, %v", m, err)
	}
	c.BaseURL, c.Retry.Loading = newLlama(t, 1000).URL+"/v1", 5*time.Millisecond
	if _, _, err = connect.Find(t.Context(), "local", c, ""); err == nil {
		t.Error("a server that never finishes loading is waited for")
	}
}

func TestFind_ALoadingServerDoesNotDelayAnother(t *testing.T) {
	c, said := config(t, place("llama.cpp", newLlama(t, 1000)), place("Ollama", newOllama(t, "4096").Server))
	if srv, _, err := connect.Find(t.Context(), "local", c, "scripted-call"); err != nil || srv.Name != "Ollama" || strings.Contains(strings.Join(*said, ""), "waiting") {
		t.Errorf("%v, %v, %q", srv, err, *said)
	}
}

func TestFind_AtABaseURL(t *testing.T) {
	llama := newLlama(t, 0)
	c, _ := config(t)
	for _, base := range []string{llama.URL + "/v1", llama.URL, llama.URL + "/"} {
		c.BaseURL = base
		srv, m, err := connect.Find(t.Context(), "local", c, "")
		if err != nil || srv.BaseURL != llama.URL+"/v1" || m.ID != "script.gguf" {
			t.Errorf("%s: %v, %+v, %v", base, srv, m, err)
		}
		if srv, m, err = connect.Find(t.Context(), "local", c, "any"); err != nil || srv.BaseURL != llama.URL+"/v1" || m.ID != "any" || m.ContextWindow != 32768 {
			t.Errorf("%s with a model that is not listed: %v, %+v, %v", base, srv, m, err)
		}
	}
	c.BaseURL = exchanges.Serve(t, func(exchanges.Request) string { return "" }).URL
	if _, m, err := connect.Find(t.Context(), "local", c, "any"); err != nil || m.ID != "any" {
		t.Errorf("a server without a list: %+v, %v", m, err)
	}
	if _, _, err := connect.Find(t.Context(), "local", c, ""); err == nil {
		t.Error("a server without a list, and no model: no error")
	}
	c.Header = http.Header{"X-Gate": {"open sesame"}}
	c.BaseURL = llama.URL
	if _, _, err := connect.Find(t.Context(), "local", c, ""); err != nil {
		t.Fatal(err)
	}
	if all := llama.Requests(""); all[len(all)-1].Header.Get("X-Gate") != "open sesame" {
		t.Errorf("the header is missing in %v", all[len(all)-1])
	}
}
