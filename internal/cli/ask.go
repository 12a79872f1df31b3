package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/llm"
)

type askCommand struct {
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
	var o askCommand
	cmd := &cobra.Command{
		Use:   "ask [flags] [PROMPT] [-]",
		Short: "Send one prompt to a model, without tools",
		Long: `Send one prompt to a model and print its answer. There are no tools, and no
session is saved. Use it to test a key or an endpoint. Piped input is added to
the prompt.`,
		Example: `  reins ask "Why is the sky blue?"
  reins ask --provider anthropic --effort high --stream "Prove it."
  reins ask --provider chat --base-url http://127.0.0.1:8000/v1 "Hello"
  git diff | reins ask "Review this diff."`,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := readPrompt(cmd.Context(), h, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), h, flagHidden(h, prompt))
		},
	}
	o.connection.flags(h, cmd)
	f := cmd.Flags()
	f.BoolVar(&o.stream, "stream", false, "print the answer as it arrives")
	f.BoolVar(&o.json, "json", false, "print the answer as JSON; with --stream, print events, one per line")
	f.StringVar(&o.effort, "effort", "", effortHelp)
	completeEfforts(h, cmd, &o.connection)
	f.IntVar(&o.maxTokens, "max-tokens", 0, "maximum length of the answer in tokens (default: the model's limit)")
	f.StringVar(&o.system, "system", "", "system prompt")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "timeout for the whole answer")
	return cmd
}

func (o askCommand) run(ctx context.Context, h Host, prompt string) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	options, err := o.options(h, ".")
	if err != nil {
		return err
	}
	p, err := loadProject(options)
	if err != nil {
		return err
	}
	k, err := p.Connect(ctx)
	if err != nil {
		return err
	}
	r := &llm.Request{Model: k.Model, MaxTokens: o.maxTokens, Effort: p.Settings.Effort, Unary: !o.stream}
	if o.system != "" {
		r.Messages = append(r.Messages, llm.SystemText(o.system))
	}
	r.Messages = append(r.Messages, llm.UserText(prompt))
	return o.print(h, k.Client.Stream(ctx, r))
}

