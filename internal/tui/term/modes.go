package term

import (
	"slices"
	"strings"
)

// mode is a terminal mode that is undone at exit.
type mode struct{ on, off string }

// Terminal modes. The keyboard modes belong to the screen that is shown, so the alternate screen comes first.
var (
	modeAlternate = mode{"\x1b[?1049h", "\x1b[?1049l"}
	modeTitle     = mode{"\x1b[22;2t", "\x1b[23;2t"} // saves and restores it
	modeNoWrap    = mode{"\x1b[?7l", "\x1b[?7h"}     // clusters that are wider than assumed do not break lines
	modePaste     = mode{"\x1b[?2004h", "\x1b[?2004l"}
	modeFocus     = mode{"\x1b[?1004h", "\x1b[?1004l"}
	modeOtherKeys = mode{"\x1b[>4;1m", "\x1b[>4;0m"}
	modeKitty     = mode{"\x1b[>5u", "\x1b[<u"} // disambiguates keys, and reports their place on a US keyboard
	modeMouse     = mode{"\x1b[?1002h\x1b[?1006h", "\x1b[?1006l\x1b[?1002l"}
	modeScheme    = mode{"\x1b[?2031h", "\x1b[?2031l"} // reports when colors become dark or light
	modeClusters  = mode{"\x1b[?2027h", "\x1b[?2027l"}
)

// reset undoes everything that a frame may have begun: synchronized output, styles, a link, a hidden cursor.
const reset = "\x1b[?2026l\x1b[0m\x1b]8;;\x1b\\\x1b[?25h"

// registry has the modes that are on, in the order in which they were set.
type registry struct{ list []mode }

// set turns a mode on or off and returns the bytes that do it.
func (r *registry) set(m mode, on bool) string {
	for i, have := range r.list {
		if have != m {
			continue
		}
		if on {
			return ""
		}
		r.list = append(r.list[:i:i], r.list[i+1:]...)
		return m.off
	}
	if !on {
		return ""
	}
	r.list = append(r.list, m)
	return m.on
}

// with returns the registry with modes that may still be set.
func (r *registry) with(modes ...mode) *registry {
	all := &registry{slices.Clone(r.list)}
	for _, m := range modes {
		all.set(m, true)
	}
	return all
}

// enter returns the bytes that turn all modes on again.
func (r *registry) enter() string {
	var b strings.Builder
	for _, m := range r.list {
		b.WriteString(m.on)
	}
	return b.String()
}

// leave returns the bytes that undo all modes, the last first.
func (r *registry) leave() string {
	var b strings.Builder
	b.WriteString(reset)
	for i := len(r.list) - 1; i >= 0; i-- {
		if r.list[i] == modeAlternate {
			b.WriteString("\x1b[r") // no scroll region
		}
		b.WriteString(r.list[i].off)
	}
	return b.String()
}
