// Package llm provides one API for the models of different providers.
//
// A [Request] holds messages made of [Part] values. The answer is a sequence of [StreamEvent] values that
// ends in one [Finish] or one error. A [Provider] makes the call. To switch models, change Request.Model; to
// switch vendors, change Request.Provider as well.
//
// A [Client] routes requests to named providers through middleware such as [RetryPolicy]. The adapters are
// the packages openai, anthropic, gemini and chat; wire contains their shared code. Package connect creates
// clients from the environment.
//
// # Provider state
//
// Some data must be returned to its provider unchanged in the next request: thinking signatures, encrypted
// reasoning, thought signatures of tool calls. It is stored as [State], raw bytes tagged with the dialect and
// model that made them. Only the adapter of that dialect reads it. For other models, the part is sent without
// it or dropped.
//
// # Append-only requests
//
// Prompt caches match prefixes. Adapters therefore encode requests append-only: if the model, tools and system prompt
// do not change and the history only grows, each request begins with the same bytes as the previous one, up to where
// its messages ended. With a [Cache] in the request, a message is encoded only once.
package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// ClientConfig configures a client.
type ClientConfig struct {
	Providers  []Provider
	Default    string       // provider for requests that name none; a single provider is the default
	Middleware []Middleware // wraps every call; the first is outermost
}

// Client routes requests to providers. It is safe for concurrent use.
type Client struct {
	providers map[string]Provider
	names     []string
	standard  string
	call      StreamFunc
}

// NewClient checks the configuration and returns a client.
func NewClient(c ClientConfig) (*Client, error) {
	cl := &Client{providers: make(map[string]Provider), standard: c.Default}
	var problems []error
	for _, p := range c.Providers {
		name := p.Name()
		if name == "" {
			problems = append(problems, errors.New("a provider has no name"))
		} else if _, dup := cl.providers[name]; dup {
			problems = append(problems, fmt.Errorf("two providers are named %q", name))
		}
		cl.providers[name] = p
		cl.names = append(cl.names, name)
	}
	if c.Default == "" && len(cl.names) == 1 {
		cl.standard = cl.names[0]
	}
	if _, ok := cl.providers[c.Default]; c.Default != "" && !ok {
		problems = append(problems, fmt.Errorf("unknown default provider %q", c.Default))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, &Error{Kind: ErrConfiguration, Message: err.Error(), Err: err}
	}
	cl.call = cl.route
	for _, m := range slices.Backward(c.Middleware) {
		cl.call = m(cl.call)
	}
	return cl, nil
}

// Providers returns the provider names in the configured order.
func (c *Client) Providers() []string { return slices.Clone(c.names) }

// Stream makes a call and yields its events. The last is a Finish or an error.
func (c *Client) Stream(ctx context.Context, r *Request) iter.Seq2[StreamEvent, error] {
	return c.call(ctx, r)
}

// Complete makes a call and returns the whole answer.
func (c *Client) Complete(ctx context.Context, r *Request) (*Response, error) {
	return Collect(c.Stream(ctx, r))
}

// Shape implements [Shaper]. It returns the provider's shape, or "" if the provider is not a Shaper.
func (c *Client) Shape(r *Request) string {
	p, _ := c.provider(r.Provider)
	if s, ok := p.(Shaper); ok {
		return s.Shape(r)
	}
	return ""
}

func (c *Client) route(ctx context.Context, r *Request) iter.Seq2[StreamEvent, error] {
	p, err := c.provider(r.Provider)
	if err != nil {
		return fail(err)
	}
	return guard(p.Name(), p.Stream(ctx, r))
}

func (c *Client) provider(name string) (Provider, error) {
	if name == "" {
		name = c.standard
	}
	if p, ok := c.providers[name]; ok {
		return p, nil
	}
	have := strings.Join(c.names, ", ")
	switch {
	case len(c.names) == 0:
		return nil, Errorf(ErrConfiguration, "", "no provider is configured")
	case name == "":
		return nil, Errorf(ErrConfiguration, "", "the request names no provider and there is no default; use one of: %s", have)
	}
	return nil, Errorf(ErrConfiguration, "", "unknown provider %q; use one of: %s", name, have)
}

// guard enforces the provider contract: the last event is a Finish or an error.
func guard(name string, stream iter.Seq2[StreamEvent, error]) iter.Seq2[StreamEvent, error] {
	return func(yield func(StreamEvent, error) bool) {
		for ev, err := range stream {
			if err != nil {
				yield(nil, err)
				return
			}
			if f, ok := ev.(Finish); ok {
				if f.Response == nil {
					break
				}
				if f.Response.Provider == "" {
					f.Response.Provider = name
				}
				yield(ev, nil)
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
		yield(nil, Errorf(ErrIncomplete, name, "the stream ended without a finish event"))
	}
}

func fail(err error) iter.Seq2[StreamEvent, error] {
	return func(yield func(StreamEvent, error) bool) { yield(nil, err) }
}
