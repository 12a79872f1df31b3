package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/tool"
)

// diligent is a model that thinks before every step: it calls tools, looks at pictures, and is done now and then.
func diligent(n int, r *llm.Request) llmtest.Turn {
	if r.Compact != "" {
		return llmtest.Say("The work goes on; nothing was decided.")
	}
	last := r.Messages[len(r.Messages)-1]
	if strings.Contains(last.Text(), "about to be compacted") {
		return llmtest.Say("Goal: work. State: done so far. Next: work on.")
	}
	thinking := llm.Thinking{Text: fmt.Sprintf("Thought %d.", n)}
	call := func(name string, i int) llm.Part {
		return llm.ToolCall{Name: name, Arguments: fmt.Sprintf(`{"text":"%d of %d"}`, i, n)}
	}
	switch {
	case n%9 == 8:
		return llmtest.Turn{Parts: []llm.Part{thinking, text("Done.")}}
	case n%5 == 4:
		return llmtest.Turn{Parts: []llm.Part{thinking, text("I look."), call("look", 1)}}
	case n%7 == 3:
		return llmtest.Turn{Parts: []llm.Part{thinking, call("late", 1), call("echo", 2)}}
	}
	return llmtest.Turn{Parts: []llm.Part{thinking, call("echo", 1), call("write", 2)}}
}

// bound is a session with a model that checks what it gets back.
type bound struct {
	*Session
	t      *testing.T
	server *llmtest.Server
	config Config
	forks  int
}

func newBound(t *testing.T, provider, model string) *bound {
	t.Helper()
	b := &bound{t: t}
	b.server = llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: diligent}, NeverDrop: true, CountDrops: true})
	t.Cleanup(b.server.Close)
	shown := drawing(t, 6)
	look := fake("look", true, func(context.Context, *tool.Call, string) (tool.Result, error) {
		return tool.Result{Output: tool.Text("a picture" + strings.Repeat(" of something", 200)), Images: []llm.Image{shown}}, nil
	})
	b.Session = open(t, nil, func(c *Config) {
		c.ID, c.Store = "bound", &event.Memory{}
		c.Client, c.Provider, c.Model, c.Effort = allProviders(t, b.server), provider, model, "high"
		c.System, c.Vision = "Work.", true
		c.Limits.ToolRounds, c.LoopWindow = -1, -1
		c.Compaction = Compaction{At: 0.8}
		with(look)(c)
		b.config = *c
	})
	return b
}

// work gives the session inputs until it has made a number of further calls.
func (b *bound) work(calls int) {
	b.t.Helper()
	end := len(b.server.Bodies()) + calls
	for i := 0; len(b.server.Bodies()) < end; i++ {
		out, err := b.Submit(b.t.Context(), text(fmt.Sprintf("Work on, %d. %s", i, strings.Repeat("word ", 40))), drawing(b.t, 4))
		if err != nil || out.Status != StatusDone {
			b.t.Fatalf("call %d: %+v, %v", len(b.server.Bodies()), out, err)
		}
	}
}

func (b *bound) reconfigure(c Change) {
	b.t.Helper()
	if err := b.Reconfigure(b.t.Context(), c); err != nil {
		b.t.Fatal(err)
	}
}

