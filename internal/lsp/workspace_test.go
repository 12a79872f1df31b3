package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
)

// TestMain runs the test binary as a server if it is asked to.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "lsp-server" {
		serveFake(os.Args[2], encoding(os.Args[3]))
		return
	}
	goleak.VerifyTestMain(m)
}

// rig is a workspace whose server is the test binary.
type rig struct {
	*Workspace
	t     *testing.T
	dir   string
	env   *local.Env
	clock *clock
}

// clock replaces the time.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[int]func()
	last   int
}

func (c *clock) after(_ time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	n := c.last
	c.timers[n] = f
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waits := c.timers[n]
		delete(c.timers, n)
		return waits
	}
}

// expire lets all idle times pass.
func (c *clock) expire() {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.timers))
	clear(c.timers)
	c.mu.Unlock()
	for _, f := range all {
		f()
	}
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func fakeServer(t testing.TB, mode string, enc encoding) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: "fake", Command: []string{self, "lsp-server", mode, string(enc)}, Languages: map[string]string{".fk": "fake"}}
}

func open(t *testing.T, s Server) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, err := local.New(local.Config{Dir: dir, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	k := &clock{timers: map[int]func(){}}
	r := &rig{t: t, dir: dir, env: e, clock: k}
	r.Workspace = Open(r, e, Config{Servers: []Server{s}, after: k.after, now: k.read})
	t.Cleanup(func() {
		r.Close()
		e.Close()
	})
	return r
}

func (r *rig) write(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func (r *rig) point(name string, line int, symbol string) Point {
	return Point{Env: r.env, Path: filepath.Join(r.dir, name), Line: line, Symbol: symbol}
}

// found formats locations.
func (r *rig) found(list []Location, err error) string {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", filepath.Base(l.Path), l.Line, l.Column, l.Text)
	}
	return b.String()
}

// pid returns the server's process ID, or 0.
func (r *rig) pid() int {
	for _, c := range r.running() {
		return c.conn.proc.PID()
	}
	return 0
}

func TestWorkspace_AnswersQuestions(t *testing.T) {
	for _, enc := range []encoding{utf8Units, utf16Units, utf32Units, ""} {
		mode := "ok"
		if enc == utf16Units {
			mode = "noise" // text, invalid messages and unexpected answers in between
		}
		s := fakeServer(t, mode, enc)
		if enc == "" { // no choice means UTF-16
			s.Command[3] = "utf-16"
		}
		r := open(t, s)
		r.write("a.fk", "def word\n😀é use word\n")
		r.write("b.fk", "also 😀 word\n")
		if got, want := r.found(r.Definition(t.Context(), r.point("a.fk", 2, "word"))), "a.fk:1:5: def word\n"; got != want {
			t.Errorf("%s: the definition is %q, want %q", enc, got, want)
		}
		want := "a.fk:1:5: def word\na.fk:2:8: 😀é use word\nb.fk:1:8: also 😀 word\n"
		if got := r.found(r.References(t.Context(), r.point("a.fk", 1, "word"))); got != want {
			t.Errorf("%s: the references are %q, want %q", enc, got, want)
		}
		if got, err := r.Hover(t.Context(), Point{Path: r.dir + "/a.fk", Line: 2, Column: 8}); err != nil || got != "word word" {
			t.Errorf("%s: the hover is %q, %v; want %q", enc, got, err, "word word")
		}
		edits, err := r.Rename(t.Context(), r.point("a.fk", 1, "word"), "term")
		if err != nil || len(edits) != 2 || string(edits[0].After) != "def term\n😀é use term\n" || string(edits[1].After) != "also 😀 term\n" {
			t.Errorf("%s: the rename is %q, %v", enc, edits, err)
		}
	}
}

func TestWorkspace_StartsServersLazilyAndOnce(t *testing.T) {
	r := open(t, fakeServer(t, "ok", utf16Units))
	r.write("a.fk", "def word\n")
	if r.pid() != 0 {
		t.Fatalf("server %d runs before the first use", r.pid())
	}
	for path, want := range map[string]bool{"/a.fk": true, "/a.txt": false, "/../a.fk": false} {
		if got := r.Usable(filepath.Clean(r.dir + path)); got != want {
			t.Errorf("a server is usable for %s: %v, want %v", path, got, want)
		}
	}
	other := Open(r, r.env, Config{}) // the same workspace, in another session
	var all sync.WaitGroup
	for i := range 8 {
		w := r.Workspace
		if i%2 == 1 {
			w = other
		}
		all.Go(func() {
			if _, err := w.Hover(t.Context(), r.point("a.fk", 1, "word")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if a, b := len(r.running()), len(other.running()); a != 1 || b != 1 || r.running()[0] != other.running()[0] {
		t.Errorf("%d and %d servers run, want the same one", a, b)
	}
	r.Close()
	if _, err := other.Hover(t.Context(), r.point("a.fk", 1, "word")); err != nil {
		t.Errorf("after the other session was closed: %v", err)
	}
	if _, err := r.Hover(t.Context(), r.point("a.fk", 1, "word")); !errors.Is(err, errClosed) {
		t.Errorf("a closed workspace answers %v, want %v", err, errClosed)
	}
	other.Close()
	if n := len(shared.pools); n != 0 {
		t.Errorf("%d pools are left, want none", n)
	}
}

func TestWorkspace_StopsIdleServers(t *testing.T) {
	r := open(t, fakeServer(t, "stays", utf16Units)) // which has to be killed
	r.write("a.fk", "def word\n")
	if _, err := r.Hover(t.Context(), r.point("a.fk", 1, "word")); err != nil {
		t.Fatal(err)
	}
	c := r.running()[0]
	r.clock.expire()
	if r.pid() != 0 {
		t.Fatal("the server is still used")
	}
	<-c.conn.proc.Done()
	if _, err := r.Hover(t.Context(), r.point("a.fk", 1, "word")); err != nil {
		t.Errorf("the next use: %v", err)
	}
}

func TestDefaults_Servers(t *testing.T) {
	if got := (Config{}).withDefaults().Idle; got != 5*time.Minute {
		t.Errorf("servers stop after %v, want 5 minutes", got)
	}
}

func TestWorkspace_FailsAtOnceWhenAServerDies(t *testing.T) {
	for _, c := range []struct{ mode, says string }{{"crash", "exited with code 2: panic: broken"}, {"silent", "SIGKILL"}} {
		r := open(t, fakeServer(t, c.mode, utf16Units))
		r.write("a.fk", "def word\n")
		if c.mode == "silent" { // kill -9 during a request
			running := r.start()
			go func() {
				r.await(running, "asked")
				p, err := os.FindProcess(r.pid())
				if err == nil {
					err = p.Kill()
				}
				if err != nil {
					t.Error(err)
				}
			}()
		}
		_, err := r.Hover(t.Context(), r.point("a.fk", 1, "word"))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want an error with %q", c.mode, err, c.says)
		}
	}
}

// await waits until the server has told something, and returns its number; see [fake.tell].
func (r *rig) await(c *client, name string) int {
	for {
		f, changed := c.findings("/" + name)
		if f.seq > 0 {
			return f.version
		}
		select {
		case <-changed:
		case <-c.conn.gone:
			r.t.Errorf("the server ended before %s: %v", name, c.conn.ended())
			return 0
		}
	}
}

// start starts the server.
func (r *rig) start() *client {
	r.t.Helper()
	c, err := r.client(r.t.Context(), r.dir+"/a.fk")
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func TestWorkspace_RestartsServersWithGrowingPauses(t *testing.T) {
	r := open(t, fakeServer(t, "crash", utf16Units))
	r.write("a.fk", "def word\n")
	ask := func() string {
		_, err := r.Hover(t.Context(), r.point("a.fk", 1, "word"))
		return fmt.Sprint(err)
	}
	for i := range 2 { // the first restart is immediate
		if got := ask(); !strings.Contains(got, "exited with code 2") || strings.Contains(got, "again in") {
			t.Fatalf("start %d: %s; want a crash", i+1, got)
		}
	}
	for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if got := ask(); !strings.Contains(got, "again in "+pause.String()) {
			t.Fatalf("got %q, want a pause of %v", got, pause)
		}
		r.clock.pass(pause)
		if got := ask(); strings.Contains(got, "again in") {
			t.Fatalf("after %v: %s", pause, got)
		}
	}
	r.clock.pass(time.Hour)
	for range 3 {
		ask()
		r.clock.pass(time.Hour)
	}
	if got := ask(); r.Usable(r.dir+"/a.fk") || r.pid() != 0 {
		t.Errorf("after many crashes the server is still usable: %s", got)
	}
}

func TestWorkspace_ReportsServersThatDoNotStart(t *testing.T) {
	r := open(t, fakeServer(t, "dies", utf16Units))
	r.write("a.fk", "def word\n")
	if _, err := r.Hover(t.Context(), r.point("a.fk", 1, "word")); err == nil || !strings.Contains(err.Error(), "exited with code 3: cannot load") {
		t.Errorf("got %v, want the exit of the server", err)
	}
}

func TestWorkspace_RunsNoProjectPrograms(t *testing.T) {
	s := fakeServer(t, "ok", utf16Units)
	self := s.Command[0]
	s.Command[0] = "fake-language-server"
	install := func(dir string) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(self, filepath.Join(dir, "fake-language-server")); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(vars map[string]string, dir string, c Config) error {
		e, err := local.New(local.Config{Dir: dir, SpoolDir: t.TempDir(), Vars: vars})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		w := Open(e, e, c)
		defer w.Close()
		_, err = w.Hover(t.Context(), Point{Path: dir + "/a.fk", Line: 1, Symbol: "word"})
		return err
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/a.fk", []byte("def word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bin, elsewhere := dir+"/node_modules/.bin", t.TempDir()
	install(bin)
	config := Config{Servers: []Server{s}}
	for _, path := range []string{bin, "node_modules/.bin", "."} {
		if err := ask(map[string]string{"PATH": path + ":/usr/bin:/bin"}, dir, config); !errors.Is(err, ErrNotInstalled) {
			t.Errorf("with PATH %s: got %v, want %v", path, err, ErrNotInstalled)
		}
	}
	install(elsewhere)
	vars := map[string]string{"PATH": elsewhere + ":/usr/bin:/bin"}
	if err := ask(vars, dir, config); err != nil {
		t.Errorf("with a program outside of the project: %v", err)
	}
	config.Servers[0].RunsProject = true
	if err := ask(vars, dir, config); !errors.Is(err, ErrUntrusted) {
		t.Errorf("a server that runs the project: got %v, want %v", err, ErrUntrusted)
	}
	config.Trusted = true
	if err := ask(vars, dir, config); err != nil {
		t.Errorf("a server that runs a trusted project: %v", err)
	}
}

func TestWorkspace_SurvivesServersThatMisbehave(t *testing.T) {
	short, cancel := context.WithCancel(t.Context())
	for _, mode := range []string{"flood", "asks"} {
		r := open(t, fakeServer(t, mode, utf16Units))
		r.write("a.fk", "def word\n")
		if _, err := r.Hover(t.Context(), r.point("a.fk", 1, "word")); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if n := len(r.running()[0].known(nil)); n > 2000 {
			t.Errorf("%s: %d diagnostics are kept, want at most 2000", mode, n)
		}
	}
	r := open(t, fakeServer(t, "silent", utf16Units))
	r.write("a.fk", "def word\n")
	running := r.start()
	go func() {
		r.await(running, "asked")
		cancel()
	}()
	if _, err := r.Hover(short, r.point("a.fk", 1, "word")); !errors.Is(err, context.Canceled) {
		t.Errorf("a server that never answers: got %v, want %v", err, context.Canceled)
	}
	r.await(running, "cancelled")

	r = open(t, fakeServer(t, "deaf", utf16Units))
	path := r.write("a.fk", "def word\n")
	c := r.start()
	for i := 0; i < 2000 && c.conn.ended() == nil; i++ { // the server does not read, and no caller waits for it
		r.write("a.fk", strings.Repeat("x\n", 1000+i))
		_, _ = c.open(t.Context(), path)
	}
	if err := c.conn.ended(); err == nil || !strings.Contains(err.Error(), "does not read") {
		t.Errorf("a server that does not read: got %v", err)
	}
}

func TestRename_RefusesUnsupportedChanges(t *testing.T) {
	for mode, says := range map[string]string{"escape": "outside of the workspace", "moves": "rename files"} {
		r := open(t, fakeServer(t, mode, utf16Units))
		r.write("a.fk", "def word\n")
		if got, err := r.Rename(t.Context(), r.point("a.fk", 1, "word"), "term"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %q, %v; want an error with %q", mode, got, err, says)
		}
	}
	r := open(t, fakeServer(t, "ok", utf16Units))
	r.write("a.fk", "def word\n")
	r.write("b.fk", "word \xff\n")
	if got, err := r.Rename(t.Context(), r.point("a.fk", 1, "word"), "term"); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("a file in another encoding: got %q, %v", got, err)
	}
	r.write("b.fk", "\uFEFFdef word\r\n")
	if got, err := r.Rename(t.Context(), r.point("b.fk", 1, "word"), "term"); err != nil || string(got[len(got)-1].After) != "\uFEFFdef term\r\n" {
		t.Errorf("a file with a byte order mark: got %q, %v", got, err)
	}
}

func TestChange_ReportsNewErrors(t *testing.T) {
	for _, mode := range []string{"ok", "pull", "unversioned", "checks"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel() // it mostly waits
			s := fakeServer(t, mode, utf16Units)
			if mode == "checks" {
				s.ReportsStatus, s.CheckToken = true, "fake/check/"
			}
			r := open(t, s)
			path := r.write("a.fk", "ERR old\n")
			change := func(text string) Report {
				t.Helper()
				ch := r.Before(t.Context(), []string{path})
				r.write("a.fk", text)
				got, err := ch.After(t.Context(), t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			got := change("ERR old\nERR older\n")
			if got.Known || len(got.New) != 2 {
				t.Errorf("the first change: %+v; want both errors, and that it is unknown which are new", got)
			}
			got = change("\n\nERR older\n😀 ERR new\n")
			if !got.Known || got.Before != 1 || len(got.New) != 1 || got.New[0] != (Diagnostic{path, 4, 3, Error, "fake", "new"}) {
				t.Errorf("the second change: %+v; want one new error in line 4, column 3", got)
			}
			change("ERR same\n")
			if got = change("ERR same\nERR same\n"); got.Before != 1 || len(got.New) != 1 {
				t.Errorf("the same error in another line: %+v; want one old and one new error", got)
			}
			if got = change("fine\n"); len(got.New) != 0 || got.Before != 0 {
				t.Errorf("the repaired file: %+v; want no errors", got)
			}
		})
	}
}

func TestChange_LateServerReportsErrorsInChangedFilesOnly(t *testing.T) {
	r := open(t, fakeServer(t, "ok", utf16Units))
	path, other := r.write("a.fk", "ERR old\n"), r.write("b.fk", "ERR elsewhere\n")
	ch := r.Before(t.Context(), []string{path}) // no server runs yet
	if _, err := r.Diagnostics(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	got, err := ch.After(t.Context(), t.Context())
	if err != nil || got.Known || len(got.New) != 1 || got.New[0].Path != path {
		t.Errorf("got %+v, %v; want the error of a.fk alone", got, err)
	}
}

func TestChange_IsUnknownIfOneFilesStateIs(t *testing.T) {
	r := open(t, fakeServer(t, "ok", utf16Units))
	paths := []string{r.write("a.fk", "SILENT\n"), r.write("b.fk", "fine\n")}
	c := r.start()
	ch := r.Before(t.Context(), paths)
	r.await(c, strings.TrimPrefix(paths[1], "/"))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	r.write("a.fk", "ERR x\n")
	if got, err := ch.After(t.Context(), over); err != nil || got.Known {
		t.Errorf("got %+v, %v; want that the errors before are unknown", got, err)
	}
}

func TestCheck_IgnoresDiagnosticsForClosedDocuments(t *testing.T) {
	r := open(t, fakeServer(t, "ok", utf16Units))
	path := r.write("a.fk", "ERR old\n")
	c := r.start()
	d, err := c.open(t.Context(), path)
	if err = cmp.Or(err, c.check(t.Context(), d)); err != nil {
		t.Fatal(err)
	}
	c.syncing.Lock()
	c.shut(path)
	c.syncing.Unlock()
	r.write("a.fk", "SILENT\n")
	if d, err = c.open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.check(over, d); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v: the server has not diagnosed the new document", err, context.Canceled)
	}
}

func TestDiagnostics_AreLimitedPerFileAndCountedWithoutAByteOrderMark(t *testing.T) {
	r := open(t, fakeServer(t, "ok", utf16Units))
	got, err := r.Diagnostics(t.Context(), r.write("a.fk", "\uFEFF"+strings.Repeat("ERR x\n", 501)))
	if err != nil || len(got) != 500 || got[0].Line != 1 || got[0].Column != 1 || got[499].Line != 500 {
		t.Errorf("got %d diagnostics, %v; want those of lines 1 to 500 at column 1", len(got), err)
	}
}

func TestChange_DoesNotWaitLongerThanItsLimit(t *testing.T) {
	r := open(t, fakeServer(t, "silent", utf16Units))
	path := r.write("a.fk", "x\n")
	r.start()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	ch := r.Before(t.Context(), []string{path})
	r.write("a.fk", "y\n")
	if _, err := ch.After(over, over); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestWorkspace_NoticesChangesByOthers(t *testing.T) {
	r := open(t, fakeServer(t, "ok", utf16Units))
	r.write("a.fk", "def word\n")
	path := r.write("b.fk", "fine\n")
	if _, err := r.Hover(t.Context(), r.point("a.fk", 1, "word")); err != nil {
		t.Fatal(err)
	}
	r.write("a.fk", "\n\ndef other\n") // open at the server
	r.write("b.fk", "word\nERR x\n")   // not open
	r.write("c.fk", "new\n")
	r.Touched()
	if got, want := r.found(r.Definition(t.Context(), r.point("a.fk", 3, "other"))), "a.fk:3:5: def other\n"; got != want {
		t.Errorf("the definition is %q, want %q", got, want)
	}
	r.await(r.running()[0], "watched-b.fk")
	r.await(r.running()[0], "watched-c.fk")
	if got, err := r.Diagnostics(t.Context(), path); err != nil || len(got) != 1 || got[0].Message != "x" {
		t.Errorf("the diagnostics of b.fk are %+v, %v; want x", got, err)
	}
	r.write("b.fk", "see other\n") // open now
	want := "a.fk:3:5: def other\nb.fk:1:5: see other\n"
	if got := r.found(r.References(t.Context(), r.point("a.fk", 3, "other"))); got != want {
		t.Errorf("the references are %q, want %q", got, want)
	}
}

func TestChange_NotifiesTheServerOfFileChanges(t *testing.T) {
	r := open(t, fakeServer(t, "ok", utf16Units))
	a, b, c := r.write("a.fk", "one\n"), r.write("b.fk", "two\n"), filepath.Join(r.dir, "c.fk")
	running := r.start()
	ch := r.Before(t.Context(), []string{a, b, c})
	r.write("a.fk", "changed\n")
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	r.write("c.fk", "new\n")
	if _, err := ch.After(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"a.fk": 2, "b.fk": 3, "c.fk": 1} {
		if got := r.await(running, "watched-"+name); got != want {
			t.Errorf("%s: type %d, want %d", name, got, want)
		}
	}
}

func TestWorkspace_KeepsFewDocumentsOpen(t *testing.T) {
	r := open(t, fakeServer(t, "ok", utf16Units))
	for i := range 40 {
		path := r.write(fmt.Sprintf("f%d.fk", i), "def word\n")
		if _, err := r.Diagnostics(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.running()[0].docs); n != 32 {
		t.Errorf("%d documents are open, want 32", n)
	}
	for name, want := range map[string]bool{"f7.fk": false, "f8.fk": true} {
		if _, got := r.running()[0].docs[filepath.Join(r.dir, name)]; got != want {
			t.Errorf("%s is open: %v, want %v", name, got, want)
		}
	}
}

func TestRename_WaitsUntilTheProjectIsLoaded(t *testing.T) {
	r := open(t, fakeServer(t, "loads", utf16Units)) // which answers with some of the files until then
	r.write("a.fk", "def word\n")
	r.write("b.fk", "word\n")
	c := r.start()
	go func() {
		r.await(c, "begun")
		for range 20 { // a rename that does not wait is faster
			_ = c.conn.call(t.Context(), "shutdown", nil, nil) // which only answers
		}
		_ = c.conn.notify("fake/load", nil)
	}()
	if got, err := r.Rename(t.Context(), r.point("a.fk", 1, "word"), "term"); err != nil || len(got) != 2 {
		t.Errorf("the rename changes %d files, %v; want 2", len(got), err)
	}
}

type limited struct {
	env.Environment
	limits *env.Limits
}

func (l limited) Info() env.Info { return env.Info{Limits: l.limits} }

func TestServers_RustIsOfflineWithoutANetwork(t *testing.T) {
	for _, c := range []struct {
		limits *env.Limits
		want   string
	}{{nil, ""}, {&env.Limits{}, ""}, {&env.Limits{Sandbox: "workspace-write", Network: true}, ""}, {&env.Limits{Sandbox: "workspace-write"}, "true"}} {
		var s Server
		if err := prepareRust(t.Context(), limited{limits: c.limits}, &s, "", true); err != nil || s.env["CARGO_NET_OFFLINE"] != c.want {
			t.Errorf("%+v: got %v, %v, want %q", c.limits, s.env, err, c.want)
		}
	}
}
