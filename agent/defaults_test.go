package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// Defaults that users rely on. The numbers are literals, so that changing a default fails a test.

// echoes are turns that call echo n times, each with another text, so that they do not form a loop.
func echoes(n int) (turns []llmtest.Turn) {
	for i := range n {
		turns = append(turns, echoCall(fmt.Sprint(i)))
	}
	return turns
}

// unchecked leaves out the validation of requests, which takes long for long conversations.
func unchecked(client Streamer) func(*Config) { return func(c *Config) { c.Client = client } }

func TestDefaults_AnInputHas200ToolRounds(t *testing.T) {
	script := llmtest.Play(echoes(201)...)
	s := open(t, script, unchecked(script))
	if out := submit(t, s, "go"); out.Limit != "max_tool_rounds" || out.Rounds != 200 {
		t.Errorf("stopped by limit %q after %d rounds, want max_tool_rounds after 200", out.Limit, out.Rounds)
	}
}

func TestDefaults_ALoopIsNoticedAfter10Calls(t *testing.T) {
	same := &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return echoCall("x") }}
	s := open(t, same, nil)
	submit(t, s, "go")
	calls := 0
	for _, r := range s.log.Records(0) {
		switch r.Data.(type) {
		case event.ToolCallEnd:
			calls++
		case event.LoopDetection:
			if calls != 10 {
				t.Errorf("noticed after %d calls, want 10", calls)
			}
			return
		}
	}
	t.Errorf("not noticed in %d calls", calls)
}

func TestDefaults_ASubagentMakes50ModelCalls(t *testing.T) {
	script := play(map[string][]llmtest.Turn{"main": {spawn(`{"task":"work"}`), wait("1"), llmtest.Say("Done.")}, "work": echoes(51)})
	s := open(t, script, unchecked(script))
	submit(t, s, "main")
	if got, want := lastResults(script)[0].Text(), "stopped after 50 turns: max_turns"; !strings.Contains(got, want) {
		t.Errorf("result %q, want %q", got, want)
	}
}

func TestDefaults_ASessionHas32Agents(t *testing.T) {
	var turns []llmtest.Turn
	for range 33 {
		turns = append(turns, spawn(`{"task":"work"}`))
	}
	script := play(map[string][]llmtest.Turn{"main": append(turns, llmtest.Say("Done.")), "work": {llmtest.Say("Done.")}})
	s := open(t, script, unchecked(script))
	submit(t, s, "main")
	ends := records[event.ToolCallEnd](s)
	if len(ends) != 33 || ends[31].Error != nil || ends[32].Error == nil || s.Total().Agents != 32 {
		t.Errorf("of 33 agents, %d were spawned, want 32; the last result: %q", s.Total().Agents, ends[len(ends)-1].Model)
	}
}

func TestDefaults_SubagentsHaveNoSubagents(t *testing.T) {
	script := play(map[string][]llmtest.Turn{"main": {spawn(`{"task":"work"}`), wait("1"), llmtest.Say("Done.")}, "work": {spawn(`{"task":"more"}`), llmtest.Say("No.")}})
	s := open(t, script, nil)
	submit(t, s, "main")
	if got := sketch(step.Messages(s.log.Records(0), "1")); !strings.Contains(got, "Unknown tool: spawn_agent") || s.Total().Agents != 1 {
		t.Errorf("%d agents, want 1; the conversation of the subagent:\n%s", s.Total().Agents, got)
	}
}

func TestDefaults_AReportHas20000Characters(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main": {spawn(`{"task":"work"}`), wait("1"), llmtest.Say("Done.")}, "work": {llmtest.Say(strings.Repeat("x", 100_000))},
	})
	s := open(t, script, nil)
	submit(t, s, "main")
	got := lastResults(script)[0].Text()
	if n := strings.Count(got, "x"); n < 19_900 || n > 20_010 || !strings.Contains(got, "WARNING") {
		t.Errorf("the model sees %d of 100,000 characters, want almost 20,000 and a warning", n)
	}
}
