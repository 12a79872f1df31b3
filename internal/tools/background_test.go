//go:build unix

package tools_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

// start starts a command in the background.
func (r *rig) start(command string) (id string, pid int) {
	r.t.Helper()
	out := r.run("shell", args{"command": command, "background": true})
	if !out.OK() {
		r.t.Fatalf("%+v", out.Result.Error)
	}
	return out.Result.Fields["id"].(string), out.Result.Fields["pid"].(int)
}

// await reads output until it contains a text. The line about the state of a running process, which every
// read ends with, is not part of it.
func (r *rig) await(id, want string) string {
	r.t.Helper()
	all := ""
	for deadline := time.Now().Add(time.Minute); !strings.Contains(all, want); {
		if time.Now().After(deadline) {
			r.t.Fatalf("got %q, want %q in it", all, want)
		}
		all += strings.TrimSuffix(r.ok("shell_output", args{"id": id, "wait_ms": 20}), "[still running]")
	}
	return all
}

// gone reports whether a process has ended. It may be a zombie.
func gone(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Contains(string(stat), ") Z ") || syscall.Kill(pid, 0) != nil
}

func TestBackground_OutputInputAndStop(t *testing.T) {
	r := newRig(t, tools.Config{})
	out := r.run("shell", args{"command": "echo ready; while read l; do echo got $l; done; echo bye", "background": true})
	f := out.Result.Fields
	if _, err := time.Parse(time.RFC3339, f["started"].(string)); err != nil || f["id"] != "1" || gone(f["pid"].(int)) {
		t.Fatalf("%v, %v", f, err)
	}
	r.await("1", "ready")
	if got := r.ok("shell_output", args{"id": 1}); got != "[still running]" {
		t.Errorf("what was read is given again: %q", got)
	}
	if got := r.ok("shell_input", args{"id": "1", "text": "a\n", "wait_ms": 0}); !strings.Contains(got, "got a") {
		r.await("1", "got a")
	}
	r.ok("shell_input", args{"id": "1", "close": true, "wait_ms": 60000})
	out = r.run("shell_output", args{"id": "1"})
	if out.Result.Fields["running"] != false || out.Result.Fields["exit_code"] != 0 || !exitLine(0).MatchString(out.Model) {
		t.Errorf("%+v", out)
	}
	r.fails(tool.IOError, "shell_input", args{"id": "1", "text": "b\n"}, "does not accept input")
	r.ok("shell_stop", args{"id": "1"})
}

func TestBackground_StopEndsEverythingItStarted(t *testing.T) {
	r := newRig(t, tools.Config{})
	id, pid := r.start("setsid sleep 600 & echo child $! started; sleep 600")
	var child int
	text := r.await(id, " started\n")
	if _, err := fmt.Sscanf(text, "child %d started\n", &child); err != nil {
		t.Fatalf("got output %q, want the pid of the child", text)
	}
	out := r.run("shell_stop", args{"id": id})
	if !out.OK() || out.Result.Fields["running"] != false || !gone(pid) || !gone(child) {
		t.Errorf("%+v; the process is gone: %v, its child: %v", out, gone(pid), gone(child))
	}
}

func TestBackground_OutlivesItsCallButNotTheEnvironment(t *testing.T) {
	r := newRig(t, tools.Config{DefaultTimeout: 50 * time.Millisecond, MaxTimeout: 50 * time.Millisecond})
	id, pid := r.start("sleep 0.2; echo done; sleep 600")
	r.await(id, "done")
	r.env.Close()
	if !gone(pid) {
		t.Error("it still runs after Close")
	}
}

func TestBackground_TimeoutOfItsOwnEndsIt(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.ok("shell", args{"command": "sleep 600", "background": true, "timeout_ms": 50})
	if got := r.ok("shell_output", args{"id": "1", "wait_ms": 60000}); !strings.Contains(got, "stopped by its timeout") {
		t.Errorf("got %q", got)
	}
	r.ok("shell", args{"command": "sleep 600", "background": true, "timeout_ms": int64(1) << 62})
	if got := r.ok("shell_output", args{"id": "2", "wait_ms": 50}); got != "[still running]" {
		t.Errorf("got %q", got)
	}
}

func TestBackground_UnknownIDListsTheKnownOnes(t *testing.T) {
	r := newRig(t, tools.Config{})
	for _, name := range []string{"shell_output", "shell_input", "shell_stop"} {
		r.fails(tool.ProcessNotFound, name, args{"id": "7"}, `"7"`, "there are none")
	}
	for range 10 {
		r.start("true")
	}
	r.fails(tool.ProcessNotFound, "shell_output", args{"id": 70}, "the ids are 1, 2, 3, 4, 5, 6, 7, 8, 9, 10")
	r.fails(tool.ValidationError, "shell_output", args{"id": true})
	r.fails(tool.ValidationError, "shell_output", args{"id": 1.5})
}

