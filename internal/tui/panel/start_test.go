package panel

import (
	"context"
	"errors"
	"testing"

	"github.com/reins-agent/reins/llm/connect"
)

func TestStart_OffersProvidersAndLocalServers(t *testing.T) {
	t.Parallel()
	l := newLoop(t)
	answer := make(chan []connect.Server)
	used := ""
	o := l.options(nil)
	p := NewStart(Start{
		Problem: "no provider has a key",
		Providers: []connect.Status{
			{Name: "openai", Keys: []string{"OPENAI_API_KEY"}},
			{Name: "anthropic", Keys: []string{"ANTHROPIC_API_KEY", "OTHER_KEY"}, BaseURL: "https://api.example"},
			{Name: "gemini", Keys: []string{"GEMINI_API_KEY"}, Ready: true, From: "GEMINI_API_KEY"},
			{Name: "vertex"},
		},
		Local: func(context.Context) ([]connect.Server, error) { return <-answer, errors.New("none") },
		Use: func(provider, model string) Outcome {
			used = provider + "/" + model
			return Outcome{Handled: true, Close: true}
		},
	}, o).(*start)
	has(t, everywhere(t, p), "Welcome to Reins", "no provider has a key", "› gemini", "ready: GEMINI_API_KEY",
		"set OPENAI_API_KEY", "reins login chatgpt", "reins demo", "loading…")
	answer <- []connect.Server{
		{Name: "Ollama", BaseURL: "http://127.0.0.1:11434/v1", Models: []string{"qwen " + hostile}},
		{Name: "vLLM", Loading: true},
	}
	l.until("the servers are found", func() bool { return p.loading == 0 })
	has(t, everywhere(t, p), "qwen 日本語", "on this machine: Ollama", "loads its model")

	press(t, p, "'qwen")
	if out := press(t, p, "enter"); !out.Close || used != "local/qwen "+hostile {
		t.Errorf("enter: %+v, uses %q", out, used)
	}
	for range "qwen" {
		press(t, p, "backspace")
	}
	press(t, p, "'anthropic")
	out := press(t, p, "enter")
	has(t, everywhere(t, out.Open), "export ANTHROPIC_API_KEY=…", "OTHER_KEY", "https://api.example", "reins providers test anthropic")
	if out := press(t, p, "esc"); !out.Close {
		t.Errorf("esc: %+v", out)
	}
}
