package panel

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
)

// library is a rig with saved sessions.
func library(t *testing.T) (*rig, *sessions) {
	r := newRig(t, command.Host{})
	r.work("the current session", llmtest.Say("Yes."))
	old := event.Meta{
		ID:     "old",
		Title:  "Fix the parser",
		Dir:    r.dir,
		Model:  "m-1",
		Branch: "main",
	}
	r.save(old, time.Hour, "the parser fails", "needle in a haystack")
	r.save(event.Meta{ID: "bad", Title: hostile, Dir: r.dir}, 2*time.Hour, "hello")
	r.save(event.Meta{ID: "far", Title: "Elsewhere", Dir: "/nowhere/x"}, 3*time.Hour, "a needle "+hostile)
	p := r.follow(NewSessions(r.options())).(*sessions)
	r.until("the sessions are listed", func() bool { return p.loading == 0 })
	return r, p
}

func TestSessions_ListsThisDirectoryOrAll(t *testing.T) {
	t.Parallel()
	_, p := library(t)
	seen := everywhere(t, p)
	has(t, seen, "3 of 4 sessions, in this directory", "Fix the parser", "1 h ago · m-1 · main", "current", "日本語")
	if strings.Contains(seen, "Elsewhere") {
		t.Errorf("another directory's session is listed:\n%s", seen)
	}
	press(t, p, "tab")
	has(t, everywhere(t, p), "4 sessions", "Elsewhere", "3 h ago · x")
	press(t, p, "'pars main")
	if seen := paint(t, p, 80, 24).Text(); strings.Contains(seen, "Elsewhere") || !strings.Contains(seen, "› Fix the parser") {
		t.Errorf("the filter shows\n%s", seen)
	}
	if out := press(t, p, "enter"); !out.Close || out.Result == nil || out.Result.Action != session.ActionOpen || out.Result.Session != "old" {
		t.Errorf("enter: %+v", out)
	}
}

func TestSessions_AreFoundByID(t *testing.T) {
	t.Parallel()
	_, p := library(t)
	press(t, p, "'old")
	if got := p.selected(); got != "old" {
		t.Errorf("selected %q", got)
	}
	if out := press(t, p, "esc"); !out.Close || out.Result != nil {
		t.Errorf("esc: %+v", out)
	}
}

func TestSessions_SearchesAllTexts(t *testing.T) {
	t.Parallel()
	r, p := library(t)
	press(t, p, "ctrl+f")
	has(t, everywhere(t, p), "search the texts of all sessions")
	press(t, p, "'NEEDLE i")
	r.until("the search ends", func() bool { return p.find.done })
	seen := everywhere(t, p)
	has(t, seen, "1 hit", "needle in a haystack")
	for range " i" {
		press(t, p, "backspace")
	}
	r.until("the search ends", func() bool { return p.find.done && len(p.find.hits) == 2 })
	has(t, everywhere(t, p), "2 hits", "needle in a haystack", "a needle 日本語")
	press(t, p, "down")
	if out := press(t, p, "enter"); out.Result == nil || out.Result.Session != "far" {
		t.Errorf("enter: %+v", out)
	}
	press(t, p, "esc")
	has(t, everywhere(t, p), "3 of 4 sessions")
}

func TestSessions_ForkOpensTheCopy(t *testing.T) {
	t.Parallel()
	r, p := library(t)
	press(t, p, "'old", "ctrl+o")
	r.until("the copy is opened", func() bool { return r.last.Result != nil })
	m, err := r.Find(t.Context(), r.last.Result.Session)
	must(t, err)
	if m.Parent != "old" || !r.last.Close {
		t.Errorf("%+v opens %+v", r.last, m)
	}
}

