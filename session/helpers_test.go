package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/session"
)

// shelf is a state directory with sessions, and a project that they work in.
type shelf struct {
	*session.Manager
	t       *testing.T
	project string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{t: t, project: t.TempDir()}
	dir := home.Dir(t.TempDir())
	store, err := dir.OpenSessions(nil)
	s.must(err)
	s.Manager = &session.Manager{Store: store, Home: dir}
	return s
}

func (s *shelf) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// save adds a session that was last used some time ago.
func (s *shelf) save(m event.Meta, age time.Duration, data ...event.Data) {
	s.t.Helper()
	then := time.Now().Add(-age)
	store, err := filestore.New(filestore.Config{Dir: s.Home.Sessions(), Now: func() time.Time { return then }})
	s.must(err)
	w, err := store.Create(s.t.Context(), m)
	s.must(err)
	var records []event.Record
	for i, d := range data {
		records = append(records, event.Record{Seq: event.Seq(i + 1), Time: then, Session: m.ID, Data: d})
	}
	s.must(errors.Join(event.Save(s.t.Context(), w, records...), w.Close()))
}

// spoil damages a file of a session.
func (s *shelf) spoil(id, file, old, new string) {
	s.t.Helper()
	path := filepath.Join(s.Home.Sessions(), id, file)
	b, err := os.ReadFile(path)
	s.must(err)
	if !bytes.Contains(b, []byte(old)) {
		s.t.Fatalf("%s has no %q in it:\n%s", path, old, b)
	}
	s.must(os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(new), 1), 0o600))
}

// lose makes a session unreadable.
func (s *shelf) lose(id string) {
	s.t.Helper()
	s.must(os.Remove(filepath.Join(s.Home.Sessions(), id, "log.jsonl")))
	s.must(os.WriteFile(filepath.Join(s.Home.Sessions(), id, "meta.json"), []byte("{"), 0o600))
}

// hold keeps a session open until the returned function is called.
func (s *shelf) hold(id string) (release func()) {
	s.t.Helper()
	w, err := s.Store.Open(s.t.Context(), id)
	s.must(err)
	return func() { s.must(w.Close()) }
}

// run lets an agent work on prompts. A prompt is a call, such as "write_file {…}".
func (s *shelf) run(id string, prompts ...string) {
	s.t.Helper()
	model := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		last := r.Messages[len(r.Messages)-1]
		name, args, call := strings.Cut(last.Text(), " {")
		if last.Role != llm.RoleUser || !call {
			return llmtest.Say("Done.")
		}
		return llmtest.Call(name, "{"+args)
	}}
	client, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{model}})
	s.must(err)
	c := coding.Config{
		Provider: model.Name(), Model: "m", Dir: s.project, State: string(s.Home),
		Session: agent.Config{ID: id, Client: client, Store: s.Store, Policy: policy.AllowAll{}},
	}
	if _, err := s.Store.Meta(s.t.Context(), id); err == nil {
		c.Session.ID, c.Resume = "", id
	}
	running, err := coding.Open(s.t.Context(), c)
	s.must(err)
	for _, p := range prompts {
		_, err := running.Submit(s.t.Context(), llm.NewText(p))
		s.must(err)
	}
	s.must(running.Close())
}

// write returns a call that writes a file.
func write(path, content string) string {
	args, _ := json.Marshal(map[string]string{"file_path": path, "content": content})
	return "write_file " + string(args)
}

// put writes a file as the user does.
func (s *shelf) put(name, content string) {
	s.t.Helper()
	s.must(os.WriteFile(filepath.Join(s.project, name), []byte(content), 0o644))
}

// files returns the files of the project as "a=1 b=2".
func (s *shelf) files() string {
	s.t.Helper()
	entries, err := os.ReadDir(s.project)
	s.must(err)
	var list []string
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(s.project, e.Name()))
		s.must(err)
		list = append(list, e.Name()+"="+string(b))
	}
	return strings.Join(list, " ")
}

// has fails unless the project has these files.
func (s *shelf) has(want string) {
	s.t.Helper()
	if got := s.files(); got != want {
		s.t.Errorf("the project has %q, want %q", got, want)
	}
}

// shows fails unless a result is encoded as this JSON.
func (s *shelf) shows(got any, err error, want string) {
	s.t.Helper()
	b, encodeErr := json.Marshal(got)
	s.must(encodeErr)
	if err != nil || string(b) != want {
		s.t.Errorf("got\n%s (%v), want\n%s", b, err, want)
	}
}

// fails fails unless an error has this text.
func (s *shelf) fails(err error, want string) {
	s.t.Helper()
	if err == nil || err.Error() != want {
		s.t.Errorf("got the error %q, want %q", fmt.Sprint(err), want)
	}
}

func input(text string) event.UserInput { return event.UserInput{Message: llm.UserText(text)} }

func spent(model string, input int64, cost float64) event.ModelCallEnd {
	return event.ModelCallEnd{Provider: "p", Model: model, Usage: llm.Usage{Input: input}, Cost: &cost}
}

// archive exports a session.
func (s *shelf) archive(o session.ExportOptions) []byte {
	s.t.Helper()
	var b bytes.Buffer
	s.must(s.Export(context.Background(), o, &b))
	return b.Bytes()
}

// encode returns a result as JSON.
func (s *shelf) encode(v any) string {
	s.t.Helper()
	b, err := json.Marshal(v)
	s.must(err)
	return string(b)
}

// endDuringLastCall removes all records from the end of a session's last tool call on, as if the process was killed.
func (s *shelf) endDuringLastCall(id string) {
	s.t.Helper()
	path := filepath.Join(s.Home.Sessions(), id, "log.jsonl")
	b, err := os.ReadFile(path)
	s.must(err)
	at := bytes.LastIndex(b, []byte(`"kind":"TOOL_CALL_END"`))
	at = bytes.LastIndexByte(b[:at], '\n') + 1
	s.must(os.WriteFile(path, b[:at], 0o600))
	s.must(os.Remove(filepath.Join(s.Home.Sessions(), id, "meta.json")))
}
