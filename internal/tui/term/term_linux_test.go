package term

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/tuitest"
)

// TestMain runs as the program that uses the terminal, if a test has started it as one.
func TestMain(m *testing.M) {
	if os.Getenv("TERM_TEST") != "" {
		os.Exit(program())
	}
	os.Exit(m.Run())
}

// patient is how long the tests wait for what should happen soon.
const patient = time.Minute

// stray is written when the terminal is not the program's any more.
const stray = "stray\x1b[?2004h"

// program uses the terminal until a key or a signal ends it.
func program() int {
	signal.Ignore(syscall.SIGPIPE)
	t, err := Open(Options{
		In:        os.Stdin,
		Out:       os.Stdout,
		Alternate: true,
		Watch:     true,
		Images:    true,
		Getenv:    os.Getenv,
		Exit:      os.Exit,
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer t.Close()
	t.Watch()
	t.Mouse(true)
	fmt.Fprint(t, "ready")
	for e := range t.Events() {
		switch e := e.(type) {
		case Quit:
			fmt.Fprint(t, stray)
			return 1
		case Resume:
			fmt.Fprint(t, "\x1b[Hagain")
		case keys.Key:
			if code, over := press(t, e.String()); over {
				return code
			}
		}
	}
	return 0
}

func press(t *Terminal, key string) (code int, over bool) {
	switch key {
	case "q":
		t.Close()
		fmt.Fprint(t, stray)
		return 0, true
	case "p":
		panic("in the main goroutine")
	case "g":
		go func() { panic("in another goroutine") }()
		select {}
	case "k":
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	case "h": // a program that does not react to the signal
		_ = unix.Kill(os.Getpid(), unix.SIGTERM)
		select {}
	case "i":
		_, ok := t.SendImage(2, 1, picture(60, 60), false)
		fmt.Fprintf(t, "sent %v", ok)
	case "u":
		go func() { // until the end, which comes while an image is sent
			big := picture(200, 200)
			for id, ok := t.SendImage(2, 1, big, false); ok; id, ok = t.SendImage(2, 1, big, false) {
				t.DeleteImage(id)
			}
		}()
	case "z":
		t.Suspend()
	case "e":
		t.Release()
		fmt.Println("in the editor")
		if err := t.Reclaim(); err != nil {
			return 1, true
		}
	}
	return 0, false
}

// picture returns a PNG that cannot be compressed.
func picture(w, h int) []byte {
	img := image.NewGray(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = uint8(rand.Uint32())
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// session is the program in a terminal.
type session struct {
	t        *testing.T
	cmd      *exec.Cmd
	pty, tty *os.File
	before   *unix.Termios

	mu      sync.Mutex
	changed *sync.Cond
	screen  *tuitest.Emulator
	all     bytes.Buffer
}

func start(t *testing.T) *session {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, screen: tuitest.New(80, 24)}
	s.changed = sync.NewCond(&s.mu)
	var err error
	if s.pty, s.tty, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.pty.Close(); s.tty.Close() })
	s.before = s.settings()
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), "TERM_TEST=1", "TERM=xterm-256color")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.tty, s.tty, s.tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := s.pty.Read(buf)
			s.mu.Lock()
			s.screen.Write(buf[:n])
			s.all.Write(buf[:n])
			s.changed.Broadcast()
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	s.wait("ready")
	return s
}

// wait waits until the terminal received a text. The test fails if it does not come.
func (s *session) wait(text string) {
	s.t.Helper()
	late := false
	s.mu.Lock()
	defer s.mu.Unlock()
	defer time.AfterFunc(patient, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.changed.Broadcast()
	}).Stop()
	for !bytes.Contains(s.all.Bytes(), []byte(text)) {
		if late {
			_ = s.cmd.Process.Kill()
			s.t.Fatalf("the terminal did not receive %q, only %q", text, s.all.Bytes())
		}
		s.changed.Wait()
	}
}