// resume continues the session as another process would.
func (b *bound) resume(change func(*Config)) {
	b.t.Helper()
	if err := b.Close(); err != nil {
		b.t.Fatal(err)
	}
	c := b.config
	change(&c)
	s, err := Resume(b.t.Context(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { s.Close() })
	b.Session, b.config = s, c
}

// fork continues in a copy of the session.
func (b *bound) fork() {
	b.t.Helper()
	if err := b.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.forks++
	id := fmt.Sprintf("fork%d", b.forks)
	if _, err := event.Fork(b.t.Context(), b.config.Store, b.config.ID, 0, event.Meta{ID: id}); err != nil {
		b.t.Fatal(err)
	}
	b.resume(func(c *Config) { c.ID = id })
}

// thoughts returns how many answers in the last request have thinking, and how many answers there are.
func (b *bound) thoughts() (thinking, answers int) {
	bodies := b.server.Bodies()
	body := string(bodies[len(bodies)-1])
	return strings.Count(body, `"type":"thinking"`), strings.Count(body, `"role":"assistant"`)
}

// latecomer returns a tool that a server offers late.
func latecomer(name string) tool.Tool {
	return fake(name, true, func(context.Context, *tool.Call, string) (tool.Result, error) {
		return tool.Result{Output: tool.Text("better late than never")}, nil
	})
}

// TestBound_NothingIsRefusedWhateverChanges takes a long session through every change to earlier requests.
func TestBound_NothingIsRefusedWhateverChanges(t *testing.T) {
	for _, m := range []struct{ provider, model, other, otherModel string }{
		{anthropic.Name, "claude-sonnet-5-5", openai.Name, "gpt-6.1-sol"},
		{anthropic.Name, "claude-opus-5-5", anthropic.Name, "claude-haiku-5-5"},
		{anthropic.Name, "claude-haiku-5-5", anthropic.Name, "claude-opus-5"},
		{anthropic.Name, "claude-fable-5-2", anthropic.Name, "claude-opus-5-5"},
		{openai.Name, "gpt-6.1-sol", anthropic.Name, "claude-sonnet-5-5"},
		{openai.Name, "gpt-6.1-terra", openai.Name, "gpt-6-luna"},
		{gemini.Name, "gemini-3.8-flash", gemini.Name, "gemini-4-argon"},
		{gemini.Name, "gemini-4-argon", openai.Name, "gpt-6.1-sol"},
	} {
		t.Run(m.model, func(t *testing.T) {
			t.Parallel()
			b := newBound(t, m.provider, m.model)
			steps := []func(){
				func() {},
				func() { b.reconfigure(Change{Add: []tool.Tool{latecomer("late")}}) },             // a late MCP server
				func() { b.reconfigure(Change{System: new(b.state.System() + "\n\nBe brief.")}) }, // --append-system
				func() { b.undo() }, //
				func() { b.reconfigure(Change{Remove: []string{"late"}}) }, // the server is gone
				func() { b.compact() }, //
				func() { b.reconfigure(Change{Provider: m.other, Model: m.otherModel}) }, // a model switch
				func() { b.reconfigure(Change{Provider: m.provider, Model: m.model}) },   // and back
				func() { b.fork() }, //
				func() { b.resume(func(c *Config) { c.System = "Work otherwise." }) }, // other instructions
				func() { b.resume(tier("search", "plan")) },                           // another tool tier
				func() { b.reconfigure(Change{Effort: new("low")}) },                  //
				func() { b.reconfigure(Change{Add: []tool.Tool{latecomer("late")}}) }, //
				func() { b.resume(func(*Config) {}) },                                 // without the late server
				func() { b.redoes() },                                                 //
				func() { b.clear() },                                                  // images and old results
				func() { b.compact() },                                                //
			}
			each := max(3, thorough.Of(200, 60)/len(steps))
			for _, step := range steps {
				step()
				b.work(each)
			}
			for _, v := range b.server.Violations() {
				t.Errorf("the server refused a request: %v", v)
			}
			if n := len(b.server.Dropped()); n > 0 {
				t.Errorf("the server dropped %d thinking blocks", n)
			}
			t.Logf("%d calls", len(b.server.Bodies()))
		})
	}
}

// tier adds tools to a session's tools.
func tier(names ...string) func(*Config) {
	return func(c *Config) {
		c.Tools = c.Tools.Select(func(string) bool { return true })
		for _, name := range names {
			with(latecomer(name))(c)
		}
	}
}

func (b *bound) undo() {
	b.t.Helper()
	if _, err := b.Undo(b.t.Context(), Parts{Chat: true}); err != nil {
		b.t.Fatal(err)
	}
}

// redoes undoes two inputs, and redoes one.
func (b *bound) redoes() {
	b.t.Helper()
	b.undo()
	b.undo()
	if _, err := b.Redo(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bound) compact() {
	b.t.Helper()
	if _, err := b.Compact(b.t.Context()); err != nil && !errors.Is(err, ErrNothingToCompact) {
		b.t.Fatal(err)
	}
}

// clear makes the session compact itself without a summary.
func (b *bound) clear() {
	b.t.Helper()
	size := b.state.Size()
	b.resume(func(c *Config) { c.Compaction, c.ContextWindow = Compaction{At: 0.9, To: 0.8, NoModel: true}, size })
	b.work(3)
	b.resume(func(c *Config) { c.Compaction, c.ContextWindow = Compaction{At: 0.8}, 0 })
	if !slices.ContainsFunc(records[event.Compaction](b.Session), func(c event.Compaction) bool { return len(c.Cleared) > 0 }) {
		b.t.Error("nothing was cleared")
	}
}

// TestBound_ThinkingIsKeptWhereNothingHasToChange adds tools and instructions, and lets the provider compact.
func TestBound_ThinkingIsKeptWhereNothingHasToChange(t *testing.T) {
	for _, model := range []string{"claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			b := newBound(t, anthropic.Name, model)
			check := func(when string) {
				t.Helper()
				b.work(12)
				if thinking, answers := b.thoughts(); thinking != answers || answers < 3 {
					t.Errorf("%s: %d of %d answers have their thinking", when, thinking, answers)
				}
				if broken := records[event.CacheBroken](b.Session); len(broken) > 0 {
					t.Errorf("%s: the cache is broken: %+v", when, broken)
				}
			}
			check("at first")
			b.reconfigure(Change{Add: []tool.Tool{latecomer("late")}})
			check("after a tool was added")
			b.reconfigure(Change{System: new(b.state.System() + "\n\nBe brief.")})
			check("after instructions were added")
			b.reconfigure(Change{System: new("Other instructions.")})
			check("after instructions were replaced")
			b.reconfigure(Change{Remove: []string{"late"}})
			check("after a tool was removed")
			b.fork()
			check("in a fork")
			b.resume(func(c *Config) { c.System = "" })
			check("after a resume")
			body := string(b.server.Bodies()[len(b.server.Bodies())-1])
			for _, want := range []string{`"role":"system"`, `"tool_addition"`, `"tool_removal"`, "Be brief.", "Other instructions."} {
				if !strings.Contains(body, want) {
					t.Errorf("the last request has no %s", want)
				}
			}
		})
	}
}

