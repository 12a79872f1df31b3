// Package term drives the user's terminal: raw mode, modes that are undone at every exit, input as events, queries,
// titles, notifications and the clipboard.
package term

import "github.com/reins-agent/reins/internal/tui/keys"

// Event is a [keys.Key], or one of the types below.
type Event any

// Paste is text that was pasted. Its lines end with "\n". It is untrusted.
type Paste struct{ Text string }

// Mouse is a mouse event. Columns and rows begin with 0.
type Mouse struct {
	X, Y    int
	Button  int // 0 left, 1 middle, 2 right
	Wheel   int // -1 up, 1 down
	Mods    keys.Mods
	Press   bool
	Release bool
	Drag    bool
}

// Focus reports that the terminal got or lost the focus.
type Focus struct{ In bool }

// Resize is the terminal's new size.
type Resize struct{ W, H int }

// Resume reports that the process continues after it was stopped, or that another program has returned the terminal. The
// screen has to be painted anew.
type Resume struct{}

// Quit reports a signal that ends the process. The terminal is restored already.
type Quit struct{ Signal string }

// Background is the terminal's background color.
type Background struct{ R, G, B uint8 }

// Dark reports whether the color is dark.
func (b Background) Dark() bool { return 299*int(b.R)+587*int(b.G)+114*int(b.B) < 128000 }

// Scheme reports that the terminal or the system changed to dark or light colors.
type Scheme struct{ Dark bool }

// Query is a kind of question to the terminal.
type Query uint8

// Kinds of queries.
const (
	QueryAttributes Query = iota + 1 // DA1; every terminal answers it
	QueryKitty                       // keyboard flags
	QueryMode                        // whether a mode is known
	QueryVersion                     // XTVERSION
	QueryGraphics                    // kitty graphics
	QueryCell                        // size of a cell
)

// Reply is the terminal's answer to a query.
type Reply struct {
	Query Query
	Mode  int    // of QueryMode; pixel width for QueryCell
	Value int    // keyboard flags, the mode's state (0 and 4 mean that it cannot be set), pixel height, or 1 for sixel
	Text  string // answer to QueryVersion, or to QueryGraphics: "OK"
}
