package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm/llmtest"
)

// requestRig runs commands against a model server whose requests it checks.
type requestRig struct {
	*testing.T
	server *llmtest.Server
	env    map[string]string
	dir    string
	seen   int // requests that were checked
}

func newRequestRig(t *testing.T) *requestRig {
	server := newModelServer()
	t.Cleanup(server.Close)
	home := t.TempDir()
	return &requestRig{T: t, server: server, dir: t.TempDir(), env: map[string]string{
		"ANTHROPIC_API_KEY": canary, "ANTHROPIC_BASE_URL": server.BaseURL("anthropic"), "REINS_HOME": home,
		"REINS_CONFIG": filepath.Join(home, "config.toml"), "REINS_MODEL": "claude-sonnet-5-5",
	}}
}

// run runs a command and returns its exit code and its outputs.
func (g *requestRig) run(args ...string) (code int, out, side string) {
	var stdout, stderr bytes.Buffer
	code = Main(Host{
		Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(name string) string { return g.env[name] }, systemDir: filepath.Join(g.dir, "none"),
	})
	return code, stdout.String(), stderr.String()
}

// wantAll checks that there are n new requests, and that each has these parts.
func (g *requestRig) wantAll(n int, parts ...string) {
	g.Helper()
	bodies := g.server.Bodies()[g.seen:]
	g.seen += len(bodies)
	if len(bodies) != n {
		g.Errorf("there are %d requests, want %d", len(bodies), n)
	}
	for i, b := range bodies {
		for _, part := range parts {
			if !bytes.Contains(b, []byte(part)) {
				g.Errorf("request %d lacks %s: %s", i+1, part, b)
			}
		}
	}
}

func (g *requestRig) configure(text string) {
	g.Helper()
	if err := os.WriteFile(g.env["REINS_CONFIG"], []byte(text), 0o600); err != nil {
		g.Fatal(err)
	}
}

const ttl, tier, display = `"ttl":"1h"`, `"service_tier":"standard_only"`, `"display":"omitted"`

func TestSettings_OfRequestsComeFromFlagsVariablesAndFiles(t *testing.T) {
	flags := []string{"--cache-ttl", "1h", "--service-tier", "standard_only", "--thinking", "omitted", "--past-price-step"}
	const file = "cache_ttl = \"1h\"\nservice_tier = \"standard_only\"\nthinking_display = \"omitted\"\nrun.past_price_step = true\n"
	vars := map[string]string{"REINS_CACHE_TTL": "1h", "REINS_SERVICE_TIER": "standard_only", "REINS_THINKING_DISPLAY": "omitted", "REINS_PAST_PRICE_STEP": "true"}
	for name, c := range map[string]struct {
		flags []string
		file  string
		vars  map[string]string
	}{
		"flags": {flags: flags}, "a file": {file: file}, "variables": {vars: vars},
		"flags above a file": {flags: flags, file: "cache_ttl = \"5m\"\nservice_tier = \"auto\"\nthinking_display = \"summarized\"\nrun.past_price_step = false\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRequestRig(t)
			g.configure(c.file)
			for k, v := range c.vars {
				g.env[k] = v
			}
			code, out, side := g.run(append([]string{"run", "--cwd", g.dir, "--output", "stream-json", "ping"}, c.flags...)...)
			if code != 0 || !strings.Contains(out, `"past_step":true`) {
				t.Errorf("exit code %d, without a limit at the price step: %v\n%s", code, out, side)
			}
			g.wantAll(1, ttl, tier, display)
		})
	}
}

