//go:build unix

package tools_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestShell_GivesOutputExitCodeAndDuration(t *testing.T) {
	r := newRig(t, tools.Config{})
	out := r.run("shell", args{"command": "echo out; echo err >&2", "description": "speaks"})
	f := out.Result.Fields
	// The two streams are read separately, so their order is not defined.
	text := tool.String(out.Result.Output)
	if !out.OK() || text != "out\nerr\n" && text != "err\nout\n" || f["exit_code"] != 0 || f["timed_out"] != false || f["duration_ms"] == nil {
		t.Errorf("%+v", out)
	}
	if c := out.Result.Artifacts.CommandsRun; len(c) != 1 || c[0] != "echo out; echo err >&2" {
		t.Errorf("commands %v", c)
	}
	out = r.run("shell", args{"command": "echo oops; exit 3"})
	if out.OK() || out.Result.Error.Code != tool.ShellExitError || out.Result.Fields["exit_code"] != 3 || !exitLine(3).MatchString(out.Model) || !strings.HasSuffix(out.Model, "]\noops\n") {
		t.Errorf("%+v", out)
	}
	if out := r.run("shell", args{"command": "true"}); !exitLine(0).MatchString(out.Model) || strings.Contains(out.Model, "\n") {
		t.Errorf("the model sees %q of a command without output", out.Model)
	}
	r.fails(tool.ShellExitError, "shell", args{"command": "no-such-program"}, "127", "not found")
	r.fails(tool.ShellExitError, "shell", args{"command": "kill -9 $$"}, "SIGKILL")
	if got := r.ok("shell", args{"command": "cat"}); got != "" {
		t.Errorf("standard input is not empty: %q", got)
	}
}

// lastContext records the context of the last command.
type lastContext struct {
	env.Environment
	ctx context.Context
}

func (e *lastContext) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	e.ctx = ctx
	return e.Environment.Start(ctx, cmd)
}

func TestShell_ContextOfACommandLastsAsLongAsTheCallers(t *testing.T) {
	r := newRig(t, tools.Config{})
	started := &lastContext{Environment: r.env}
	r.env = started
	r.ok("shell", args{"command": "true"})
	if started.ctx == nil || started.ctx.Err() != nil {
		t.Errorf("context %v ended with the command; the process table is then read after every command", started.ctx)
	}
}

// exitLine matches the line that reports the end of a command.
func exitLine(code int) *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`(?m)^\[exit code %d, (under 1|\d+) s\]$`, code))
}

func TestShell_ModelSeesExitCodeAndDurationOfEveryCommand(t *testing.T) {
	r := newRig(t, tools.Config{})
	for command, code := range map[string]int{"true": 0, "echo x": 0, "printf x": 0, "exit 3": 3, "head -c 100000 /dev/zero | tr '\\0' x": 0, "kill -9 $$": 137} {
		out := r.run("shell", args{"command": command})
		if !exitLine(code).MatchString(out.Model) {
			t.Errorf("%s: the model reads %.200q", command, out.Model)
		}
		if exitLine(code).MatchString(tool.String(out.Result.Output)) {
			t.Errorf("%s: the line is part of the output", command)
		}
	}
}

func TestShell_WorkdirIsWhereItRuns(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("d/f", "")
	r.link("d", "link")
	if got := r.ok("shell", args{"command": "pwd -P", "workdir": "link"}); got != r.path("d")+"\n" {
		t.Errorf("got %q", got)
	}
	if got := r.ok("shell", args{"command": "cd d; pwd"}) + r.ok("shell", args{"command": "pwd"}); got != r.path("d")+"\n"+r.dir+"\n" {
		t.Errorf("got %q", got)
	}
	r.fails(tool.FileNotFound, "shell", args{"command": "pwd", "workdir": "nothing"})
	r.fails(tool.NotADirectory, "shell", args{"command": "pwd", "workdir": "d/f"})
	out := r.pipe.Check(t.Context(), r.request("shell", args{"command": "pwd", "workdir": "link"}))
	if a := out.Accesses; len(a) != 1 || a[0].String() != "exec pwd" || a[0].Dir != r.path("d") {
		t.Errorf("declares %+v", a)
	}
}