func (o askCommand) print(h Host, stream iter.Seq2[llm.StreamEvent, error]) error {
	out := screen(h.Stdout)
	for ev, err := range stream {
		if err != nil {
			return o.failed(h, err)
		}
		switch ev := ev.(type) {
		case llm.Retry:
			if ev.Discard && o.stream && !o.json {
				return o.failed(h, ev.Err) // printed text cannot be withdrawn
			}
			if announces(llm.KindOf(ev.Err) == llm.ErrLoading, ev.Attempt) {
				notef(h, "%s; retrying in %v", oneLine(ev.Err), ev.Delay.Round(time.Millisecond))
			}
		case llm.TextDelta:
			if o.stream && !o.json {
				if _, err := io.WriteString(out, ev.Text); err != nil {
					return err
				}
			}
		case llm.Finish:
			if !o.json {
				return o.printText(h, out, ev.Response)
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

func (o askCommand) printText(h Host, out io.Writer, resp *llm.Response) error {
	text := resp.Text()
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if o.stream {
		text = "\n"
	}
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if resp.Finish.Reason != llm.FinishStop {
		notef(h, "the model stopped early: %s (%s)", resp.Finish.Reason, resp.Finish.Raw)
	}
	return nil
}

func (o askCommand) failed(h Host, err error) error {
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

// answerJSON is a model's answer as JSON. Its keys are documented and stable.
type answerJSON struct {
	Outcome   string         `json:"outcome"` // "ok" or "error"
	ID        string         `json:"id"`
	Model     string         `json:"model"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	ToolCalls []toolCallJSON `json:"tool_calls"`
	Finish    finishJSON     `json:"finish"`
	Usage     usageJSON      `json:"usage"`
	Error     *errorJSON     `json:"error"`
}

type toolCallJSON struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Arguments    json.RawMessage `json:"arguments"` // null if invalid
	RawArguments string          `json:"raw_arguments"`
}

type finishJSON struct {
	Reason llm.FinishReason `json:"reason"`
	Raw    string           `json:"raw"`
	Detail string           `json:"detail,omitempty"`
}

type usageJSON struct {
	Input      int64           `json:"input_tokens"`
	Output     int64           `json:"output_tokens"`
	Reasoning  int64           `json:"reasoning_tokens"`
	CacheRead  int64           `json:"cache_read_tokens"`
	CacheWrite int64           `json:"cache_write_tokens"`
	Raw        json.RawMessage `json:"raw"`
}

type errorJSON struct {
	Kind         llm.ErrorKind `json:"kind"`
	Status       int           `json:"status"`
	Code         string        `json:"code"`
	Message      string        `json:"message"`
	Retryable    bool          `json:"retryable"`
	RetryAfterMS int64         `json:"retry_after_ms"`
}

func newAnswerJSON(resp *llm.Response, err error) answerJSON {
	a := answerJSON{
		Outcome:   "ok",
		ID:        resp.ID,
		Model:     resp.Model,
		Text:      resp.Text(),
		Thinking:  resp.Thinking(),
		ToolCalls: []toolCallJSON{},
		Finish:    finishJSON(resp.Finish),
		Usage: usageJSON{resp.Usage.Input, resp.Usage.Output, resp.Usage.Reasoning,
			resp.Usage.CacheRead, resp.Usage.CacheWrite, resp.Usage.Raw},
	}
	for _, c := range resp.ToolCalls() {
		a.ToolCalls = append(a.ToolCalls, newToolCallJSON(c))
	}
	if err != nil {
		a.Outcome = "error"
		a.Error = newErrorJSON(err)
	}
	return a
}

func newToolCallJSON(c llm.ToolCall) toolCallJSON {
	j := toolCallJSON{ID: c.ID, Name: c.Name, RawArguments: c.Arguments}
	switch {
	case c.Arguments == "":
		j.Arguments = json.RawMessage("{}")
	case json.Valid([]byte(c.Arguments)):
		j.Arguments = json.RawMessage(c.Arguments)
	}
	return j
}

func newErrorJSON(err error) *errorJSON {
	var e *llm.Error
	if !errors.As(err, &e) {
		return &errorJSON{Kind: llm.ErrUnknown, Message: err.Error()}
	}
	return &errorJSON{e.Kind, e.Status, e.Code, e.Message, e.Retryable(), e.RetryAfter.Milliseconds()}
}

// eventJSON returns a stream event for printing as JSON.
func eventJSON(ev llm.StreamEvent) any {
	type object = map[string]any
	switch ev := ev.(type) {
	case llm.Start:
		return object{"type": "start", "id": ev.ID, "model": ev.Model}
	case llm.TextStart:
		return object{"type": "text_start", "index": ev.Index}
	case llm.TextDelta:
		return object{"type": "text_delta", "index": ev.Index, "text": ev.Text}
	case llm.TextEnd:
		return object{"type": "text_end", "index": ev.Index, "text": ev.Text.Text}
	case llm.ThinkingStart:
		return object{"type": "thinking_start", "index": ev.Index}
	case llm.ThinkingDelta:
		return object{"type": "thinking_delta", "index": ev.Index, "text": ev.Text}
	case llm.ThinkingEnd:
		return object{"type": "thinking_end", "index": ev.Index, "text": ev.Thinking.Text}
	case llm.ToolCallStart:
		return object{"type": "tool_call_start", "index": ev.Index, "id": ev.ID, "name": ev.Name}
	case llm.ToolCallDelta:
		return object{"type": "tool_call_delta", "index": ev.Index, "arguments": ev.Arguments}
	case llm.ToolCallEnd:
		return object{"type": "tool_call_end", "index": ev.Index, "tool_call": newToolCallJSON(ev.Call)}
	case llm.PartDone:
		part, _ := llm.MarshalPart(ev.Part)
		return object{"type": "part", "index": ev.Index, "part": json.RawMessage(part)}
	case llm.Raw:
		return object{"type": "raw", "event": ev.Type, "data": string(ev.Data)}
	case llm.Retry:
		return object{
			"type":     "retry",
			"attempt":  ev.Attempt,
			"max":      ev.Max,
			"delay_ms": ev.Delay.Milliseconds(),
			"discard":  ev.Discard,
			"error":    newErrorJSON(ev.Err),
		}
	case llm.Finish:
		return object{"type": "finish", "response": newAnswerJSON(ev.Response, nil)}
	}
	return object{"type": "unknown"}
}
