package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reins-agent/reins/event"
)

// TestDefaults_OfFlags pins every default that is not empty, false or 0. All values are literals: a
// changed constant must fail here.
func TestDefaults_OfFlags(t *testing.T) {
	want := map[string]string{
		"reins --mode":                        "default",
		"reins ask --timeout":                 "10m0s",
		"reins attach --output":               "text",
		"reins run --compact-at":              "0.8",
		"reins run --max-rounds":              "200",
		"reins audit tail --lines":            "10",
		"reins hooks test --input":            "{}",
		"reins hooks test --prompt":           "test",
		"reins coder --cd":                    ".",
		"reins coder --cwd":                   ".",
		"reins coder --max-duration":          "1800",
		"reins coder --sandbox":               "workspace-write",
		"reins coder --timeout":               "300",
		"reins login chatgpt --timeout":       "5m0s",
		"reins mcp login --timeout":           "5m0s",
		"reins mcp logs --lines":              "100",
		"reins mcp test --timeout":            "30s",
		"reins providers test --timeout":      "1m0s",
		"reins mcp serve --mode":              "default",
		"reins mcp serve --toolset":           "standard",
		"reins policy check --args":           "{}",
		"reins run --mode":                    "default",
		"reins run --output":                  "text",
		"reins run --tool-tier":               "core",
		"reins run --toolset":                 "standard",
		"reins run --webhook-secret-env":      "REINS_WEBHOOK_SECRET",
		"reins sessions import --max-size":    "1024",
		"reins sessions search --limit":       "100",
		"reins sessions search --per-session": "3",
		"reins tool call --args":              "{}",
		"reins tool call --toolset":           "standard",
		"reins tool list --toolset":           "standard",
		"reins watch --max-rounds":            "200", "reins watch --mode": "default",
		"reins wire decode --max-bytes": "67108864",
		"reins wire decode --status":    "200",
	}
	got := make(map[string]string)
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			switch f.DefValue {
			case "", "false", "0", "0s", "[]":
			default:
				got[cmd.CommandPath()+" --"+f.Name] = f.DefValue
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(Host{}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults of flags (-want +got):\n%s", diff)
	}
}

// TestDefaults_OfARun pins the limits of a run without flags, as the session records them.
func TestDefaults_OfARun(t *testing.T) {
	server := newModelServer()
	defer server.Close()
	var out, side bytes.Buffer
	env := map[string]string{"ANTHROPIC_API_KEY": canary, "ANTHROPIC_BASE_URL": server.BaseURL("anthropic"), "REINS_HOME": t.TempDir()}
	h := Host{
		Args:  []string{"run", "--cwd", t.TempDir(), "--output", "stream-json", "ping"},
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &side, Getenv: func(name string) string { return env[name] },
	}
	if code := Main(h); code != 0 {
		t.Fatalf("exit code %d: %s", code, side.String())
	}
	var start struct {
		Kind string
		Data event.SessionStart
	}
	line, _, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	if err := json.Unmarshal(line, &start); err != nil || start.Kind != "SESSION_START" {
		t.Fatalf("the first event is %s (%v), want SESSION_START", line, err)
	}
	want := event.Rules{ToolRounds: 200, LoopWindow: 10, CompactAt: 0.8}
	if diff := cmp.Diff(want, start.Data.Rules); diff != "" {
		t.Errorf("limits of a run (-want +got):\n%s", diff)
	}
}

func TestDefaults_OfInput(t *testing.T) {
	if inputTimeout != 5*time.Second || maxInput != 8388608 || listOnTerminal != 40 {
		t.Errorf("input timeout %v, maximum input %d, sessions on a terminal %d; want 5s, 8388608, 40", inputTimeout, maxInput, listOnTerminal)
	}
}
