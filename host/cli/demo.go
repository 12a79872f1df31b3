package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/llm/wire"
)

func newDemo(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show the main job offline, against a scripted model",
		Long: `Show the main job without a key and without a network: a scripted model behind a real
HTTP server on this machine answers in each of the four wire protocols.`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), h.Stdout) },
	}
}

// demoStop is a protocol to be shown.
type demoStop struct {
	title, dialect, model string
	open                  func(wire.Endpoint) llm.Provider
}

func demoStops() []demoStop {
	return []demoStop{
		{"OpenAI Responses", openai.Name, "gpt-5.2-codex", func(e wire.Endpoint) llm.Provider { return openai.New(openai.Config{Endpoint: e}) }},
		{"Anthropic Messages", anthropic.Name, "claude-opus-4-6", func(e wire.Endpoint) llm.Provider { return anthropic.New(anthropic.Config{Endpoint: e}) }},
		{"Gemini generateContent", gemini.Name, "gemini-3-pro", func(e wire.Endpoint) llm.Provider { return gemini.New(gemini.Config{Endpoint: e}) }},
		{"Chat Completions", chat.Name, "any-model", func(e wire.Endpoint) llm.Provider { return chat.New(chat.Config{Endpoint: e}) }},
	}
}

func demo(ctx context.Context, w io.Writer) error {
	fmt.Fprintln(w, "The model in this demo is scripted: it is a server on this machine that plays fixed answers.")
	fmt.Fprintln(w, "The protocols, the HTTP traffic and the client are real.")
	script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		turn := llmtest.Say("You asked: " + r.Messages[len(r.Messages)-1].Text() + "\nI am a script, and this came to you piece by piece over HTTP.")
		turn.Chunk = 8
		return turn
	}}
	server := llmtest.NewServer(script)
	defer server.Close()
	for _, stop := range demoStops() {
		if err := showStop(ctx, w, server, stop); err != nil {
			return fmt.Errorf("%s: %w", stop.title, err)
		}
	}
	return nil
}

func showStop(ctx context.Context, w io.Writer, server *llmtest.Server, stop demoStop) error {
	fmt.Fprintf(w, "\n── %s\n", stop.title)
	p := stop.open(wire.Endpoint{BaseURL: server.BaseURL(stop.dialect), APIKey: "demo"})
	client, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{p}})
	if err != nil {
		return err
	}
	r := &llm.Request{Model: stop.model, Messages: []llm.Message{llm.UserText("Who holds the reins?")}}
	events := 0
	for ev, err := range client.Stream(ctx, r) {
		if err != nil {
			return err
		}
		events++
		switch ev := ev.(type) {
		case llm.TextDelta:
			fmt.Fprint(w, ev.Text)
		case llm.Finish:
			fmt.Fprintf(w, "\n   %d events, %d tokens in, %d out\n", events, ev.Response.Usage.Input, ev.Response.Usage.Output)
		}
	}
	return nil
}
