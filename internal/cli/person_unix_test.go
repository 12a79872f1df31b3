//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/tui"
	"github.com/reins-agent/reins/internal/tui/dialog"
)

// person is a user in tmux, with one window per terminal.
type person struct {
	t      *testing.T
	tmux   string
	socket string
	env    []string
	dir    string
}

// sits starts tmux with a first window that runs a command.
func sits(t *testing.T, cmd *exec.Cmd) *person {
	t.Helper()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip(err) // as the other tests with tmux; continuous integration installs it
	}
	dir, err := os.MkdirTemp("", "t") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, tmux: tmux, socket: filepath.Join(dir, "s"), env: cmd.Env, dir: cmd.Dir}
	t.Cleanup(func() {
		_ = exec.Command(tmux, "-S", p.socket, "kill-server").Run()
		_ = os.RemoveAll(dir)
	})
	p.run("-f", "/dev/null", "new-session", "-d", "-s", "one", "-x", "100", "-y", "40", "-c", p.dir, "cat")
	p.run("set-option", "-g", "remain-on-exit", "on")
	p.starts("one", cmd.Args[1:]...)
	return p
}

func (p *person) run(args ...string) string {
	p.t.Helper()
	cmd := exec.Command(p.tmux, append([]string{"-S", p.socket}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// starts runs the program in a window in place of what is there.
func (p *person) starts(window string, args ...string) {
	p.t.Helper()
	p.executes(window, append([]string{"reins"}, args...)...)
}

// executes runs a command in a window in place of what is there.
func (p *person) executes(window string, args ...string) {
	p.t.Helper()
	line := append([]string{"respawn-pane", "-k", "-c", p.dir, "-t", window, "env", "-i"}, p.env...)
	p.run(append(append(line, "TERM=screen-256color", "TMUX=x"), args...)...)
}

func (p *person) screen(window string) string {
	p.t.Helper()
	return p.run("capture-pane", "-p", "-t", window)
}

// waits waits until something holds for a window.
func (p *person) waits(window, what string, f func(screen string) bool) {
	p.t.Helper()
	for end := time.Now().Add(patient); ; time.Sleep(10 * time.Millisecond) {
		screen := p.screen(window)
		if f(screen) {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("window %s does not show %s:\n%s", window, what, screen)
		}
	}
}

func (p *person) sees(window, text string) {
	p.t.Helper()
	p.waits(window, text, func(screen string) bool { return strings.Contains(screen, text) })
}

func (p *person) misses(window, text string) {
	p.t.Helper()
	p.waits(window, "a screen without "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

func (p *person) press(window string, keys ...string) {
	p.t.Helper()
	p.run(append([]string{"send-keys", "-t", window}, keys...)...)
}

// types types a text into the draft.
func (p *person) types(window, text string) {
	p.t.Helper()
	p.run("send-keys", "-t", window, "-l", text)
	p.sees(window, text[:min(len(text), 60)])
}

// says types a message and sends it.
func (p *person) says(window, text string) {
	p.t.Helper()
	p.types(window, text)
	p.press(window, "Enter")
}

// chooses selects a choice of the question once it takes keys.
func (p *person) chooses(window, letter string) {
	p.t.Helper()
	p.sees(window, dialog.Phrase)
	p.answers(window, letter)
}

func (p *person) answers(window, letter string) {
	p.t.Helper()
	p.sees(window, tui.Ready)
	p.press(window, letter)
	p.sees(window, "› "+letter)
	p.press(window, "Enter")
}

// ended waits until the program in a window has ended.
func (p *person) ended(window string) {
	p.t.Helper()
	p.waits(window, "the end of the program", func(string) bool {
		return strings.TrimSpace(p.run("display-message", "-p", "-t", window, "#{pane_dead}")) == "1"
	})
}

func TestReins_APersonWorksWithItInTmux(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	p := sits(t, cmd)
	file := func(name string) bool {
		_, err := os.Stat(filepath.Join(p.dir, name))
		return err == nil
	}
	p.sees("one", tui.Placeholder)
	p.says("one", "ping")
	p.sees("one", "pong")

	p.says("one", `call write_file {"file_path":"a.txt","content":"made"}`)
	p.sees("one", "+ made")
	p.chooses("one", "y")
	p.waits("one", "the end of the work", func(s string) bool { return strings.Contains(s, tui.Placeholder) && file("a.txt") })

	p.says("one", `call shell {"command":"touch no.txt"}`)
	p.sees("one", "touch no.txt")
	p.chooses("one", "n")
	p.sees("one", "Tell the agent what to do instead")
	p.says("one", "use another name")
	p.sees("one", "the user said: use another name")
	p.sees("one", tui.Placeholder)

	p.says("one", `call shell {"command":"touch yes.txt"}`)
	p.sees("one", tui.Ready)
	p.says("one", "while it works")
	p.sees("one", "soon: while it works")
	for _, text := range []string{"later one", "later two"} {
		p.types("one", text)
		p.press("one", "M-s")
		p.sees("one", "later: "+text)
	}
	p.press("one", "M-q")
	p.sees("one", "› later: later two")
	p.press("one", "d")
	p.misses("one", "later two")
	p.press("one", "Escape")
	p.chooses("one", "y")
	p.sees("one", "later one")
	p.sees("one", tui.Placeholder)
	if file("no.txt") || !file("yes.txt") {
		t.Errorf("the refused command ran: %v; the approved one: %v", file("no.txt"), file("yes.txt"))
	}

	p.says("one", `call shell {"command":"touch third.txt"}`)
	p.sees("one", dialog.Phrase)
	p.press("one", "C-c")
	p.sees("one", "nterrupted")
	p.sees("one", dialog.Phrase)
	p.chooses("one", "y")
	p.waits("one", "the rest of the work", func(s string) bool { return strings.Contains(s, tui.Placeholder) && file("third.txt") })

	p.says("one", `call shell {"command":"sleep 600","timeout_ms":600000}`)
	p.sees("one", "running shell sleep 600")
	p.press("one", "Escape")
	p.sees("one", "sleep 600  interrupted")
	p.says("one", "/continue")
	p.waits("one", "the rest of the work", func(s string) bool {
		return strings.Contains(s, tui.Placeholder) && strings.Contains(s, "result: ")
	})

	p.says("one", `call write_file {"file_path":"b.txt","content":"second"}`)
	p.chooses("one", "y")
	p.waits("one", "the end of the work", func(s string) bool { return strings.Contains(s, tui.Placeholder) && file("b.txt") })
	p.says("one", "/undo")
	p.sees("one", "Undo the last prompt?")
	p.sees("one", "b.txt")
	p.answers("one", "y")
	p.sees("one", "Undone:")
	if file("b.txt") || !file("a.txt") {
		t.Errorf("after the undo b.txt exists: %v, a.txt: %v", file("b.txt"), file("a.txt"))
	}
	p.press("one", "C-c") // the undone prompt is in the draft
	p.sees("one", tui.Placeholder)

	p.says("one", "/fork a copy")
	p.sees("one", "Copied to session")
	p.says("one", "ping")
	p.sees("one", "› ping")
	p.sees("one", tui.Placeholder)

	p.run("new-window", "-d", "-n", "two", "-c", p.dir, "cat")
	p.starts("two", "attach")
	p.sees("two", "› ping")
	p.says("two", "from the second terminal")
	p.sees("one", "› from the second terminal")
	p.sees("one", tui.Placeholder)
	p.press("two", "C-q")
	p.ended("two")

	pid, err := strconv.Atoi(strings.TrimSpace(p.run("display-message", "-p", "-t", "one", "#{pane_pid}")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.ended("one")
	p.starts("one", "--continue")
	p.sees("one", "› ping")
	p.sees("one", tui.Placeholder)
	p.press("one", "C-q")
	p.ended("one")
}

func TestReins_CtrlZStopsItUntilTheShellContinuesIt(t *testing.T) {
	t.Parallel()
	p := sits(t, command(t))
	p.executes("one", "PS1=shell> ", "sh", "-i")
	p.sees("one", "shell>")
	p.says("one", "reins")
	p.sees("one", tui.Placeholder)
	p.types("one", "a draft")
	p.press("one", "C-z")
	p.sees("one", "Stopped")
	p.misses("one", "a draft")
	p.says("one", "echo $((6*7))") // the shell has the terminal as it was
	p.sees("one", "42")
	p.says("one", "fg")
	p.sees("one", "a draft")
	p.types("one", " continued")
	p.press("one", "C-q")
	p.misses("one", "a draft")
	p.says("one", "echo $((6*8))")
	p.sees("one", "48")
}
