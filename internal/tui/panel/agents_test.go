package panel

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// team is a rig whose main agent waits for a subagent, which works until it is stopped.
func team(t *testing.T) *rig {
	r := newRig(t, command.Host{})
	r.script.Reply = func(_ int, q *llm.Request) llmtest.Turn {
		b, _ := json.Marshal(q.Messages)
		text := string(b)
		switch last := q.Messages[len(q.Messages)-1]; {
		case strings.Contains(text, "count 数 the files") && !strings.Contains(text, "Delegate it"):
			return llmtest.Turn{Parts: []llm.Part{llm.NewText("none")}, Delay: time.Hour}
		case last.Role == llm.RoleTool && strings.Contains(text, "Delegate it"):
			return llmtest.Call("wait", `{"agent_id":"1"}`)
		}
		return llmtest.Call("spawn_agent", `{"task":"count 数 the files","name":"counter"}`)
	}
	return r
}

func TestAgents_AreShownAsATree(t *testing.T) {
	t.Parallel()
	got := tree([]view.Agent{{}, {Path: "1"}, {Path: "2"}, {Path: "1/1"}, {Path: "10"}, {Path: "1/1/1"}})
	var paths []string
	for _, a := range got {
		paths = append(paths, a.Path)
	}
	if s := strings.Join(paths, " "); s != " 1 1/1 1/1/1 2 10" {
		t.Errorf("the order is %s", s)
	}
}

// states is a state with agents that do different things.
func states() *view.State {
	s := &view.State{}
	seq := event.Seq(0)
	add := func(agent string, data event.Data) {
		seq++
		s.Apply(event.Record{Seq: seq, Time: now.Add(-time.Minute), Agent: agent, Data: data})
	}
	add("", event.SessionStart{})
	for _, path := range []string{"1", "2", "1/1"} {
		parent := parentOf(path)
		add(parent, event.SubagentStart{ID: path, Name: "a" + path, Task: "do " + hostile, Model: "m"})
	}
	return s
}

func TestAgents_HostileNamesFitEverywhere(t *testing.T) {
	t.Parallel()
	l := newLoop(t)
	o := l.options(&fake{})
	s := states()
	o.State = func() *view.State { return s }
	p := NewAgents(o)
	seen := everywhere(t, p)
	has(t, seen, "4 agents", "a1", "日本語")
	press(t, p, "down")
	out := press(t, p, "enter")
	if out.Open == nil {
		t.Fatalf("enter: %+v", out)
	}
	everywhere(t, out.Open)
	if !strings.Contains(out.Open.Title(), "a1") {
		t.Errorf("opened %q", out.Open.Title())
	}
}

func TestAgents_OpenMessageAndStop(t *testing.T) {
	t.Parallel()
	r := team(t)
	must(t, r.Submit(t.Context(), session.Input{Text: "Delegate it", Plain: true}))
	p := r.follow(NewAgents(r.options())).(*agents)
	has(t, r.shows(p, "2 working"), "2 agents, 2 working", "● 1 counter: count 数 the files")
	if !p.Running() {
		t.Error("the durations do not change")
	}
	press(t, p, "down", "alt+s", "'look at 数 too")
	has(t, everywhere(t, p), "Message to agent 1 counter", "> look at 数 too")
	press(t, p, "enter")
	r.until("the message waits", func() bool { return len(r.state.Queue()) == 1 && p.loading == 0 })
	if q := r.state.Queue()[0]; q.Agent != "1" || q.Text != "look at 数 too" {
		t.Errorf("queued %+v", q)
	}
	has(t, everywhere(t, p), "Sent to agent 1 counter")

	one := press(t, p, "enter").Open
	r.follow(one)
	has(t, r.shows(one, "count 数 the files", "requesting"), "Agent 1 counter", "requesting")
	press(t, one, "ctrl+x", "enter", "esc")
	press(t, one, "ctrl+x", "'y", "enter")
	r.until("it is stopped", func() bool { a, _ := r.state.Agent("1"); return !working(a) })
	everywhere(t, one)
	press(t, one, "ctrl+x")
	has(t, everywhere(t, one), "agent 1 counter is not working")
	if out := press(t, one, "esc"); !out.Close {
		t.Errorf("esc: %+v", out)
	}
	must(t, r.Interrupt(t.Context()))
	_, err := r.Wait(t.Context())
	must(t, err)
}