// A process that does not read must not block a call. It gets its input when it reads.
func TestBackground_InputToAProcessThatDoesNotReadReturns(t *testing.T) {
	r := newRig(t, tools.Config{})
	id, _ := r.start("until test -e go; do sleep 0.05; done; cat | wc -c")
	big := strings.Repeat("x", 1<<20)
	r.fails(tool.IOError, "shell_input", args{"id": id, "text": big}, "has not read")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pipe := *r.pipe
	pipe.Middleware = []tool.Middleware{func(ctx context.Context, _ tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
		time.AfterFunc(10*time.Millisecond, cancel)
		return next(ctx)
	}}
	if out := pipe.Run(ctx, r.request("shell_input", args{"id": id, "text": "more"})); out.OK() || out.Result.Error.Code != tool.Cancelled {
		t.Errorf("an interrupted call gives %+v", out.Result.Error)
	}
	r.write("go", "")
	if got := r.ok("shell_input", args{"id": id, "close": true, "wait_ms": 0}); !strings.Contains(got, strconv.Itoa(len(big))) {
		r.await(id, strconv.Itoa(len(big)))
	}
}

func TestBackground_LargeOutputComesInPiecesAndWhole(t *testing.T) {
	r := newRig(t, tools.Config{})
	id, _ := r.start("yes ééé | head -n 500000")
	all := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		out := r.run("shell_output", args{"id": id, "wait_ms": 10})
		text := tool.String(out.Result.Output)
		if len(text) > 2<<20 {
			t.Fatalf("a piece of %d bytes", len(text))
		}
		state := text[strings.LastIndex(text, "\n")+1:]
		body := strings.TrimSuffix(strings.TrimSuffix(text, state), "[there is more output; read again]\n")
		all += strings.ReplaceAll(body, "\n", "")
		if out.Result.Fields["running"] == false && !strings.Contains(text, "read again") {
			break
		}
	}
	if all != strings.Repeat("ééé", 500_000) {
		t.Errorf("%d bytes came, not the %d that were printed", len(all), len("ééé")*500_000)
	}
}

func TestBackground_CharacterIsNotCutInTwo(t *testing.T) {
	r := newRig(t, tools.Config{})
	id, _ := r.start(`printf 'x\303'; until test -e go; do sleep 0.02; done; printf '\251y\303'`)
	first := r.await(id, "x")
	r.write("go", "")
	// The end may come in a read of its own; each read ends with a line break.
	rest := strings.ReplaceAll(r.await(id, "[exit code"), "\n", "")
	if first != "x\n" || !strings.HasPrefix(rest, "éy\xc3[exit code") {
		t.Errorf("got %q, then %q; want x, then é, y and half a character", first, rest)
	}
}

func TestBackground_ThereIsALimitAndEndedOnesMakeRoom(t *testing.T) {
	r := newRig(t, tools.Config{})
	for i := range 64 {
		command := "sleep 600"
		if i == 10 {
			command = "true"
		}
		r.start(command)
	}
	r.ok("shell_output", args{"id": "11", "wait_ms": 60000})
	r.start("sleep 600")
	r.fails(tool.ProcessNotFound, "shell_output", args{"id": "11"})
	r.fails(tool.PermissionDenied, "shell", args{"command": "sleep 600", "background": true}, "64", "Stop one")
}

func TestBackground_InputOfAShellIsDeclaredAsACommand(t *testing.T) {
	r := newRig(t, tools.Config{})
	for _, command := range []string{"bash", "/bin/bash --norc", "bash -s"} {
		id, _ := r.start(command)
		r.declares("shell_input", args{"id": id, "text": "rm -rf /\n"}, "exec rm -rf /\n")
		r.declares("shell_input", args{"id": id})
		r.declares("shell_output", args{"id": id})
		r.declares("shell_stop", args{"id": id})
	}
}

func TestBackground_InputOfAShellIsJudgedWithAllInputBefore(t *testing.T) {
	r := newRig(t, tools.Config{})
	id, _ := r.start("bash")
	r.ok("shell_input", args{"id": id, "text": "ls(){ touch x; }\n", "wait_ms": 0})
	r.declares("shell_input", args{"id": id, "text": "ls\n"}, "exec ls(){ touch x; }\nls\n")
	other, _ := r.start("bash")
	r.pipe.Policy = rules.Policy{}
	r.fails(tool.PermissionDenied, "shell_input", args{"id": id, "text": "ls\n"}, "needs approval")
	r.ok("shell_input", args{"id": other, "text": "ls\n", "wait_ms": 0})
	for _, half := range []string{"find . -name ", "ls "} {
		r.ok("shell_input", args{"id": other, "text": half, "wait_ms": 0})
	}
	r.fails(tool.PermissionDenied, "shell_input", args{"id": other, "text": "-delete\n"}, "needs approval")
}

