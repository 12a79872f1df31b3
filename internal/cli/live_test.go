package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// TestSmoke_9_13 is the integration smoke test of the specification, §9.13, with the real APIs. It
// costs money, so it runs only with REINS_LIVE=1, for the providers whose keys are set. One key is required.
func TestSmoke_9_13(t *testing.T) {
	if os.Getenv("REINS_LIVE") != "1" {
		t.Skip("it costs money: set REINS_LIVE=1 and the keys of providers")
	}
	found := false
	for provider, key := range map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"} {
		t.Run(provider, func(t *testing.T) {
			if os.Getenv(key) == "" {
				t.Skipf("%s is not set", key)
			}
			found = true
			newLive(t, provider).smoke()
		})
	}
	if !found {
		t.Error("no key is set")
	}
}

// live is a session with a real model.
type live struct {
	*testing.T
	dir     string
	session *agent.Session
	seen    event.Seq // the last event before the current task

	childCalls int // tool calls of subagents
}

func newLive(t *testing.T, provider string) *live {
	l := &live{T: t, dir: t.TempDir()}
	state := t.TempDir() // not the user's own
	h := Host{Stderr: io.Discard, systemDir: t.TempDir(), Getenv: func(name string) string {
		if name == "REINS_HOME" {
			return state
		}
		return os.Getenv(name)
	}}
	given := []config.Override{
		{Key: "provider", Value: provider},
		{Key: "run.budget", Value: "5"},
		{Key: "sandbox.mode", Value: "workspace-write"},
	}
	o := run{connection: connection{given: given}, yes: true, timeout: 10 * time.Second, dir: l.dir}
	if err := o.configure(h, event.Meta{}); err != nil {
		t.Fatal(err)
	}
	s, err := newOpener(h, o).session(t.Context(), saved{})
	if err != nil {
		t.Fatal(err)
	}
	l.session = s.Agent()
	t.Cleanup(func() { l.session.Close() })
	return l
}

func (l *live) smoke() {
	l.submit("Create a file called hello.py that prints 'Hello World'")
	l.wantFile("Hello")
	l.submit("Read hello.py and add a second print statement that says 'Goodbye'")
	l.wantFile("Hello", "Goodbye")
	if ends := l.submit("Run hello.py and show the output"); len(ends["shell"]) == 0 {
		l.Error("no command was run")
	}
	if err := os.WriteFile(filepath.Join(l.dir, "big.txt"), []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 1000)), 0o644); err != nil {
		l.Fatal(err)
	}
	whole := func(e event.ToolCallEnd) bool {
		return e.Output.Len() >= 100_000 && strings.Contains(e.Model, "truncated")
	}
	if ends := l.submit("Read big.txt with read_file"); !slices.ContainsFunc(ends["read_file"], whole) {
		l.Error("the large file was not read whole, or not truncated for the model")
	}
	l.steered()
	if ends := l.submit("Spawn a subagent to write tests for hello.py, then review its output"); len(ends["spawn_agent"]) == 0 || l.childCalls == 0 {
		l.Errorf("%d subagents were spawned, which made %d tool calls", len(ends["spawn_agent"]), l.childCalls)
	}
	slow := func(e event.ToolCallEnd) bool { return e.Error != nil && e.Error.Code == "ShellTimeout" }
	if ends := l.submit("Run 'sleep 30' with the default timeout"); !slices.ContainsFunc(ends["shell"], slow) {
		l.Error("the command did not time out")
	}
}

// steered gives the model another goal while it works, after its first tool call.
func (l *live) steered() {
	l.Helper()
	after := l.session.Last()
	go func() {
		for r, err := range l.session.Events(l.Context(), after) {
			if _, ok := r.Data.(event.ToolCallEnd); ok && err == nil {
				break
			}
		}
		_ = l.session.Steer(llm.Text{Text: "Actually, just create a single /health endpoint for now"})
	}()
	l.submit("Create a Flask web application with multiple routes, each in a file of its own")
	found := false
	for _, m := range l.session.Messages() {
		for _, c := range m.ToolCalls() {
			found = found || strings.Contains(c.Arguments, "/health")
		}
	}
	if !found {
		l.Error("the model did not follow the message that it was steered with")
	}
}

// submit gives the model a task and returns the results of its tool calls, by tool.
func (l *live) submit(task string) map[string][]event.ToolCallEnd {
	l.Helper()
	out, err := l.session.Submit(l.Context(), llm.Text{Text: task})
	if err != nil || out.Status != agent.StatusDone {
		l.Fatalf("%s: the outcome is %s (%v)", task, out.Status, err)
	}
	ends := make(map[string][]event.ToolCallEnd)
	for r, err := range l.session.Events(l.Context(), l.seen) {
		if err != nil {
			l.Fatal(err)
		}
		if r.Seq > 0 {
			l.seen = r.Seq
		}
		if d, ok := r.Data.(event.ToolCallEnd); ok {
			ends[d.Name] = append(ends[d.Name], d)
			if r.Agent != "" {
				l.childCalls++
			}
		}
		if _, ok := r.Data.(event.ProcessingEnd); ok && r.Agent == "" {
			break
		}
	}
	return ends
}

func (l *live) wantFile(parts ...string) {
	l.Helper()
	b, err := os.ReadFile(filepath.Join(l.dir, "hello.py"))
	if err != nil {
		l.Fatal(err)
	}
	for _, p := range parts {
		if !strings.Contains(string(b), p) {
			l.Errorf("hello.py does not contain %q: %s", p, b)
		}
	}
}
