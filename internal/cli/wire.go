package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/bedrock"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
)

const protocolNames = "openai-responses, openai-chat, anthropic, gemini or bedrock-converse"

func dialect(name string) (wire.Dialect, error) {
	switch name {
	case openai.Name:
		return openai.NewDialect(openai.Config{}), nil
	case chat.Name:
		return chat.NewDialect(chat.Config{}), nil
	case anthropic.Name:
		return anthropic.NewDialect(anthropic.Config{}), nil
	case gemini.Name:
		return gemini.NewDialect(gemini.Config{}), nil
	case bedrock.Name:
		return bedrock.NewDialect(bedrock.Config{}), nil
	case "":
		return nil, usagef("--protocol is required: use %s", protocolNames)
	}
	return nil, usagef("unknown protocol %q: use %s", name, protocolNames)
}

func newWire(h Host) *cobra.Command {
	return group(&cobra.Command{
		Use:   "wire",
		Short: "Decode and encode provider traffic",
		Long: `Decode and encode provider traffic, to debug it. All commands read standard
input and print JSON. The unified form is the one that Reins uses for all
providers.`,
		Example: `  reins wire decode --protocol anthropic --stream < answer.sse
  reins wire parse --protocol gemini < request.json > unified.json
  reins wire encode --protocol openai-responses < unified.json`,
	}, newWireDecode(h), newWireParse(h), newWireEncode(h))
}

func protocolFlag(cmd *cobra.Command, protocol *string) {
	cmd.Flags().StringVar(protocol, "protocol", "", protocolNames)
	completeWords(cmd, "protocol", openai.Name, chat.Name, anthropic.Name, gemini.Name, bedrock.Name)
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
		Use:   "decode --protocol NAME [flags] < response",
		Short: "Decode a provider's response",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE:  func(*cobra.Command, []string) error { return o.run(h) },
	}
	f := cmd.Flags()
	protocolFlag(cmd, &o.protocol)
	f.BoolVar(&o.stream, "stream", false, "read a stream of server-sent events")
	f.BoolVar(&o.events, "events", false, "print unified stream events, one per line")
	f.IntVar(&o.status, "status", http.StatusOK, "HTTP status of the response")
	f.StringArrayVar(&o.header, "header", nil, "response header as `NAME=VALUE`; can be repeated")
	f.IntVar(&o.limit, "max-bytes", 64<<20, "maximum size in bytes of an event, or of a whole response")
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
			return usagef("invalid --header %q: use NAME=VALUE", kv)
		}
		header.Add(k, v)
	}
	var printing error
	a := wire.NewAssembler(d.Name(), "", func(ev llm.StreamEvent) bool {
		if o.events {
			printing = printJSON(h.Stdout, eventJSON(ev))
		}
		return printing == nil
	})
	err = wire.Read(d, wire.Answer{
		Status: o.status,
		Header: header,
		Body:   h.Stdin,
		Stream: o.stream,
		Limits: llm.Limits{MaxEvent: o.limit},
	}, a)
	if printing != nil {
		return printing
	}
	if o.events {
		if err != nil {
			_ = printJSON(h.Stdout, map[string]any{"type": "error", "error": newErrorJSON(err)})
		}
	} else if perr := printJSON(h.Stdout, newAnswerJSON(a.Partial(), err)); perr != nil {
		return perr
	}
	return failIf(err != nil)
}

func newWireParse(h Host) *cobra.Command {
	var protocol string
	cmd := &cobra.Command{
		Use:   "parse --protocol NAME [flags] < request.json",
		Short: "Convert a provider's request to the unified form",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			d, err := dialect(protocol)
			if err != nil {
				return err
			}
			body, err := io.ReadAll(h.Stdin)
			if err != nil {
				return err
			}
			r, dropped, err := requests.Parse(d, body)
			if err != nil {
				return fmt.Errorf("invalid %s request: %w", protocol, err)
			}
			for _, path := range dropped {
				fmt.Fprintf(h.Stderr, "dropped: %s\n", show.OneLine(path))
			}
			return printJSON(h.Stdout, r)
		},
	}
	protocolFlag(cmd, &protocol)
	return cmd
}

func newWireEncode(h Host) *cobra.Command {
	var protocol string
	cmd := &cobra.Command{
		Use:   "encode --protocol NAME [flags] < unified.json",
		Short: "Convert a unified request to a provider's form",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			d, err := dialect(protocol)
			if err != nil {
				return err
			}
			var r llm.Request
			dec := json.NewDecoder(h.Stdin)
			dec.DisallowUnknownFields()
			if err := dec.Decode(&r); err != nil {
				return fmt.Errorf("invalid unified request: %w", err)
			}
			call, err := d.Encode(&r)
			if err != nil {
				return err
			}
			body := call.Body.Bytes()
			if isTerminal(h.Stdout) {
				body = show.EscapeJSON(body)
			}
			_, err = h.Stdout.Write(append(body, '\n'))
			return err
		},
	}
	protocolFlag(cmd, &protocol)
	return cmd
}
