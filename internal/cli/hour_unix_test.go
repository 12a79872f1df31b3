//go:build unix

package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

func init() { scriptCommands["step"] = hourStep }

// hourStep runs a command and writes what a user sees to the file "shown": the command, its output and, unless it is 0, its
// exit code. With "-type TEXT KEYS", which can be repeated, the command runs on a terminal, and the keys are typed when
// the text appears. What differs from run to run is replaced by a word; see steady.
func hourStep(ts *testscript.TestScript, neg bool, args []string) {
	var typed [][2]string
	for len(args) > 2 && args[0] == "-type" {
		typed, args = append(typed, [2]string{args[1], args[2]}), args[3:]
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: step [-type TEXT KEYS]... COMMAND [ARGUMENT]...")
	}
	path, err := lookPath(ts.Getenv("PATH"), args[0])
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range hourVars {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	var out string
	if typed != nil {
		out, err = onScreen(ts, cmd, typed)
	} else {
		var b []byte
		b, err = cmd.CombinedOutput()
		out = string(b)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		out += "[" + exit.String() + "]\n"
	} else {
		ts.Check(err)
	}
	if strings.Contains(out, canary) {
		ts.Fatalf("the API key is shown")
	}
	shown := "$ " + strings.Join(args, " ") + "\n" + out
	ts.Check(os.WriteFile(ts.MkAbs(filepath.Join(ts.Getenv("WORK"), "shown")), []byte(steady(ts, shown)), 0o644))
}

// hourVars are the variables of the commands.
var hourVars = []string{
	"PATH", "HOME", "TERM", "TMPDIR", "XDG_CONFIG_HOME", "REINS_HOME", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "SERVER", "GOCACHE", "WORK",
}

func lookPath(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, nil
		}
	}
	return "", exec.ErrNotFound
}

// onScreen runs a command on a terminal and types.
func onScreen(ts *testscript.TestScript, cmd *exec.Cmd, typed [][2]string) (string, error) {
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 60, Cols: 120})
	ts.Check(err)
	defer tty.Close()
	var mu sync.Mutex
	var screen strings.Builder
	news, closed := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(closed)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			mu.Lock()
			screen.Write(buf[:n])
			mu.Unlock()
			select {
			case news <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	text := func() string {
		mu.Lock()
		defer mu.Unlock()
		return screen.String()
	}
	late := time.After(patient)
	from := 0
	for _, t := range typed {
		for {
			if i := strings.Index(text()[from:], t[0]); i >= 0 {
				from += i + len(t[0])
				break
			}
			select {
			case <-news:
			case <-closed:
				ts.Fatalf("%q did not appear:\n%s", t[0], text())
			case <-late:
				_ = cmd.Process.Kill()
				ts.Fatalf("%q did not appear:\n%s", t[0], text())
			}
		}
		if _, err := tty.WriteString(t[1] + "\n"); err != nil {
			ts.Fatalf("%v", err)
		}
	}
	err = cmd.Wait()
	<-closed
	return strings.ReplaceAll(text(), "\r\n", "\n"), err
}

// changing matches what differs from run to run.
var changing = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`\b[A-Z2-7]{26}\b`), "SESSION"},
	{regexp.MustCompile(`\b\d{10}-[0-9a-f]{8}\b`), "CHECKPOINT"},
	{regexp.MustCompile(`\b([0-9a-f]{16}|[0-9a-f]{40,64})\b`), "HASH"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?`), "TIME"},
	{regexp.MustCompile(`\$\d+\.\d+`), "COST"},
	{regexp.MustCompile(`(under )?[<~]?\b\d+(\.\d+)? ?(ms|s|µs)\b`), "DURATION"},
	{regexp.MustCompile(`\b[\d.]+k? tokens in, [\d.]+k? out\b`), "N tokens in, N out"},
	{regexp.MustCompile(`go1\.[\d.]+ linux/\w+`), "GO"},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
	{regexp.MustCompile(`\b   +`), "  "}, // columns are as wide as the paths in them
}

// steady replaces what differs from run to run.
func steady(ts *testscript.TestScript, text string) string {
	for _, name := range []string{"SERVER", "WORK"} {
		text = strings.ReplaceAll(text, ts.Getenv(name), "$"+name)
	}
	for _, c := range changing {
		text = c.pattern.ReplaceAllLiteralString(text, c.word)
	}
	return text
}
