//go:build unix

package tui

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/tuitest"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
)

// patient is how long the tests wait for what should happen soon.
const patient = time.Minute

// rig is the application on a terminal, with a scripted model.
type rig struct {
	t        *testing.T
	dir      string
	script   *llmtest.Script
	manager  *session.Manager
	state    home.Dir
	handle   *session.Local
	pty, tty *os.File
	ended    chan error
	app      *app
	guard    dialog.Guard // with short times

	mu      sync.Mutex
	changed *sync.Cond
	screen  *tuitest.Emulator
	all     strings.Builder
}

// start shows the application. The options can be changed before.
func start(t *testing.T, w, h int, change func(r *rig, o *Options), turns ...llmtest.Turn) *rig {
	t.Helper()
	r := &rig{
		t:      t,
		dir:    t.TempDir(),
		script: llmtest.Play(turns...),
		state:  home.Dir(t.TempDir()),
		ended:  make(chan error, 1),
		guard:  dialog.Guard{Quiet: time.Millisecond, Settle: time.Millisecond},
	}
	r.changed = sync.NewCond(&r.mu)
	store, err := filestore.New(filestore.Config{Dir: r.state.Sessions()})
	r.check(err)
	r.manager = &session.Manager{Store: store, Home: r.state}
	r.pty, r.tty, err = pty.Open()
	r.check(err)
	r.screen = tuitest.New(w, h)
	r.check(pty.Setsize(r.pty, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)}))
	go r.read()
	o := Options{
		First:   func(ctx context.Context) (session.Handle, error) { return r.open(ctx, "") },
		Open:    r.open,
		Manager: r.manager,
		Dir:     r.dir,
		History: filepath.Join(string(r.state), "input", "history"),
		Drafts:  filepath.Join(string(r.state), "input", "drafts"),
		In:      r.tty,
		Out:     r.tty,
		Getenv:  func(name string) string { return map[string]string{"TERM": "xterm-256color"}[name] },
		Welcome: Welcome{Title: "reins test"},
	}
	if change != nil {
		change(r, &o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	a, err := newApp(ctx, o.complete())
	r.check(err)
	r.app = a
	a.twice, a.script.most = time.Hour, patient // a busy machine is slow
	if a.questions.guard != (dialog.Guard{}) {
		t.Error("the times that keep stray keys from answering are not the usual ones")
	}
	a.questions.guard = r.guard
	go func() { r.ended <- a.run() }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-r.ended:
		case <-time.After(patient):
			t.Error("the application does not end")
		}
		r.pty.Close()
		r.tty.Close()
	})
	return r
}

// guards changes the times of the guard while the application runs.
func (r *rig) guards(change func(g *dialog.Guard)) {
	r.app.post(func() { change(&r.app.questions.guard) })
}

// open opens a session, a new one if the ID is empty.
func (r *rig) open(ctx context.Context, id string) (session.Handle, error) {
	l, err := session.Open(ctx, coding.Config{
		Provider: "script",
		Model:    "model",
		Dir:      r.dir,
		State:    string(r.state),
		Tier:     "all",
		Resume:   id,
		Session: agent.Config{
			Client:        r.script,
			Store:         r.manager.Store,
			ContextWindow: 200_000,
			Vision:        true,
		},
	}, session.Options{
		Manager:  r.manager,
		Places:   []ask.Place{{Layer: "personal", File: "config.toml"}},
		Save:     func(string, []string) error { return nil },
		Registry: command.New(command.Host{Models: llm.DefaultCatalogue(), Sessions: r.manager}),
	})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.handle = l
	r.changed.Broadcast()
	r.mu.Unlock()
	return l, nil
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read() {
	buf := make([]byte, 1<<16)
	for {
		n, err := r.pty.Read(buf)
		r.mu.Lock()
		_, _ = r.screen.Write(buf[:n])
		r.all.Write(buf[:n])
		r.changed.Broadcast()
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// text returns the screen.
func (r *rig) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.screen.Text()
}

// until waits until something holds for the screen.
func (r *rig) until(what string, f func(screen string) bool) {
	r.t.Helper()
	end := time.Now().Add(patient)
	stop := time.AfterFunc(patient, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changed.Broadcast()
	})
	defer stop.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !f(r.screen.Text()) {
		if !time.Now().Before(end) {
			r.t.Fatalf("%s was not shown:\n%s\nunknown sequences: %q", what, r.screen.Text(), r.screen.Unknown)
		}
		r.changed.Wait()
	}
}

// sees waits until the screen shows a text.
func (r *rig) sees(s string) {
	r.t.Helper()
	r.until(s, func(screen string) bool { return strings.Contains(screen, s) })
}

// misses waits until the screen does not show a text.
func (r *rig) misses(s string) {
	r.t.Helper()
	r.until("a screen without "+s, func(screen string) bool { return !strings.Contains(screen, s) })
}

// press types keys.
func (r *rig) press(keys string) {
	r.t.Helper()
	_, err := r.pty.WriteString(keys)
	r.check(err)
}

// quits waits for the end.
func (r *rig) quits() {
	r.t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err
		if err != nil {
			r.t.Errorf("it ended with %v", err)
		}
	case <-time.After(patient):
		r.t.Fatalf("it does not end:\n%s", r.text())
	}
}

func (r *rig) file(name string) string {
	b, _ := os.ReadFile(filepath.Join(r.dir, name))
	return string(b)
}

// call returns a turn with a tool call. Its arguments alternate names and values.
func call(name string, args ...string) llmtest.Turn {
	object := make(map[string]string)
	for i := 0; i+1 < len(args); i += 2 {
		object[args[i]] = args[i+1]
	}
	b, _ := json.Marshal(object)
	return llmtest.Call(name, string(b))
}

// Keys as terminals send them.
const (
	enter    = "\r"
	esc      = "\x1b"
	ctrlC    = "\x03"
	ctrlQ    = "\x11"
	shiftTab = "\x1b[Z"
	down     = "\x1b[B"
)
