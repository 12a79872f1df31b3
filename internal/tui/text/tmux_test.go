//go:build unix

package text

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// measured names the file to which this program writes the columns of clusters, if it runs in a terminal to measure
// them.
const measured = "REINS_TEST_MEASURED"

func TestMain(m *testing.M) {
	if name := os.Getenv(measured); name != "" {
		if err := measure(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// measure asks the terminal where the cursor is after each cluster.
func measure(name string) error {
	raw := exec.Command("stty", "raw", "-echo")
	raw.Stdin = os.Stdin
	if err := raw.Run(); err != nil {
		return err
	}
	var out bytes.Buffer
	in := bufio.NewReader(os.Stdin)
	for _, c := range widths {
		fmt.Printf("\x1b[2J\x1b[H%s\x1b[6n", c.cluster)
		reply, err := in.ReadString('R')
		if err != nil {
			return err
		}
		_, column, _ := strings.Cut(strings.TrimSuffix(reply, "R"), ";")
		fmt.Fprintln(&out, column)
	}
	return os.WriteFile(name, out.Bytes(), 0o600)
}

// Where tmux does not count as one of the rules does, it joins emoji but ignores their selectors. A screen sets the
// cursor after such clusters.
func TestWidth_IsWhatTmuxCounts(t *testing.T) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "t") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), tmux, append([]string{"-S", filepath.Join(dir, "s"), "-f", os.DevNull, "-u"}, args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color", "TMUX=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
	}
	defer func() { // it ends by itself, unless the test failed
		_ = exec.Command(tmux, "-S", filepath.Join(dir, "s"), "kill-server").Run()
	}()
	name := filepath.Join(dir, "columns")
	inside := fmt.Sprintf("%s=%s %s; %s wait-for -S done", measured, name, self, tmux)
	run("new-session", "-d", "-x", "60", "-y", "10", inside, ";", "wait-for", "done")
	columns, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(columns))
	if len(lines) != len(widths) {
		t.Fatalf("got %d columns, want %d", len(lines), len(widths))
	}
	for i, c := range widths {
		got, _ := strconv.Atoi(lines[i])
		if got--; got == c.wcwidth || got == c.graphemes {
			continue
		}
		if !strings.Contains(c.cluster, "\u200d") {
			t.Errorf("%q: tmux counts %d columns, the rules %d and %d", c.cluster, got, c.wcwidth, c.graphemes)
		}
	}
	for i, c := range widths {
		if got, _ := strconv.Atoi(lines[i]); utf8.RuneCountInString(c.cluster) == 1 && got-1 != c.wcwidth {
			t.Errorf("%q: tmux counts %d columns, want %d", c.cluster, got-1, c.wcwidth)
		}
	}
}
