package agent

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/prefix"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/tool"
)

// labour is a model that works on: it thinks, calls tools in parallel, looks at pictures, is steered, is truncated, and
// is done with an input now and then.
func labour(dialect string) func(n int, _ *llm.Request) llmtest.Turn {
	return func(n int, _ *llm.Request) llmtest.Turn {
		thinking := llm.Thinking{Text: fmt.Sprintf("Thought %d.", n), State: llm.State{Dialect: dialect, Data: fmt.Appendf(nil, "c2ln%04d", n)}}
		call := func(name string, i int) llm.Part {
			return llm.ToolCall{Name: name, Arguments: fmt.Sprintf(`{"text":"%d of %d"}`, i, n)}
		}
		switch {
		case n%11 == 10:
			return llmtest.Turn{Parts: []llm.Part{thinking, text("Done.")}}
		case n%13 == 12:
			return llmtest.Turn{Parts: []llm.Part{text("Half a")}, Finish: llm.FinishLength}
		case n%7 == 6:
			return llmtest.Turn{Parts: []llm.Part{thinking, call("steer", 1)}}
		case n%5 == 4:
			return llmtest.Turn{Parts: []llm.Part{thinking, call("look", 1), call("echo", 2)}}
		case n%41 == 40:
			return llmtest.Fail(400)
		case n%3 == 2:
			return llmtest.Turn{Parts: []llm.Part{thinking, text("I write."), call("write", 1)}}
		}
		return llmtest.Turn{Parts: []llm.Part{thinking, call("echo", 1), call("nonsense", 2)}}
	}
}

// long is a long session in one protocol.
type long struct {
	*Session
	t       *testing.T
	dialect string
	server  *llmtest.Server
}

func newLong(t *testing.T, dialect, model string, change func(*Config)) *long {
	t.Helper()
	l := &long{t: t, dialect: dialect}
	l.server = llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: labour(dialect)}, Blind: true})
	t.Cleanup(l.server.Close)
	shown := drawing(t, 6)
	look := fake("look", true, func(context.Context, *tool.Call, string) (tool.Result, error) {
		return tool.Result{Output: tool.Text("a picture"), Images: []llm.Image{shown}}, nil
	})
	steer := fake("steer", false, func(_ context.Context, _ *tool.Call, s string) (tool.Result, error) {
		return tool.Success("steered"), l.Steer(text("Mind " + s + "."))
	})
	l.Session = open(t, nil, func(c *Config) {
		c.Client, c.Provider, c.Model, c.Effort = allProviders(t, l.server), dialect, model, "high"
		c.Limits.ToolRounds, c.LoopWindow = -1, -1
		with(look, steer)(c)
		if change != nil {
			change(c)
		}
	})
	return l
}

// until gives the session inputs until it has made a number of model calls.
func (l *long) until(calls int) {
	l.t.Helper()
	for i := 0; len(l.server.Bodies()) < calls; i++ {
		if i > calls {
			l.t.Fatal("the session does not get on")
		}
		_, _ = l.Submit(l.t.Context(), text(fmt.Sprintf("Go on, %d.", i))) // it fails where the model does
	}
}

// broken lists the requests that do not extend the previous request, and returns the share of reusable bytes that were
// kept. A request extends another if its body differs only in the conversation, and the conversation begins with the
// other's bytes up to its closing bracket.
func (l *long) broken() (at []int, share float64) {
	l.t.Helper()
	bodies := l.server.Bodies()
	same, all := 0, 0
	last := prefix.Of(bodies[0])
	for i, body := range bodies[1:] {
		next := prefix.Of(body)
		n, of := last.Shared(next)
		if n < of {
			at = append(at, i+1)
		}
		same, all, last = same+n, all+of, next
		if i%20 == 0 || i == len(bodies)-2 {
			if err := llmtest.Validate(l.dialect, body); err != nil {
				l.t.Errorf("request %d is not valid: %v", i+1, err)
			}
		}
	}
	return at, 100 * float64(same) / float64(all)
}

