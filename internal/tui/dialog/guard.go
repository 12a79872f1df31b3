package dialog

import (
	"cmp"
	"time"
)

// Times of a [Guard].
const (
	// Quiet is how long no key must have arrived before a question is shown.
	Quiet = time.Second
	// Settle is how long a question must have been on the screen, without a key, before it takes keys.
	Settle = 500 * time.Millisecond
)

// Guard keeps stray keys from answering questions. A question is not shown while keys arrive, and takes no key until it
// has been on the screen for a while in which none arrived. All other keys belong to the draft. The zero value is ready.
type Guard struct {
	// Quiet and Settle replace the constants if they are set.
	Quiet, Settle time.Duration

	key     time.Time // the last one
	painted time.Time
	open    bool // the question takes keys
}

func (g *Guard) quiet() time.Duration  { return cmp.Or(g.Quiet, Quiet) }
func (g *Guard) settle() time.Duration { return cmp.Or(g.Settle, Settle) }

// Key notes a key and reports whether it belongs to the question.
func (g *Guard) Key(now time.Time) bool {
	g.open = g.open || g.settled(now)
	g.key = now
	return g.open
}

// settled reports whether a question has been on the screen for long enough.
func (g *Guard) settled(now time.Time) bool {
	return !g.painted.IsZero() && now.Sub(g.painted) >= g.settle() && now.Sub(g.key) >= g.settle()
}

// Takes reports whether the question takes keys now, and if not, how long after now it does if no key arrives. It is 0
// while no question is on the screen.
func (g *Guard) Takes(now time.Time) (bool, time.Duration) {
	if g.painted.IsZero() || g.open || g.settled(now) {
		return g.open || g.settled(now), 0
	}
	return false, g.settle() - min(now.Sub(g.painted), now.Sub(g.key))
}

// MayShow reports whether a question may be shown now.
func (g *Guard) MayShow(now time.Time) bool { return now.Sub(g.key) >= g.quiet() }

// Wait returns how long after now a question may be shown if no key arrives, or 0.
func (g *Guard) Wait(now time.Time) time.Duration { return max(g.quiet()-now.Sub(g.key), 0) }

// Painted notes that a question has appeared on the screen.
func (g *Guard) Painted(now time.Time) { g.painted, g.open = now, false }

// Yield gives the keys back to the draft, because the user is writing text. The question takes keys again after a pause.
func (g *Guard) Yield() { g.open = false }

// Hidden notes that no question is on the screen.
func (g *Guard) Hidden() { g.painted, g.open = time.Time{}, false }
