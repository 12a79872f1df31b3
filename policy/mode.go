package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/suggest"
)

// Mode determines how much an agent may do without asking. Rules and protected paths apply in every mode.
type Mode string

// The modes.
const (
	// ModeDefault allows what only reads inside the workspace. It asks about the rest.
	ModeDefault Mode = "default"
	// ModeAcceptEdits also allows changes to files inside the workspace.
	ModeAcceptEdits Mode = "acceptEdits"
	// ModePlan allows what changes nothing, whatever the rules allow. It asks about the rest.
	ModePlan Mode = "plan"
	// ModeAuto also allows every command that a sandbox confines. Without a sandbox it is ModeAcceptEdits.
	ModeAuto Mode = "auto"
	// ModeDontAsk denies what ModeDefault would ask about.
	ModeDontAsk Mode = "dontAsk"
	// ModeBypass allows everything but what a rule denies and writing to protected paths.
	ModeBypass Mode = "bypassPermissions"
)

// Modes lists all modes.
var Modes = []Mode{ModeDefault, ModeAcceptEdits, ModePlan, ModeAuto, ModeDontAsk, ModeBypass}

// strictness lists the modes, the strictest first.
var strictness = []Mode{ModePlan, ModeDontAsk, ModeDefault, ModeAcceptEdits, ModeAuto, ModeBypass}

// Stricter returns the stricter of two modes. The zero value is ModeDefault for m and no restriction for other.
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

// ParseMode returns the mode of a name. The empty name is ModeDefault.
func ParseMode(name string) (Mode, error) {
	if name == "" {
		return ModeDefault, nil
	}
	if i := slices.IndexFunc(Modes, func(m Mode) bool { return strings.EqualFold(string(m), name) }); i >= 0 {
		return Modes[i], nil
	}
	return ModeDefault, fmt.Errorf("unknown mode %q: use %s", name, suggest.Or(Modes))
}
