//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tui"
)

// withFiles writes files of the user's configuration directory and of the project, and returns the program.
func withFiles(t *testing.T, own, project map[string]string) *exec.Cmd {
	t.Helper()
	cmd := command(t)
	dir := t.TempDir()
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+dir)
	for root, files := range map[string]map[string]string{filepath.Join(dir, "reins"): own, cmd.Dir: project} {
		for name, content := range files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return cmd
}

// again returns another run of a program.
func again(cmd *exec.Cmd, dir string, vars ...string) *exec.Cmd {
	next := exec.Command("reins")
	next.Dir, next.Env = dir, append(cmd.Env[:len(cmd.Env):len(cmd.Env)], vars...)
	return next
}

func TestReins_TheStatusLineIsOnlyTheUsers(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	cmd := withFiles(t,
		map[string]string{"config.toml": "[terminal]\nstatus = ['script', 'mode']\nstatus_command = 'echo on duty'\n"},
		map[string]string{".reins/config.toml": "[terminal]\nstatus = ['model']\nstatus_command = 'touch " + mark + "; echo stolen'\n"})
	s := emulate(t, cmd, 80, 24)
	s.sees("trust the files")
	s.answers("n")
	s.sees("on duty · asks first")
	s.sends("ping")
	s.sees("pong")
	s.press("\x11")
	s.ends(0)
	if _, err := os.Stat(mark); err == nil {
		t.Error("the project's command ran")
	}
}

func TestReins_AThemeFileColorsTheTerminal(t *testing.T) {
	t.Parallel()
	cmd := withFiles(t, map[string]string{
		"config.toml":      "[terminal]\ntheme = 'mine'\n",
		"themes/mine.toml": "base = 'dark'\ndim = '#a1b2c3'\n",
		"themes/bad.toml":  "base = 'dark'\n\ndimm = '#a1b2c3'\n",
		"themes/gray.toml": "base = 'dark'\ndim = '#303030'\n",
	}, nil)
	cmd.Env = append(cmd.Env, "COLORTERM=truecolor")
	s := emulate(t, cmd, 80, 24)
	s.sees("asks first")
	if !strings.Contains(s.written(), "38;2;161;178;195") {
		t.Error("the color of the theme is not used")
	}
	s.press("\x11")
	s.ends(0)
	for name, says := range map[string]string{
		"bad":    `themes/bad.toml:3: unknown role "dimm"; did you mean dim?`,
		"gray":   "themes/gray.toml:2: dim is hard to read on a dark background",
		"absent": `unknown theme "absent"; use auto, dark, light`,
		"../x":   `unknown theme "../x"`,
	} {
		s := emulate(t, again(cmd, cmd.Dir, "REINS_THEME="+name), 200, 24)
		s.until(says, func(screen string) bool { return strings.Contains(strings.ReplaceAll(screen, "\n", ""), says) })
		s.sees("asks first")
		s.press("\x11")
		s.ends(0)
	}
}

// written returns everything that the terminal got.
func (s *shownOn) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

func TestReins_AKeymapFileChangesKeys(t *testing.T) {
	t.Parallel()
	cmd := withFiles(t, map[string]string{"keys.toml": "[editor]\nsubmit = 'ctrl+s'\nnewline = ['enter', 'ctrl+j']\n"}, nil)
	s := emulate(t, cmd, 100, 60)
	s.sees("asks first")
	s.press("\x1bOP")
	s.until("the changed key", func(screen string) bool {
		for l := range strings.Lines(screen) {
			if strings.Contains(l, "ctrl+s") && strings.Contains(l, "send the message; after a backslash") {
				return true
			}
		}
		return false
	})
	s.misses(tui.Placeholder) // the whole frame is there
	s.press("\x1b")
	s.sees(tui.Placeholder)
	s.press("pi")
	s.sees("> pi")
	s.press("\r")
	s.press("ng")
	s.until("two lines", func(screen string) bool { return strings.Contains(screen, "> pi\n  ng") })
	s.press("\x13")
	s.until("a message", func(screen string) bool { return strings.Contains(screen, "› pi") })
	s.press("\x11")
	s.ends(0)
}

func TestReins_AMistakeInTheKeymapIsShownAndTheDefaultKeysWork(t *testing.T) {
	t.Parallel()
	s := emulate(t, withFiles(t, map[string]string{"keys.toml": "[editor]\nsubmitt = 'ctrl+s'\n"}, nil), 250, 24)
	s.sees(`keys.toml:2: unknown action "editor.submitt"`)
	s.sees("asks first")
	s.sends("ping")
	s.sees("pong")
	s.press("\x11")
	s.ends(0)
}

func TestReins_TheTourIsShownOnce(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	s := emulate(t, cmd, 100, 30)
	s.sees("Six keys to know")
	s.sends("ping")
	s.sees("pong")
	s.press("\x11")
	s.ends(0)
	for _, dir := range []string{cmd.Dir, t.TempDir()} {
		s = emulate(t, again(cmd, dir), 100, 30)
		s.sees("asks first")
		if strings.Contains(s.written(), "Six keys") {
			t.Errorf("the tour is shown again in %s", dir)
		}
		s.press("\x11")
		s.ends(0)
	}
}

func TestReins_OnlyTheUserTurnsImagesOff(t *testing.T) {
	t.Parallel()
	off := map[string]string{"config.toml": "[terminal]\nimages = 'off'\n"}
	project := map[string]string{".reins/config.toml": off["config.toml"]}
	for name, test := range map[string]struct {
		own, project map[string]string
		asked        int
	}{"the user": {off, nil, 0}, "the project": {nil, project, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := emulate(t, withFiles(t, test.own, test.project), 80, 24)
			s.sees(tui.Placeholder)
			s.press("\x11")
			s.ends(0)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.screen.Asked != test.asked {
				t.Errorf("the terminal was asked %d times about images, want %d", s.screen.Asked, test.asked)
			}
		})
	}
}

// misses waits until the screen does not show a text.
func (s *shownOn) misses(text string) {
	s.t.Helper()
	s.until("a screen without "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}
