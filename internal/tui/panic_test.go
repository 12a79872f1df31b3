//go:build unix

package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reins-agent/reins/internal/tui/tuitest"
	"github.com/reins-agent/reins/session"
)

// panics is set for the process that panics while it has the terminal.
const panics = "REINS_TEST_PANICS"

func TestMain(m *testing.M) {
	where := os.Getenv(panics)
	if where == "" {
		os.Exit(m.Run())
	}
	o := Options{
		In:    os.Stdin,
		Out:   os.Stdout,
		First: func(context.Context) (session.Handle, error) { return nil, errors.New("none") },
	}
	a, err := newApp(context.Background(), o.complete())
	if err != nil {
		os.Exit(1)
	}
	boom := func() { panic("on purpose") }
	if where == "loop" {
		a.posts <- boom
	} else {
		a.posts <- func() { go boom() }
	}
	_ = a.run()
}

func TestRun_APanicRestoresTheTerminalAndIsReported(t *testing.T) {
	for _, where := range []string{"loop", "goroutine"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), panics+"="+where, "TERM=xterm-256color")
			ptmx, tty, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer ptmx.Close()
			cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			tty.Close()
			var all bytes.Buffer
			watchdog := time.AfterFunc(patient, func() {
				t.Error("the program or what restores the terminal does not end")
				_ = ptmx.Close()
				_ = cmd.Process.Kill()
			})
			_, _ = io.Copy(&all, ptmx) // until the program and its watchdog have ended
			watchdog.Stop()
			if err := cmd.Wait(); err == nil {
				t.Error("it did not panic")
			}
			screen := tuitest.New(80, 24)
			_, _ = screen.Write(all.Bytes())
			if !bytes.Contains(all.Bytes(), []byte("panic: on purpose")) {
				t.Errorf("the panic is not reported: %q", all.String())
			}
			for _, m := range []string{"?1049", "?2004", "?1004", "?2027", "?2031", "otherkeys"} {
				if screen.Modes[m] {
					t.Errorf("mode %s is left on", m)
				}
			}
			if !screen.Modes["?25"] || screen.Kitty != 0 {
				t.Errorf("visible cursor %v, keyboard flags %d", screen.Modes["?25"], screen.Kitty)
			}
		})
	}
}
