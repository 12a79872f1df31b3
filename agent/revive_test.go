package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

// family is a session three levels deep; the lower agents ask before they write. An agent that waits asks twice,
// because the first time may be interrupted.
func family() *llmtest.Script {
	return play(map[string][]llmtest.Turn{
		"main":       {spawn(`{"task":"child"}`), wait("1"), wait("1"), llmtest.Say("The family is done.")},
		"child":      {spawn(`{"task":"grandchild"}`), wait("1/1"), wait("1/1"), calls("write"), llmtest.Say("The child is done.")},
		"grandchild": {calls("echo", "write"), llmtest.Say("The grandchild is done.")},
	})
}

// askingAt runs the family until one agent's call waits for approval.
func askingAt(t *testing.T, agent string) []event.Record {
	t.Helper()
	s := open(t, family(), func(c *Config) { asks(c, nil) })
	submit(t, s, "main")
	records := s.log.Records(0)
	i := slices.IndexFunc(records, func(r event.Record) bool { return r.Kind() == event.KindApprovalRequested && r.Agent == agent })
	if i < 0 {
		t.Fatalf("agent %s asks for nothing:\n%s", agent, kinds(s))
	}
	return records[:i+1]
}

// asks lets agents three levels deep write what the host approves, which is everything, and counts it.
func asks(c *Config, ran *life) {
	c.ID, c.Subagents.MaxDepth, c.Policy, c.Tools = "life", 2, nil, &tool.Registry{}
	c.Approve = func(context.Context, tool.Request) (tool.Approval, error) { return tool.Approval{Allow: true}, nil }
	run := echo
	if ran != nil {
		run = ran.run
	}
	with(fake("echo", true, echo), writer(run))(c)
}

func TestResume_SubagentWhoseCallWaitsForAnApprovalGoesOnWithTheSession(t *testing.T) {
	for _, agent := range []string{"1", "1/1"} {
		t.Run(strings.ReplaceAll(agent, "/", "-"), func(t *testing.T) {
			l := &life{ran: map[string]int{}}
			s := tookUp(t, family(), func(c *Config) { asks(c, l) }, askingAt(t, agent)...)
			if got := s.Pending(); len(got) != 1 || got[0].Agent != agent || got[0].Name != "write" {
				t.Fatalf(`got %+v, want 1, [0].Agent %q, [0].Name "write"`, got, agent)
			}
			out, err := s.Continue(t.Context())
			if err != nil || out.Text != "The family is done." {
				t.Fatalf(`got %+v, %v, want no error, Text "The family is done."`, out, err)
			}
			ends := map[string]event.SubagentEnd{}
			for _, r := range s.log.Records(0) {
				if d, ok := r.Data.(event.SubagentEnd); ok {
					ends[d.ID] = d
				}
			}
			if c, g := ends["1"], ends["1/1"]; !c.Success || c.Output != "The child is done." || !g.Success || g.Output != "The grandchild is done." {
				t.Errorf(`got %+v, want c.Success, c.Output "The child is done.", g.Success, g.Output "The grandchild is done."`, ends)
			}
			if got := s.Pending(); len(got) != 0 || len(l.ran) == 0 {
				t.Errorf("waits: %+v, ran: %v", got, l.ran)
			}
		})
	}
}

func TestResume_SubagentWaitsOnThroughACloseAndForANewInput(t *testing.T) {
	for _, agent := range []string{"1", "1/1"} {
		store := &event.Memory{}
		put(t, store, askingAt(t, agent))
		l := &life{ran: map[string]int{}}
		for range 2 {
			s := tookUpFrom(t, store, llmtest.Play(), func(c *Config) { asks(c, l) })
			if len(s.Pending()) != 1 || len(l.ran) > 0 {
				t.Fatalf("%s: got %+v, %v, want 1, none ran", agent, s.Pending(), l.ran)
			}
			s.Close()
		}
		s := tookUpFrom(t, store, family(), func(c *Config) { asks(c, l) })
		if out := submit(t, s, "Well?"); out.Text != "The family is done." || len(l.ran) == 0 {
			t.Errorf(`%s: got %+v, %v, want Text "The family is done.", some ran`, agent, out, l.ran)
		}
	}
}

