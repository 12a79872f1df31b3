//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/view"
)

// makes is a prompt for a call that needs an approval.
const makes = `call write_file {"file_path":"made","content":"x"}`

// beside returns another process of the user of a command.
func beside(first *exec.Cmd, args ...string) *exec.Cmd {
	cmd := exec.Command("reins", args...)
	cmd.Dir, cmd.Env = first.Dir, first.Env
	return cmd
}

// waits starts a run without a terminal and returns when its call waits for approval.
func waits(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	side, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	lines := bufio.NewReader(side)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the run ended without a question: %v", err)
		}
		if strings.Contains(line, "waits for approval; to answer, run: reins approve") {
			return lines
		}
	}
}

// waitingRun returns a run that waits for the approval of a call, and has not started.
func waitingRun(t *testing.T, id string) *exec.Cmd {
	return command(t, "run", "--wait-for-approvals", "--session-id", id, makes)
}

func made(cmd *exec.Cmd) bool {
	_, err := os.Stat(filepath.Join(cmd.Dir, "made"))
	return err == nil
}

// wantOutput runs a command and checks its exit code, and that it prints a text.
func wantOutput(t *testing.T, cmd *exec.Cmd, code int, parts ...string) {
	t.Helper()
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("%q: exit code %d, want %d", cmd.Args, got, code)
	}
	for _, part := range parts {
		if !strings.Contains(string(out), part) {
			t.Errorf("%q: %q is not in the output:\n%s", cmd.Args, part, out)
		}
	}
}

func TestApprove_AnswersARunWithoutATerminalFromAnotherProcess(t *testing.T) {
	t.Parallel()
	run := waitingRun(t, "waits")
	side := waits(t, run)
	wantOutput(t, beside(run, "approve"), 0, "waits", "running", "write_file")
	wantOutput(t, beside(run, "approve", "waits"), 4, "The agent asks: write_file made", "+x", "y  yes, once")
	wantOutput(t, beside(run, "approve", "waits", "--json"), 0, `"running":true`, `"kind":"approval"`)
	if made(run) {
		t.Error("the call ran before it was approved")
	}
	wantOutput(t, beside(run, "approve", "waits", "--allow"), 0, "allowed: write_file made")
	_, _ = io.Copy(io.Discard, side)
	if code := exitCodeOf(t, run); code != 0 || !made(run) {
		t.Errorf("exit code %d, the file was made: %v", code, made(run))
	}
	wantOutput(t, beside(run, "approve", "waits", "--allow"), 1, "no call waits for approval")
	wantOutput(t, beside(run, "approve"), 0, "no call waits for approval")
}

func TestApprove_AnswersARunThatWasKilled(t *testing.T) {
	t.Parallel()
	run := waitingRun(t, "killed")
	waits(t, run)
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	exitCodeOf(t, run)
	wantOutput(t, beside(run, "approve"), 0, "killed", "saved", "write_file")
	wantOutput(t, beside(run, "attach", "killed"), 1, "is not running", "reins run --resume killed")
	wantOutput(t, beside(run, "approve", "killed", "--allow"), 0, "allowed: ", "reins run --resume killed")
	if made(run) {
		t.Error("the call ran without its session")
	}
	wantOutput(t, beside(run, "run", "--resume", "killed"), 0)
	if !made(run) {
		t.Error("the resumed session did not run the call")
	}
}

func TestApprove_OneOfManyAnswersWins(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed ", killed), func(t *testing.T) {
			t.Parallel()
			run := waitingRun(t, "many")
			side := waits(t, run)
			if killed {
				_ = run.Process.Kill()
				exitCodeOf(t, run)
			}
			type result struct {
				out  string
				code int
			}
			results := make([]result, 4)
			var crowd sync.WaitGroup
			for i := range results {
				crowd.Go(func() {
					cmd := beside(run, "approve", "many", []string{"--allow", "--refuse"}[i%2])
					out, _ := cmd.CombinedOutput()
					results[i] = result{string(out), cmd.ProcessState.ExitCode()}
				})
			}
			crowd.Wait()
			winner := -1
			for i, r := range results {
				switch {
				case r.code == 0 && winner >= 0:
					t.Errorf("two answers won: %+v", results)
				case r.code == 0:
					winner = i
				case !strings.Contains(r.out, "already ") && !strings.Contains(r.out, "no call waits") && !strings.Contains(r.out, "is open in another process"):
					t.Errorf("a loser was told %q", r.out)
				}
			}
			if winner < 0 {
				t.Fatalf("no answer won: %+v", results)
			}
			if killed {
				wantOutput(t, beside(run, "run", "--resume", "many"), 0)
			} else {
				_, _ = io.Copy(io.Discard, side)
				exitCodeOf(t, run)
			}
			if allowed := winner%2 == 0; made(run) != allowed {
				t.Errorf("the answer was %q, but the file was made: %v", results[winner].out, made(run))
			}
		})
	}
}

