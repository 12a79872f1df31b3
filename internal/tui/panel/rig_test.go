package panel

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// rig is a session with a scripted model, and a program's loop that follows it.
type rig struct {
	*loop
	*session.Local
	*session.Manager
	dir    string
	script *llmtest.Script
	state  *view.State
	panels []Panel // are told about changes
}

func newRig(t *testing.T, host command.Host) *rig {
	t.Helper()
	state := home.Dir(t.TempDir())
	store, err := filestore.New(filestore.Config{Dir: state.Sessions()})
	must(t, err)
	r := &rig{
		loop:    newLoop(t),
		Manager: &session.Manager{Store: store, Home: state},
		dir:     t.TempDir(),
		script:  llmtest.Play(),
		state:   &view.State{},
	}
	host.Sessions, host.Models = r.Manager, llm.DefaultCatalogue()
	r.Local, err = session.Open(t.Context(), coding.Config{
		Provider: "script",
		Model:    "model",
		Dir:      r.dir,
		State:    string(state),
		Tier:     "all",
		Session: agent.Config{
			ID:            "this", // a random ID may contain what a test looks for
			Client:        r.script,
			Store:         store,
			ContextWindow: 200_000,
		},
	}, session.Options{Manager: r.Manager, Registry: command.New(host)})
	must(t, err)
	t.Cleanup(func() { must(t, r.Local.Close()) })
	go func() {
		for rec, err := range r.Local.Events(t.Context(), 0) {
			if err != nil {
				return
			}
			r.posts <- func() Outcome {
				changed := r.state.Apply(rec)
				for _, p := range r.panels {
					p.Changed(changed)
				}
				return handled
			}
		}
	}()
	return r
}

// options returns the options of panels.
func (r *rig) options() Options {
	o := r.loop.options(r.Local)
	o.State, o.Sessions, o.Now = func() *view.State { return r.state }, r.Manager, time.Now
	return o
}

// shows waits until a panel shows a text.
func (r *rig) shows(p Panel, parts ...string) string {
	r.t.Helper()
	for _, part := range parts {
		r.until(part, func() bool { return contains(p, part) })
	}
	return everywhere(r.t, p)
}

// follow tells a panel about changes.
func (r *rig) follow(p Panel) Panel {
	r.panels = append(r.panels, p)
	r.t.Cleanup(p.Close)
	return p
}

// work submits an input and waits for the end of the work.
func (r *rig) work(text string, turns ...llmtest.Turn) {
	r.t.Helper()
	r.script.Turns = append(r.script.Turns, turns...)
	must(r.t, r.Submit(r.t.Context(), session.Input{Text: text, Plain: true}))
	out, err := r.Wait(r.t.Context())
	must(r.t, err)
	must(r.t, out.Err())
	s, err := r.Snapshot(r.t.Context())
	must(r.t, err)
	r.until("the state is current", func() bool { return r.state.Last() >= s.Last() })
}

// save saves a session that was used some time ago.
func (r *rig) save(m event.Meta, age time.Duration, texts ...string) {
	r.t.Helper()
	must(r.t, saveIn(r.Home, m, time.Now().Add(-age), texts...))
}

// saveIn saves a session with an input per text.
func saveIn(dir home.Dir, m event.Meta, then time.Time, texts ...string) error {
	store, err := filestore.New(filestore.Config{Dir: dir.Sessions(), Now: func() time.Time { return then }})
	if err != nil {
		return err
	}
	w, err := store.Create(context.Background(), m)
	if err != nil {
		return err
	}
	var list []event.Record
	for i, s := range texts {
		list = append(list, event.Record{
			Seq:     event.Seq(i + 1),
			Time:    then,
			Session: m.ID,
			Data:    event.UserInput{Message: llm.UserText(s)},
		})
	}
	return errors.Join(event.Save(context.Background(), w, list...), w.Close())
}

func write(path, content string) llmtest.Turn {
	args, _ := json.Marshal(map[string]string{"file_path": path, "content": content})
	return llmtest.Call("write_file", string(args))
}

func (r *rig) file(name string) string {
	b, _ := os.ReadFile(filepath.Join(r.dir, name))
	return string(b)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
