package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/llm/wire"
)

// dialects are the wire protocols in the order they are shown.
func dialects() []wire.Dialect {
	return []wire.Dialect{openai.NewDialect(openai.Config{}), chat.NewDialect(chat.Quirks{}), anthropic.NewDialect(anthropic.Config{}), gemini.NewDialect(gemini.Config{})}
}

func dialect(name string) (wire.Dialect, error) {
	var names []string
	for _, d := range dialects() {
		if d.Name() == name {
			return d, nil
		}
		names = append(names, d.Name())
	}
	if name == "" {
		return nil, usagef("--protocol is missing; it is one of %s", strings.Join(names, ", "))
	}
	return nil, usagef("there is no protocol %q; it is one of %s", name, strings.Join(names, ", "))
}

func newWire(h Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wire",
		Short: "Look inside a provider's traffic: decode answers, parse and encode requests",
		Long: `Look inside a provider's traffic. All commands read standard input and print JSON.

  reins wire decode --protocol anthropic --stream < answer.sse
  reins wire parse  --protocol gemini < request.json > unified.json
  reins wire encode --protocol openai-responses < unified.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newWireDecode(h), newWireParse(h), newWireEncode(h))
	return cmd
}

type wireDecode struct {
	protocol string
	stream   bool
	events   bool
	status   int
	header   []string
	limit    int
}

func newWireDecode(h Host) *cobra.Command {
	var o wireDecode
	cmd := &cobra.Command{
		Use:   "decode --protocol P < body",
		Short: "Decode a provider's answer",
		Args:  exactArgs(0, "no arguments"),
		RunE:  func(*cobra.Command, []string) error { return o.run(h) },
	}
	f := cmd.Flags()
	f.StringVar(&o.protocol, "protocol", "", "openai-responses, openai-chat, anthropic or gemini")
	f.BoolVar(&o.stream, "stream", false, "the body is a stream of server-sent events")
	f.BoolVar(&o.events, "events", false, "print the unified stream events, one per line")
	f.IntVar(&o.status, "status", http.StatusOK, "the HTTP status of the answer")
	f.StringArrayVar(&o.header, "header", nil, "a header of the answer, as Name=value (repeatable)")
	f.IntVar(&o.limit, "max-bytes", 64<<20, "the largest event, or whole answer, that is accepted")
	return cmd
}

func (o wireDecode) run(h Host) error {
	d, err := dialect(o.protocol)
	if err != nil {
		return err
	}
	header := http.Header{}
	for _, kv := range o.header {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return usagef("--header %q is not of the form Name=value", kv)
		}
		header.Add(k, v)
	}
	out := json.NewEncoder(h.Stdout)
	out.SetEscapeHTML(false)
	var printing error
	a := wire.NewAssembler(d.Name(), "", func(ev llm.StreamEvent) bool {
		if o.events {
			printing = out.Encode(eventJSON(ev))
		}
		return printing == nil
	})
	err = wire.Read(d, wire.Answer{
		Status: o.status, Header: header, Body: h.Stdin, Stream: o.stream, Limits: wire.Limits{MaxEvent: o.limit},
	}, a)
	if printing != nil {
		return printing
	}
	if o.events {
		if err != nil {
			_ = out.Encode(map[string]any{"type": "error", "error": newErrorJSON(err)})
		}
	} else if perr := out.Encode(newAnswerJSON(a.Partial(), err)); perr != nil {
		return perr
	}
	if err != nil {
		return quietError{exitFailed}
	}
	return nil
}

func newWireParse(h Host) *cobra.Command {
	var protocol string
	cmd := &cobra.Command{
		Use:   "parse --protocol P < provider-request.json",
		Short: "Read a provider's request as a unified one",
		Args:  exactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			d, err := dialect(protocol)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(h.Stdin)
			if err != nil {
				return err
			}
			p, ok := d.(wire.Parser)
			if !ok {
				return usagef("requests of protocol %q cannot be parsed", protocol)
			}
			r, dropped, err := p.Parse(body)
			if err != nil {
				return fmt.Errorf("the request is not readable: %w", err)
			}
			for _, path := range dropped {
				fmt.Fprintf(h.Stderr, "dropped: %s\n", path)
			}
			out := json.NewEncoder(h.Stdout)
			out.SetEscapeHTML(false)
			return out.Encode(r)
		},
	}
	cmd.Flags().StringVar(&protocol, "protocol", "", "openai-responses, openai-chat, anthropic or gemini")
	return cmd
}

func newWireEncode(h Host) *cobra.Command {
	var protocol string
	cmd := &cobra.Command{
		Use:   "encode --protocol P < unified-request.json",
		Short: "Write a unified request in a provider's form",
		Args:  exactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			d, err := dialect(protocol)
			if err != nil {
				return err
			}
			var r llm.Request
			dec := json.NewDecoder(h.Stdin)
			dec.DisallowUnknownFields()
			if err := dec.Decode(&r); err != nil {
				return fmt.Errorf("the unified request is not readable: %w", err)
			}
			call, err := d.Encode(&r)
			if err != nil {
				return err
			}
			_, err = h.Stdout.Write(append(call.Body.Bytes(), '\n'))
			return err
		},
	}
	cmd.Flags().StringVar(&protocol, "protocol", "", "openai-responses, openai-chat, anthropic or gemini")
	return cmd
}
