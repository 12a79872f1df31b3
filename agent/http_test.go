package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/bedrock"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/tool"
)

// overHTTP runs a test over real HTTP in each protocol, against a server that refuses what the real server would
// refuse. The session knows all providers by their dialects' names.
func overHTTP(t *testing.T, script func() *llmtest.Script, test func(t *testing.T, s *Session, script *llmtest.Script), change func(*Config)) {
	t.Helper()
	for _, d := range dialects {
		for _, unary := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s unary %v", d.Name(), d.model, unary), func(t *testing.T) {
				script := script()
				server := llmtest.NewServer(script)
				t.Cleanup(server.Close)
				s := open(t, nil, func(c *Config) {
					c.Client, c.Provider, c.Model, c.Unary = allProviders(t, server), d.Name(), d.model, unary
					if change != nil {
						change(c)
					}
				})
				test(t, s, script)
				for _, v := range server.Violations() {
					t.Errorf("the server refused a request: %v", v)
				}
			})
		}
	}
}

func allProviders(t *testing.T, server *llmtest.Server) *llm.Client {
	t.Helper()
	at := func(name string) llm.Endpoint {
		return llm.Endpoint{Name: name, BaseURL: server.BaseURL(name), APIKey: "test"}
	}
	retry := llm.RetryPolicy{Base: time.Nanosecond, Restart: true}
	c, err := llm.NewClient(llm.ClientConfig{
		Providers: []llm.Provider{
			openai.New(openai.Config{Endpoint: at(openai.Name)}), anthropic.New(anthropic.Config{Endpoint: at(anthropic.Name)}),
			gemini.New(gemini.Config{Endpoint: at(gemini.Name)}), chat.New(chat.Config{Endpoint: at(chat.Name)}),
			bedrock.New(bedrock.Config{Endpoint: at(bedrock.Name)}),
		},
		Middleware: []llm.Middleware{retry.Middleware()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHTTP_LoopInAllProtocols(t *testing.T) {
	script := func() *llmtest.Script {
		return llmtest.Play(llmtest.Turn{Parts: append([]llm.Part{llm.Text{Text: "Let me see."}}, calls("echo", "echo", "nonsense").Parts...)},
			calls("write"), llmtest.Say("Done."), llmtest.Say("Again."))
	}
	overHTTP(t, script, func(t *testing.T, s *Session, _ *llmtest.Script) {
		if out := submit(t, s, "go"); out.Status != StatusDone || out.Rounds != 2 || out.Text != "Done." || out.Usage.Input == 0 {
			t.Errorf(`got %+v, want StatusDone, Rounds 2, Text "Done.", Usage.Input not 0`, out)
		}
		if out := submit(t, s, "again"); out.Text != "Again." {
			t.Errorf(`got %+v, want Text "Again."`, out)
		}
	}, nil)
}

func TestHTTP_HistoryIsValidAfterInterruptErrorAndLimit(t *testing.T) {
	begun := make(chan struct{}, 1)
	hold := fake("hold", false, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	script := func() *llmtest.Script {
		return llmtest.Play(calls("echo", "hold", "echo"), llmtest.Say("Back."), llmtest.Fail(400), llmtest.Say("Back."),
			calls("echo"), calls("echo"), llmtest.Say("Back."), ends(llm.FinishLength, text("Half")), llmtest.Say(" and half."))
	}
	overHTTP(t, script, func(t *testing.T, s *Session, _ *llmtest.Script) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		if out, _ := s.Submit(ctx, text("hold")); out.Status != StatusInterrupted {
			t.Fatalf("got %+v, want StatusInterrupted", out)
		}
		if out := submit(t, s, "what now?"); out.Text != "Back." {
			t.Errorf(`got %+v, want Text "Back."`, out)
		}
		if out, err := s.Submit(t.Context(), text("fail")); out.Status != StatusFailed || err == nil {
			t.Errorf("got %+v, %v, want StatusFailed, an error", out, err)
		}
		submit(t, s, "and now?")
		if out := submit(t, s, "limit"); out.Status != StatusLimit {
			t.Errorf("got %+v, want StatusLimit", out)
		}
		submit(t, s, "go on")
		if out := submit(t, s, "speak"); out.Text != "Half and half." {
			t.Errorf(`got %+v, want Text "Half and half."`, out)
		}
	}, func(c *Config) { c.Limits.ToolRounds = 2; with(hold)(c) })
}

func TestHTTP_ModelIsSwitchedAcrossAllProtocolsInOneSession(t *testing.T) {
	next := 0
	var s *Session
	hop := fake("hop", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
		next++
		d := dialects[next%len(dialects)]
		s.SetModel(d.Name(), d.model)
		return tool.Success("now %s", d.Name()), nil
	})
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		if n == 12 {
			return llmtest.Say("Home again.")
		}
		return llmtest.Turn{Parts: append([]llm.Part{llm.Thinking{Text: "Hm."}, text("Hop.")}, llmtest.Call("hop", fmt.Sprintf(`{"text":"%d"}`, n)).Parts...)}
	}}
	server := llmtest.NewServer(script)
	defer server.Close()
	s = open(t, nil, func(c *Config) {
		c.Client, c.Provider, c.Model = allProviders(t, server), dialects[0].Name(), dialects[0].model
		with(hop)(c)
	})
	if out := submit(t, s, "hop"); out.Text != "Home again." || out.Rounds != 12 {
		t.Errorf(`got %+v, want Text "Home again.", Rounds 12`, out)
	}
	for _, v := range server.Violations() {
		t.Errorf("the server refused a request: %v", v)
	}
}

func TestHTTP_SubagentsAndObjects(t *testing.T) {
	script := func() *llmtest.Script {
		return play(map[string][]llmtest.Turn{
			"main":  {spawn(`{"task":"child"}`), wait("1"), llmtest.Say("Fine."), llmtest.Say(`{"pass":true,"notes":[]}`), llmtest.Say("Bye.")},
			"child": {calls("echo"), llmtest.Say("Child.")},
		})
	}
	overHTTP(t, script, func(t *testing.T, s *Session, _ *llmtest.Script) {
		v, out, err := SubmitObject[verdict](t.Context(), s, text("main"))
		if err != nil || !v.Pass || out.Text != "Fine." {
			t.Fatalf(`got %+v, %+v, %v, want no error, Pass, out.Text "Fine."`, v, out, err)
		}
		if out := submit(t, s, "bye"); out.Text != "Bye." {
			t.Errorf(`got %+v, want Text "Bye."`, out)
		}
	}, nil)
}

func TestHTTP_BrokenStreamIsMadeAgainAndNoToolRunsTwice(t *testing.T) {
	ran := 0
	once := fake("once", false, func(context.Context, *tool.Call, string) (tool.Result, error) { ran++; return tool.Success("ok"), nil })
	for _, d := range dialects {
		ran = 0
		broken := llmtest.Say(strings.Repeat("lost words ", 50))
		broken.Fault = llmtest.Fault{CutAt: 700}
		server := llmtest.NewServer(llmtest.Play(calls("once"), broken, llmtest.Fail(503), llmtest.Say("Whole.")))
		s := open(t, nil, func(c *Config) {
			c.Client, c.Provider, c.Model = allProviders(t, server), d.Name(), d.model
			with(once)(c)
		})
		if out := submit(t, s, "go"); out.Text != "Whole." || ran != 1 {
			t.Errorf(`%s: got %+v; the tool ran %d times, want Text "Whole.", 1 run`, d.Name(), out, ran)
		}
		if r := records[event.ModelRetry](s); len(r) != 2 {
			t.Errorf("%s: got %+v, want 2", d.Name(), r)
		}
		server.Close()
	}
}
