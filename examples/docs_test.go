package examples

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/coding/feature"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

// The functions below are shown in the documentation.

func withPermissions(ctx context.Context, approve func(context.Context, tool.Request) (tool.Approval, error)) (*agent.Session, error) {
	session, err := coding.Open(ctx, coding.Config{
		Session: agent.Config{
			Mode:    policy.ModeAcceptEdits,
			Policy:  rules.Must("Bash(go test:*)", "ask Bash(git push:*)", "deny Read(.env)"),
			Approve: approve, // gets the call, the reason, a preview, and rules to suggest
		},
	})
	return session, err
}

func withServers(ctx context.Context, token string, lookup tool.Tool) (*agent.Session, error) {
	servers := &feature.Servers{Config: mcp.Config{Servers: map[string]mcp.Server{
		"files":  {Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "."}},
		"issues": {URL: "https://mcp.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer " + token}},
		"own":    {Tools: []tool.Tool{lookup}},
	}}}
	session, err := coding.Open(ctx, coding.Config{
		Extensions: []coding.Extension{servers.Attach},
		Session:    agent.Config{Policy: rules.Must("mcp__issues__search", "mcp__own")},
	})
	return session, err
}

func servers(ctx context.Context, environment env.Environment, servers map[string]mcp.Server, registry *tool.Registry, session *agent.Session) error {
	client := mcp.Open(ctx, mcp.Config{
		Env:      environment,
		Servers:  servers,
		OnChange: func(c mcp.Change) { session.Reconfigure(ctx, agent.Change{Add: c.Add, Remove: c.Remove}) },
	})
	defer client.Close()
	client.Wait(ctx, 5*time.Second) // the tools of slower servers are added by OnChange
	if err := registry.Register(client.Tools()...); err != nil {
		return err
	}
	return nil
}

func refusals(ctx context.Context, config coding.Config, task string, report func(...any)) error {
	out, err := coding.Run(ctx, config, task)
	if err != nil {
		return err
	}
	for _, r := range out.Refused {
		report(r.Tool, r.Code, r.Reason)
	}
	return nil
}

func streaming(ctx context.Context, session *agent.Session, task string, write func(string)) error {
	for r, err := range session.Stream(ctx, llm.NewText(task)) {
		if err != nil {
			return err
		}
		if d, ok := r.Data.(event.TextDelta); ok {
			write(d.Text)
		}
	}
	return nil
}

var _ = []any{withPermissions, withServers, servers, refusals, streaming}

// Every Go example on these pages is part of a compiled file.
func TestDocs_GoExamplesAreCompiled(t *testing.T) {
	files, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var compiled strings.Builder
	for _, file := range append(files, "docs_test.go", "pages_test.go") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compiled.WriteString(dedent(string(b)))
	}
	for _, page := range []string{"hosts", "mcp", "permissions", "embedding", "write-a-tool"} {
		b, err := os.ReadFile("../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(b), "```go\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("docs/%s.md has no Go example", page)
		}
		for _, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			if !strings.Contains(compiled.String(), dedent(block)) {
				t.Errorf("docs/%s.md has an example that no compiled file contains:\n%s", page, block)
			}
		}
	}
}

// dedent removes the indentation of all lines.
func dedent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}
