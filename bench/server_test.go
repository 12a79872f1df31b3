package main

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

func TestServer_AsksForAllRoundsThenEndsInEveryProtocol(t *testing.T) {
	for _, provider := range []string{"openai", "anthropic", "gemini"} {
		t.Run(provider, func(t *testing.T) {
			s, err := newServer()
			if err != nil {
				t.Fatal(err)
			}
			defer s.http.Close()
			lastSeen := false
			s.play(script{2, "shell", object("command")}, func() { lastSeen = true })
			client, err := connect.Open(t.Context(), provider, connect.Config{Getenv: func(string) string { return "key" }, BaseURL: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			r := &llm.Request{Model: "bench", Messages: []llm.Message{llm.UserText(prompt)}}
			r.Tools = []llm.ToolDef{{Name: "shell", Parameters: []byte(`{"type":"object","properties":{"command":{"type":"string"}}}`)}}
			var got []string
			for range 3 {
				for ev, err := range client.Stream(t.Context(), r) {
					if err != nil {
						t.Fatal(err)
					}
					if f, ok := ev.(llm.Finish); ok {
						got = append(got, f.Response.Text())
						for _, c := range f.Response.ToolCalls() {
							got = append(got, c.Name+c.Arguments)
						}
					}
				}
			}
			want := `|shell{"command":"echo round-1"}||shell{"command":"echo round-2"}|All rounds are done.`
			if joined := strings.Join(got, "|"); joined != want {
				t.Errorf("got answers\n%s\nwant\n%s", joined, want)
			}
			calls := s.taken()
			if len(calls) != 3 || !lastSeen {
				t.Fatalf("got %d calls, the last one reported: %v; want 3, true", len(calls), lastSeen)
			}
			for i, c := range calls {
				if c.size == 0 || c.answered.Before(c.arrived) || i > 0 && c.arrived.Before(calls[i-1].answered) {
					t.Errorf("call %d: got %+v, want a size and times in order", i, c)
				}
			}
		})
	}
}

func TestServer_CallsWithoutToolsAreNotRounds(t *testing.T) {
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	defer s.http.Close()
	s.play(script{1, "shell", object("command")}, nil)
	client, err := connect.Open(t.Context(), "openai", connect.Config{Getenv: func(string) string { return "key" }, BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range client.Stream(t.Context(), &llm.Request{Model: "bench", Messages: []llm.Message{llm.UserText("A title, please.")}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.taken()); n != 0 {
		t.Errorf("got %d rounds, want none", n)
	}
}
