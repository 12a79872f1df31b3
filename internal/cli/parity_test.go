//go:build unix

package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// TestParity_9_12 is the cross-provider parity matrix of the specification, §9.12: each case with
// each provider's own profile, over HTTP, against a server that refuses what the real API would.
func TestParity_9_12(t *testing.T) {
	for _, c := range parityCases {
		for _, provider := range []string{"openai", "anthropic", "gemini"} {
			t.Run(c.name+"/"+provider, func(t *testing.T) {
				t.Parallel()
				c.run(newBench(t, provider))
			})
		}
	}
}

// bench is a session with a scripted model.
type bench struct {
	*testing.T
	provider string
	dir      string
	server   *llmtest.Server
	session  *agent.Session

	mu    sync.Mutex
	turns []llmtest.Turn // of the model, next first
	seen  []*llm.Request
	child []llmtest.Turn // of the subagents' model
}

// childTask is the start of every subagent's task.
const childTask = "You are a helper."

func newBench(t *testing.T, provider string) *bench {
	t.Helper()
	b := &bench{T: t, provider: provider, dir: t.TempDir()}
	b.server = llmtest.NewServer(&llmtest.Script{Reply: b.reply})
	t.Cleanup(b.server.Close)
	state := t.TempDir()
	h := Host{Stderr: io.Discard, systemDir: t.TempDir(), Getenv: func(name string) string {
		if name == "REINS_HOME" {
			return state
		}
		if strings.HasSuffix(name, "_API_KEY") {
			return canary
		}
		return ""
	}}
	given := []config.Override{
		{Key: "provider", Value: provider},
		{Key: "base_url", Value: b.server.BaseURL(provider)},
		{Key: "effort", Value: "low"},
		{Key: "run.compact_at", Value: "0"}, // no result is condensed
		{Key: "sandbox.mode", Value: "workspace-write"},
	}
	o := run{connection: connection{given: given}, yes: true, dir: b.dir}
	if err := o.configure(h, event.Meta{}); err != nil {
		t.Fatal(err)
	}
	s, err := newOpener(h, o).session(t.Context(), saved{})
	if err != nil {
		t.Fatal(err)
	}
	b.session = s.Agent()
	t.Cleanup(func() {
		b.session.Close()
		for _, v := range b.server.Violations() {
			t.Errorf("the API would refuse: %v", v)
		}
	})
	return b
}

func (b *bench) reply(_ int, r *llm.Request) llmtest.Turn {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := &b.turns
	for _, m := range r.Messages {
		if m.Role == llm.RoleUser {
			if strings.HasPrefix(m.Text(), childTask) {
				queue = &b.child
			}
			break
		}
	}
	b.seen = append(b.seen, r)
	if len(*queue) == 0 {
		return llmtest.Say("There is nothing left to do.")
	}
	turn := (*queue)[0]
	*queue = (*queue)[1:]
	return turn
}

// submit gives the session a task, and the model these turns.
func (b *bench) submit(task string, turns ...llmtest.Turn) agent.Outcome {
	b.Helper()
	b.mu.Lock()
	b.turns, b.seen = turns, nil
	b.mu.Unlock()
	out, err := b.session.Submit(b.Context(), llm.Text{Text: task})
	if err != nil || out.Status != agent.StatusDone {
		b.Fatalf("the outcome is %s (%v)", out.Status, err)
	}
	if len(b.turns) > 0 {
		b.Errorf("%d turns were not played", len(b.turns))
	}
	return out
}

// all returns the events so far.
func (b *bench) all() []event.Record {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var all []event.Record
	for r, err := range b.session.Events(ctx, 0) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, r)
		if _, last := r.Data.(event.ProcessingEnd); last && r.Agent == "" {
			break
		}
	}
	return all
}

// ends returns the results of the calls of a tool, in order.
func (b *bench) ends(name string) (ends []event.ToolCallEnd) {
	b.Helper()
	for _, r := range b.all() {
		if d, ok := r.Data.(event.ToolCallEnd); ok && d.Name == name {
			ends = append(ends, d)
		}
	}
	return ends
}

// results returns the tool results at the end of the last request.
func (b *bench) results() (texts []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	messages := b.seen[len(b.seen)-1].Messages
	for i := len(messages) - 1; i >= 0 && messages[i].Role != llm.RoleAssistant; i-- {
		for _, p := range messages[i].Parts {
			if r, ok := p.(llm.ToolResult); ok {
				texts = append(texts, r.Text())
			}
		}
	}
	return texts
}

// result returns the only tool result at the end of the last request.
func (b *bench) result() string {
	b.Helper()
	all := b.results()
	if len(all) != 1 {
		b.Fatalf("the model sees %d results, want 1: %q", len(all), all)
	}
	return all[0]
}

func (b *bench) write(name, content string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) wantFile(name, content string) {
	b.Helper()
	if got, err := os.ReadFile(filepath.Join(b.dir, name)); err != nil || string(got) != content {
		b.Errorf("%s is %q (%v), want %q", name, got, err, content)
	}
}

func (b *bench) wantContains(text string, parts ...string) {
	b.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			b.Errorf("%q is not in %q", p, text)
		}
	}
}

// create returns a call that creates a file, and edit one that changes a line of it, with the provider's
// own tools.
func (b *bench) create(name, line string) llm.ToolCall {
	if b.provider == "openai" {
		return patchCall("*** Add File: " + name + "\n+" + line)
	}
	return call("write_file", "file_path", name, "content", line+"\n")
}

func (b *bench) edit(name, from, to string) llm.ToolCall {
	if b.provider == "openai" {
		return patchCall("*** Update File: " + name + "\n@@\n-" + from + "\n+" + to)
	}
	return call("edit_file", "file_path", name, "old_string", from, "new_string", to)
}

func (b *bench) editTool() string {
	if b.provider == "openai" {
		return "apply_patch"
	}
	return "edit_file"
}

func patchCall(body string) llm.ToolCall {
	return llm.ToolCall{Name: "apply_patch", Arguments: "*** Begin Patch\n" + body + "\n*** End Patch", Custom: true}
}

// does returns a turn with tool calls.
func does(calls ...llm.ToolCall) llmtest.Turn { return act("", nil, calls...) }

// object returns a call with arguments of any type.
func object(name string, args map[string]any) llm.ToolCall {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return llm.ToolCall{Name: name, Arguments: string(b)}
}
