//go:build unix

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/internal/tui"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/tuitest"
)

// shownOn is the program on a terminal emulator.
type shownOn struct {
	t        *testing.T
	cmd      *exec.Cmd
	pty, tty *os.File

	mu      sync.Mutex
	changed *sync.Cond
	screen  *tuitest.Emulator
	all     bytes.Buffer
}

// emulate starts a command on a terminal emulator.
func emulate(t *testing.T, cmd *exec.Cmd, w, h int) *shownOn {
	t.Helper()
	s := &shownOn{t: t, cmd: cmd, screen: tuitest.New(w, h)}
	s.changed = sync.NewCond(&s.mu)
	var err error
	if s.pty, s.tty, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(s.pty, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)}); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.tty, s.tty, s.tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		s.pty.Close()
		s.tty.Close()
	})
	go s.read()
	return s
}

func (s *shownOn) read() {
	buf := make([]byte, 1<<16)
	for {
		n, err := s.pty.Read(buf)
		s.mu.Lock()
		_, _ = s.screen.Write(buf[:n])
		s.all.Write(buf[:n])
		s.changed.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// until waits until something holds for the screen.
func (s *shownOn) until(what string, f func(screen string) bool) {
	s.t.Helper()
	end := time.Now().Add(patient)
	wake := time.AfterFunc(patient, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer wake.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !f(s.screen.Text()) {
		if !time.Now().Before(end) {
			s.t.Fatalf("%s was not shown:\n%s", what, s.screen.Text())
		}
		s.changed.Wait()
	}
}

func (s *shownOn) sees(text string) {
	s.t.Helper()
	s.until(text, func(screen string) bool { return strings.Contains(screen, text) })
}

func (s *shownOn) press(keys string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// sends pastes a message and sends it.
func (s *shownOn) sends(text string) {
	s.t.Helper()
	s.press("\x1b[200~" + text + "\x1b[201~")
	first, _, _ := strings.Cut(text, "\n")
	s.sees("> " + first)
	s.press("\r")
}

// answers answers the question on the screen once it takes keys.
func (s *shownOn) answers(letter string) {
	s.t.Helper()
	s.sees(tui.Ready)
	s.press(letter)
	s.sees("› " + letter + "  ")
	s.press("\r")
}

// ends waits for the end, and checks that the terminal is as it was.
func (s *shownOn) ends(code int) {
	s.t.Helper()
	if got := exitCodeOf(s.t, s.cmd); got != code {
		s.t.Errorf("exit code %d, want %d", got, code)
	}
	s.restored()
}

// restored waits until no mode is left on.
func (s *shownOn) restored() {
	s.t.Helper()
	for end := time.Now().Add(patient); !s.isRestored(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("the terminal is not restored: modes %v, keyboard flags %d", s.screen.Modes, s.screen.Kitty)
		}
	}
}

func (s *shownOn) isRestored() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range []string{"?1049", "?2004", "?1004", "?1002", "?1006", "?2026", "?2027", "?2031", "otherkeys"} {
		if s.screen.Modes[m] {
			return false
		}
	}
	got, err := unix.IoctlGetTermios(int(s.tty.Fd()), getTermios)
	return err == nil && got.Lflag&unix.ICANON != 0 && s.screen.Modes["?25"] && s.screen.Modes["?7"] && s.screen.Kitty == 0
}

func TestReins_OnATerminalOpensASession(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	file := filepath.Join(cmd.Dir, "a.txt")
	if err := os.WriteFile(file, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := emulate(t, cmd, 100, 30)
	s.sees(tui.Placeholder)
	s.sees("Six keys to know")
	s.sends("ping")
	s.sees("pong")
	s.sends(`call read_file {"file_path":"a.txt"}` + "\n" + `call edit_file {"file_path":"a.txt","old_string":"old","new_string":"new"}`)
	s.sees(dialog.Phrase)
	if b, _ := os.ReadFile(file); string(b) != "old\n" {
		t.Errorf("the question has changed the file to %q", b)
	}
	s.answers("y")
	s.until("the end of the work", func(screen string) bool { return strings.Contains(screen, tui.Placeholder) })
	if b, _ := os.ReadFile(file); string(b) != "new\n" {
		t.Errorf("the file is %q", b)
	}
	s.press("\x11")
	s.ends(0)
	if s.screen.Clears > 2 || len(s.screen.Unknown) > 0 {
		t.Errorf("the screen was cleared %d times; unknown sequences %q", s.screen.Clears, s.screen.Unknown)
	}
}

func TestAttack_AnEditedCommandIsJudgedAgain(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	file := filepath.Join(cmd.Dir, ".reins", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("[permissions]\ndeny = ['Bash(touch made:*)']\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := emulate(t, cmd, 100, 30)
	s.sees("trust the files")
	s.answers("n") // rules that deny hold anyway
	s.sees("untrusted project")
	s.sends(`call shell {"command":"touch other"}`)
	s.sees(tui.Ready)
	s.press("\x05\x15touch made")
	s.sees("> touch made")
	s.press("\r")
	s.sees("denied")
	s.sees(tui.Placeholder)
	for _, name := range []string{"made", "other"} {
		if _, err := os.Stat(filepath.Join(cmd.Dir, name)); err == nil {
			t.Errorf("the command made %s", name)
		}
	}
	s.press("\x11")
	s.ends(0)
}

func TestReins_EveryExitRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	signals := func(list ...syscall.Signal) func(*shownOn) {
		return func(s *shownOn) {
			for _, sig := range list {
				if err := s.cmd.Process.Signal(sig); err != nil {
					s.t.Error(err)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		end  func(*shownOn)
		code int
	}{
		"ctrl+q":       {func(s *shownOn) { s.press("\x11") }, 0},
		"ctrl+c twice": {func(s *shownOn) { s.press("\x03\x03") }, 0},
		"ctrl+d":       {func(s *shownOn) { s.press("\x04") }, 0},
		"exit":         {func(s *shownOn) { s.sends("/exit") }, 0},
		"TERM":         {signals(syscall.SIGTERM), exitInterrupted},
		"HUP":          {signals(syscall.SIGHUP), exitInterrupted},
		"QUIT":         {signals(syscall.SIGQUIT), exitInterrupted},
		"INT twice":    {signals(syscall.SIGINT, syscall.SIGINT), exitInterrupted},
		"KILL":         {signals(syscall.SIGKILL), -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := emulate(t, command(t), 80, 24)
			s.sees("asks first") // the session is open
			s.until("modes of its own", func(string) bool { return s.screen.Modes["?1049"] && s.screen.Modes["?2004"] })
			c.end(s)
			s.ends(c.code)
		})
	}
}

func TestReins_WithoutAKeySaysWhatToSet(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "ANTHROPIC_") })
	s := emulate(t, cmd, 100, 30)
	s.sees("Welcome to Reins")
	s.press("anthropic")
	s.sees("set ANTHROPIC_API_KEY")
	s.press("\x1b")
	s.sees("No session:")
	s.press("kept")
	s.sees("> kept")
	s.press("\x11")
	s.ends(0)
}

func TestReins_WithoutATerminalPrintsHelp(t *testing.T) {
	t.Parallel()
	out, err := command(t).Output()
	if err != nil || !strings.Contains(string(out), "Usage:\n  reins") {
		t.Errorf("it printed %q, error %v", out, err)
	}
	cmd := command(t, "Say hello")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(stderr.String(), `use "reins run"`) {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

func TestReins_ResumesTheChosenSession(t *testing.T) {
	t.Parallel()
	cmd := command(t, "run", "ping")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	again := func(args ...string) *shownOn {
		c := exec.Command("reins", args...)
		c.Env, c.Dir = cmd.Env, cmd.Dir
		return emulate(t, c, 100, 30)
	}
	s := again("--resume")
	s.sees("ping")
	s.press("\r")
	s.sees("pong")
	s.press("\x11")
	s.ends(0)
	s = again("--resume", "latest")
	s.sees("pong")
	s.press("\x11")
	s.ends(0)
}