func TestSettings_OfRequestsReachSubagentsAndEveryCommand(t *testing.T) {
	g := newRequestRig(t)
	g.configure("cache_ttl = \"1h\"\nservice_tier = \"standard_only\"\nthinking_display = \"omitted\"\n")
	if err := os.WriteFile(filepath.Join(g.dir, "long.txt"), []byte(strings.Repeat("a long line\n", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, side := g.run("run", "--yes", "--session-id", "REQUESTS", "--cwd", g.dir, "call spawn_agent {\"task\":\"ping\"}\ncall wait {\"agent_id\":\"1\"}"); code != 0 {
		t.Fatalf("exit code %d: %s", code, side)
	}
	g.wantAll(4, ttl, tier, display)
	if code, _, side := g.run("run", "--resume", "REQUESTS", "--yes", `call read_file {"file_path":"long.txt"}`); code != 0 {
		t.Fatalf("exit code %d: %s", code, side)
	}
	g.wantAll(2, ttl, tier, display)
	if code, _, side := g.run("compact", "REQUESTS"); code != 0 {
		t.Fatalf("exit code %d: %s", code, side)
	}
	g.wantAll(1, ttl, tier)
	if code, out, side := g.run("coder", "--cd", g.dir, "ping"); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, side)
	}
	g.wantAll(1, ttl, tier, display)
}

func TestSettings_OfRequestsThatTheModelRefusesStopTheRunBeforeItStarts(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--cache-ttl", "12h"}, `reins: claude-sonnet-5-5 does not accept the cache lifetime "12h"; use 5m or 1h`},
		{[]string{"--thinking", "loud"}, `reins: --thinking: unknown thinking_display "loud"; use summarized, omitted or updates`},
		{[]string{"--service-tier", "warp"}, `reins: anthropic: claude-sonnet-5-5 does not support the service tier "warp"; use auto or standard_only`},
		{[]string{"--budget", "1", "--service-tier", "priority"},
			"reins: the budget cannot be enforced because the price of the service tier priority of claude-sonnet-5-5 is unknown: " +
				"choose another tier, add its factor with --catalogue, or remove the budget"},
	} {
		g := newRequestRig(t)
		g.configure("")
		code, _, side := g.run(append([]string{"run", "--cwd", g.dir, "ping"}, c.args...)...)
		if code != 2 || !strings.Contains(side, c.want) {
			t.Errorf("%v: exit code %d, and it says %q, want code 2 and %q", c.args, code, side, c.want)
		}
		g.wantAll(0)
	}
}

func TestCompact_SendsTheInstructionsToolsAndEffortOfTheSession(t *testing.T) {
	g := newRequestRig(t)
	g.configure("")
	if err := os.WriteFile(filepath.Join(g.dir, "long.txt"), []byte(strings.Repeat("a long line\n", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.dir, "AGENTS.md"), []byte("Be brief.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", "--yes", "--session-id", "SAME", "--cwd", g.dir, "--effort", "low", `call read_file {"file_path":"long.txt"}`},
		{"run", "--yes", "--resume", "SAME", `call read_file {"file_path":"long.txt"}`},
		{"compact", "SAME"},
	} {
		if code, _, side := g.run(args...); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, side)
		}
	}
	type request struct {
		System, Tools json.RawMessage
		OutputConfig  json.RawMessage `json:"output_config"`
		Messages      []struct{ Role string }
	}
	var all []request
	for _, b := range g.server.Bodies() {
		var r request
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	before, got := all[len(all)-2], all[len(all)-1]
	for name, pair := range map[string][2]json.RawMessage{
		"system": {before.System, got.System}, "tools": {before.Tools, got.Tools}, "output_config": {before.OutputConfig, got.OutputConfig},
	} {
		if !bytes.Equal(pair[0], pair[1]) {
			t.Errorf("%s of the request for the summary is %s, want that of the run: %s", name, pair[1], pair[0])
		}
	}
	for _, m := range got.Messages {
		if m.Role == "system" {
			t.Error("the request for the summary changes the instructions")
		}
	}
}

func TestRun_NamingTheProviderOfASessionKeepsItsModel(t *testing.T) {
	g := newRequestRig(t)
	g.configure("")
	for _, args := range [][]string{
		{"run", "--session-id", "KEEP", "--cwd", g.dir, "--model", "claude-haiku-5-5", "ping"},
		{"run", "--resume", "KEEP", "--provider", "anthropic", "ping"},
	} {
		if code, _, side := g.run(args...); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, side)
		}
		g.wantAll(1, `"model":"claude-haiku-5-5"`)
	}
}
