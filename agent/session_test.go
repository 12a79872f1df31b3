package agent

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type echoIn struct {
	Text string `json:"text"`
}

func echoTool(readOnly bool) tool.Tool {
	return tool.New(tool.Spec{Name: "echo", Description: "Says it again.", ReadOnly: readOnly}, harmless[echoIn],
		func(_ context.Context, _ *tool.Call, in echoIn) (tool.Result, error) { return tool.Success("%s", in.Text), nil })
}

// open makes a session over a script, with a real environment.
func open(t *testing.T, script *llmtest.Script, change func(*Config)) *Session {
	t.Helper()
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	c := Config{Client: script, Model: "m", Env: e, System: "Be good.", Policy: policy.AllowAll{}, Tools: &tool.Registry{}}
	if err := c.Tools.Register(echoTool(true)); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func kinds(s *Session) string {
	var out []string
	for _, r := range s.log.Records(0) {
		out = append(out, string(r.Kind()))
	}
	return strings.Join(out, " ")
}

func TestSession_NaturalCompletion(t *testing.T) {
	s := open(t, llmtest.Play(llmtest.Call("echo", `{"text":"hi"}`), llmtest.Say("Done.")), nil)
	out, err := s.Submit(t.Context(), llm.Text{Text: "Say hi."})
	if err != nil || out.Status != StatusDone || out.Text != "Done." || out.Rounds != 1 || out.Turns != 2 {
		t.Fatalf("%+v, %v", out, err)
	}
	s.Close()
	want := "SESSION_START USER_INPUT MODEL_CALL_START ASSISTANT_TEXT_END MODEL_CALL_END TOOL_CALL_START TOOL_CALL_END " +
		"MODEL_CALL_START ASSISTANT_TEXT_END MODEL_CALL_END PROCESSING_END SESSION_END"
	if got := kinds(s); got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
}

func TestSession_SubagentSpawnAndWait(t *testing.T) {
	script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case last.Text() == "Do both.":
			return llmtest.Call("spawn_agent", `{"task":"count"}`)
		case last.Text() == "count":
			return llmtest.Say("three")
		case len(last.Parts) == 1 && strings.Contains(last.Parts[0].(llm.ToolResult).Text(), "is running"):
			return llmtest.Call("wait", `{"agent_id":"1"}`)
		default:
			return llmtest.Say("It said " + last.Parts[0].(llm.ToolResult).Text() + ".")
		}
	}}
	s := open(t, script, nil)
	out, err := s.Submit(t.Context(), llm.Text{Text: "Do both."})
	if err != nil || out.Text != "It said three." {
		t.Fatalf("%+v, %v", out, err)
	}
	nested := 0
	for _, r := range s.log.Records(0) {
		if r.Agent == "1" && r.Kind() == event.KindTextEnd {
			nested++
		}
	}
	if nested != 1 {
		t.Errorf("%d answers of the subagent in the parent's events", nested)
	}
}
