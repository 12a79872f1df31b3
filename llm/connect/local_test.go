package connect_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// modelServer starts a server with models and returns its port.
func modelServer(t *testing.T, models string) int {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/v1/models":
			io.WriteString(w, models)
		case "/v1/chat/completions":
			body, _ := io.ReadAll(r.Body)
			answer := "another model"
			if strings.Contains(string(body), `"model":"first"`) {
				answer = "hello from first"
			}
			io.WriteString(w, `{"id":"1","model":"first","choices":[{"index":0,"message":{"role":"assistant","content":"`+answer+`"},"finish_reason":"stop"}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return port(srv.Listener)
}

func port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// deadPort returns a port where nothing listens.
func deadPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return port(l)
}

func TestLocal_FindsServersAndTheirModels(t *testing.T) {
	ollama := modelServer(t, `{"object":"list","data":[{"id":"first","owned_by":"library"},{"id":"second"}]}`)
	moved := modelServer(t, `{"data":[{"id":"qwen","owned_by":"vllm"}]}`)
	search := connect.Search{Places: []connect.Place{{Name: "LM Studio", Port: deadPort(t)}, {Name: "Ollama", Port: ollama}, {Name: "llama.cpp", Port: moved}}, Timeout: time.Minute}
	got, err := search.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "Ollama" || !reflect.DeepEqual(got[0].Models, []string{"first", "second"}) {
		t.Fatalf("found %+v", got)
	}
	if got[1].Name != "vLLM" {
		t.Errorf("the server at another's port: got %s, want vLLM", got[1].Name)
	}
	if !strings.HasPrefix(got[0].BaseURL, "http://127.0.0.1:") || !strings.HasSuffix(got[0].BaseURL, "/v1") {
		t.Errorf("its address is %s", got[0].BaseURL)
	}
}

func TestLocal_NoneFoundListsTriedPlaces(t *testing.T) {
	away := httptest.NewServer(http.RedirectHandler("http://192.0.2.1/v1/models", http.StatusFound))
	defer away.Close()
	search := connect.Search{Places: []connect.Place{
		{Name: "dead", Port: deadPort(t)},
		{Name: "empty", Port: modelServer(t, `{"data":[]}`)},
		{Name: "page", Port: modelServer(t, `<html>`)},
		{Name: "other", Port: modelServer(t, `{"data":[{"id":5}]}`)},
		{Name: "away", Port: port(away.Listener)},
	}}
	_, err := search.Local(t.Context())
	if llm.KindOf(err) != llm.ErrConfiguration {
		t.Fatalf("the error is %v", err)
	}
	for _, says := range []string{"dead at 127.0.0.1:", "empty at", "page at", "other at", "away at", "--base-url"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q does not say %q", err, says)
		}
	}
}

func TestLocal_AServerThatHangsDoesNotBlockTheSearch(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and does not answer
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	good := modelServer(t, `{"data":[{"id":"first"}]}`)
	search := connect.Search{Timeout: 3 * time.Second, Places: []connect.Place{{Name: "silent", Port: port(l)}, {Name: "good", Port: good}}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := search.Local(ctx)
	if err != nil || len(got) != 1 || got[0].Name != "good" {
		t.Errorf("found %+v, %v", got, err)
	}
}

func TestLocal_CancelledSearchReportsCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (connect.Search{Places: []connect.Place{{Name: "x", Port: deadPort(t)}}}).Local(ctx); llm.KindOf(err) != llm.ErrCancelled {
		t.Errorf("the error is %v", err)
	}
}

func TestOpen_LocalTalksToTheFirstServerAndModel(t *testing.T) {
	p := modelServer(t, `{"data":[{"id":"first"},{"id":"second"}]}`)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	c, err := connect.Open(t.Context(), "local", connect.Config{
		Getenv: env{}.get, HTTPClient: client, Search: connect.Search{Places: []connect.Place{{Name: "Ollama", Port: p}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Complete(t.Context(), request("local", ""))
	if err != nil || resp.Text() != "hello from first" || resp.Provider != "local" {
		t.Errorf("%+v, %v", resp, err)
	}
}
