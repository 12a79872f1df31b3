package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

type ask struct {
	connection
	stream    bool
	json      bool
	effort    string
	maxTokens int
	system    string
	timeout   time.Duration
}

// connection is the flags of commands that talk to a provider.
type connection struct {
	provider, model, baseURL, catalogue string
	debug                               bool
}

func (c *connection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.provider, "provider", "", "openai, anthropic, gemini, chat or local (default: the one whose key is set)")
	f.StringVar(&c.model, "model", "", "model to ask (default: the provider's default)")
	f.StringVar(&c.baseURL, "base-url", "", "the API's address, instead of the provider's own")
	f.StringVar(&c.catalogue, "catalogue", "", "a JSON file of models that are added to the built-in ones, or replace them")
	f.BoolVar(&c.debug, "debug", false, "show the HTTP traffic on standard error, without keys")
	completeWords(cmd, "provider", connect.Names()...)
	completeModels(cmd, c, "model")
}

func newAsk(h Host) *cobra.Command {
	var o ask
	cmd := &cobra.Command{
		Use:   "ask [flags] [PROMPT] [-]",
		Short: "Ask a model one question, without tools, to try a key or an endpoint",
		Example: `  reins ask "Why is the sky blue?"
  reins ask --provider anthropic --effort high --stream "Prove it."
  reins ask --provider chat --base-url http://127.0.0.1:8000/v1 --model qwen3 "Hello"
  git diff | reins ask "Review this diff."`,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := readPrompt(cmd.Context(), h, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), h, prompt)
		},
	}
	o.connection.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.stream, "stream", false, "print the answer as it arrives")
	f.BoolVar(&o.json, "json", false, "print the answer as JSON; with --stream, the events, one per line")
	f.StringVar(&o.effort, "effort", "", "reasoning effort: low, medium, high, or another level that the model takes")
	f.IntVar(&o.maxTokens, "max-tokens", 0, "maximum length of the answer in tokens (default: the model's own limit)")
	f.StringVar(&o.system, "system", "", "instructions before the prompt")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "timeout of the whole answer")
	return cmd
}

func (o ask) run(ctx context.Context, h Host, prompt string) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	k, err := o.open(ctx, h)
	if err != nil {
		return err
	}
	r := &llm.Request{Model: k.Model, MaxTokens: o.maxTokens, Effort: o.effort, Unary: !o.stream}
	if o.system != "" {
		r.Messages = append(r.Messages, llm.SystemText(o.system))
	}
	r.Messages = append(r.Messages, llm.UserText(prompt))
	return o.print(h, k.Client.Stream(ctx, r))
}

// open connects to the provider and chooses the model, as the flags and the environment say.
func (c connection) open(ctx context.Context, h Host) (coding.Connection, error) {
	conf, err := c.config(h)
	if err != nil {
		return coding.Connection{}, err
	}
	k, err := coding.Connect(ctx, c.provider, c.model, conf)
	if err == nil && k.Server != nil {
		aside(h, "using the model %s of %s at %s", show.OneLine(k.Model), show.OneLine(k.Server.Name), k.Server.BaseURL)
	}
	return k, err
}

// config says how the client is made.
func (c connection) config(h Host) (connect.Config, error) {
	catalogue, err := loadCatalogue(c.catalogue)
	conf := connect.Config{Getenv: h.Getenv, Catalogue: catalogue, BaseURL: c.baseURL}
	if c.debug {
		conf.Debug = h.Stderr
	}
	return conf, err
}

func (o ask) print(h Host, stream iter.Seq2[llm.StreamEvent, error]) error {
	out := json.NewEncoder(h.Stdout)
	out.SetEscapeHTML(false)
	for ev, err := range stream {
		if err != nil {
			return o.failed(h, out, err)
		}
		switch ev := ev.(type) {
		case llm.Retry:
			if ev.Discard && o.stream && !o.json {
				return o.failed(h, out, ev.Err) // what was printed cannot be taken back
			}
			fmt.Fprintf(h.Stderr, "reins: %s; trying again in %v\n", oneLine(ev.Err), ev.Delay.Round(time.Millisecond))
		case llm.TextDelta:
			if o.stream && !o.json {
				if _, err := io.WriteString(h.Stdout, ev.Text); err != nil {
					return err
				}
			}
		case llm.Finish:
			if !o.json {
				return o.printText(h, ev.Response)
			}
			if !o.stream {
				return out.Encode(newAnswerJSON(ev.Response, nil))
			}
		}
		if o.stream && o.json {
			if err := out.Encode(eventJSON(ev)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o ask) printText(h Host, resp *llm.Response) error {
	text := resp.Text()
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if o.stream {
		text = "\n"
	}
	if _, err := io.WriteString(h.Stdout, text); err != nil {
		return err
	}
	if resp.Finish.Reason != llm.FinishStop {
		fmt.Fprintf(h.Stderr, "reins: the model stopped because of %s (%s)\n", resp.Finish.Reason, resp.Finish.Raw)
	}
	return nil
}

func (o ask) failed(h Host, out *json.Encoder, err error) error {
	if !o.json {
		if o.stream {
			fmt.Fprintln(h.Stdout)
		}
		return err
	}
	if o.stream {
		_ = out.Encode(map[string]any{"type": "error", "error": newErrorJSON(err)})
	} else {
		_ = out.Encode(newAnswerJSON(&llm.Response{}, err))
	}
	return err
}