// announced lists the requests that an event reports as not extending the previous request.
func (l *long) announced() (at []int) {
	calls := 0
	for _, r := range l.log.Records(0) {
		switch r.Data.(type) {
		case event.CacheBroken:
			at = append(at, calls)
		case event.ModelCallStart:
			calls++
		}
	}
	return at
}

func TestPrefix_StaysTheSameOverManyRounds(t *testing.T) {
	for _, d := range protocols {
		t.Run(d.Name(), func(t *testing.T) {
			l := newLong(t, d.Name(), d.model, nil)
			l.until(thorough.Of(200, 60))
			at, share := l.broken()
			if len(at) > 0 || len(l.announced()) > 0 {
				t.Errorf("requests %v do not extend those before them; announced are %v", at, l.announced())
			}
			t.Logf("%.4f %% of the bytes of %d requests are in the next one too", share, len(l.server.Bodies()))
		})
	}
}

// TestPrefix_BreaksAreAnnounced changes the model, within the provider, and lets a hook rewrite the history: events
// must announce exactly the requests that are no extensions.
func TestPrefix_BreaksAreAnnounced(t *testing.T) {
	siblings := map[string]string{openai.Name: "gpt-5", anthropic.Name: "claude-sonnet-4-5", gemini.Name: "gemini-2.5-pro", chat.Name: "gpt-4.1"}
	for _, d := range protocols {
		t.Run(d.Name(), func(t *testing.T) {
			rewrite, other := false, llm.UserText("Something else.")
			l := newLong(t, d.Name(), d.model, func(c *Config) {
				c.BeforeModel = append(c.BeforeModel, func(_ context.Context, r *llm.Request) error {
					if rewrite {
						r.Messages = slices.Clone(r.Messages)
						r.Messages[1] = other
					}
					return nil
				})
			})
			l.until(20)
			l.SetModel("", siblings[d.Name()])
			l.until(40)
			l.SetModel("", d.model)
			l.until(60)
			rewrite = true
			l.until(80)
			rewrite = false
			l.until(100)
			at, share := l.broken()
			if got := l.announced(); !slices.Equal(at, got) || len(at) != 4 {
				t.Errorf("requests %v do not extend those before them; announced are %v", at, got)
			}
			t.Logf("%.2f %% of the bytes are in the next request too; broken at %v", share, at)
		})
	}
}

func TestPrefix_ObjectAndEffortAreAnnounced(t *testing.T) {
	for _, d := range protocols {
		t.Run(d.Name(), func(t *testing.T) {
			if d.Name() == chat.Name {
				d.model = "o3" // a model with an effort setting
			}
			l := newLong(t, d.Name(), d.model, nil)
			l.until(5)
			if _, _, err := SubmitObject[verdict](t.Context(), l.Session, text("And now?")); llm.KindOf(err) != llm.ErrNoObject {
				t.Errorf("the scripted model gives no object, but the error is %v", err)
			}
			l.until(40)
			l.SetEffort("low")
			l.until(60)
			at, _ := l.broken()
			if got := l.announced(); !slices.Equal(at, got) || len(at) != 3 {
				t.Errorf("requests %v do not extend those before them; announced are %v", at, got)
			}
		})
	}
}

