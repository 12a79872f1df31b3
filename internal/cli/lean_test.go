package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm/llmtest"
)

// TestRun_LeanRequestHasAtMost6000Bytes runs the whole program with its default configuration.
func TestRun_LeanRequestHasAtMost6000Bytes(t *testing.T) {
	for _, c := range []struct{ provider, model string }{
		{"openai", "gpt-5.5"}, {"anthropic", "claude-opus-5-5"}, {"gemini", "gemini-3.8-flash"}, {"chat", "qwen3-coder"},
	} {
		server := llmtest.NewServer(llmtest.Play(llmtest.Say("pong")))
		var out, side bytes.Buffer
		env := map[string]string{"REINS_HOME": t.TempDir()}
		for _, vendor := range []string{"OPENAI", "ANTHROPIC", "GEMINI", "REINS_CHAT"} {
			env[vendor+"_API_KEY"], env[vendor+"_BASE_URL"] = canary, server.BaseURL(c.provider)
		}
		h := Host{
			Args:  []string{"run", "--provider", c.provider, "--model", c.model, "--tool-tier", "lean", "--cwd", t.TempDir(), "ping"},
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &side, Getenv: func(name string) string { return env[name] },
		}
		code := Main(h)
		bodies := server.Bodies()
		server.Close()
		if code != 0 || len(bodies) == 0 {
			t.Fatalf("%s: exit code %d: %s", c.provider, code, side.String())
		}
		if n := len(bodies[0]); n > 6000 {
			t.Errorf("%s: the first request has %d bytes, want at most 6000", c.provider, n)
		}
		var names []string
		for _, m := range regexp.MustCompile(`"name":"(\w+)","description"`).FindAllSubmatch(bodies[0], -1) {
			names = append(names, string(m[1]))
		}
		if got := strings.Join(names, " "); got != "read_file edit_file write_file shell" {
			t.Errorf("%s: the tools are %s", c.provider, got)
		}
		t.Logf("%s: %d bytes", c.provider, len(bodies[0]))
	}
}