// background is a session that is done while its subagent asks for an approval.
func background(t *testing.T) []event.Record {
	t.Helper()
	asking := make(chan struct{})
	s := open(t, startsOne(), func(c *Config) {
		asks(c, nil)
		c.Approve = func(ctx context.Context, _ tool.Request) (tool.Approval, error) {
			close(asking)
			<-ctx.Done()
			return tool.Approval{}, ctx.Err()
		}
	})
	submit(t, s, "main")
	<-asking
	return s.log.Records(0)
}

func startsOne() *llmtest.Script {
	return play(map[string][]llmtest.Turn{"main": {spawn(`{"task":"child"}`), llmtest.Say("Started.")}, "child": {calls("write"), llmtest.Say("Done.")}})
}

func TestContinue_WaitsForASubagentThatHasWorkLeft(t *testing.T) {
	l := &life{ran: map[string]int{}}
	s := tookUp(t, startsOne(), func(c *Config) { asks(c, l) }, background(t)...)
	out, err := s.Continue(t.Context())
	if err != nil || out.Status != StatusDone || len(l.ran) != 1 || s.State() != Idle {
		t.Errorf("got %+v, %v, %v, %s, want no error, StatusDone, one ran, state Idle", out, err, l.ran, s.State())
	}
	if end := records[event.SubagentEnd](s); len(end) != 1 || !end[0].Success {
		t.Errorf("got %+v, want 1, [0].Success", end)
	}
	if _, err := s.Continue(t.Context()); !errors.Is(err, ErrNothingToContinue) {
		t.Error(err)
	}
}

func TestContinue_InterruptsTheSubagentThatItWaitsFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := tookUp(t, startsOne(), func(c *Config) {
		asks(c, nil)
		c.Approve = func(ctx context.Context, _ tool.Request) (tool.Approval, error) {
			cancel()
			<-ctx.Done()
			return tool.Approval{}, ctx.Err()
		}
	}, background(t)...)
	if out, err := s.Continue(ctx); err == nil || out.Status != StatusInterrupted || s.State() != Idle {
		t.Errorf("got %+v, %v, %s, want an error, StatusInterrupted, state Idle", out, err, s.State())
	}
	if got := s.Pending(); len(got) != 1 {
		t.Errorf("an interruption answered the approval: %+v", got)
	}
}

func TestResume_SubagentOfATypeThatIsGoneIsLeftOut(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"child","agent_type":"careful"}`), wait("1"), wait("1"), llmtest.Say("Done.")},
		"child": {calls("write"), calls("danger"), llmtest.Say("Done.")},
	})
	var ran atomic.Int64
	danger := fake("danger", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
		ran.Add(1)
		return tool.Success("x"), nil
	})
	s := open(t, script, func(c *Config) {
		asks(c, nil)
		with(danger)(c)
		c.Subagents.Types = map[string]AgentType{"careful": {Tools: []string{"write"}}}
	})
	submit(t, s, "main")
	log := s.log.Records(0)
	i := slices.IndexFunc(log, func(r event.Record) bool { return r.Kind() == event.KindApprovalRequested })
	s = tookUp(t, script, func(c *Config) { asks(c, nil); with(danger)(c) }, log[:i+1]...)
	if _, err := s.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w := records[event.Warning](s); ran.Load() > 0 || len(w) != 1 || !strings.Contains(w[0].Message, "careful") {
		t.Errorf("it used a tool that it never had %d times; warnings: %+v", ran.Load(), w)
	}
}

func TestUndo_GivesUpWhatSubagentsWaitFor(t *testing.T) {
	l := &life{ran: map[string]int{}}
	s := tookUp(t, llmtest.Play(llmtest.Call("wait", `{"agent_id":"1"}`), llmtest.Say("Well.")), func(c *Config) { asks(c, l) }, askingAt(t, "1/1")...)
	if _, err := s.Undo(t.Context(), Parts{Chat: true}); err != nil {
		t.Fatal(err)
	}
	if got := s.Pending(); len(got) != 0 {
		t.Errorf("got %+v, want none", got)
	}
	submit(t, s, "something else")
	messages := s.Messages()
	result, ok := messages[len(messages)-2].Parts[0].(llm.ToolResult)
	if !ok || !result.IsError || !strings.Contains(result.Text(), "it was interrupted") || len(l.ran) > 0 {
		t.Errorf("%v, %s", l.ran, sketch(messages))
	}
}
