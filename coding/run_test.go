package coding

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func namedTool(name string) tool.Tool {
	return tool.New(tool.Spec{Name: name, Description: "Does nothing."}, tool.Nothing,
		func(context.Context, *tool.Call, struct{}) (tool.Result, error) { return tool.Success("nothing"), nil })
}

func TestOpen_RefusesFieldsInTheWrongPlaceAndToolsThatProvidersRefuse(t *testing.T) {
	g := newOpenRig(t)
	for want, c := range map[string]Config{
		"Config.Session.Model is set: set Config.Model instead":       {Session: agent.Config{Model: "m"}},
		"Config.Session.Provider is set: set Config.Provider instead": {Model: "m", Session: agent.Config{Provider: "p"}},
		"Config.Session.Effort is set: set Config.Effort instead":     {Model: "m", Effort: "low", Session: agent.Config{Effort: "high"}},
		"Config.Session.Tools replaces all tools":                     {Model: "m", Tools: []tool.Tool{namedTool("a")}, Session: agent.Config{Tools: &tool.Registry{}}},
		`tool "my tool!": providers refuse this name`:                 {Model: "m", Tools: []tool.Tool{namedTool("my tool!")}},
		`two tools are named "a"`:                                     {Model: "m", Tools: []tool.Tool{namedTool("a"), namedTool("a")}},
		`two tools are named "b"`: {Model: "m", Tools: []tool.Tool{namedTool("b")}, Extensions: []Extension{func(context.Context, *Host) (Feature, error) {
			return Feature{Tools: []tool.Tool{namedTool("b")}}, nil
		}}},
	} {
		c.Dir, c.State, c.Session.Client = g.dir, g.state, g.model
		if _, err := Open(t.Context(), c); llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	g.ask(g.open(Config{Model: "m", Tools: []tool.Tool{namedTool("todo_write"), namedTool("shell")}})) // they replace built-in ones
}

func TestRun_WorksOnATaskAndClosesTheSession(t *testing.T) {
	g := newOpenRig(t)
	closed := &countingCloser{}
	write := llmtest.Call("write_file", `{"file_path":"a.txt","content":"a"}`)
	g.model = llmtest.Play(write, llmtest.Say("I wrote it."), write, llmtest.Say("I wrote it."))
	c := Config{Model: "claude-sonnet-5-5", Dir: g.dir, State: g.state, Session: agent.Config{Client: g.model, Owned: closed.list()}}
	out, err := Run(t.Context(), c, "Write a.txt.")
	if err != nil || out.Status != agent.StatusDone || len(out.Refused) != 1 || out.Refused[0].Tool != "write_file" || closed.n != 1 {
		t.Errorf("without an approver: got %+v, %v, closed %d times", out, err, closed.n)
	}
	c.Session.Mode = policy.ModeAcceptEdits
	out, err = Run(t.Context(), c, "Write a.txt.")
	if _, missing := os.Stat(filepath.Join(g.dir, "a.txt")); err != nil || missing != nil || len(out.Refused) != 0 || closed.n != 2 {
		t.Errorf("got %+v, %v, %v", out, err, missing)
	}
	if _, err := Run(t.Context(), Config{Session: agent.Config{Model: "m"}}, "go"); err == nil {
		t.Error("an invalid configuration was accepted")
	}
}

func TestOpenOrResume_CreatesThenResumes(t *testing.T) {
	g := newOpenRig(t)
	c := Config{Model: "m", Dir: g.dir, State: g.state, Session: agent.Config{Client: g.model}}
	for i, want := range []int{3, 5} {
		s, err := OpenOrResume(t.Context(), "mine", c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Submit(t.Context(), llm.NewText("hello")); err != nil || s.ID() != "mine" || len(s.Messages()) != want {
			t.Errorf("round %d: session %s has %d messages, want %d: %v", i, s.ID(), len(s.Messages()), want, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c.Resume = "other"
	if _, err := OpenOrResume(t.Context(), "mine", c); llm.KindOf(err) != llm.ErrConfiguration {
		t.Errorf("with two IDs: %v", err)
	}
	if _, err := OpenOrResume(t.Context(), "../mine", Config{Model: "m", Dir: g.dir, State: g.state, Session: agent.Config{Client: g.model}}); err == nil {
		t.Error("an invalid ID is accepted")
	}
}

// countingCloser counts how often it is closed.
type countingCloser struct{ n int }

func (c *countingCloser) Close() error      { c.n++; return nil }
func (c *countingCloser) list() []io.Closer { return []io.Closer{c} }
