//go:build unix

package plain

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reins-agent/reins/llm/llmtest"
)

// onTerminal makes the test binary run a session in lines on its terminal.
const onTerminal = "REINS_TEST_PLAIN"

func TestTerminal_Child(t *testing.T) {
	if os.Getenv(onTerminal) == "" {
		return
	}
	write := llmtest.Call("write_file", `{"file_path":"a.txt","content":"made\n"}`)
	d := newDesk(t, write, llmtest.Say("Well."), llmtest.Turn{Delay: time.Hour})
	d.opts.In, d.opts.Out, d.opts.Bell = os.Stdin, os.Stdout, true
	if _, err := Run(t.Context(), d.opts); err != nil {
		t.Error(err)
	}
	fmt.Println("It has quit.")
}

func TestTerminal_KeepsItsUsualMode(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTerminal_Child$")
	cmd.Env = append(os.Environ(), onTerminal+"=1", "TERM=dumb")
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	before := modes(t, tty)
	d := &desk{t: t}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			if d.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	press := func(keys string) {
		if _, err := tty.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	d.await(Ready)
	press("Make a.txt\n1\ny")
	d.await("\a")
	d.await("for the agent: y")
	press("es\n")
	d.await("ignored, because it was typed before you could read the question")
	d.await(Allow)
	press("2\n")
	d.await("Well.")
	d.await(Ready)
	if now := modes(t, tty); now != before {
		t.Errorf("the terminal's modes changed from %s to %s", before, now)
	}
	press("Wait\n")
	press("/status\n")
	d.await("state: processing")
	press("\x03")
	d.await("Interrupted. ")
	press("\x03")
	d.await("It has quit.")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Contains(d.text(), "\x1b") {
		t.Errorf("it moved the cursor: %q", d.text())
	}
}

// modes returns the settings of a terminal.
func modes(t *testing.T, tty *os.File) string {
	t.Helper()
	cmd := exec.Command("stty", "-a")
	cmd.Stdin = tty
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
