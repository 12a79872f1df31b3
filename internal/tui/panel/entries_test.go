package panel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/mcp"
)

func TestServers_ShowStatesAndTools(t *testing.T) {
	t.Parallel()
	r := newRig(t, command.Host{Servers: func() []mcp.Status {
		return []mcp.Status{
			{Name: "files " + hostile, State: mcp.Connected, Tools: []string{"mcp__files__read", "mcp__files__write"}},
			{Name: "web", State: mcp.Failed, Err: errors.New("no such program " + hostile)},
		}
	}})
	p := r.follow(NewServers(r.options()))
	has(t, r.shows(p, "web: failed"), "2 servers", "files 日本語", "2 tools")
	out := press(t, p, "enter")
	has(t, everywhere(t, out.Open), "mcp__files__read", "mcp__files__write", "connected")
	press(t, p, "ctrl+x")
	if p.(*entries).confirm != nil {
		t.Error("a server can be removed")
	}
	press(t, p, "'web", "esc")
}

func TestServers_AreNotNeeded(t *testing.T) {
	t.Parallel()
	r := newRig(t, command.Host{})
	p := r.follow(NewServers(r.options()))
	has(t, r.shows(p, "not available"), "no MCP servers are configured")
}

func TestPermissions_AreRemovedAfterAQuestion(t *testing.T) {
	t.Parallel()
	rules := []command.Rule{
		{Effect: "allow", Rule: "Bash(go test:*)", Origin: "~/.config/reins/config.toml:3"},
		{Effect: "deny", Rule: "Read(" + hostile + ")", Origin: "project"},
	}
	r := newRig(t, command.Host{
		Rules: func(context.Context) ([]command.Rule, error) { return rules, nil },
		RemoveRule: func(_ context.Context, rule command.Rule) error {
			rules = rules[1:]
			return nil
		},
	})
	p := r.follow(NewPermissions(r.options())).(*entries)
	has(t, r.shows(p, "go test"), "2 rules", "The permission mode is default", "~/.config/reins/config.toml:3", "deny   Read(日本語")
	press(t, p, "ctrl+x")
	has(t, everywhere(t, p), "Remove this rule?", "allow Bash(go test:*)")
	press(t, p, "n", "enter")
	press(t, p, "ctrl+x", "y", "enter")
	r.until("it is removed", func() bool { return p.loading == 0 && len(p.rows) == 1 })
	has(t, everywhere(t, p), "1 rule", "Removed the rule allow Bash(go test:*)")
}

func TestMemory_IsForgotten(t *testing.T) {
	t.Parallel()
	notes := []command.Note{
		{Scope: "user", Title: "Style", Text: "Use tabs.\n" + hostile},
		{Scope: "project", Title: "Build", Text: strings.Repeat("make all ", 50)},
	}
	r := newRig(t, command.Host{
		Notes: func(context.Context) ([]command.Note, error) { return notes, nil },
		Forget: func(_ context.Context, n command.Note) error {
			if n.Title != "Build" {
				return fmt.Errorf("forgets %q", n.Title)
			}
			notes = notes[:1]
			return nil
		},
	})
	p := r.follow(NewMemory(r.options())).(*entries)
	has(t, r.shows(p, "Build"), "2 notes", "Style: Use tabs. 日本語", "user", "project")
	press(t, p, "'build", "enter")
	has(t, everywhere(t, press(t, p, "enter").Open), "Build (project)", "make all")
	press(t, p, "ctrl+x", "y", "enter")
	r.until("it is forgotten", func() bool { return p.loading == 0 && len(p.rows) == 1 })
	has(t, everywhere(t, p), `Removed the project note "Build"`)
}