func TestBackground_InputOfOtherProgramsNeedsApproval(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("a.txt", "")
	for _, command := range []string{"cat", "cat >> a.txt", "bash a.txt", "bash -c 'cat'", "./bash; bash", "bash < a.txt", "exec -a bash cat", "env bash", "bash; cat"} {
		id, _ := r.start(command)
		r.pipe.Policy = rules.Policy{}
		for _, mode := range []policy.Mode{policy.ModeDefault, policy.ModeAcceptEdits, policy.ModeAuto} {
			r.pipe.Mode = mode
			r.fails(tool.PermissionDenied, "shell_input", args{"id": id, "text": "x=''#'\nopen(\"F\",\"w\")\n#'\n"}, "needs approval", "sends input to process "+id+" ("+command+")")
			r.fails(tool.PermissionDenied, "shell_input", args{"id": id, "text": "ls\n"}, "needs approval")
		}
		r.pipe.Policy, r.pipe.Mode = policy.AllowAll{}, ""
		r.ok("shell_stop", args{"id": id})
	}
	r.pipe.Policy = rules.Policy{}
	r.fails(tool.PermissionDenied, "shell_input", args{"id": "77", "text": "ls\n"}, "needs approval")
}

func TestBackground_InputOfATerminalIsNotExpandedUnseen(t *testing.T) {
	r := newRig(t, tools.Config{})
	id, _ := r.start("bash -i")
	for _, text := range []string{"!rm\n", "cat .e\t\n", "^ls^rm\n"} {
		if got := r.accesses("shell_input", args{"id": id, "text": text}); len(got) != 1 || !strings.HasPrefix(got[0], "input process "+id+" (bash -i): ") {
			t.Errorf("%q declares %q", text, got)
		}
	}
	r.declares("shell_input", args{"id": id, "text": "ls\n"}, "exec ls\n")
}

// In plan mode it does not help that the text would only read as a command: this process writes what it reads.
func TestBackground_PlanModeAsksAboutEveryInput(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("typed.txt", "")
	id, _ := r.start("cat >> typed.txt")
	r.pipe.Policy, r.pipe.Mode = rules.Policy{}, policy.ModePlan
	for _, a := range []args{{"id": id, "text": "ls\n"}, {"id": id, "close": true}} {
		r.fails(tool.PermissionDenied, "shell_input", a, "needs approval")
	}
	r.ok("shell_input", args{"id": id, "text": "", "wait_ms": 0})
	r.ok("shell_stop", args{"id": id})
	if got := r.read("typed.txt"); got != "" {
		t.Errorf("the process wrote %q", got)
	}
}

func TestBackground_UsersReadTheOutputInBoundedParts(t *testing.T) {
	state := tools.NewState()
	r := newRig(t, tools.Config{State: state})
	id, _ := r.start("printf 'ä\\377'; seq -w 100000; printf ä; exit 3")
	end, ok := state.Await(t.Context(), id)
	if !ok || end.ExitCode != 3 || end.Stopped != "" || !strings.HasPrefix(end.Command, "printf") {
		t.Fatalf("it ended with %+v, %v", end, ok)
	}
	all, offset, parts := "", int64(0), 0
	for ; parts == 0 || offset < 700_005; parts++ {
		out, err := state.Read(id, offset)
		if err != nil || len(out.Text) > 64<<10 || out.Next <= offset || out.Size != 700_005 || out.Running {
			t.Fatalf("read %d bytes at %d: %+v, %v", len(out.Text), offset, out.Next, err)
		}
		if all += out.Text; out.Next < out.Size && !strings.HasSuffix(out.Text, "\n") {
			t.Errorf("the part that ends at %d does not end with a line", out.Next)
		}
		offset = out.Next
	}
	if !strings.HasPrefix(all, "ä\uFFFD000001\n") || !strings.HasSuffix(all, "\n100000\nä") || len(all) != 700_007 || parts < 11 {
		t.Errorf("read %d bytes in %d parts", len(all), parts)
	}
	for offset, want := range map[int64]string{-3: "ä", -9: "100000\nä", -10: "100000\nä", -15: "100000\nä", -16: "099999\n100000\nä"} {
		if out, err := state.Read(id, offset); err != nil || out.Text != want {
			t.Errorf("the last %d bytes are %q (%v), want whole lines: %q", -offset, out.Text, err, want)
		}
	}
	if out, err := state.Read(id, -1); err != nil || out.Text != "" || out.Next != out.Size {
		t.Errorf("the tail within a character is %+v (%v)", out, err)
	}
	if out, err := state.Read(id, 1<<40); err != nil || out.Text != "" || out.Next != out.Size {
		t.Errorf("beyond the end there is %+v (%v)", out, err)
	}
	if out, err := state.Read(id, -1<<40); err != nil || !strings.HasPrefix(out.Text, "ä") {
		t.Errorf("before the start there is %.20q (%v)", out.Text, err)
	}
	if got := r.ok("shell_output", args{"id": id}); !strings.HasPrefix(got, "ä") {
		t.Errorf("the model no longer reads the start: %.20q", got)
	}
	for _, err := range []error{state.Stop(t.Context(), id), state.Stop(t.Context(), "9")} {
		if err == nil {
			t.Error("a command that does not run was stopped")
		}
	}
}