// TestBound_CompactionByTheServerKeepsThinking compares it with a summary of our own.
func TestBound_CompactionByTheServerKeepsThinking(t *testing.T) {
	for _, model := range []string{"claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2"} {
		for _, method := range []event.CompactionMethod{event.CompactionServer, event.CompactionDigest} {
			t.Run(fmt.Sprintf("%s %s", model, method), func(t *testing.T) {
				t.Parallel()
				b := newBound(t, anthropic.Name, model)
				if method == event.CompactionDigest {
					b.resume(func(c *Config) { c.Compaction.NoModel = true })
				}
				b.work(24)
				b.compact()
				done := records[event.Compaction](b.Session)
				if len(done) != 1 || done[0].Method != method || done[0].After >= done[0].Before {
					t.Fatalf("got %+v, want one compaction of the method %s", done, method)
				}
				calls := len(b.server.Bodies())
				submit(t, b.Session, "Go on.")
				first := string(b.server.Bodies()[calls])
				kept := strings.Count(first, `"type":"thinking"`)
				if signed := strings.Contains(first, `"type":"compaction"`); signed != (method == event.CompactionServer) || (kept > 0) != signed {
					t.Errorf("the next request has a signed summary: %v, and %d thinking blocks", signed, kept)
				}
				if !strings.Contains(first, "Work on, 0. word") {
					t.Error("the next request does not contain the user's first message")
				}
				if v := b.server.Violations(); len(v) > 0 || len(b.server.Dropped()) > 0 {
					t.Errorf("the server refused %v and dropped %v", v, b.server.Dropped())
				}
			})
		}
	}
}

func TestBound_ASummaryOfOursSettlesWhatWasAddedLate(t *testing.T) {
	b := newBound(t, anthropic.Name, "claude-opus-5-5")
	b.work(12)
	b.reconfigure(Change{Add: []tool.Tool{latecomer("late")}})
	b.reconfigure(Change{System: new(b.state.System() + "\n\nBe brief.")})
	b.work(12)
	b.compact()
	b.work(3)
	if done := records[event.Compaction](b.Session); len(done) != 1 || done[0].Method != event.CompactionSummary {
		t.Fatalf("got %+v, want one summary by the model", done)
	}
	body := string(b.server.Bodies()[len(b.server.Bodies())-1])
	if strings.Contains(body, `"role":"system"`) || strings.Contains(body, "tool_addition") || strings.Count(body, "Be brief.") != 1 || !strings.Contains(body, `"name":"late"`) {
		t.Errorf("instructions and tools are not at the start alone: %s", body)
	}
	if v := b.server.Violations(); len(v) > 0 {
		t.Errorf("the server refused %v", v)
	}
}
