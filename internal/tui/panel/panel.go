// Package panel has the full-screen views over the conversation: sessions, agents, tasks, costs, checkpoints, help.
//
// A [Panel] is a model: keys, pastes and changes in, frames and outcomes out. Panels get all their data from a
// [session.Handle], the saved sessions and the program's [view.State]; they read no files.
package panel

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// Panel is a view on the whole screen. All methods are called on the program's loop, and none of them blocks: what takes
// time runs in the background, and [Options.Post] delivers its result.
type Panel interface {
	// Title returns the panel's name on one clean line.
	Title() string
	// Draw lays the panel out: as many lines as it is high, at most as wide as given.
	Draw(width, height int) screen.Frame
	// Key handles a key.
	Key(k keys.Key) Outcome
	// Paste handles a paste.
	Paste(s string) Outcome
	// Running reports whether the panel shows a time that passes, so that the program should paint it each second.
	Running() bool
	// Changed tells the panel that the session changed, after the program applied records to its state.
	Changed(changed []view.Key)
	// Close stops what runs in the background. The panel is not used again.
	Close()
}

// Outcome is a key's effect. The program repaints if the key was handled.
type Outcome struct {
	Handled bool // if not, the key is for the program, such as ctrl+q
	// Close closes the panel. It can be set with Line or Result, which then apply to the program without the panel.
	Close bool
	Open  Panel // shown over this panel
	// Line is a slash command to run as if the user had typed it, such as "/mode plan".
	Line string
	// Result is what to do next as after a slash command, such as to open another session.
	Result *session.Result
	// Draft is a text for the draft, if that is empty.
	Draft string
	// External is an editor whose text the user wants to change in $EDITOR: see [edit.Editor.External].
	External *edit.Editor
}

var handled = Outcome{Handled: true}

// Options are what panels need. All but Handle and Post are optional.
type Options struct {
	Handle session.Handle
	// Post calls a function on the program's loop, does what its outcome says, and paints again. It may be called on any
	// goroutine, also after the panel was closed.
	Post func(func() Outcome)
	// State returns the state that the conversation shows. The program changes it on its loop.
	State    func() *view.State
	Sessions Sessions // nil without saved sessions
	Keys     *keys.Map
	Rule     text.Rule
	Now      func() time.Time
}

// Sessions are the saved sessions. A [session.Manager] implements it.
type Sessions interface {
	List(ctx context.Context, f session.Filter) (session.Listing, error)
	Search(ctx context.Context, o session.SearchOptions) iter.Seq2[event.Hit, error]
	States(ctx context.Context, name string) ([]session.State, error)
	Diff(ctx context.Context, o session.DiffOptions) iter.Seq2[session.FileDiff, error]
	Fork(ctx context.Context, o session.ForkOptions) (event.Meta, error)
	Delete(ctx context.Context, id string) error
	Export(ctx context.Context, o session.ExportOptions, out io.Writer) error
}

var _ Sessions = (*session.Manager)(nil)
