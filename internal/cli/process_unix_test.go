//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

// patient is the timeout for everything that should happen soon.
const patient = 2 * time.Minute

// command returns the program as a process, with a model server that obeys; see reply.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	server := newModelServer()
	t.Cleanup(server.Close)
	cmd := exec.Command("reins", args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm", "LANG=C.UTF-8", quickExit,
		"ANTHROPIC_API_KEY=" + canary, "ANTHROPIC_BASE_URL=" + server.BaseURL("anthropic"),
	}
	return cmd
}

// homeOf returns the home directory of a command.
func homeOf(cmd *exec.Cmd) string {
	i := slices.IndexFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "HOME=") })
	return strings.TrimPrefix(cmd.Env[i], "HOME=")
}

// exitCodeOf waits for a process and returns its exit code.
func exitCodeOf(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	watchdog := time.AfterFunc(patient, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// lastResult parses the result on the last line of an output. There must be no other.
func lastResult(t *testing.T, out string) result {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	var r result
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil || r.Type != "result" {
		t.Fatalf("the last line is no result: %v\n%s", err, lines[len(lines)-1])
	}
	if n := strings.Count(out, `{"type":"result"`); n != 1 {
		t.Errorf("there are %d results", n)
	}
	if strings.Contains(out, canary) {
		t.Error("the API key is shown")
	}
	return r
}

// sleeper is a prompt for a command that prints its process ID and sleeps.
const sleeper = `call shell {"command":"echo pid=$$=; exec sleep 600","timeout_ms":600000}`

// readPID reads events up to the process ID of the sleeper.
func readPID(t *testing.T, out *bufio.Reader) int {
	t.Helper()
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("the run ended before its command began: %v", err)
		}
		if strings.Contains(line, "TOOL_CALL_OUTPUT_DELTA") && strings.Contains(line, "pid=") {
			pid, err := strconv.Atoi(strings.Split(line, "=")[1])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
}

func checkGone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patient); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
	}
	t.Errorf("the agent's command %d is still there", pid)
}

// start starts a process, and kills it if it does not end soon. It returns its standard output.
func start(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(patient, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { watchdog.Stop() })
	return bufio.NewReader(pipe)
}

func TestRun_SignalEndsWithAResultAndLeavesNoProcess(t *testing.T) {
	// A handler here resets SIGHUP to its default in the processes below. Under nohup they would
	// inherit that it is ignored.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hup) })
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			cmd := command(t, "run", "--yes", "--output", "stream-json", sleeper)
			out := start(t, cmd)
			pid := readPID(t, out)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(out)
			if err != nil {
				t.Fatal(err)
			}
			code := exitCodeOf(t, cmd)
			r := lastResult(t, string(rest))
			if code != 130 || r.ExitCode != 130 || r.Outcome != "interrupted" || r.Turns != 1 || r.SessionID == "" || r.Usage.Input == 0 {
				t.Errorf("exit code %d, result %+v; want 130, interrupted, one turn", code, r)
			}
			checkGone(t, pid)
		})
	}
}

func TestRun_ContinuesAfterAHangupUnderNohup(t *testing.T) {
	t.Parallel()
	cmd := command(t, "run", "--yes", "--output", "stream-json", `call shell {"command":"echo pid=$$=; until [ -e go ]; do sleep 0.05; done"}`)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap '' HUP; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
	out := start(t, cmd)
	readPID(t, out)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cmd.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if code, r := exitCodeOf(t, cmd), lastResult(t, string(rest)); code != 0 || r.Outcome != "done" {
		t.Errorf("exit code %d, outcome %s, want 0, done", code, r.Outcome)
	}
}

func TestRun_SecondSignalQuitsWithAResult(t *testing.T) {
	t.Parallel()
	// The command ignores the first signal.
	cmd := command(t, "run", "--yes", "--output", "stream-json",
		`call shell {"command":"trap '' TERM; echo pid=$$=; while :; do sleep 1; done","timeout_ms":600000}`)
	out := start(t, cmd)
	pid := readPID(t, out)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if code, r := exitCodeOf(t, cmd), lastResult(t, string(rest)); code != 130 || r.Outcome != "interrupted" || r.Turns != 1 {
		t.Errorf("exit code %d, result %+v; want 130, interrupted, one turn", code, r)
	}
	checkGone(t, pid)
}

func TestRun_OpenStdinDoesNotHangIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		signal bool
		code   int
	}{
		{"a prompt", []string{"ping"}, false, 0},
		{"an approval", []string{`call shell {"command":"make"}`}, false, 4},
		{"a question", []string{`call ask_user {"question":"Why?"}`}, false, 4},
		{"no prompt", nil, false, 2},
		{"a deadline", []string{"-", "--deadline", "100ms"}, false, 124},
		{"an interruption", []string{"-"}, true, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, append([]string{"run", "--output", "json"}, c.args...)...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			var out bytes.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if c.signal {
				// A pipe does not hold that much: once it is written, the process is reading.
				if _, err := in.Write(make([]byte, 1<<20)); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			if code, r := exitCodeOf(t, cmd), lastResult(t, out.String()); code != c.code || r.ExitCode != c.code {
				t.Errorf("exit code %d, result %+v; want %d", code, r, c.code)
			}
		})
	}
}

func TestRun_ReaderOfTheOutputGoesAway(t *testing.T) {
	t.Parallel()
	cmd := command(t, "run", "--yes", "--output", "stream-json",
		`call shell {"command":"echo pid=$$=; while :; do echo x; sleep 0.1; done","timeout_ms":600000}`)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	pid := readPID(t, bufio.NewReader(r))
	r.Close()
	if code := exitCodeOf(t, cmd); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	checkGone(t, pid)
}

// killAtWork starts a process with the sleeper and kills it.
func killAtWork(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	pid := readPID(t, start(t, cmd))
	defer syscall.Kill(pid, syscall.SIGKILL)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	exitCodeOf(t, cmd)
}

func TestRun_ResumedRunNamesTheInterruptedCall(t *testing.T) {
	t.Parallel()
	cmd := command(t, "run", "--yes", "--session-id", "killed", "--output", "stream-json", sleeper)
	killAtWork(t, cmd)
	again := command(t, "run", "--resume", "killed")
	again.Dir, again.Env = cmd.Dir, cmd.Env
	var side strings.Builder
	again.Stderr = &side
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	if code := exitCodeOf(t, again); code != 0 || !strings.Contains(side.String(), "✗ shell echo pid=$$=; exec sleep 600 <1ms interrupted: ") {
		t.Errorf("exit code %d, it shows:\n%s", code, side.String())
	}
}

func TestRun_ResultHasTheQuestionsInParts(t *testing.T) {
	t.Parallel()
	cmd := command(t, "run", "--output", "json", `call ask_user {"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}],"multiSelect":true}]}`)
	out, _ := cmd.Output()
	var got result
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := []event.Question{{Question: "Which?", Options: []event.Option{{Label: "a"}, {Label: "b"}}, Multiple: true}}
	if got.ExitCode != 4 || got.Question != "Which?\n  1. a\n  2. b" || !reflect.DeepEqual(got.Questions, want) {
		t.Errorf("the result is %s", out)
	}
}

func TestRun_PlanModeHoldsUntilTheUserEndsIt(t *testing.T) {
	t.Parallel()
	first := command(t, "run", "call enter_plan_mode {}")
	first.Env = append(first.Env, "REINS_MODE=acceptEdits")
	write := `call write_file {"file_path":"a.txt","content":"x"}`
	for i, c := range []struct {
		args  []string
		code  int
		wrote bool
	}{
		{first.Args[1:], 0, false}, {[]string{"run", "--continue", write}, 4, false}, {[]string{"run", "--continue", "--yes", write}, 4, false},
		{[]string{"run", "--continue", "--mode", "acceptEdits", write}, 0, true},
	} {
		cmd := exec.Command(first.Path, c.args...)
		cmd.Args[0], cmd.Dir, cmd.Env = "reins", first.Dir, first.Env
		out, _ := cmd.CombinedOutput()
		_, err := os.Stat(filepath.Join(first.Dir, "a.txt"))
		if code := cmd.ProcessState.ExitCode(); code != c.code || (err == nil) != c.wrote {
			t.Errorf("run %d: exit code %d, want %d; the file exists: %v, want %v\n%s", i+1, code, c.code, err == nil, c.wrote, out)
		}
	}
}