// TestPrefix_RoundWithoutThinkingIsAnnounced switches, in the middle of a tool round, to a model whose thinking needs a
// budget. That round must be finished without thinking, and the next round has it.
func TestPrefix_RoundWithoutThinkingIsAnnounced(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		t.Run(fmt.Sprintf("resumed=%v", resumed), func(t *testing.T) {
			l := &long{t: t, dialect: anthropic.Name}
			l.server = llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: func(n int, r *llm.Request) llmtest.Turn {
				turn := []llmtest.Turn{calls("switch"), calls("echo"), calls("echo"), llmtest.Say("Done.")}[n%4]
				if r.ThinkingBudget != nil {
					turn.Parts = slices.Insert(turn.Parts, 0, llm.Part(llm.Thinking{Text: "Hm.", State: llm.State{Data: []byte("c2ln")}}))
				}
				return turn
			}}})
			defer l.server.Close()
			var config Config
			l.Session = open(t, nil, func(c *Config) {
				c.ID, c.Store, c.Client, c.Provider, c.Model, c.Effort = "life", &event.Memory{}, allProviders(t, l.server), openai.Name, "gpt-5", "high"
				with(fake("switch", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
					l.SetModel(anthropic.Name, "claude-sonnet-4-5")
					return tool.Success("switched"), nil
				}))(c)
				config = *c
			})
			submit(t, l.Session, "one")
			if resumed {
				l.Close()
				config.Provider, config.Model = "", ""
				s, err := Resume(t.Context(), config)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				l.Session = s
			}
			submit(t, l.Session, "two")
			at, _ := l.broken()
			if got := l.announced(); !slices.Equal(at, got) || !slices.Equal(at, []int{1, 4}) {
				t.Errorf("requests %v do not extend those before them; announced are %v", at, got)
			}
		})
	}
}

// With three hundred MCP tools, found and called, in each protocol: how large their part in a request is, and that the
// request after a search extends the one before it.
func TestPrefix_StaysTheSameWhenADeferredToolIsFound(t *testing.T) {
	described := func(wrap func(tool.Tool) tool.Tool) (tools []tool.Tool) {
		for i := range 300 {
			tools = append(tools, wrap(tool.New(tool.Spec{
				Name:        fmt.Sprintf("mcp__server%d__operation_%d", i%10, i),
				Description: fmt.Sprintf("Performs operation %d on an object of the server, and returns the object as it is after that.", i),
			}, tool.Nothing, func(ctx context.Context, c *tool.Call, in echoIn) (tool.Result, error) { return echo(ctx, c, in.Text) })))
		}
		return tools
	}
	for _, d := range protocols {
		t.Run(d.Name(), func(t *testing.T) {
			script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
				switch n {
				case 0:
					return llmtest.Turn{Parts: []llm.Part{llm.ToolCall{Name: tool.SearchName, Arguments: `{"query":"operation 123"}`}}}
				case 1:
					return llmtest.Turn{Parts: []llm.Part{llm.ToolCall{Name: tool.CallName, Arguments: `{"name":"mcp__server3__operation_123","arguments":{"text":"hello"}}`}}}
				}
				return llmtest.Turn{Parts: []llm.Part{text("Done.")}}
			}}
			first := func(wrap func(tool.Tool) tool.Tool) *long {
				l := &long{t: t, dialect: d.Name()}
				l.server = llmtest.StartServer(llmtest.ServerConfig{Script: script, Blind: true})
				t.Cleanup(l.server.Close)
				l.Session = open(t, nil, func(c *Config) {
					c.Client, c.Provider, c.Model = allProviders(t, l.server), d.Name(), d.model
					with(described(wrap)...)(c)
				})
				if _, err := l.Submit(t.Context(), text("Use operation 123.")); err != nil {
					t.Fatal(err)
				}
				return l
			}
			l := first(tool.Defer)
			if at, _ := l.broken(); len(at) > 0 || len(l.announced()) > 0 || len(l.server.Bodies()) != 3 {
				t.Errorf("of %d requests %v do not extend those before them; announced are %v", len(l.server.Bodies()), at, l.announced())
			}
			bodies := l.server.Bodies()
			if !bytes.Contains(bodies[1], []byte("Performs operation 123 on")) || bytes.Contains(bodies[0], []byte("Performs operation 123 on")) {
				t.Error("the search does not describe the tool, or it was described before")
			}
			if !bytes.Contains(bodies[2], []byte("hello")) {
				t.Error("the tool was not called")
			}
			all := len(first(func(t tool.Tool) tool.Tool { return t }).server.Bodies()[0])
			if len(bodies[0])*10 > all {
				t.Errorf("the first request has %d bytes with deferred tools, %d with all of them", len(bodies[0]), all)
			}
			t.Logf("first request: %d bytes with deferred tools, %d with all of them", len(bodies[0]), all)
		})
	}
}
