package mcpsuite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/coder"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// task plays a model that follows the last prompt.
func task(_ int, r *llm.Request) llmtest.Turn {
	prompt, done := "", false
	for _, m := range r.Messages {
		switch m.Role {
		case llm.RoleUser:
			if prompt != "blank" { // what follows is a note about the blank answer
				prompt, done = strings.TrimSpace(m.Text()), false
			}
		case llm.RoleTool:
			done = true
		}
	}
	file, writes := strings.CutPrefix(prompt, "write ")
	switch {
	case done:
		return llmtest.Say("written")
	case writes:
		return llmtest.Call("write_file", fmt.Sprintf(`{"file_path":%q,"content":"x\n"}`, file))
	case prompt == "stall":
		return llmtest.Turn{Fault: llmtest.Fault{StallAtOnce: true}}
	case prompt == "broken":
		return llmtest.Fail(400)
	case prompt == "malformed":
		return llmtest.Turn{Parts: []llm.Part{llm.Text{Text: "x"}}, Fault: llmtest.Fault{Malformed: true}}
	case prompt == "blank":
		return llmtest.Say(" ")
	}
	return llmtest.Say(fmt.Sprintf("%d messages", len(r.Messages)))
}

// coderServer returns the arguments for a server with the tool coder, and the variables for it.
func coderServer(t *testing.T, settings string) (dir string, vars, server []string) {
	t.Helper()
	model := llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: task}, Key: "key-0123456789abcdef"})
	t.Cleanup(model.Close)
	dir, vars = workspace(t)
	vars = append(vars, "ANTHROPIC_API_KEY=key-0123456789abcdef", "ANTHROPIC_BASE_URL="+model.BaseURL("anthropic"))
	for _, v := range vars {
		if home, ok := strings.CutPrefix(v, "XDG_CONFIG_HOME="); ok && settings != "" {
			if err := os.MkdirAll(filepath.Join(home, "reins"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, "reins", "config.toml"), []byte(settings), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, v := range vars { // the inspector passes no others
		server = append(server, "-e", v)
	}
	return dir, vars, append(server, "--transport", "stdio", "--", binary(t), "mcp", "serve", "--coder", "--mode", "acceptEdits", "--cwd", dir)
}

// callCoder calls the tool with the inspector.
func callCoder(t *testing.T, vars, server []string, args ...string) (res coder.Result) {
	t.Helper()
	cmd := node(t, "inspector", slices.Concat([]string{"--cli", "--method", "tools/call", "--tool-name", "coder", "--tool-arg", "cd=."}, args, server)...)
	cmd.Env = append(cmd.Env, vars...)
	out, err := cmd.Output()
	var got inspection
	if e := json.NewDecoder(strings.NewReader(string(out))).Decode(&got); e != nil || len(got.Content) != 1 {
		t.Fatalf("inspector %v: %v, %v\n%s", args, err, e, out)
	}
	if err := json.Unmarshal([]byte(got.Content[0].Text), &res); err != nil {
		t.Fatalf("inspector %v: %v\n%s", args, err, out)
	}
	if res.Success == got.IsError || res.Tool != "coder" {
		t.Errorf("%v: the tool returned isError %v with %s", args, got.IsError, got.Content[0].Text)
	}
	return res
}

func TestInspector_CallsCoder(t *testing.T) {
	node(t, "inspector")
	dir, vars, server := coderServer(t, "")
	first := callCoder(t, vars, server, "PROMPT=write src/a.txt", `allowed_files=["src/**"]`, "return_metrics=true", "return_all_messages=true")
	if b, err := os.ReadFile(filepath.Join(dir, "src", "a.txt")); !first.Success || first.Result != "written" || err != nil || string(b) != "x\n" {
		t.Fatalf("a task: %+v, %v", first, err)
	}
	if first.Metrics == nil || first.Metrics.ToolCalls != 1 || len(first.Messages) == 0 {
		t.Errorf("the metrics are %+v, with %d messages", first.Metrics, len(first.Messages))
	}
	second := callCoder(t, vars, server, "PROMPT=count", "SESSION_ID="+first.Session)
	if !second.Success || second.Session != first.Session || second.Result == "2 messages" {
		t.Errorf("a session that continues: %+v", second)
	}
	lost := callCoder(t, vars, server, "PROMPT=count", "SESSION_ID=LOST")
	if !lost.Success || lost.Session == "LOST" || !strings.HasPrefix(lost.Result, "[Session LOST was not found.") || !strings.HasSuffix(lost.Result, "2 messages") {
		t.Errorf("a lost session: %+v", lost)
	}
	violation := callCoder(t, vars, server, "PROMPT=write b.txt", `allowed_files=["src/**"]`)
	if violation.Kind != coder.ScopeViolation || len(violation.Detail.Changes) != 1 || violation.Detail.Changes[0] != (coder.Change{Path: "b.txt", Kind: "added"}) {
		t.Errorf("a file outside the scope: %+v", violation)
	}
	for _, c := range []struct {
		kind coder.Kind
		args []string
	}{
		{coder.IdleTimeout, []string{"PROMPT=stall", "timeout=1"}},
		{coder.Timeout, []string{"PROMPT=stall", "max_duration=1"}},
		{coder.UpstreamError, []string{"PROMPT=broken"}},
		{coder.JSONDecode, []string{"PROMPT=malformed"}},
		{coder.EmptyResult, []string{"PROMPT=blank"}},
		{coder.ConfigError, []string{"PROMPT=count", `allowed_files=["../**"]`}},
	} {
		if res := callCoder(t, vars, server, c.args...); res.Success || res.Kind != c.kind || res.Detail == nil {
			t.Errorf("%v: %+v, want %s", c.args, res, c.kind)
		}
	}
	defer hold(t, vars, first.Session)()
	if res := callCoder(t, vars, server, "PROMPT=count", "SESSION_ID="+first.Session); res.Kind != coder.UnexpectedException {
		t.Errorf("a session in use: %+v, want %s", res, coder.UnexpectedException)
	}
}

// hold opens a session, so that no other process can.
func hold(t *testing.T, vars []string, id string) (release func()) {
	t.Helper()
	store, err := home.Dir(strings.TrimPrefix(vars[1], "REINS_HOME=")).OpenSessions(nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	w, err := store.Open(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = w.Close()
		cancel()
	}
}

func TestInspector_CallsCoderWithACommand(t *testing.T) {
	node(t, "inspector")
	agent := filepath.Join(t.TempDir(), "agent")
	settings := func(program string) string {
		return fmt.Sprintf("[permissions]\nallow = [\"coder\"]\n[coder]\nbackend = \"command\"\ncommand = [%q, \"-p\", \"--output-format\", \"stream-json\"]\n", program)
	}
	script := `#!/bin/sh
case $(cat) in
ping) echo '{"type":"system","session_id":"s-1"}'; echo '{"type":"result","result":"pong","session_id":"s-1"}' ;;
anonymous) echo '{"type":"result","result":"pong"}' ;;
fail) echo wrong >&2; exit 3 ;;
esac
`
	if err := os.WriteFile(agent, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	_, vars, server := coderServer(t, settings(agent))
	if res := callCoder(t, vars, server, "PROMPT=ping"); !res.Success || res.Session != "s-1" || res.Result != "pong" {
		t.Errorf("success: %+v", res)
	}
	if res := callCoder(t, vars, server, "PROMPT=anonymous"); res.Kind != coder.MissingSession {
		t.Errorf("without a session: %+v", res)
	}
	if res := callCoder(t, vars, server, "PROMPT=fail"); res.Kind != coder.SubprocessError || *res.Detail.ExitCode != 3 || !slices.Equal(res.Detail.LastLines, []string{"wrong"}) {
		t.Errorf("an exit code: %+v", res)
	}
	_, vars, server = coderServer(t, settings("no-such-agent"))
	if res := callCoder(t, vars, server, "PROMPT=ping"); res.Kind != coder.CommandNotFound {
		t.Errorf("without the program: %+v", res)
	}
}
