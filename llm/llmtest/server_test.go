package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/openai"
)

func TestServer_BaseURLAcceptsDialectsAndProvidersOnly(t *testing.T) {
	srv := NewServer(Play())
	defer srv.Close()
	for name, path := range map[string]string{
		"openai-responses": "/v1", "openai": "/v1", "openai-chat": "/v1", "chat": "/v1", "anthropic": "", "gemini": "",
		"bedrock-converse": "", "bedrock": "", "vertex": "",
	} {
		if got := srv.BaseURL(name); !strings.HasPrefix(got, "http://127.0.0.1:") || got != srv.url+path {
			t.Errorf("BaseURL(%q) is %s, want the server's URL with the path %q", name, got, path)
		}
	}
	for _, name := range []string{"bogus", "", "openai-"} {
		func() {
			defer func() {
				want := fmt.Sprintf("llmtest: Server.BaseURL: unknown dialect %q; use one of openai-responses, openai-chat, anthropic, gemini, bedrock-converse", name)
				if got := recover(); got != want {
					t.Errorf("BaseURL(%q) panics with %v, want %s", name, got, want)
				}
			}()
			t.Errorf("BaseURL(%q) returns %s, want a panic", name, srv.BaseURL(name))
		}()
	}
	if err := Validate("bogus", nil); err == nil || err.Error() != `unknown dialect "bogus"` {
		t.Errorf("Validate of an unknown dialect: got error %v", err)
	}
}

func post(t *testing.T, url, key, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func TestServer_RefusesBadKeysPathsAndRequests(t *testing.T) {
	srv := StartServer(ServerConfig{Script: Play(Say("ok")), Key: "right"})
	defer srv.Close()
	const valid = `{"model":"m","input":"hi"}`
	for _, c := range []struct {
		path, key, body string
		want            int
	}{
		{"/responses", "", valid, 401},
		{"/responses", "wrong", valid, 401},
		{"/nowhere", "right", valid, 404},
		{"/responses", "right", `{"model":"m"}`, 400},
		{"/responses", "right", valid, 200},
		{"/responses", "right", valid, 400}, // the script has one turn
	} {
		if got := post(t, srv.BaseURL("openai")+c.path, c.key, c.body); got != c.want {
			t.Errorf("POST %s with key %q and %s: got status %d, want %d", c.path, c.key, c.body, got, c.want)
		}
	}
	if v := srv.Violations(); len(v) != 2 || !strings.Contains(v[0].Error(), "'input'") || !strings.Contains(v[1].Error(), "1 turns") {
		t.Errorf("got violations %v, want a missing input and a missing turn", v)
	}
	if n := len(srv.Bodies()); n != 5 {
		t.Errorf("got %d bodies, want 5", n)
	}
}

func TestServer_CloseEndsStalledAnswers(t *testing.T) {
	arrived, asked := make(chan bool, 1), make(chan error, 1)
	srv := NewServer(&Script{Reply: func(int, *llm.Request) Turn {
		arrived <- true
		return Turn{Fault: Fault{StallAtOnce: true}}
	}})
	p := openai.New(openai.Config{Endpoint: llm.Endpoint{BaseURL: srv.BaseURL("openai"), APIKey: "k", HTTPClient: &http.Client{Transport: &http.Transport{}}}})
	go func() {
		_, err := llm.Collect(p.Stream(context.Background(), &llm.Request{Model: "m", Messages: []llm.Message{llm.UserText("hi")}}))
		asked <- err
	}()
	select {
	case <-arrived:
	case err := <-asked:
		t.Fatalf("the call ended early: %v", err)
	}
	srv.Close()
	if err := <-asked; err == nil {
		t.Error("the call succeeded, want an error")
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(srv.url, "http://")); err == nil {
		t.Error("the server still accepts connections")
	}
}

// TestProtocols_WholeAnswersEqualStreams decodes a reply in both forms of each protocol.
func TestProtocols_WholeAnswersEqualStreams(t *testing.T) {
	for _, p := range protocols() {
		d := p.dialect()
		rep := reply{ID: "1", Model: "gemini-3", Chunk: 3, Finish: llm.FinishToolCalls, Request: &llm.Request{}, Usage: llm.Usage{Input: 10, Output: 5, CacheRead: 4}, Parts: []llm.Part{
			llm.Thinking{Text: "Considering.", State: llm.State{Dialect: d.Name(), Data: []byte("c2ln")}},
			llm.Text{Text: "Hello, wörld."},
			llm.ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}`},
			llm.ToolCall{ID: "b", Name: "g", Arguments: `{}`},
		}}
		whole, streamed := wire.NewAssembler(d.Name(), "m", nil), wire.NewAssembler(d.Name(), "m", nil)
		err := errors.Join(
			d.Decode(p.unary(rep), whole),
			wire.Read(d, wire.Answer{Status: 200, Body: bytes.NewReader(bytes.Join(p.stream(rep), nil)), Stream: true}, streamed),
		)
		if err != nil {
			t.Errorf("%s: %v", d.Name(), err)
			continue
		}
		for _, r := range []*llm.Response{whole.Response(), streamed.Response()} {
			calls, _ := json.Marshal(r.ToolCalls())
			if r.Text() != "Hello, wörld." || r.Thinking() != "Considering." || len(r.ToolCalls()) != 2 || r.ToolCalls()[0].Arguments != `{"x":1}` ||
				r.Finish.Reason != llm.FinishToolCalls || r.Usage.Input != 10 || r.Usage.Output != 5 || r.Usage.CacheRead != 4 {
				t.Errorf("%s: got %q, %q, %s, %+v, %+v; want the scripted reply", d.Name(), r.Text(), r.Thinking(), calls, r.Finish, r.Usage)
			}
			if th, ok := r.Message.Parts[0].(llm.Thinking); !ok || !strings.Contains(string(th.State.Data), "c2ln") {
				t.Errorf("%s: the signature is lost: %+v", d.Name(), r.Message.Parts[0])
			}
		}
	}
}
