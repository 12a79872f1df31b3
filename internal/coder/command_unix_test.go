//go:build unix

package coder

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// init and result are lines of stream-json.
const (
	initLine   = `{"type":"system","subtype":"init","session_id":"s-1"}`
	resultLine = `{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s-1","num_turns":2,"total_cost_usd":0.5,"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":7,"output_tokens":3}}`
	readLine   = `{"type":"assistant","session_id":"s-1","message":{"content":[{"type":"text","text":"I read"},{"type":"tool_use","name":"Read","input":{}}]}}`
	bashLine   = `{"type":"assistant","session_id":"s-1","message":{"content":[{"type":"tool_use","name":"Bash","input":{}}]}}`
)

// say returns a command that prints lines.
func say(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "printf '%%s\\n' '%s'\n", l)
	}
	return b.String()
}

// newCommandRig returns a coder that runs a shell script with these arguments. The script finds its arguments and its
// input in the files args and input beside it.
func newCommandRig(t *testing.T, script string, args ...string) *rig {
	r := newRig(t)
	bin := t.TempDir()
	path := filepath.Join(bin, "fake-agent")
	script = "#!/bin/sh\nprintf '%s\\n' \"$@\" >> " + bin + "/args\ncat > " + bin + "/input\n" + script
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r.config.Session = nil
	r.config.Command = &Command{
		Args: append([]string{path}, args...), ResumeFlag: "--resume", SystemFlag: "--append-system-prompt",
		Env: func(dir string, _ Sandbox) (env.Environment, error) { return local.New(local.Config{Dir: dir}) },
	}
	return r
}

// beside reads a file beside the script.
func (r *rig) beside(name string) string {
	r.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(r.config.Command.Args[0]), name))
	if err != nil {
		r.Fatal(err)
	}
	return string(b)
}

func TestCommand_ReadsStreamJSON(t *testing.T) {
	r := newCommandRig(t, say(initLine, readLine, resultLine), "-p")
	res := r.run(Request{Prompt: "the task\n", Contract: "C-1", AllMessages: true, Metrics: true})
	r.succeeds(res, "done")
	if m := res.Metrics; res.Session != "s-1" || len(res.Messages) != 3 || m.ModelCalls != 2 || m.ToolCalls != 1 || m.InputTokens != 22 || m.OutputTokens != 3 || *m.CostUSD != 0.5 {
		t.Errorf("the result is %s", asJSON(t, res))
	}
	if in, args := r.beside("input"), r.beside("args"); in != "the task\n" || !strings.HasPrefix(args, "-p\n--append-system-prompt\n# Constraints\n") || !strings.Contains(args, "C-1") {
		t.Errorf("the command got the arguments %q and the input %q", args, in)
	}
	r.config.Command.SystemFlag = ""
	r.run(Request{Prompt: "the task", Guardrails: "G-1", Session: "s-1"})
	if in, args := r.beside("input"), r.beside("args"); !strings.HasPrefix(in, "# Constraints\n") || !strings.HasSuffix(in, "G-1\n</guardrails>\n\n# Task\n\nthe task") || !strings.HasSuffix(args, "-p\n--resume\ns-1\n") {
		t.Errorf("the command got the arguments %q and the input %q", args, in)
	}
}

func TestCommand_Failures(t *testing.T) {
	for _, c := range []struct {
		name, script string
		q            Request
		want         Kind
		exit         int
	}{
		{"idle", say(initLine) + "sleep 600", Request{IdleTimeout: 300 * time.Millisecond}, IdleTimeout, 143},
		{"duration", "while :; do " + say(initLine) + "sleep 0.05; done", Request{MaxDuration: 300 * time.Millisecond}, Timeout, 143},
		{"upstream", say(initLine, `{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529","session_id":"s-1"}`) + "exit 1", Request{}, UpstreamError, 1},
		{"turns", say(initLine, `{"type":"result","subtype":"error_max_turns","session_id":"s-1"}`), Request{}, UpstreamError, 0},
		{"exit code", say(initLine, resultLine) + "echo wrong >&2; exit 3", Request{}, SubprocessError, 3},
		{"no JSON", "echo hello; echo world", Request{}, JSONDecode, 0},
		{"interrupted JSON", say(initLine) + `printf '{"type":"resu'`, Request{}, JSONDecode, 0},
		{"no session", say(`{"type":"result","result":"done"}`), Request{}, MissingSession, 0},
		{"session that is a flag", say(`{"type":"result","result":"done","session_id":"--yes"}`), Request{}, MissingSession, 0},
		{"no result", say(initLine), Request{}, EmptyResult, 0},
		{"empty result", say(initLine, `{"type":"result","result":" ","session_id":"s-1"}`), Request{}, EmptyResult, 0},
		{"nothing", "", Request{}, MissingSession, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newCommandRig(t, c.script)
			res := r.run(c.q)
			r.fails(res, c.want)
			if res.Detail.ExitCode == nil || *res.Detail.ExitCode != c.exit {
				t.Errorf("the detail is %s, want exit code %d", asJSON(t, res.Detail), c.exit)
			}
			if c.want == JSONDecode && res.Detail.JSONDecodeErrors == 0 {
				t.Error("no line is counted as undecoded")
			}
		})
	}
	for name, args := range map[string][]string{"command_not_found": {"no-such-agent-anywhere"}, "command_not_found ": {"/no/such/agent"}, "config_error": {}, "config_error ": {"./fake-agent"}} {
		t.Run(name, func(t *testing.T) {
			r := newCommandRig(t, "")
			r.config.Command.Args = args
			r.fails(r.run(Request{}), Kind(strings.TrimSpace(name)))
		})
	}
	t.Run("environment", func(t *testing.T) {
		r := newCommandRig(t, "")
		r.config.Command.Env = func(string, Sandbox) (env.Environment, error) { return nil, os.ErrPermission }
		r.fails(r.run(Request{}), ConfigError)
	})
}