func (s *session) settings() *unix.Termios {
	s.t.Helper()
	got, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func (s *session) send(text string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// received returns all that the terminal received.
func (s *session) received() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// end waits until the program and all that it started have ended, and checks that the terminal is as before.
func (s *session) end() {
	s.t.Helper()
	watchdog := time.AfterFunc(patient, func() { _ = s.cmd.Process.Kill() })
	_ = s.cmd.Wait()
	if !watchdog.Stop() {
		s.t.Errorf("the program does not end; the terminal received %q", s.received())
	}
	for end := time.Now().Add(patient); ; time.Sleep(time.Millisecond) { // what the program left is now a child of the test
		if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); errors.Is(err, unix.ECHILD) {
			break
		}
		if time.Now().After(end) {
			s.t.Fatal("the program left a process that does not end")
		}
	}
	fmt.Fprint(s.tty, "the end")
	s.wait("the end")
	s.restored()
}

func (s *session) restored() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range []string{"?1049", "?2004", "?1004", "?1002", "?1006", "?2026", "?2027", "?2031", "otherkeys"} {
		if s.screen.Modes[m] {
			s.t.Errorf("mode %s is left on", m)
		}
	}
	if !s.screen.Modes["?25"] || !s.screen.Modes["?7"] || s.screen.Kitty != 0 {
		s.t.Errorf("visible cursor %v, wrapping %v, keyboard flags %d; want true, true, 0",
			s.screen.Modes["?25"], s.screen.Modes["?7"], s.screen.Kitty)
	}
	if len(s.screen.Images) > 0 || len(s.screen.Unknown) > 0 {
		s.t.Errorf("the terminal still has the images %v; unknown sequences %q", s.screen.Images, s.screen.Unknown)
	}
	if bytes.Contains(s.all.Bytes(), []byte("stray")) {
		s.t.Error("output after the end reached the terminal")
	}
	if got := s.settings(); *got != *s.before {
		s.t.Errorf("the terminal's settings are %+v, want %+v", got, s.before)
	}
}

// taken reports whether the program has the terminal.
func (s *session) taken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.Modes["?1049"] && s.screen.Modes["?2004"] && s.screen.Kitty == 1 && s.settings().Lflag&unix.ICANON == 0
}

func TestTerminal_EveryExitRestoresItAndLeavesNoProcess(t *testing.T) {
	for name, end := range map[string]func(s *session){
		"key":            func(s *session) { s.send("q") },
		"panic":          func(s *session) { s.send("p") },
		"goroutine":      func(s *session) { s.send("g") },
		"suicide":        func(s *session) { s.send("k") },
		"does not react": func(s *session) { s.send("h") },
		"TERM":           func(s *session) { s.cmd.Process.Signal(unix.SIGTERM) },
		"HUP":            func(s *session) { s.cmd.Process.Signal(unix.SIGHUP) },
		"INT":            func(s *session) { s.cmd.Process.Signal(unix.SIGINT) },
		"QUIT":           func(s *session) { s.cmd.Process.Signal(unix.SIGQUIT) },
		"KILL":           func(s *session) { s.cmd.Process.Kill() },
		"TERM in an image": func(s *session) {
			s.sendsImages()
			s.cmd.Process.Signal(unix.SIGTERM)
		},
		"KILL in an image": func(s *session) {
			s.sendsImages()
			s.cmd.Process.Kill()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			if !s.taken() {
				t.Fatal("the program does not have the terminal")
			}
			s.send("i")
			s.wait("sent true")
			end(s)
			s.end()
		})
	}
}

// sendsImages makes the program send images until its end.
func (s *session) sendsImages() {
	s.send("u")
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.screen.Sent) < 5 {
		s.changed.Wait()
	}
}

func TestTerminal_ACrashIsReportedOnTheRestoredScreen(t *testing.T) {
	s := start(t)
	s.send("g")
	s.end()
	got := s.screen.Text()
	if !strings.HasPrefix(got, "panic: in another goroutine\n") || strings.Count(got, "[running]") != 1 {
		t.Errorf("the screen shows\n%s\nwant one report of the panic from the first line on", got)
	}
}

func TestTerminal_StopAndContinueTakeItBack(t *testing.T) {
	s := start(t)
	// The test's process is not a shell, so nothing can stop the program: it takes the terminal back by itself.
	s.send("z")
	s.wait("again")
	if !s.taken() {
		t.Error("the program does not have the terminal after it was stopped")
	}
	s.send("q")
	s.end()
}

func TestTerminal_AnotherProgramGetsItAsItWas(t *testing.T) {
	s := start(t)
	s.send("e")
	s.wait("in the editor\r\n") // the terminal ends lines, so it is not in raw mode
	s.wait("again")
	if !s.taken() {
		t.Error("the program does not have the terminal after the editor")
	}
	s.send("q")
	s.end()
}

func TestOpen_RefusesWhatIsNotATerminal(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Open(Options{In: f, Out: f, Getenv: os.Getenv}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("Open(/dev/null) = %v, want %v", err, ErrNoTerminal)
	}
}
