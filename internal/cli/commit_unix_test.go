//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gitIn runs git in the directory of a command, with its environment.
func gitIn(t *testing.T, cmd *exec.Cmd, args ...string) string {
	t.Helper()
	git := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	git.Dir, git.Env = cmd.Dir, cmd.Env
	out, err := git.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

// stage writes a file and stages it.
func stage(t *testing.T, cmd *exec.Cmd, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(cmd.Dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	gitIn(t, cmd, "add", name)
}

func TestCommit_AsksOnTheTerminal(t *testing.T) {
	for _, c := range []struct {
		name, keys, want string
		args             []string
		code             int
	}{
		{"yes", "y\n", "Change files with 0 tools", nil, 0},
		{"no", "n\n", "first", nil, 1},
		{"edited", "y\n", "Edited by hand", []string{"--edit"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, append([]string{"commit"}, c.args...)...)
			cmd.Env = append(cmd.Env, `EDITOR=sed -i.bak "1s/.*/Edited by hand/"`)
			gitIn(t, cmd, "init", "-q")
			gitIn(t, cmd, "config", "user.name", "t")
			gitIn(t, cmd, "config", "user.email", "t@example.com")
			gitIn(t, cmd, "commit", "-q", "--allow-empty", "-m", "first")
			stage(t, cmd, "a.txt", "one\n")
			con := onTerminal(t, cmd)
			con.await("Commit?")
			con.press(c.keys)
			con.end(c.code)
			if got := strings.TrimSpace(gitIn(t, cmd, "log", "-1", "--format=%s")); got != c.want {
				t.Errorf("the last commit is %q, want %q", got, c.want)
			}
		})
	}
}

func TestCommit_RefusesWhatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	cmd := command(t, "commit")
	gitIn(t, cmd, "init", "-q")
	stage(t, cmd, "a.txt", "one\n")
	con := onTerminal(t, cmd)
	con.await("Commit?")
	stage(t, cmd, "b.txt", "not shown\n")
	con.press("y\n")
	if text := con.end(1); !strings.Contains(text, "the changes are not the same any more") {
		t.Errorf("it does not say what happened:\n%s", text)
	}
	if out, err := exec.Command("git", "-C", cmd.Dir, "rev-parse", "--verify", "HEAD").CombinedOutput(); err == nil {
		t.Errorf("there is a commit %s", out)
	}
}

// Git compares a file as new as the index, for which it runs the filter that the repository configures.
func TestAttack_CommitRunsNoFilterOfTheRepository(t *testing.T) {
	t.Parallel()
	cmd := command(t, "commit", "--dry-run")
	gitIn(t, cmd, "init", "-q")
	stage(t, cmd, ".gitattributes", "*.txt filter=odd.name\n")
	stage(t, cmd, "a.txt", "one\n")
	trace := filepath.Join(t.TempDir(), "ran")
	gitIn(t, cmd, "config", "filter.odd.name.clean", "touch "+trace+"; cat")
	gitIn(t, cmd, "config", "filter.odd.name.required", "true")
	info, err := os.Stat(filepath.Join(cmd.Dir, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(cmd.Dir, ".git/index"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(trace); err == nil {
		t.Error("the filter ran")
	}
}