func TestShell_TimeoutEndsItWithTheOutputSoFar(t *testing.T) {
	r := newRig(t, tools.Config{})
	limit := 300 * time.Millisecond
	run := func() tool.Outcome {
		return r.run("shell", args{"command": "echo before; sleep 600; echo after", "timeout_ms": limit.Milliseconds()})
	}
	out := run()
	for ; !strings.Contains(out.Model, "before") && limit < 10*time.Second; out = run() { // a busy machine may need more to begin
		limit *= 10
	}
	want := fmt.Sprintf(" s]\nbefore\n\n[ERROR: Command timed out after %v. Partial output is shown above.\n", limit) +
		"You can retry with a longer timeout by setting the timeout_ms parameter.]"
	if out.OK() || out.Result.Error.Code != tool.ShellTimeout || out.Result.Fields["timed_out"] != true || !strings.HasPrefix(out.Model, "[exit code 1") || !strings.HasSuffix(out.Model, want) {
		t.Errorf("%+v", out)
	}
}

func TestShell_TimeoutIsCappedByTheMaximum(t *testing.T) {
	r := newRig(t, tools.Config{DefaultTimeout: time.Hour, MaxTimeout: 200 * time.Millisecond})
	for _, ms := range []int64{0, 250, 1 << 40, 1 << 62} {
		a := args{"command": "sleep 600"}
		if ms > 0 {
			a["timeout_ms"] = ms
		}
		r.fails(tool.ShellTimeout, "shell", a, "timed out after 200ms", "background")
	}
	spec, _ := r.pipe.Registry.Spec("shell")
	if d := spec.Description; !strings.Contains(d, "default 200, at most 200") {
		t.Errorf("the description says %q", d)
	}
}

func TestShell_CancelEndsItWithTheOutputSoFar(t *testing.T) {
	r := newRig(t, tools.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := r.request("shell", args{"command": "echo before; sleep 600"})
	call.Output = func(p []byte) { cancel() }
	out := r.pipe.Run(ctx, call)
	if out.OK() || out.Result.Error.Code != tool.Cancelled || !strings.Contains(out.Model, "]\nbefore\n") {
		t.Errorf("%+v", out)
	}
}

func TestShell_OutputIsShownLive(t *testing.T) {
	r := newRig(t, tools.Config{})
	var live strings.Builder
	call := r.request("shell", args{"command": "echo a; echo b >&2; echo c"})
	call.Output = func(p []byte) { live.Write(p) }
	out := r.pipe.Run(t.Context(), call)
	if got := tool.String(out.Result.Output); live.String() != got || strings.Replace(got, "b\n", "", 1) != "a\nc\n" {
		t.Errorf("live %q, whole %q", live.String(), got)
	}
}

func TestShell_WhatCannotBeACommandIsRefused(t *testing.T) {
	r := newRig(t, tools.Config{})
	for _, command := range []string{"", " \n\t", "echo a\x00b"} {
		r.fails(tool.ValidationError, "shell", args{"command": command}, "command")
	}
	r.fails(tool.ValidationError, "shell", args{"command": "true", "timeout_ms": -1}, "negative")
	r.fails(tool.ValidationError, "shell", args{"command": "echo " + strings.Repeat("x", 3<<20)}, "too long", "script")
}

func TestShell_TerminalOnRequest(t *testing.T) {
	r := newRig(t, tools.Config{})
	if got := r.ok("shell", args{"command": "test -t 1 && echo tty", "tty": true}); !strings.Contains(got, "tty") {
		t.Errorf("got %q", got)
	}
}

func TestShell_ParallelCallsDoNotMix(t *testing.T) {
	r := newRig(t, tools.Config{DefaultTimeout: time.Minute})
	r.write("f", "x\n")
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			name := string(rune('a'+i%26)) + "."
			switch i % 4 {
			case 0:
				if got := r.ok("shell", args{"command": "echo " + name + "; head -c 100000 /dev/zero | tr '\\0' x"}); len(got) != 100003 || got[:2] != name {
					t.Errorf("got %d bytes, %.5q", len(got), got)
				}
			case 1:
				if got := r.ok("read_file", args{"file_path": "f"}); got != "1 | x\n" {
					t.Errorf("got %q", got)
				}
			case 2:
				r.ok("write_file", args{"file_path": name, "content": name})
			case 3:
				r.ok("shell", args{"command": "sleep 600", "background": true})
			}
		})
	}
	wg.Wait()
}

func TestShell_TimeoutAdviceFitsTheLimit(t *testing.T) {
	const longer, background = "longer timeout", "Set background"
	for _, c := range []struct {
		most         time.Duration
		says, leaves string
	}{{time.Minute, longer, background}, {50 * time.Millisecond, background, longer}} {
		r := newRig(t, tools.Config{DefaultTimeout: 50 * time.Millisecond, MaxTimeout: c.most})
		got := r.fails(tool.ShellTimeout, "shell", args{"command": "sleep 60"}, c.says)
		if strings.Contains(got, c.leaves) {
			t.Errorf("with a maximum of %v it also says %q:\n%s", c.most, c.leaves, got)
		}
	}
}