func TestCommand_KeepsTheLast20Lines(t *testing.T) {
	r := newCommandRig(t, "i=0; while [ $i -lt 30 ]; do echo line $i >&2; i=$((i+1)); done; exit 1")
	res := r.run(Request{})
	r.fails(res, SubprocessError)
	if l := res.Detail.LastLines; len(l) != 20 || l[0] != "line 10" || l[19] != "line 29" {
		t.Errorf("the last lines are %q", l)
	}
}

func TestCommand_ALostSessionBeginsANewOne(t *testing.T) {
	r := newCommandRig(t, `for a; do case $a in --resume) echo "No conversation found with session ID: x" >&2; exit 1;; esac; done
`+say(initLine, resultLine))
	res := r.run(Request{Session: "x"})
	if !res.Success || res.Session != "s-1" || !strings.Contains(res.Result, "Session x was not found.") || !strings.HasSuffix(res.Result, "done") {
		t.Errorf("the result is %s", asJSON(t, res))
	}
}

func TestCommand_RetriesOnlyBeforeAChange(t *testing.T) {
	for name, c := range map[string]struct {
		first string // what the first attempt prints
		again bool
	}{
		"reading": {say(initLine, readLine), true}, "nothing": {"", true},
		"a change": {say(initLine, bashLine), false}, "unknown output": {"echo hello", false},
		"a file": {"echo x > file", false}, "a file that git ignores": {"echo x > ignored", false},
		"a deleted file": {"rm old", false},
	} {
		t.Run(name, func(t *testing.T) {
			again := filepath.Join(t.TempDir(), "again")
			r := newCommandRig(t, "if [ -e "+again+" ]; then\n"+say(initLine, resultLine)+"exit 0; fi; touch "+again+"\n"+c.first+"\nexit 1")
			for file, text := range map[string]string{"old": "old", ".gitignore": "ignored\n"} {
				if err := os.WriteFile(filepath.Join(r.dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			r.config.wait = func(context.Context, time.Duration) error { return nil }
			res := r.run(Request{MaxRetries: 1})
			if c.again {
				r.succeeds(res, "done")
			} else {
				r.fails(res, SubprocessError)
			}
		})
	}
}

func TestCommand_ReportsChangesOutsideTheScope(t *testing.T) {
	r := newCommandRig(t, "echo x > other.txt; mkdir -p src; echo x > src/a\n"+say(initLine, resultLine))
	res := r.run(Request{AllowedFiles: []string{"src/**"}})
	r.fails(res, ScopeViolation)
	if !slices.Equal(res.Detail.Changes, []Change{{"other.txt", "added"}}) {
		t.Errorf("the changes are %v", res.Detail.Changes)
	}
}

func TestCommand_AScopeThatCannotBeCheckedIsAFailure(t *testing.T) {
	state := t.TempDir()
	r := newCommandRig(t, "rm -rf "+state+" && touch "+state+"\n"+say(initLine, resultLine))
	r.config.State = state
	res := r.run(Request{AllowedFiles: []string{"src/**"}})
	r.fails(res, ScopeViolation)
	if !strings.Contains(res.Error, "cannot be checked") {
		t.Errorf("the error is %q", res.Error)
	}
}

func TestScope_AFileThatCannotBeReadIsAFailure(t *testing.T) {
	r := newCommandRig(t, "true")
	if err := os.Symlink("loop", filepath.Join(r.dir, "loop")); err != nil {
		t.Fatal(err)
	}
	s, err := (&run{config: r.config, request: Request{Dir: r.dir, AllowedFiles: []string{}}}).openScope(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := tool.Call{Accesses: []policy.Access{{Kind: policy.Write, Target: filepath.Join(r.dir, "loop", "file")}}}
	_, err = s.remember(t.Context(), c, func(context.Context) (tool.Result, error) { return tool.Result{}, nil })
	if f := s.judge(t.Context(), nil); err != nil || f == nil || f.kind != ScopeViolation {
		t.Errorf("%v, %+v, want a scope violation", err, f)
	}
}

func TestCommand_IsKilledWithItsChildren(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed")
	}
	r := newCommandRig(t, "(setsid sh -c 'echo $$ > pid; exec sleep 600' >/dev/null 2>&1 &)\nwhile [ ! -s pid ]; do sleep 0.01; done\n"+say(initLine)+"sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	r.config.Progress = func(string) { cancel() }
	r.fails(Run(ctx, r.config, Request{Prompt: "x", Dir: r.dir}), UnexpectedException)
	b, err := os.ReadFile(filepath.Join(r.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); !strings.Contains(string(stat), ") Z ") {
			t.Errorf("process %d still runs", pid)
		}
	}
}