func TestRun_DefersApprovals(t *testing.T) {
	t.Parallel()
	run := command(t, "run", "--defer-approvals", "--session-id", "later", "--output", "json", makes)
	out, _ := run.Output()
	r := lastResult(t, string(out))
	if r.ExitCode != 4 || r.Outcome != "awaiting_approval" || len(r.Pending) != 1 || r.Pending[0].Title != "write_file made" || made(run) {
		t.Fatalf("the result is %s", out)
	}
	wantOutput(t, beside(run, "run", "--resume", "later", "--defer-approvals"), 4, "1 call waits for approval; to answer and to continue, run: reins approve later, ")
	wantOutput(t, beside(run, "approve", "later", "nothing", "--allow"), 1, "call nothing: it does not wait for approval")
	wantOutput(t, beside(run, "approve", "later", r.Pending[0].ID, "--message", "use b.txt"), 0, "refused: ")
	wantOutput(t, beside(run, "approve", "later", r.Pending[0].ID, "--allow"), 1, "it was already refused")
	wantOutput(t, beside(run, "run", "--resume", "later", "--defer-approvals"), 0, "the user said: use b.txt")
	if made(run) {
		t.Error("the refused call ran")
	}
}

func TestApprove_SavesARuleOnlyAsTheChoiceSays(t *testing.T) {
	t.Parallel()
	run := command(t, "run", "--defer-approvals", "--session-id", "rule", `call shell {"command":"./tool one"}`)
	tool := filepath.Join(run.Dir, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	wantOutput(t, run, 4)
	wantOutput(t, beside(run, "approve", "rule", "--choice", "x"), 2, `"x" is not an answer to this question; use --choice with one of y, p, s, a, g, n`)
	wantOutput(t, beside(run, "approve", "rule", "--always"), 0, "allowed: shell")
	wantOutput(t, beside(run, "run", "--resume", "rule"), 0, "ran")
	wantOutput(t, beside(run, "run", `call shell {"command":"./tool two"}`), 0, "ran")
}

// screenOf folds what "reins attach --output stream-json" prints.
func screenOf(t *testing.T, out []byte) []view.Item {
	t.Helper()
	var s view.State
	for line := range strings.Lines(string(out)) {
		var r event.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %.200s", err, line)
		}
		s.Apply(r)
	}
	return s.Items(0, s.Len())
}

func TestAttach_SixClientsSeeTheSame(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed ", killed), func(t *testing.T) {
			t.Parallel()
			run := waitingRun(t, "six")
			side := waits(t, run)
			outputs := make([][]byte, 6)
			var clients sync.WaitGroup
			var attached sync.WaitGroup
			attached.Add(len(outputs))
			for i := range outputs {
				clients.Go(func() {
					cmd := beside(run, "attach", "six", "--output", "stream-json")
					out, err := cmd.StdoutPipe()
					if err == nil {
						err = cmd.Start()
					}
					if err != nil {
						t.Error(err)
						attached.Done()
						return
					}
					lines := bufio.NewReader(out)
					first, _ := lines.ReadString('\n')
					attached.Done()
					rest, _ := io.ReadAll(lines)
					outputs[i] = append([]byte(first), rest...)
					if code := exitCodeOf(t, cmd); code != 0 {
						t.Errorf("client %d ended with %d", i, code)
					}
				})
			}
			attached.Wait()
			if killed {
				_ = syscall.Kill(run.Process.Pid, syscall.SIGKILL)
				exitCodeOf(t, run)
				run = beside(run, "run", "--wait-for-approvals", "--resume", "six")
				side = waits(t, run)
			}
			wantOutput(t, beside(run, "approve", "six", "--allow"), 0)
			_, _ = io.Copy(io.Discard, side)
			if code := exitCodeOf(t, run); code != 0 || !made(run) {
				t.Errorf("the run ended with %d, the file was made: %v", code, made(run))
			}
			clients.Wait()
			saved, err := beside(run, "sessions", "show", "six", "--events", "--json").Output()
			if err != nil {
				t.Fatal(err)
			}
			want := screenOf(t, saved)
			for i, out := range outputs {
				if diff := cmp.Diff(want, screenOf(t, out)); diff != "" {
					t.Errorf("client %d sees something else (-saved +client):\n%s", i, diff)
				}
			}
			if len(want) < 3 {
				t.Errorf("the session has only %d items", len(want))
			}
		})
	}
}

func TestAttach_TakesPartLineByLine(t *testing.T) {
	t.Parallel()
	run := waitingRun(t, "shared")
	run.Env = append(run.Env, "TERM=dumb")
	side := waits(t, run)
	con := onTerminal(t, beside(run, "attach", "shared"))
	con.await("attached to session shared")
	con.await("Allow?")
	con.press("call glob {\"pattern\":\"*\"}\n") // not an answer of one letter: it refuses and tells the model
	con.await("the session was closed")
	text := con.end(0)
	_, _ = io.Copy(io.Discard, side)
	if code := exitCodeOf(t, run); code != 0 || made(run) || !strings.Contains(text, "the user said: call glob") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}

func TestAttach_PrefersASessionThatRuns(t *testing.T) {
	t.Parallel()
	run := waitingRun(t, "running")
	side := waits(t, run)
	wantOutput(t, beside(run, "run", "--session-id", "later", "ping"), 0, "pong")
	attach := beside(run, "attach")
	attach.Env = append(attach.Env, "TERM=dumb")
	con := onTerminal(t, attach)
	con.await("attached to session running")
	con.await("Allow?")
	con.press("n\n")
	con.end(0)
	_, _ = io.Copy(io.Discard, side)
	exitCodeOf(t, run)
}

func TestAttach_ShowsThatAQuestionWasAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	run := command(t, "run", "--session-id", "both", makes)
	con := onTerminal(t, run)
	con.await("Allow?")
	wantOutput(t, beside(run, "approve", "both", "--allow"), 0, "allowed: ")
	con.await("it was allowed elsewhere")
	con.end(0)
	if !made(run) {
		t.Error("the call did not run")
	}
}
