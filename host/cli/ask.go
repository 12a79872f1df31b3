package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/llm"
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

// effortHelp describes the --effort flag of all commands.
const effortHelp = "reasoning effort: low, medium, high, or another level that the model supports"

func newAsk(h Host) *cobra.Command {
	var o ask
	cmd := &cobra.Command{
		Use:   "ask [flags] [PROMPT] [-]",
		Short: "Send one prompt to a model, without tools",
		Long: `Send one prompt to a model and print its answer. There are no tools, and no
session is saved. Use it to test a key or an endpoint. Piped input is added to
the prompt.`,
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
	f.BoolVar(&o.json, "json", false, "print the answer as JSON; with --stream, print events, one per line")
	f.StringVar(&o.effort, "effort", "", effortHelp)
	f.IntVar(&o.maxTokens, "max-tokens", 0, "maximum length of the answer in tokens (default: the model's limit)")
	f.StringVar(&o.system, "system", "", "system prompt")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "timeout for the whole answer")
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

func (o ask) print(h Host, stream iter.Seq2[llm.StreamEvent, error]) error {
	for ev, err := range stream {
		if err != nil {
			return o.failed(h, err)
		}
		switch ev := ev.(type) {
		case llm.Retry:
			if ev.Discard && o.stream && !o.json {
				return o.failed(h, ev.Err) // printed text cannot be withdrawn
			}
			notef(h, "%s; retrying in %v", oneLine(ev.Err), ev.Delay.Round(time.Millisecond))
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
				return printJSON(h.Stdout, newAnswerJSON(ev.Response, nil))
			}
		}
		if o.stream && o.json {
			if err := printJSON(h.Stdout, eventJSON(ev)); err != nil {
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
		notef(h, "the model stopped early: %s (%s)", resp.Finish.Reason, resp.Finish.Raw)
	}
	return nil
}

func (o ask) failed(h Host, err error) error {
	if !o.json {
		if o.stream {
			fmt.Fprintln(h.Stdout)
		}
		return err
	}
	if o.stream {
		_ = printJSON(h.Stdout, map[string]any{"type": "error", "error": newErrorJSON(err)})
	} else {
		_ = printJSON(h.Stdout, newAnswerJSON(&llm.Response{}, err))
	}
	return err
}
