package rules_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

func everyday(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/everyday.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// TestEveryday_AsksOnlyAboutWhatChangesSomething counts the prompts for 50 everyday commands without any rules. With
// REINS_CLAUDE set to the Claude Code program, it also counts the commands that Claude Code refuses without an
// approver.
func TestEveryday_AsksOnlyAboutWhatChangesSomething(t *testing.T) {
	commands := everyday(t)
	if len(commands) != 50 {
		t.Fatalf("got %d commands, want 50", len(commands))
	}
	p := newPlainPlace(t)
	edits := []string{"mkdir -p build", "sed -i 's/foo/bar/' src/a.go", "echo done > build/out.txt"}
	runs := []string{
		"git add -A", `git commit -m "Fix the parser"`, "npm test", "npm run build 2>&1 | tail -20", "npm run lint", "go build ./...",
		"go test ./... 2>&1 | grep FAIL", "cargo check", "make", "python3 -m pytest -q",
	}
	for mode, want := range map[policy.Mode][]string{
		policy.ModeDefault: slices.Concat(runs, edits), policy.ModePlan: slices.Concat(runs, edits), policy.ModeDontAsk: slices.Concat(runs, edits),
		policy.ModeAcceptEdits: runs, policy.ModeAuto: nil, policy.ModeBypass: nil,
	} {
		var got []string
		for _, c := range commands {
			q := p.query(mode, c)
			q.Workspace.Sandboxed = mode == policy.ModeAuto
			if d := (rules.Policy{}).Decide(t.Context(), q); d.Verdict != policy.Allow {
				got = append(got, c)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: not allowed are\n\t%s\nwant\n\t%s", mode, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
	}
	if claude := os.Getenv("REINS_CLAUDE"); claude != "" {
		for _, mode := range policy.Modes {
			refused := runClaude(t, claude, mode, commands)
			t.Logf("Claude Code, %s: %d of %d refused:\n\t%s", mode, len(refused), len(commands), strings.Join(refused, "\n\t"))
		}
	}
}

// newPlainPlace makes a workspace without links.
func newPlainPlace(t testing.TB) place {
	t.Helper()
	p := newPlace(t)
	entries, err := filepath.Glob(filepath.Join(p.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append(entries, filepath.Join(p.dir, "src", "up")) {
		if info, err := os.Lstat(e); err == nil && info.Mode()&os.ModeSymlink != 0 {
			if err := os.Remove(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}

// runClaude lets Claude Code run commands that a scripted model requests, in its own directory and home, and returns
// the refused commands.
func runClaude(t *testing.T, program string, mode policy.Mode, commands []string) (refused []string) {
	t.Helper()
	dir, home := newPlainPlace(t).dir, t.TempDir()
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", `cd "$0" && git init -q -b main && git add -A && git -c user.name=a -c user.email=a@example.com commit -qm first`, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	model := httptest.NewServer(scriptedMessages(commands))
	defer model.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-p", "--permission-mode", string(mode), "--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5", "go")
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "ANTHROPIC_BASE_URL=" + model.URL, "ANTHROPIC_API_KEY=none", "IS_SANDBOX=1",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", mode, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event struct {
			Type    string
			Turns   int `json:"num_turns"`
			Denials []struct {
				Input struct{ Command string } `json:"tool_input"`
			} `json:"permission_denials"`
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Type != "result" {
			continue
		}
		if event.Turns != len(commands)+1 {
			t.Fatalf("%s: %d turns, want %d", mode, event.Turns, len(commands)+1)
		}
		for _, d := range event.Denials {
			refused = append(refused, d.Input.Command)
		}
	}
	return refused
}

// scriptedMessages is a model that asks for one command after another, then stops.
func scriptedMessages(commands []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Tools    []struct{ Name string }
			Messages []struct{ Content json.RawMessage }
		}
		if json.NewDecoder(r.Body).Decode(&body) != nil || strings.Contains(r.URL.Path, "count_tokens") {
			fmt.Fprint(w, `{"input_tokens":1}`)
			return
		}
		results := 0
		for _, m := range body.Messages {
			results += bytes.Count(m.Content, []byte(`"type":"tool_result"`))
		}
		block, delta, reason := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": "done"}, "end_turn"
		if results < len(commands) && slices.ContainsFunc(body.Tools, func(t struct{ Name string }) bool { return t.Name == "Bash" }) {
			args, _ := json.Marshal(map[string]string{"command": commands[results], "description": "step"})
			block = map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", results), "name": "Bash", "input": map[string]any{}}
			delta, reason = map[string]any{"type": "input_json_delta", "partial_json": string(args)}, "tool_use"
		}
		usage := map[string]int{"input_tokens": 1, "output_tokens": 1}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range []map[string]any{
			{"type": "message_start", "message": map[string]any{"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "usage": usage}},
			{"type": "content_block_start", "index": 0, "content_block": block},
			{"type": "content_block_delta", "index": 0, "delta": delta},
			{"type": "content_block_stop", "index": 0},
			{"type": "message_delta", "delta": map[string]any{"stop_reason": reason}, "usage": usage},
			{"type": "message_stop"},
		} {
			b, _ := json.Marshal(e)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], b)
		}
	})
}
