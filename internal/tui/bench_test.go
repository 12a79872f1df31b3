package tui

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/transcript"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// writing returns an application that shows a session of 100,000 lines while the model writes an answer. It has no
// terminal: bytes returns what it would write.
func writing(t testing.TB) *app {
	t.Helper()
	a := &app{o: Options{Getenv: os.Getenv}, keys: keys.Default(), w: 120, h: 40, info: session.Info{ID: "s", Model: "gpt-5.1"}}
	a.restyle(true)
	a.edit = edit.New(edit.Options{Keys: a.keys})
	a.screen = screen.New(a.w, a.h, false, a.theme.SGR)
	s := new(view.State)
	for i := range event.Seq(20) {
		var b strings.Builder
		for n := range 5000 {
			fmt.Fprintf(&b, "line %d of the long session\n", int(i)*5000+n)
		}
		s.Apply(event.Record{Seq: 2*i + 1, Data: event.UserInput{Message: llm.UserText("Continue")}})
		answer := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "```\n" + b.String() + "```\n"}}}
		s.Apply(event.Record{Seq: 2*i + 2, Data: event.TextEnd{Message: answer}})
	}
	s.Apply(event.Record{Seq: 100, Data: event.UserInput{Message: llm.UserText("Continue")}})
	s.Apply(event.Record{Seq: 101, Data: event.ModelCallStart{Call: 1}})
	a.live = &live{state: s, view: transcript.New(s)}
	for range 500 {
		a.token()
	}
	a.bytes()
	return a
}

// token lets the model write a word.
func (a *app) token() {
	s := a.live.state
	word := "word "
	if n := s.Len(); s.Item(n-1).Live() && len(s.Item(n-1).Text)%1000 > 990 {
		word = "word.\n\n"
	}
	a.live.view.Sync(s.Apply(event.Record{Data: event.TextDelta{Call: 1, Text: word}}))
}

func (a *app) bytes() []byte { return a.screen.Paint(a.frame(time.Now())) }

// typed types a character, erases it, and paints both.
func (a *app) typed() {
	a.draftKey(keys.Key{Text: "x", Code: 'x'})
	a.bytes()
	a.draftKey(keys.Key{Code: keys.Backspace})
	a.bytes()
}

func BenchmarkKey(b *testing.B) {
	a := writing(b)
	b.ReportAllocs()
	for b.Loop() {
		a.typed()
	}
}

// Garbage collections are the longest interruptions of a paint, and garbage brings them about.
func TestPaint_LeavesLittleGarbageInALongSession(t *testing.T) {
	a := writing(t)
	for _, tt := range []struct {
		name  string
		do    func()
		limit uint64
	}{
		{"two keys", a.typed, 20 << 10},
		{"a token", func() { a.token(); a.bytes() }, 20 << 10},
	} {
		const times = 200
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			tt.do()
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / times; n > tt.limit {
			t.Errorf("%s and their paint allocate %d bytes, want at most %d", tt.name, n, tt.limit)
		}
	}
}

func BenchmarkToken(b *testing.B) {
	a := writing(b)
	b.ReportAllocs()
	for b.Loop() {
		a.token()
		a.bytes()
	}
}
