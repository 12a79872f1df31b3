package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/suggest"
)

// Mode determines how much an agent may do without asking. Rules and protected paths apply in every mode.
type Mode string

// Modes.
const (
	// ModeDefault allows calls that only read inside the workspace. It asks about all others.
	ModeDefault Mode = "default"
	// ModeAcceptEdits also allows changes to files inside the workspace.
	ModeAcceptEdits Mode = "acceptEdits"
	// ModePlan allows calls that change nothing, whatever the rules allow. It asks about all others.
	ModePlan Mode = "plan"
	// ModeAuto also allows every command that a sandbox confines. Without a sandbox it is ModeAcceptEdits.
	ModeAuto Mode = "auto"
	// ModeDontAsk denies calls that ModeDefault would ask about.
	ModeDontAsk Mode = "dontAsk"
	// ModeBypass allows everything except calls that a rule denies and writes to protected paths.
	ModeBypass Mode = "bypassPermissions"
)

// Modes lists all modes.
var Modes = []Mode{ModeDefault, ModeAcceptEdits, ModePlan, ModeAuto, ModeDontAsk, ModeBypass}

// strictness lists the modes, strictest first.
var strictness = []Mode{ModePlan, ModeDontAsk, ModeDefault, ModeAcceptEdits, ModeAuto, ModeBypass}

// Stricter returns the stricter mode. The zero value means ModeDefault for m and no restriction for other.
func (m Mode) Stricter(other Mode) Mode {
	if other == "" {
		return m
	}
	if m == "" {
		m = ModeDefault
	}
	if slices.Index(strictness, other) < slices.Index(strictness, m) {
		return other
	}
	return m
}

// ParseMode returns the mode with a name. The empty name means ModeDefault.
func ParseMode(name string) (Mode, error) {
	if name == "" {
		return ModeDefault, nil
	}
	if i := slices.IndexFunc(Modes, func(m Mode) bool { return strings.EqualFold(string(m), name) }); i >= 0 {
		return Modes[i], nil
	}
	return ModeDefault, fmt.Errorf("unknown mode %q: use %s", name, suggest.Or(Modes))
}
