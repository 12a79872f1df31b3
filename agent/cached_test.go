package agent

import (
	"bytes"
	"context"
	"fmt"
	"strings"
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

// families has a model for each family. Models with a host speak Chat Completions, as that host does.
var families = []struct {
	provider, model, host string
	marked                bool // needs cache_control for caching
	late                  bool // accepts tools and instructions within a conversation
}{
	{anthropic.Name, "claude-sonnet-5-5", "", true, true},
	{anthropic.Name, "claude-opus-5-5", "", true, true},
	{anthropic.Name, "claude-haiku-5-5", "", true, true},
	{anthropic.Name, "claude-fable-5-2", "", true, true},
	{openai.Name, "gpt-6.1-sol", "", false, false},
	{gemini.Name, "gemini-3.8-flash", "", false, false},
	{"deepseek", "deepseek-flash", "https://api.deepseek.com/v1", false, false},
	{"moonshot", "kimi-k3", "https://api.moonshot.ai/v1", false, false},
	{"openrouter", "anthropic/claude-opus-5.5", "https://openrouter.ai/api/v1", true, false},
}

// newCached is a long session with a model from any family, and a server that is as strict as the real one.
func newCached(t *testing.T, provider, model, host string) *bound {
	t.Helper()
	b := &bound{t: t}
	b.server = llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: diligent}, NeverDrop: true, CountDrops: true})
	t.Cleanup(b.server.Close)
	known, ok := llm.DefaultCatalogue().Exact(provider, model)
	if !ok && host != "" {
		t.Fatalf("the catalogue has no %s of %s", model, provider)
	}
	shown := drawing(t, 6)
	look := fake("look", true, func(context.Context, *tool.Call, string) (tool.Result, error) {
		return tool.Result{Output: tool.Text("a picture" + strings.Repeat(" of something", 200)), Images: []llm.Image{shown}}, nil
	})
	b.Session = open(t, nil, func(c *Config) {
		c.ID, c.Store = "cached", &event.Memory{}
		c.Client, c.Provider, c.Model, c.Effort = allProviders(t, b.server), provider, model, "high"
		if host != "" {
			c.Client = compatible(t, b.server, provider, host, model)
		}
		c.System, c.Vision = "Work.", known.Vision
		c.Limits.ToolRounds, c.LoopWindow = -1, -1
		c.Compaction = Compaction{At: 0.8}
		with(look)(c)
		b.config = *c
	})
	return b
}

// compatible returns a client that treats the server as a provider's host.
func compatible(t *testing.T, server *llmtest.Server, provider, host, model string) *llm.Client {
	t.Helper()
	c, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{chat.New(chat.Config{
		Endpoint: llm.Endpoint{Name: provider, BaseURL: server.BaseURL(chat.Name), APIKey: "test"},
		Like:     host,
	})}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// labours gives the session inputs until it has made a number of calls.
func (b *bound) labours(calls int) {
	b.t.Helper()
	for i := 0; len(b.server.Bodies()) < calls; i++ {
		out, err := b.Submit(b.t.Context(), text(fmt.Sprintf("Work on, %d. %s", i, strings.Repeat("word ", 40))))
		if err != nil || out.Status != StatusDone {
			b.t.Fatalf("call %d: %+v, %v", len(b.server.Bodies()), out, err)
		}
	}
}

// repeated returns the share of all requests but the first that repeats the previous request, and the number of
// requests that do not repeat it completely. Only requests that ask for a cache count, where that is necessary.
func (b *bound) repeated(marked bool) (share float64, broken int) {
	b.t.Helper()
	var bodies [][]byte
	for i, body := range b.server.Bodies() {
		if marked && !bytes.Contains(body, []byte(`"cache_control":{"type":"ephemeral"`)) {
			b.t.Errorf("request %d does not ask for a cache", i)
			continue
		}
		bodies = append(bodies, body)
	}
	for i := range bodies[1:] {
		if same, all := prefix.Of(bodies[i]).Shared(prefix.Of(bodies[i+1])); same < all {
			broken++
		}
	}
	for _, v := range b.server.Violations() {
		b.t.Errorf("the server refused a request: %v", v)
	}
	if n := len(b.server.Dropped()); n > 0 {
		b.t.Errorf("the server dropped %d thinking blocks", n)
	}
	return prefix.Share(bodies), broken
}

func TestCached_NearlyAllOfALongSession(t *testing.T) {
	for _, f := range families {
		t.Run(f.model, func(t *testing.T) {
			t.Parallel()
			b := newCached(t, f.provider, f.model, f.host)
			b.labours(thorough.Of(200, 60))
			share, broken := b.repeated(f.marked)
			if share < 95 || broken > 0 || len(records[event.CacheBroken](b.Session)) > 0 {
				t.Errorf("%.2f %% repeats the request before, %d requests change something; want at least 95 and none", share, broken)
			}
			t.Logf("%.2f %% of %d requests", share, len(b.server.Bodies()))
		})
	}
}

// TestCached_LateToolAndInstruction adds a tool and an instruction in the middle.
func TestCached_LateToolAndInstruction(t *testing.T) {
	for _, f := range families {
		t.Run(f.model, func(t *testing.T) {
			t.Parallel()
			b := newCached(t, f.provider, f.model, f.host)
			calls := thorough.Of(200, 60)
			b.labours(calls * 4 / 10)
			b.reconfigure(Change{Add: []tool.Tool{latecomer("late")}})
			b.labours(calls * 6 / 10)
			b.reconfigure(Change{System: new(b.state.System() + "\n\nBe brief.")})
			b.labours(calls)
			share, broken := b.repeated(f.marked)
			want, least := 2, 90.0 // one per change
			if f.late {
				want, least = 0, 95
			}
			if announced := len(records[event.CacheBroken](b.Session)); broken != want || announced != want {
				t.Errorf("%d requests change something, %d are announced; want %d", broken, announced, want)
			}
			if share < least {
				t.Errorf("%.2f %% repeats the request before, want at least %v", share, least)
			}
			t.Logf("%.2f %% of %d requests, %d with changes", share, len(b.server.Bodies()), broken)
		})
	}
}
