//go:build unix

package cli

import (
	"archive/tar"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
)

// keeper has a state directory with sessions.
type keeper struct {
	*testing.T
	home string
}

func newKeeper(t *testing.T) keeper { return keeper{t, t.TempDir()} }

// store returns the session store, with a time in the past.
func (k keeper) store(age time.Duration) *filestore.Store {
	k.Helper()
	then := time.Now().Add(-age)
	s, err := filestore.New(filestore.Config{Dir: filepath.Join(k.home, "sessions"), Now: func() time.Time { return then }})
	if err != nil {
		k.Fatal(err)
	}
	return s
}

func (k keeper) save(age time.Duration, m event.Meta, inputs ...string) {
	k.Helper()
	var records []event.Record
	for i, text := range inputs {
		records = append(records, event.Record{Seq: event.Seq(i + 1), Time: time.Now().Add(-age), Session: m.ID, Data: event.UserInput{Message: llm.UserText(text)}})
	}
	if err := saveSession(k.store(age), m, records); err != nil {
		k.Fatal(err)
	}
}

func (k keeper) command(args ...string) *exec.Cmd {
	k.Helper()
	cmd := command(k.T, append([]string{"sessions"}, args...)...)
	cmd.Env = append(cmd.Env, "REINS_HOME="+k.home)
	return cmd
}

func (k keeper) has(id string) bool {
	k.Helper()
	_, err := k.store(0).Meta(k.Context(), id)
	return err == nil
}

func TestSessions_TerminalShowsATableThatFits(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	cost := 1.5
	k.save(3*time.Hour+time.Minute, event.Meta{ID: "first", Title: strings.Repeat("日本語 ", 40), Dir: "/a/very/long/path/to/a/directory/that/has/no/end", Turns: 7, Cost: &cost})
	k.save(40*time.Minute, event.Meta{ID: "second", Prompt: "short"})
	text := onTerminal(t, k.command("list")).end(0)
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\r", "")), "\n")
	if len(lines) != 3 {
		t.Fatalf("it shows:\n%s", text)
	}
	for _, want := range []string{cyan + "first" + plain, "3 h ago", "40 min ago", "…/to/a/directory/that/has/no/end", "$1.5000", "日本語 …"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not show %q:\n%s", want, text)
		}
	}
	for _, line := range lines {
		for _, colour := range []string{cyan, grey, plain} {
			line = strings.ReplaceAll(line, colour, "")
		}
		if n := show.Width(line); n > 120 {
			t.Errorf("a line has %d columns: %q", n, line)
		}
	}
	cmd := k.command("list")
	cmd.Env = append(cmd.Env, "NO_COLOR=1")
	if text := onTerminal(t, cmd).end(0); strings.Contains(text, "\x1b") || !strings.Contains(text, "3 h ago") {
		t.Errorf("without colours it shows %q", text)
	}
}

func TestSessions_TerminalListsAScreenfulUnlessAskedForMore(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	for i := range 42 {
		k.save(time.Duration(i)*time.Minute, event.Meta{ID: "s" + string(rune('a'+i/26)) + string(rune('a'+i%26))})
	}
	text := onTerminal(t, k.command("list")).end(0)
	if n := strings.Count(text, cyan+"s"); n != 40 || !strings.Contains(text, "2 more; use --limit 0") {
		t.Errorf("%d are listed:\n%s", n, text)
	}
	text = onTerminal(t, k.command("list", "--limit", "0")).end(0)
	if n := strings.Count(text, cyan+"s"); n != 42 {
		t.Errorf("%d are listed:\n%s", n, text)
	}
}

func TestSessions_TerminalShowsAConversationSafely(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	k.save(time.Hour, event.Meta{ID: "first", Title: "a\x1b]0;owned\x07b"}, "hello \x1b[2J there", "search me")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"show", "first"}, cyan + "user @1" + plain},
		{[]string{"show", "first", "--events"}, "    2  "},
		{[]string{"search", "SEARCH"}, red + "search" + plain + " me"},
		{[]string{"list"}, "1 h ago"},
	} {
		text := onTerminal(t, k.command(c.args...)).end(0)
		if !strings.Contains(text, c.want) || strings.Contains(text, "\x1b]") || strings.Contains(text, "\x1b[2J") {
			t.Errorf("%v shows %q", c.args, text)
		}
	}
}

func TestSessions_TerminalAsksBeforeItRemoves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys string
		gone bool
		code int
	}{{"y\n", true, 0}, {"n\n", false, 1}, {"\n", false, 1}, {"\x04", false, 1}, {"\x03", false, 130}} {
		k := newKeeper(t)
		k.save(40*day, event.Meta{ID: "old-one", Title: "Old"})
		k.save(time.Hour, event.Meta{ID: "new-one", Title: "New"})
		con := onTerminal(t, k.command("rm", "--older-than", "30d"))
		con.await("Remove 1 session permanently? [y]es, [n]o: ")
		if text := con.text(); !strings.Contains(text, "old-one") || strings.Contains(text, "new-one") {
			t.Errorf("it asks about:\n%s", text)
		}
		if !k.has("old-one") {
			t.Error("it was removed before there was an answer")
		}
		con.press(c.keys)
		con.end(c.code)
		if k.has("old-one") == c.gone || !k.has("new-one") {
			t.Errorf("after %q: old-one %v, new-one %v", c.keys, k.has("old-one"), k.has("new-one"))
		}
	}
}

func TestSessions_TerminalGetsNoArchive(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	k.save(time.Hour, event.Meta{ID: "first"})
	if text := onTerminal(t, k.command("export", "first", "-")).end(2); !strings.Contains(text, "refusing to write an archive to a terminal") {
		t.Errorf("it shows:\n%s", text)
	}
}

func TestSessions_OneThatIsKilledInItsFirstPromptIsListedByIt(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	cmd := command(t, "run", "--yes", "--session-id", "killed", "--output", "stream-json", sleeper)
	cmd.Env = append(cmd.Env, "REINS_HOME="+k.home)
	killAtWork(t, cmd)
	m, err := k.store(0).Meta(t.Context(), "killed")
	if err != nil || m.Prompt != sleeper || m.Turns != 1 {
		t.Errorf("it is called %q, after %d turns (%v)", m.Prompt, m.Turns, err)
	}
}

func TestSessions_ImportOfASilentInputCanBeInterrupted(t *testing.T) {
	t.Parallel()
	cmd := newKeeper(t).command("import", "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var side strings.Builder
	cmd.Stderr = &side
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// A pipe does not hold that much: once it is written, the process is reading.
	archive := tar.NewWriter(in)
	if err := archive.WriteHeader(&tar.Header{Name: "meta.json", Size: 8 << 20}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := exitCodeOf(t, cmd); code != exitInterrupted {
		t.Errorf("the exit code is %d: %s", code, side.String())
	}
}
