//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestUndo_OnATerminalFromTheRunToTheRedo(t *testing.T) {
	t.Parallel()
	home := "REINS_HOME=" + t.TempDir()
	first := command(t, "run", "--yes", `call shell {"command":"echo new > a.txt; touch \"$(printf 'b\\033]0;owned\\007')\""}`)
	show := func(args ...string) string {
		t.Helper()
		cmd := command(t, args...)
		cmd.Dir, cmd.Env = first.Dir, append(cmd.Env, home)
		return onTerminal(t, cmd).end(0)
	}
	file := filepath.Join(first.Dir, "a.txt")
	if err := os.WriteFile(file, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	first.Env = append(first.Env, home)
	text := onTerminal(t, first).end(0)
	if !regexp.MustCompile(`session [A-Z2-7]{26} · continue: reins run --continue · undo: reins undo`).MatchString(text) {
		t.Errorf("the run does not name the next commands:\n%s", text)
	}
	diff := show("diff")
	for _, want := range []string{red + "-old", green + "+new", cyan + "@@"} {
		if !strings.Contains(diff, want) {
			t.Errorf("the diff does not show %q:\n%s", want, diff)
		}
	}
	undone := show("undo", "--yes") // the command names b only when it runs
	if b, _ := os.ReadFile(file); string(b) != "old\n" || !strings.Contains(undone, "~ a.txt") || !strings.Contains(undone, red+"- b") {
		t.Errorf("after undo the file is %q:\n%s", b, undone)
	}
	redone := show("redo")
	if b, _ := os.ReadFile(file); string(b) != "new\n" || !strings.Contains(redone, green+"+ b") {
		t.Errorf("after redo the file is %q:\n%s", b, redone)
	}
	for _, text := range []string{diff, undone, redone, show("diff", "--stat"), show("diff", "--list"), show("cost")} {
		if strings.Contains(text, "\x1b]") || strings.Contains(text, "\x07") {
			t.Errorf("the name of a file acts on the terminal: %q", text)
		}
	}
}

func TestUndo_AsksBeforeItOverwritesTheUsersChanges(t *testing.T) {
	for _, c := range []struct {
		name, keys, agents, both string
		code                     int
	}{
		{"yes", "y\n", "", "", 0},
		{"keep", "k\n", "", "mine\n", 0},
		{"no", "n\n", "new\n", "mine\n", 1},
		{"nothing", "\n", "new\n", "mine\n", 1},
		{"hang up", "\x04", "new\n", "mine\n", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home := "REINS_HOME=" + t.TempDir()
			first := command(t, "run", "--yes", `call shell {"command":"echo new > agent.txt; echo new > both.txt"}`)
			first.Env = append(first.Env, home)
			onTerminal(t, first).end(0)
			for _, name := range []string{"mine.txt", "both.txt"} {
				if err := os.WriteFile(filepath.Join(first.Dir, name), []byte("mine\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cmd := command(t, "undo")
			cmd.Dir, cmd.Env = first.Dir, append(cmd.Env, home)
			con := onTerminal(t, cmd)
			con.await("Restore them?")
			if text := con.text(); !strings.Contains(text, "  - both.txt") || !strings.Contains(text, "-mine") ||
				strings.Contains(text, "agent.txt\r") || strings.Contains(text, "mine.txt") {
				t.Errorf("it does not show the file alone that both changed:\n%s", text)
			}
			con.press(c.keys)
			con.end(c.code)
			for name, want := range map[string]string{"agent.txt": c.agents, "both.txt": c.both, "mine.txt": "mine\n"} {
				if b, _ := os.ReadFile(filepath.Join(first.Dir, name)); string(b) != want {
					t.Errorf("%s is %q, want %q", name, b, want)
				}
			}
		})
	}
}

func TestRun_OnATerminalNamesTheSessionOfAnotherDirectory(t *testing.T) {
	t.Parallel()
	other := t.TempDir()
	cmd := command(t, "run", "--cwd", other, "--session-id", "w", "ping")
	text := onTerminal(t, cmd).end(0)
	for _, want := range []string{"· working in " + other, "session w · continue: reins run --resume w · undo: reins undo w"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}
