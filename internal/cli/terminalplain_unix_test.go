//go:build unix

package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	lineface "github.com/reins-agent/reins/internal/tui/plain"
)

func TestReins_PlainReadsAPipe(t *testing.T) {
	t.Parallel()
	cmd := command(t, "--plain")
	cmd.Stdin = strings.NewReader("ping")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || !strings.HasSuffix(string(out), "\nYou: ping\npong\nReady.\n") {
		t.Fatalf("it printed %q, error %v, %s", out, err, &stderr)
	}
	_, id, ok := strings.Cut(strings.TrimSpace(stderr.String()), "Continue with: reins --resume ")
	if !ok {
		t.Fatalf("it does not say how to continue: %s", &stderr)
	}
	again := command(t, "--plain", "--resume", id)
	again.Dir, again.Env = cmd.Dir, cmd.Env
	if out, err = again.Output(); err != nil || !strings.Contains(string(out), "You: ping\npong\nReady.\n") {
		t.Errorf("it printed %q, error %v", out, err)
	}
}

func TestReins_PlainOutlivesItsTerminalUnderNohup(t *testing.T) {
	t.Parallel()
	cmd := command(t, "--plain")
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap '' HUP; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := start(t, cmd)
	for n := range 2 { // the second answer comes after the hangup
		if _, err := io.WriteString(keys, "ping\n"); err != nil {
			t.Fatal(err)
		}
		line := ""
		for line != "pong\n" {
			if line, err = out.ReadString('\n'); err != nil {
				t.Fatalf("it ended after %d answers: %v", n, err)
			}
		}
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	keys.Close()
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	if code := exitCodeOf(t, cmd); code != exitOK {
		t.Errorf("the exit code is %d", code)
	}
}

func TestReins_PlainAsksOnADumbTerminal(t *testing.T) {
	t.Parallel()
	cmd := command(t, `call write_file {"file_path":"a.txt","content":"made"}`)
	cmd.Env = append(cmd.Env, "TERM=dumb")
	c := onTerminal(t, cmd)
	c.await(lineface.Allow)
	c.press("1\n")
	c.await("Done: write_file a.txt")
	c.await("\a" + lineface.Ready)
	if b, err := os.ReadFile(filepath.Join(cmd.Dir, "a.txt")); err != nil || string(b) != "made" {
		t.Errorf("the file is %q, error %v", b, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if shown := c.end(exitInterrupted); strings.Contains(shown, "\x1b") {
		t.Errorf("it moved the cursor: %q", shown)
	}
}

func TestReins_PlainNeedsAnIDToResume(t *testing.T) {
	t.Parallel()
	cmd := command(t, "--plain", "--resume")
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(string(out), "reins sessions list") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestReins_BackgroundCommandsAreLostWhenItIsKilled(t *testing.T) {
	t.Parallel()
	cmd := command(t, "--plain")
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := start(t, cmd)
	if _, err := io.WriteString(keys, `call shell {"command":"sleep 600","background":true}`+"\n"); err != nil {
		t.Fatal(err)
	}
	for line := ""; !strings.HasPrefix(line, "Done: shell sleep 600"); {
		if line, err = out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	again := command(t, "--plain", "--continue")
	again.Dir, again.Env = cmd.Dir, cmd.Env
	again.Stdin = strings.NewReader("/jobs\n/jobs 1\n/jobs stop 1\ncall shell {\"command\":\"sleep 601\",\"background\":true}\n")
	text, err := again.Output()
	if err != nil {
		t.Fatal(err)
	}
	said := string(text)
	for _, want := range []string{"1   lost", "the output of command 1 is lost", `No background process has the id "1"`, "Started in the background with id 2"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	if strings.Contains(said, "1   running") {
		t.Errorf("a lost command is shown as running:\n%s", said)
	}
}
