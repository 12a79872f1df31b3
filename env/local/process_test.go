package local_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
)

// run runs a command and fails the test if it cannot.
func run(t *testing.T, e env.Environment, line string) env.ExecResult {
	t.Helper()
	r, err := env.Exec(t.Context(), e, env.Command{Line: line, Timeout: time.Minute})
	if err != nil || r.TimedOut {
		t.Fatalf("%s: %+v, %v", line, r, err)
	}
	return r
}

// wait waits for a process to end.
func wait(t *testing.T, p env.Process) env.Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	x, err := p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// await polls until a condition holds.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline:
			t.Fatalf("timeout waiting for: %s", what)
		case <-tick.C:
		}
	}
}

func text(t *testing.T, p env.Process, s env.Stream) string {
	t.Helper()
	r := p.Output(s, 0)
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestExit_SignalIsNamed(t *testing.T) {
	r := run(t, newEnv(t, local.Config{}), "kill -9 $$")
	if r.Code != 137 || r.Signal != "SIGKILL" {
		t.Errorf("exit: %+v", r.Exit)
	}
}

func TestExit_OrphansAreCounted(t *testing.T) {
	e := newEnv(t, local.Config{})
	for line, want := range map[string]int{
		"true":                               0,
		"sleep 600 & sleep 600 &":            2,
		"setsid sleep 600 &":                 1,
		"sleep 600 >/dev/null 2>&1 & echo x": 1,
	} {
		p, err := e.Start(t.Context(), env.Command{Line: line})
		if err != nil {
			t.Fatal(err)
		}
		if x := wait(t, p); x.Orphans != want {
			t.Errorf("%s: %d orphans, want %d", line, x.Orphans, want)
		}
	}
}

func TestOutput_OfOrphansIsStillRead(t *testing.T) {
	e := newEnv(t, local.Config{})
	p, err := e.Start(t.Context(), env.Command{Line: "(while ! test -e go; do sleep 0.01; done; echo late) & echo up"})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	if got := text(t, p, env.Stdout); got != "up\n" {
		t.Errorf("output: %q", got)
	}
	if err := e.WriteFile(t.Context(), "go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, "late output", func() bool { return text(t, p, env.Stdout) == "up\nlate\n" })
}

func TestWait_OutputIsCompleteAtExit(t *testing.T) {
	e := newEnv(t, local.Config{})
	for range 50 {
		p, err := e.Start(t.Context(), env.Command{Line: "sleep 600 & head -c 60000 /dev/zero; printf end >&2"})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, p)
		if o, r := p.Written(env.Stdout), p.Written(env.Stderr); o != 60000 || r != 3 {
			t.Fatalf("%d and %d bytes at exit, want 60000 and 3", o, r)
		}
		if _, err := p.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOnOutput_MayAskTheProcess(t *testing.T) {
	e := newEnv(t, local.Config{})
	var p env.Process
	ready := make(chan struct{})
	p, err := e.Start(t.Context(), env.Command{Line: "read -r x; echo $x", KeepStdin: true, OnOutput: func(env.Stream, []byte) {
		<-ready
		if got := text(t, p, env.Stdout); got != "hi\n" {
			t.Errorf("in the callback the output is %q", got)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	close(ready)
	if _, err := p.Write([]byte("hi\n")); err != nil {
		t.Fatal(err)
	}
	wait(t, p)
}

func TestSpool_IsPrivateAndGoesAway(t *testing.T) {
	spool := t.TempDir()
	e := newEnv(t, local.Config{SpoolDir: spool})
	p, err := e.Start(t.Context(), env.Command{Line: "head -c 300000 /dev/zero"})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	files, _ := filepath.Glob(filepath.Join(spool, "reins-*", "*"))
	if len(files) != 1 {
		t.Fatalf("the spool contains %v", files)
	}
	if fi, err := os.Stat(filepath.Dir(files[0])); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the private directory: %v, %v", fi.Mode(), err)
	}
	if got := text(t, p, env.Stdout); len(got) != 300000 || strings.Trim(got, "\x00") != "" {
		t.Errorf("%d bytes came back", len(got))
	}
	if err := p.Release(); err != nil {
		t.Error(err)
	}
	if files, _ := filepath.Glob(filepath.Join(spool, "reins-*", "*")); len(files) != 0 {
		t.Errorf("after Release the spool contains %v", files)
	}
}

func TestPTY_IsATerminalOf24By80UnlessSet(t *testing.T) {
	e := newEnv(t, local.Config{})
	for want, c := range map[string]env.Command{"24 80\r\n": {}, "33 101\r\n": {Rows: 33, Cols: 101}} {
		c.Line, c.PTY = "test -t 0 && test -t 1 && test -t 2 && stty size", true
		p, err := e.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if x, got := wait(t, p), text(t, p, env.Both); x.Code != 0 || got != want {
			t.Errorf("exit %d, output %q, want %q", x.Code, got, want)
		}
	}
}

func TestPTY_WriteAndEndOfFile(t *testing.T) {
	e := newEnv(t, local.Config{})
	p, err := e.Start(t.Context(), env.Command{Line: "stty -echo; echo up; cat", PTY: true})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "first output", func() bool { return text(t, p, env.Stdout) == "up\r\n" })
	if _, err := p.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	await(t, "the answer", func() bool { return text(t, p, env.Stdout) == "up\r\nhello\r\n" })
	if err := p.CloseStdin(); err != nil {
		t.Fatal(err)
	}
	if x := wait(t, p); x.Code != 0 {
		t.Errorf("exit: %+v", x)
	}
}

func TestShell_MissingOneIsAnError(t *testing.T) {
	if _, err := local.New(local.Config{Shell: "no-such-shell"}); err == nil {
		t.Error("an environment was made with a shell that does not exist")
	}
}

func TestNew_MissingDirectoryIsAnError(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []local.Config{{Dir: file}, {Dir: filepath.Join(dir, "no")}, {Dir: dir, Roots: []string{"no"}}} {
		if _, err := local.New(c); err == nil {
			t.Errorf("an environment was made with %+v", c)
		}
	}
}

func TestStdin_ReaderThatNeverEndsDoesNotHoldTheProcess(t *testing.T) {
	e := newEnv(t, local.Config{})
	r, w := io.Pipe()
	defer w.Close()
	p, err := e.Start(t.Context(), env.Command{Line: "head -c 1; echo; sleep 600 & exit 7", Stdin: r})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if x := wait(t, p); x.Code != 7 || text(t, p, env.Stdout) != "x\n" {
		t.Errorf("exit %+v, output %q", x, text(t, p, env.Stdout))
	}
}

func TestStdin_WriteEndsWithTheProcess(t *testing.T) {
	e := newEnv(t, local.Config{})
	p, err := e.Start(t.Context(), env.Command{Line: "sleep 600 & read -r x", KeepStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	// More than the capacity of a pipe: the write blocks until the command has exited.
	_, err = p.Write(append([]byte("go\n"), make([]byte, 1<<20)...))
	if !errors.Is(err, env.ErrNoStdin) {
		t.Errorf("error: %v", err)
	}
	wait(t, p)
}

func TestPTY_InputFromReader(t *testing.T) {
	e := newEnv(t, local.Config{})
	r, err := env.Exec(t.Context(), e, env.Command{Line: "stty -echo; cat", PTY: true, Stdin: strings.NewReader("hi\n"), Timeout: time.Minute})
	if err != nil || r.TimedOut || !strings.HasSuffix(r.Stdout, "hi\r\n") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestStart_DirectoryThatIsGoneIsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, local.Config{Dir: dir})
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Start(t.Context(), env.Command{Line: "true"}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error: %v", err)
	}
}
