//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/thorough"
)

// TestUndo_KeepsWhatTheUserWroteWhileTheAgentWorked is finding U1: undo deleted the user's file without asking.
func TestUndo_KeepsWhatTheUserWroteWhileTheAgentWorked(t *testing.T) {
	t.Parallel()
	s := newSharedTree(t, 1)
	s.run("a", "echo agent > agent.txt", func() { s.put("mine.txt", "mine\n") }, false)
	code, out := s.reins("diff", "a")
	if code != 0 || strings.Contains(out, "+mine") || !strings.Contains(out, "+agent") ||
		!strings.Contains(out, "not shown, because only others changed them: mine.txt") {
		t.Errorf("diff: exit code %d:\n%s", code, out)
	}
	if code, out = s.reins("diff", "a", "--all"); code != 0 || !strings.Contains(out, "+mine") {
		t.Errorf("diff --all: exit code %d:\n%s", code, out)
	}
	code, out = s.reins("undo", "a")
	if code != 0 || !strings.Contains(out, "- agent.txt") || !strings.Contains(out, "kept what others changed: mine.txt") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if got := s.files(); got["mine.txt"] != "mine\n" || got["agent.txt"] != "" {
		t.Errorf("the files are %q", got)
	}
	if code, out := s.reins("redo", "a"); code != 0 || s.files()["agent.txt"] != "agent\n" || s.files()["mine.txt"] != "mine\n" {
		t.Errorf("redo: exit code %d, files %q:\n%s", code, s.files(), out)
	}
}

func TestUndo_RefusesWithoutATerminalAndNamesTheFlags(t *testing.T) {
	t.Parallel()
	s := newSharedTree(t, 1)
	s.put("gen.sh", "echo agent > made.txt\n")
	s.run("a", "sh gen.sh; echo agent > both.txt", func() { s.put("mine.txt", "mine\n") }, false)
	s.put("both.txt", "mine\n")
	before := s.files()
	code, out := s.reins("undo", "a")
	for _, want := range []string{
		"changed by others too:\n  - both.txt\n", "perhaps changed by others, not by the agent:\n  - made.txt\n  - mine.txt\n",
		"nothing was changed; use --yes to restore these files or --keep to keep them",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if got := s.files(); code != exitNeedsInput || fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("exit code %d, files %q, want %q", code, got, before)
	}
	code, out = s.reins("undo", "a", "--keep")
	if got := s.files(); code != 0 || fmt.Sprint(got) != fmt.Sprint(before) ||
		!strings.Contains(out, "kept what others changed: both.txt, made.txt, mine.txt") {
		t.Errorf("exit code %d, files %q:\n%s", code, got, out)
	}
}

// TestUndo_TwoSessionsAndAPersonWithKills has two sessions and a person edit one tree at once, through the real program.
// Some runs, undos and redos are killed. What a session did not write itself is never changed by its undo or redo, unless
// that was asked about.
func TestUndo_TwoSessionsAndAPersonWithKills(t *testing.T) {
	if os.Getenv("REINS_EXHAUSTIVE") == "" {
		t.Parallel()
	}
	s := newSharedTree(t, rand.Uint64())
	for want := thorough.Of(200, 6); s.rewinds < want && !t.Failed(); {
		s.step()
	}
	t.Logf("%d undos and redos: %d changed files, %d kept changes by others, %d asked, %d killed; %d runs, %d killed",
		s.rewinds, s.changed, s.kept, s.asked, s.killedRewinds, s.runs, s.killedRuns)
}

// sharedTree is a directory in which sessions and a person work. Each content begins with the name of its author.
type sharedTree struct {
	*testing.T
	rng   *rand.Rand
	first *exec.Cmd
	env   []string
	begun map[string]bool
	token int
	gone  map[string]bool // files that the person deleted
	// restored has what the last undo or redo of a session left in a file, by both names.
	restored map[string]string
	events   []string

	runs, killedRuns, rewinds, changed, kept, asked, killedRewinds int
}

var sharedFiles = []string{"a.txt", "b.txt", "c.txt", "dir/d.txt", "dir/e.txt", "dir/sub/f.txt"}

