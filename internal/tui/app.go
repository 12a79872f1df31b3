package tui

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/panel"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/term"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/internal/tui/theme"
	"github.com/reins-agent/reins/internal/tui/transcript"
	"github.com/reins-agent/reins/internal/tui/usercmd"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// app is the application state. Only the loop's goroutine uses it; other goroutines post functions to it.
type app struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	keys   *keys.Map

	term   *term.Terminal
	screen *screen.Screen
	theme  *theme.Theme
	rule   text.Rule
	w, h   int
	posts  chan func()
	over   bool
	err    error

	live     *live // the session; nil while it opens
	openErr  error // why there is none
	opening  bool
	opened   chan struct{}        // closed when the last opening is over
	arrived  atomic.Pointer[live] // a session that was opened, until the loop shows it
	commands []edit.Command
	info     session.Info
	infos    int  // how often info was asked for
	changing bool // the session is about to get info.Mode
	steps    int  // how often the mode key was pressed before info was known
	facts    []Fact
	script   script
	images   images

	edit   *edit.Editor
	drafts *edit.DraftFile
	saved  int // version of the saved draft
	files  *edit.Files
	first  []sent        // messages that were sent while the session opens
	taken  chan struct{} // closed when the session has taken the last input

	questions questions
	panel     overlay
	browse    browse
	notice    notice
	shell     *shell
	queueEdit *queueEdit
	printed   printed
	region    int // the height of an inline view

	unfocused bool
	title     string
	mouse     bool
	hinted    time.Time // when ctrl+c would have quit
	twice     time.Duration

	dirty   bool
	painted time.Time
	paints  int
	timer   *time.Timer
}

// live is an open session.
type live struct {
	session.Handle
	state  *view.State
	view   *transcript.View
	events chan batch
	cancel context.CancelFunc
	done   chan struct{}
	end    error // why the events ended
	ended  bool

	decided bool // the user agreed to something that takes effect when the session is opened again
}

// questions are what waits for the user's decision.
type questions struct {
	list    []ask.Question
	waiting string // identifies what waits, to notice changes
	dialog  *dialog.Dialog
	shown   bool
	painted bool // since it is shown
	guard   dialog.Guard
	local   *local // a question that the application itself asks
}

// local is a question that the application itself asks, such as whether to undo.
type local struct {
	q    ask.Question
	then func(ask.Answer)
}

func newApp(ctx context.Context, o Options) (*app, error) {
	t, err := term.Open(term.Options{
		In:        o.In,
		Out:       o.Out,
		Alternate: !o.Inline,
		Watch:     true,
		Images:    !o.NoImages,
		Getenv:    o.Getenv,
		Exit:      o.Exit,
	})
	if err != nil {
		return nil, err
	}
	a := &app{
		o:     o,
		keys:  o.Keys,
		term:  t,
		posts: make(chan func(), 64),
		timer: time.NewTimer(time.Hour),
		twice: twice,
	}
	a.script.most = usercmd.LineTime
	a.timer.Stop()
	a.images.a = a
	a.ctx, a.cancel = context.WithCancel(ctx)
	a.w, a.h = t.Size()
	a.restyle(true)
	a.newEditor()
	a.region = a.rows()
	a.screen = screen.New(a.w, a.region, o.Inline, a.theme.SGR)
	o.Notes.listen(a.wake())
	return a, nil
}

// restyle chooses the theme.
func (a *app) restyle(dark bool) {
	depth := theme.DepthOf(a.o.Getenv)
	if a.o.Colors != nil {
		a.theme = a.o.Colors.Theme(dark, depth)
		return
	}
	a.theme = theme.Named(a.o.Theme, dark, depth)
}

func (a *app) newEditor() {
	a.files = edit.NewFiles(a.searchFiles, func() { a.post(func() { a.edit.Refresh() }) })
	o := edit.Options{Keys: a.keys, Files: a.files, Commands: func() []edit.Command { return a.commands }}
	var draft edit.Draft
	var problem error
	if a.o.History != "" {
		o.History, problem = edit.OpenHistory(a.o.History)
	}
	if a.o.Drafts != "" {
		var err error
		a.drafts, draft, err = edit.OpenDraft(a.o.Drafts)
		problem = errors.Join(problem, err)
	}
	a.edit = edit.New(o)
	if len(draft.Parts) > 0 {
		a.edit.Restore(draft)
		a.say("This draft was not sent when Reins ended.")
	}
	if problem != nil {
		a.say(problem.Error())
	}
}

// searchFiles returns the search for files of the session that is open.
func (a *app) searchFiles() edit.Search {
	l := a.live
	return func(ctx context.Context, query string, limit int) (edit.Listed, error) {
		if l == nil {
			return edit.Listed{}, errors.New("no session yet")
		}
		list, err := l.Complete(ctx, session.Completion{Text: query, Limit: limit})
		if lacks, ok := errors.AsType[*session.PartialError](err); ok {
			return edit.Listed{Paths: list, Note: lacks.Error(), More: lacks.Listing}, nil
		}
		return edit.Listed{Paths: list}, err
	}
}

// begin paints the first frame and opens the session.
func (a *app) begin() {
	a.paint()
	a.term.Watch()
	if a.o.Prompt != "" {
		a.send(edit.Message{Text: a.o.Prompt}, false)
	}
	if a.o.Choose && a.o.Manager != nil {
		a.push(panel.NewSessions(a.panelOptions()))
		return
	}
	a.connect(a.o.First)
}

// close restores the terminal and ends everything.
func (a *app) close() {
	if r := recover(); r != nil {
		_ = a.term.Close()
		panic(r)
	}
	if a.o.Inline {
		_, _ = a.term.Write(a.screen.Leave())
	}
	_ = a.term.Close()
	a.o.Notes.listen(nil)
	a.cancel()
	a.disconnect()
	a.abandon()
	a.files.Close()
	if a.drafts != nil {
		_ = a.drafts.Close()
	}
}

// abandon releases a session that is being opened.
func (a *app) abandon() {
	if a.opened == nil {
		return
	}
	select {
	case <-a.opened:
	case <-time.After(2 * time.Second): // what opens the session does not react
	}
	if l := a.arrived.Swap(nil); l != nil {
		l.leave()
	}
}

// post runs a function in the loop. It may be called from any goroutine but the loop's.
func (a *app) post(f func()) {
	select {
	case a.posts <- f:
	case <-a.ctx.Done():
	}
}

// do runs work beside the loop, and then runs the returned function in the loop.
func (a *app) do(work func(ctx context.Context) func()) {
	go func() {
		if f := work(a.ctx); f != nil {
			a.post(f)
		}
	}()
}

// quit ends the application.
func (a *app) quit() { a.over = true }
