package cli

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What an agent runs in a sandbox cannot approve calls of other sessions.
func TestAttack_ACommandInASandboxCannotApprove(t *testing.T) {
	t.Parallel()
	victim := waitingRun(t, "victim")
	side := waits(t, victim)
	wantOutput(t, beside(victim, "run", "--defer-approvals", "--session-id", "stored", makes), 4)
	for _, id := range []string{"victim", "stored"} {
		attack := `call shell {"command":"reins approve ` + id + ` --allow; echo code=$?"}`
		out, _ := beside(victim, "run", "--yes", "--sandbox", "workspace-write", attack).CombinedOutput()
		if !strings.Contains(string(out), "code=") || strings.Contains(string(out), "code=0") {
			t.Errorf("a command in a sandbox approved a call of session %s:\n%s", id, out)
		}
	}
	wantOutput(t, beside(victim, "approve"), 0, "victim", "stored")
	wantOutput(t, beside(victim, "approve", "victim", "--refuse"), 0, "refused: ")
	_, _ = io.Copy(io.Discard, side)
	exitCodeOf(t, victim)
}

// What an agent runs cannot approve calls of its own session, even without a sandbox.
func TestAttack_ACommandCannotApproveItsOwnSession(t *testing.T) {
	const command = `until [ -e asked ]; do sleep 0.05; done; reins approve own --allow; echo code=$? > code.new; mv code.new code`
	for name, command := range map[string]string{
		"child":  command,
		"orphan": `( ( ` + command + ` ) & ); until [ -e code ]; do sleep 0.05; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cannotApprove(t, command)
		})
	}
}

// cannotApprove runs a command that tries to approve the call of another agent of its session.
func cannotApprove(t *testing.T, command string) {
	task, _ := json.Marshal(`call shell {"command":"` + command + `"}`)
	run := waitingRun(t, "own")
	run.Args = []string{"reins", "run", "--wait-for-approvals", "--session-id", "own", "--sandbox", "off",
		`call spawn_agent {"task":` + string(task) + "}\n" + makes + "\n" + `call wait {"agent_id":"1"}`}
	config := filepath.Join(homeOf(run), ".config/reins/config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("[permissions]\nallow = ['Bash']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	side := waits(t, run)
	if err := os.WriteFile(filepath.Join(run.Dir, "asked"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, filepath.Join(run.Dir, "code"))
	if b, _ := os.ReadFile(filepath.Join(run.Dir, "code")); string(b) != "code=1\n" || made(run) {
		t.Errorf("the command of the agent ended with %q, and the file was made: %v", b, made(run))
	}
	wantOutput(t, beside(run, "approve", "own", "--allow"), 0, "allowed: ")
	_, _ = io.Copy(io.Discard, side)
	if code := exitCodeOf(t, run); code != 0 || !made(run) {
		t.Errorf("exit code %d, the file was made: %v", code, made(run))
	}
}
