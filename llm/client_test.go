package llm_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestClient_RoutesByProviderName(t *testing.T) {
	a, b := newFake("a", answer("from a")), newFake("b", answer("from b"))
	tests := []struct {
		name, standard, provider, want string
	}{
		{"named", "", "b", "from b"},
		{"default", "a", "", "from a"},
		{"named wins over default", "a", "b", "from b"},
	}
	for _, tt := range tests {
		c := newClient(t, llm.ClientConfig{Providers: []llm.Provider{a, b}, Default: tt.standard})
		resp, err := c.Complete(t.Context(), &llm.Request{Provider: tt.provider})
		if err != nil || resp.Text() != tt.want {
			t.Errorf("%s: %v, %v", tt.name, resp, err)
		}
	}
}

func TestClient_OnlyProviderIsTheDefault(t *testing.T) {
	c := newClient(t, llm.ClientConfig{Providers: []llm.Provider{newFake("only", answer("hello"))}})
	resp, err := c.Complete(t.Context(), &llm.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Provider != "only" {
		t.Errorf("the response says provider %q", resp.Provider)
	}
}

func TestClient_NeverGuessesAProvider(t *testing.T) {
	two := []llm.Provider{newFake("a", answer("")), newFake("b", answer(""))}
	tests := []struct {
		name      string
		providers []llm.Provider
		request   llm.Request
		says      string
	}{
		{"no provider at all", nil, llm.Request{}, "no provider is configured"},
		{"no default", two, llm.Request{Model: "claude-opus-5-5"}, "a, b"},
		{"unknown name", two, llm.Request{Provider: "c"}, `"c"`},
		{"unknown name with one provider", two[:1], llm.Request{Provider: "c"}, `"c"`},
	}
	for _, tt := range tests {
		c := newClient(t, llm.ClientConfig{Providers: tt.providers})
		_, err := c.Complete(t.Context(), &tt.request)
		if e := wantKind(t, err, llm.ErrConfiguration); !strings.Contains(e.Message, tt.says) {
			t.Errorf("%s: %q does not say %q", tt.name, e.Message, tt.says)
		}
	}
}

func TestNewClient_RefusesABrokenConfiguration(t *testing.T) {
	a := newFake("a", answer(""))
	for name, c := range map[string]llm.ClientConfig{
		"same name twice":    {Providers: []llm.Provider{a, newFake("a", answer(""))}},
		"no name":            {Providers: []llm.Provider{newFake("", answer(""))}},
		"default is unknown": {Providers: []llm.Provider{a}, Default: "b"},
		"default of nothing": {Default: "b"},
	} {
		_, err := llm.NewClient(c)
		if llm.KindOf(err) != llm.ErrConfiguration {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClient_ProvidersListsNamesInOrder(t *testing.T) {
	c := newClient(t, llm.ClientConfig{Providers: []llm.Provider{newFake("z", nil), newFake("a", nil)}})
	names := c.Providers()
	if !slices.Equal(names, []string{"z", "a"}) {
		t.Errorf("providers are %v", names)
	}
	names[0] = "changed"
	if c.Providers()[0] != "z" {
		t.Error("a caller can change the client's list")
	}
}

// tracer records when a call starts, finishes and ends.
func tracer(name string, log *[]string) llm.Middleware {
	return func(next llm.StreamFunc) llm.StreamFunc {
		return func(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			return func(yield func(llm.StreamEvent, error) bool) {
				*log = append(*log, name+" in")
				for ev, err := range next(ctx, r) {
					if _, ok := ev.(llm.Finish); ok {
						*log = append(*log, name+" finish")
					}
					if !yield(ev, err) {
						break
					}
				}
				*log = append(*log, name+" out")
			}
		}
	}
}

func TestClient_FirstMiddlewareIsOutermostAlsoWhenStreaming(t *testing.T) {
	want := []string{"one in", "two in", "two finish", "one finish", "two out", "one out"}
	for _, way := range []string{"stream", "complete"} {
		var log []string
		c := newClient(t, llm.ClientConfig{
			Providers:  []llm.Provider{newFake("p", answer("x"))},
			Middleware: []llm.Middleware{tracer("one", &log), tracer("two", &log)},
		})
		var err error
		if way == "stream" {
			_, err = drain(c.Stream(t.Context(), &llm.Request{}))
		} else {
			_, err = c.Complete(t.Context(), &llm.Request{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(log, want) {
			t.Errorf("%s: calls went %q, want %q", way, log, want)
		}
	}
}

func TestClient_MiddlewareMayChangeTheProvider(t *testing.T) {
	reroute := func(next llm.StreamFunc) llm.StreamFunc {
		return func(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			changed := *r
			changed.Provider = "b"
			return next(ctx, &changed)
		}
	}
	c := newClient(t, llm.ClientConfig{
		Providers:  []llm.Provider{newFake("a", answer("a")), newFake("b", answer("b"))},
		Middleware: []llm.Middleware{reroute},
	})
	if resp, err := c.Complete(t.Context(), &llm.Request{Provider: "a"}); err != nil || resp.Text() != "b" {
		t.Errorf("%v, %v", resp, err)
	}
}

// Whatever a provider does, its consumer sees one finish or one error, and nothing after it.
func TestClient_EnforcesTheProviderContract(t *testing.T) {
	boom := errors.New("boom")
	finish := step{ev: llm.Finish{Response: &llm.Response{}}}
	delta := step{ev: llm.TextDelta{Text: "x"}}
	tests := []struct {
		name   string
		turn   []step
		events int
		kind   llm.ErrorKind // "" means success
	}{
		{"nothing at all", nil, 0, llm.ErrIncomplete},
		{"ends without finish", []step{delta, delta}, 2, llm.ErrIncomplete},
		{"continues after finish", []step{delta, finish, delta, {err: boom}}, 2, ""},
		{"two finishes", []step{finish, finish}, 1, ""},
		{"continues after an error", []step{delta, {err: boom}, delta, finish}, 1, llm.ErrUnknown},
		{"finish without a response", []step{delta, {ev: llm.Finish{}}}, 1, llm.ErrIncomplete},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, llm.ClientConfig{Providers: []llm.Provider{newFake("p", tt.turn)}})
			events, err := 0, error(nil)
			for _, e := range c.Stream(t.Context(), &llm.Request{}) {
				if err != nil {
					t.Fatal("the stream continued after its error")
				}
				if err = e; e == nil {
					events++
				}
			}
			if events != tt.events {
				t.Errorf("got %d events, want %d", events, tt.events)
			}
			if tt.kind == "" && err != nil || tt.kind != "" && llm.KindOf(err) != tt.kind {
				t.Errorf("got error %v, want kind %q", err, tt.kind)
			}
		})
	}
}

func TestClient_StoppingTheIterationEndsTheCall(t *testing.T) {
	p := newFake("p", answer("x"))
	c := newClient(t, llm.ClientConfig{Providers: []llm.Provider{p}})
	for range c.Stream(t.Context(), &llm.Request{}) {
		break
	}
	if p.calls() != 1 {
		t.Errorf("got %d calls, want 1", p.calls())
	}
}