func newSharedTree(t *testing.T, seed uint64) *sharedTree {
	t.Helper()
	t.Logf("seed %d", seed)
	s := &sharedTree{T: t, rng: rand.New(rand.NewPCG(seed, 1)), first: command(t), begun: map[string]bool{}, gone: map[string]bool{}, restored: map[string]string{}}
	s.env = append(s.first.Env, "REINS_HOME="+t.TempDir())
	for _, name := range []string{"begun.fifo", "go.fifo"} {
		if err := syscall.Mkfifo(filepath.Join(s.first.Dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *sharedTree) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(s.first.Path, args...)
	out := &bytes.Buffer{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.first.Dir, s.env, out, out
	return cmd, out
}

// reins runs the program to its end.
func (s *sharedTree) reins(args ...string) (code int, out string) {
	s.Helper()
	cmd, text := s.command(args...)
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	return exitCodeOf(s.T, cmd), text.String()
}

// run has a session run a command. While the command runs, meanwhile is called; then the run is killed or continues.
func (s *sharedTree) run(id, line string, meanwhile func(), kill bool) {
	s.Helper()
	flag := "--session-id"
	if s.begun[id] {
		flag = "--resume"
	}
	s.begun[id] = true
	cmd, out := s.command("run", "--yes", flag, id, fmt.Sprintf(`call shell {"command":%q}`, "echo > begun.fifo; read x < go.fifo; "+line))
	// Opened for both directions, neither end blocks, even if the run fails before the command starts.
	begun := s.fifo("begun.fifo")
	defer begun.Close()
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	ended := make(chan int)
	go func() {
		code := exitCodeOf(s.T, cmd)
		begun.WriteString("\n")
		ended <- code
	}()
	if _, err := begun.Read(make([]byte, 1)); err != nil {
		s.Fatal(err)
	}
	meanwhile()
	if kill {
		_ = cmd.Process.Kill()
		<-ended
		return
	}
	over := s.fifo("go.fifo")
	defer over.Close()
	over.WriteString("\n")
	if code := <-ended; code != 0 {
		s.Errorf("the run of session %s: exit code %d\n%s", id, code, out)
	}
}

func (s *sharedTree) fifo(name string) *os.File {
	s.Helper()
	f, err := os.OpenFile(filepath.Join(s.first.Dir, name), os.O_RDWR, 0)
	if err != nil {
		s.Fatal(err)
	}
	return f
}

func (s *sharedTree) put(name, content string) {
	s.Helper()
	path := filepath.Join(s.first.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.Fatal(err)
	}
}

func (s *sharedTree) files() map[string]string {
	s.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(s.first.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(s.first.Dir, path)
		files[rel] = string(b)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return files
}

func (s *sharedTree) text(author string) string {
	s.token++
	return fmt.Sprintf("%s %d", author, s.token)
}

// person writes or deletes a file, but not the one that a running command names.
func (s *sharedTree) person(not string) {
	name := sharedFiles[s.rng.IntN(len(sharedFiles))]
	if name == not {
		return
	}
	if _, ok := s.files()[name]; ok && s.rng.IntN(4) == 0 {
		if err := os.Remove(filepath.Join(s.first.Dir, name)); err != nil {
			s.Fatal(err)
		}
		s.gone[name] = true
		s.note("the person deletes %s", name)
		return
	}
	text := s.text("person")
	s.put(name, text+"\n")
	delete(s.gone, name)
	s.note("the person writes %s to %s", text, name)
}

func (s *sharedTree) note(format string, args ...any) {
	s.events = append(s.events, fmt.Sprintf(format, args...))
}

func (s *sharedTree) step() {
	id := []string{"a", "b"}[s.rng.IntN(2)]
	switch k := s.rng.IntN(8); {
	case k < 3 || !s.begun[id]:
		s.work(id)
	case k == 3:
		s.person("")
	case k < 7:
		s.rewind(id, "undo")
	default:
		s.rewind(id, "redo")
	}
}

// work has a session write a file by a command or a tool, while the person and the other session write too.
func (s *sharedTree) work(id string) {
	s.runs++
	name := sharedFiles[s.rng.IntN(len(sharedFiles))]
	text := s.text(id)
	kill := s.rng.IntN(5) == 0
	line := fmt.Sprintf("mkdir -p %s; echo %s > %s", filepath.Dir(name), text, name)
	if s.rng.IntN(4) == 0 {
		line = fmt.Sprintf("sh -c \"$(printf 'mkdir -p %%s; echo %%s > %%s' %s '%s' %s)\"", filepath.Dir(name), text, name)
	}
	s.run(id, line, func() {
		for range s.rng.IntN(3) {
			s.person(name)
		}
		if other := map[string]string{"a": "b", "b": "a"}[id]; s.begun[other] && s.rng.IntN(2) == 0 {
			s.edit(other, name)
		}
	}, kill)
	if s.files()[name] == text+"\n" {
		delete(s.gone, name)
	}
	if kill {
		s.killedRuns++
	}
	s.note("session %s runs %s (killed: %v)", id, line, kill)
}

// edit has a session write a file with a tool.
func (s *sharedTree) edit(id, not string) {
	name := sharedFiles[s.rng.IntN(len(sharedFiles))]
	if name == not {
		return
	}
	text := s.text(id)
	code, out := s.reins("run", "--yes", "--resume", id, fmt.Sprintf(`call write_file {"file_path":%q,"content":%q}`, name, text+"\n"))
	if code != 0 {
		s.Errorf("session %s: exit code %d\n%s", id, code, out)
	}
	if s.files()[name] == text+"\n" {
		delete(s.gone, name)
	}
	s.note("session %s writes %s to %s", id, text, name)
}

// rewind undoes or redoes the last prompt of a session, and checks that it changes only what the session wrote.
func (s *sharedTree) rewind(id, what string) {
	s.rewinds++
	before := s.files()
	args := []string{what, id}
	keep := s.rng.IntN(2) == 0
	if keep {
		args = append(args, "--keep")
	}
	cmd, text := s.command(args...)
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	if s.rng.IntN(4) == 0 {
		timer := time.AfterFunc(time.Duration(s.rng.Int64N(int64(150*time.Millisecond))), func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	code := exitCodeOf(s.T, cmd)
	out, after := text.String(), s.files()
	s.note("reins %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	switch {
	case code == -1:
		s.killedRewinds++
	case code == exitNeedsInput:
		s.asked++
	case strings.Contains(out, "kept what others changed"):
		s.kept++
	}
	changed := false
	for _, name := range sharedFiles {
		was, is := before[name], after[name]
		if was == is {
			continue
		}
		changed = true
		back := what == "redo" && s.restored[id+" "+name] == was
		s.restored[id+" "+name] = is
		if back && code != exitNeedsInput {
			continue
		}
		if !strings.HasPrefix(was, id+" ") && (was != "" || s.gone[name]) || code == exitNeedsInput {
			s.Errorf("%s was %q and is %q after:\n%s", name, was, is, strings.Join(s.events, "\n"))
		}
	}
	if changed {
		s.changed++
	}
}
