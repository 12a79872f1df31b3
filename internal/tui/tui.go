// Package tui is the terminal application: one event loop that shows a session and passes on the user's input. It works
// with a session through session.Handle alone, in this process or another.
package tui

import (
	"context"
	"errors"
	"os"

	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/panel"
	"github.com/reins-agent/reins/internal/tui/theme"
	"github.com/reins-agent/reins/session"
)

// Options configure the application. Only First is required.
type Options struct {
	// First opens the session to begin with. It runs while the terminal already takes keys.
	First func(ctx context.Context) (session.Handle, error)
	// Start returns what to offer without a model; nil, also as a result, offers nothing. Use opens a new session with
	// a provider and a model.
	Start func(err error) *panel.Start
	Use   func(ctx context.Context, provider, model string) (session.Handle, error)
	// Open opens another session, and "" a new one. Nil means that the user cannot change the session.
	Open func(ctx context.Context, id string) (session.Handle, error)
	// Manager has this machine's saved sessions; nil if the session runs on another machine.
	Manager *session.Manager

	Prompt string // submitted first
	Inline bool   // finished items become lines in the terminal's history
	Dir    string // the working directory
	Choose bool   // the user chooses a saved session, in place of First
	// History is the file with the messages that were sent, and Drafts the directory for drafts; "" keeps nothing.
	History, Drafts string

	In, Out *os.File
	Getenv  func(string) string
	Keys    *keys.Map
	Theme   string                    // name of a built-in theme; "" is auto
	Colors  *theme.File               // the user's theme, in place of Theme
	Facts   func(session.Info) []Fact // for the status line, besides the session's facts
	// Status has the status line's parts, the most important first; nil is all. StatusCommand is a command line
	// whose output is a part.
	Status        []string
	StatusCommand string
	NoImages      bool   // images are never drawn
	Notes         *Notes // lines that the rest of the program prints; may be nil
	Welcome       Welcome
	Exit          func(code int) // ends the process if the application hangs after a signal
}

// Fact is a status line part.
type Fact struct {
	Name string // such as "branch"
	Text string // "" is not shown
	Warn bool
}

// Welcome is the greeting in an empty session.
type Welcome struct {
	Title string   // such as "reins 1.2"
	Lines []string // such as what to set without an API key
	Tour  bool     // show the six most important keys
}

// ErrSignal means that a signal ended the application.
var ErrSignal = errors.New("ended by a signal")

// Run shows a session until the user quits.
func Run(ctx context.Context, o Options) error {
	a, err := newApp(ctx, o.complete())
	if err != nil {
		return err
	}
	return a.run()
}

// complete fills in the defaults.
func (o Options) complete() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Keys == nil {
		o.Keys = keys.Default()
	}
	if o.Notes == nil {
		o.Notes = new(Notes)
	}
	return o
}

// run shows the application until it is over.
func (a *app) run() error {
	defer a.close()
	a.begin()
	return a.loop()
}
