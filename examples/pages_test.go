package examples

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/envtest"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/project"
	"github.com/reins-agent/reins/tool"
)

// The code below is shown in docs/embedding.md and docs/write-a-tool.md.

func work(ctx context.Context, config coding.Config, tasks []string) error {
	session, err := coding.Open(ctx, config)
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		for r := range session.Events(ctx, 0) {
			watch(r)
		}
	})
	for _, task := range tasks {
		out, err := session.Submit(ctx, llm.NewText(task))
		if err != nil {
			return errors.Join(err, session.Close())
		}
		fmt.Println(out.Status, out.Text)
	}
	err = session.Close() // ends Events
	watching.Wait()
	return err
}

func watch(r event.Record) {
	switch d := r.Data.(type) {
	case event.ToolCallStart:
		fmt.Println("→", d.Name, string(d.Arguments))
	case event.ToolCallEnd:
		fmt.Println("←", d.Decision.Verdict, d.Duration)
	}
}

func approve(ctx context.Context, r tool.Request) (tool.Approval, error) {
	fmt.Printf("%s %s: %s [y/n] ", r.Spec.Name, r.Call.Args, r.Decision.Reason)
	var answer string
	if _, err := fmt.Scanln(&answer); err != nil {
		return tool.Approval{}, err // refuses
	}
	return tool.Approval{Allow: answer == "y", Message: "The user answered " + answer + "."}, nil
}

func open(ctx context.Context, dir string) (*agent.Session, error) {
	p, err := project.Load(ctx, project.Options{Dir: dir})
	if err != nil {
		return nil, err // an *project.Error is a mistake that the user can correct
	}
	config, err := p.Session(ctx, project.SessionOptions{})
	if err != nil {
		return nil, err
	}
	for _, note := range p.Notes() {
		fmt.Println(note) // such as: untrusted project, ignoring .mcp.json
	}
	config.Session.Approve = approve // any other part can be replaced too
	return coding.Open(ctx, config)
}

func TestOpen_UsesTheConfiguration(t *testing.T) {
	server := llmtest.NewServer(llmtest.Play(llmtest.Say("Hello.")))
	defer server.Close()
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME":               home,
		"REINS_HOME":         home + "/state",
		"REINS_CONFIG":       home + "/config.toml",
		"REINS_PROVIDER":     "anthropic",
		"ANTHROPIC_API_KEY":  "key",
		"ANTHROPIC_BASE_URL": server.BaseURL("anthropic"),
	} {
		t.Setenv(name, value)
	}
	if err := os.WriteFile(home+"/config.toml", []byte("[permissions]\nmode = \"acceptEdits\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Submit(t.Context(), llm.NewText("Hi"))
	if mode := s.Mode(); err != nil || out.Text != "Hello." || mode != policy.ModeAcceptEdits {
		t.Errorf("got %q, %v in mode %s", out.Text, err, mode)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAgent_WritesTheFile(t *testing.T) {
	model := llmtest.Play(
		llmtest.Call("write_file", `{"file_path":"hello.txt","content":"hello\n"}`),
		llmtest.Say("I wrote it."),
	)
	client, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{model}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := coding.Run(t.Context(), coding.Config{
		Dir:     t.TempDir(),
		Model:   "test-model",
		NoSave:  true,
		Session: agent.Config{Client: client, Mode: policy.ModeAcceptEdits},
	}, "Write hello.txt.")
	if err != nil || out.Text != "I wrote it." {
		t.Errorf("got %q, %v", out.Text, err)
	}
}

type countIn struct {
	Path string `json:"path" jsonschema:"path of a text file"`
}

func newCounter() tool.Tool {
	return tool.New(tool.Spec{
		Name:        "count_lines",
		Description: "Counts the lines of a text file.",
		ReadOnly:    true,
	}, countAccess, count)
}

// countAccess declares what a call reads.
func countAccess(ctx context.Context, c *tool.Call, in countIn) []policy.Access {
	path, err := c.Env.RealPath(ctx, in.Path)
	if err != nil {
		return nil // unknown, so that the call needs approval
	}
	return []policy.Access{{Kind: policy.Read, Target: path}}
}

func count(ctx context.Context, c *tool.Call, in countIn) (tool.Result, error) {
	f, err := c.Env.Open(ctx, in.Path)
	if err != nil {
		return tool.Failure(tool.FileNotFound, "Cannot read %s: %v.", in.Path, err), nil
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		n++
	}
	res := tool.Success("%s has %d lines.", in.Path, n)
	res.Fields = map[string]any{"lines": n}
	return res, nil
}

func TestCounter(t *testing.T) {
	e := envtest.NewMemory("linux")
	if err := e.WriteFile(t.Context(), "notes.txt", []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	registry := &tool.Registry{}
	if err := registry.Register(newCounter()); err != nil {
		t.Fatal(err)
	}
	pipeline := &tool.Pipeline{Registry: registry, Policy: rules.Policy{}}
	for args, want := range map[string]string{
		`{"path":"notes.txt"}`:   "notes.txt has 2 lines.",
		`{"path":"missing.txt"}`: "Cannot read missing.txt",
		`{"path":"/etc/passwd"}`: "no approver is configured",
		`{"file":"notes.txt"}`:   "Invalid arguments",
	} {
		out := pipeline.Run(t.Context(), tool.Call{Name: "count_lines", Args: json.RawMessage(args), Env: e})
		if !strings.Contains(out.Model, want) {
			t.Errorf("%s: got %q, want %q", args, out.Model, want)
		}
	}
}

func TestWork_PrintsWhatHappens(t *testing.T) {
	model := llmtest.Play(llmtest.Call("list_dir", `{}`), llmtest.Say("It is empty."), llmtest.Say("Still empty."))
	client, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{model}})
	if err != nil {
		t.Fatal(err)
	}
	config := coding.Config{
		Dir:     t.TempDir(),
		Model:   "test-model",
		NoSave:  true,
		Session: agent.Config{Client: client, Approve: approve},
	}
	if err := work(t.Context(), config, []string{"What is here?", "And now?"}); err != nil {
		t.Error(err)
	}
	if n := len(model.Requests()); n != 3 {
		t.Errorf("the model got %d requests, want 3", n)
	}
}
