package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// ClientConfig says what a client is made of.
type ClientConfig struct {
	Providers []Provider
	// Default is the provider for requests that name none. With one provider only, that one is
	// the default.
	Default string
	// Middleware wraps every call; the first is outermost.
	Middleware []Middleware
}

// Client routes requests to providers. It is safe for concurrent use.
type Client struct {
	providers map[string]Provider
	names     []string
	standard  string
	call      StreamFunc
}

// NewClient checks the configuration and makes a client.
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
		problems = append(problems, fmt.Errorf("the default provider %q is not among the providers", c.Default))
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

// Providers lists the names of the providers in the order they were given.
func (c *Client) Providers() []string { return slices.Clone(c.names) }

// Stream makes a call and yields its events: exactly one Finish, as the last, or one error.
func (c *Client) Stream(ctx context.Context, r *Request) iter.Seq2[StreamEvent, error] {
	return c.call(ctx, r)
}

// Complete makes a call and returns the whole answer.
func (c *Client) Complete(ctx context.Context, r *Request) (*Response, error) {
	return Collect(c.Stream(ctx, r))
}

// Shape is what the provider's Shape tells; it makes the Client a Shaper.
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
		return nil, Errorf(ErrConfiguration, "", "the request names no provider and there is no default; there are: %s", have)
	}
	return nil, Errorf(ErrConfiguration, "", "there is no provider %q; there are: %s", name, have)
}

// guard holds a provider to its contract: one Finish and nothing after it, or an error.
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