func TestSessions_DeleteAsksFirst(t *testing.T) {
	t.Parallel()
	r, p := library(t)
	press(t, p, "'old", "ctrl+x")
	has(t, everywhere(t, p), "Delete session old?", "Fix the parser", "cannot be restored")
	press(t, p, "enter", "'x", "esc")
	press(t, p, "ctrl+x", "'n", "enter")
	if _, err := r.Find(t.Context(), "old"); err != nil || p.confirm != nil {
		t.Fatalf("deleted without an answer: %v", err)
	}
	press(t, p, "ctrl+x", "'y", "enter")
	r.until("it is gone from the list", func() bool { return p.loading == 0 && !slices.Contains(p.shown, "old") })
	has(t, everywhere(t, p), "Deleted session old")
	if _, err := r.Find(t.Context(), "old"); err == nil {
		t.Error("it is still saved")
	}
}

func TestSessions_TheCurrentOneIsNotDeleted(t *testing.T) {
	t.Parallel()
	_, p := library(t)
	press(t, p, "'"+p.current, "ctrl+x")
	has(t, everywhere(t, p), "this session is open")
	if p.confirm != nil {
		t.Error("it asks")
	}
}

func TestSessions_Export(t *testing.T) {
	t.Parallel()
	r, p := library(t)
	press(t, p, "'old", "alt+x")
	r.until("it is exported", func() bool { return p.loading == 0 })
	has(t, everywhere(t, p), "Exported to")
	if info, err := os.Stat(filepath.Join(r.dir, "old.tar")); err != nil || info.Size() == 0 {
		t.Error(err)
	}
	press(t, p, "alt+x")
	r.until("it is refused", func() bool { return p.loading == 0 })
	if !p.failed {
		t.Errorf("a file is replaced: %q", p.notice)
	}
}

func TestSessions_DamagedSessionsAreListed(t *testing.T) {
	t.Parallel()
	r, p := library(t)
	must(t, os.Remove(filepath.Join(r.Home.Sessions(), "old", "log.jsonl")))
	p.reload("")
	r.until("the sessions are listed", func() bool { return p.loading == 0 })
	press(t, p, "tab", "'damaged")
	has(t, everywhere(t, p), "old cannot be read")
}

func TestSessions_AreNotNeeded(t *testing.T) {
	t.Parallel()
	l := newLoop(t)
	p := NewSessions(l.options(&fake{}))
	press(t, p, "ctrl+x", "tab", "enter", "ctrl+f")
	has(t, everywhere(t, p), "nothing found")
	if out := press(t, p, "esc"); !out.Close {
		t.Errorf("esc: %+v", out)
	}
}

// BenchmarkSessions_10000 measures the time from the key to the first frame with the list of 10,000 saved sessions.
func BenchmarkSessions_10000(b *testing.B) {
	dir := home.Dir(b.TempDir())
	for i := range 10_000 {
		m := event.Meta{ID: fmt.Sprint("s", i), Title: fmt.Sprint("Session ", i), Dir: "/home/me/project", Model: "model"}
		must(b, saveIn(dir, m, time.Unix(int64(1e9+i), 0), strings.Repeat("a prompt ", 20), "and another"))
	}
	store, err := filestore.New(filestore.Config{Dir: dir.Sessions()})
	must(b, err)
	posts := make(chan func() Outcome, 10)
	o := Options{
		Handle:   &fake{},
		Post:     func(f func() Outcome) { posts <- f },
		Sessions: &session.Manager{Store: store, Home: dir},
	}
	for b.Loop() {
		p := NewSessions(o).(*sessions)
		(<-posts)()
		if p.Draw(120, 40); len(p.shown) != 10_000 {
			b.Fatal(p.notice)
		}
		p.Close()
	}
}

// BenchmarkSessions_Filter measures a key that is typed into the filter of 10,000 sessions.
func BenchmarkSessions_Filter(b *testing.B) {
	p := NewSessions(Options{Handle: &fake{}}).(*sessions)
	for i := range 10_000 {
		p.all = append(p.all, event.Meta{ID: fmt.Sprint("s", i), Title: fmt.Sprint("Session ", i), Prompt: strings.Repeat("a prompt ", 20)})
	}
	p.every = true
	p.rows()
	for b.Loop() {
		press(b, p, "'9")
		p.Draw(120, 40)
		press(b, p, "backspace")
		p.Draw(120, 40)
	}
}
