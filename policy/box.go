package policy

import (
	"slices"

	"github.com/reins-agent/reins/env"
)

// Box is where an allowed call's commands run. The judge decides which calls need approval; the kernel limits what they
// can do: a call that is allowed because it only reads runs where it can only read.
type Box string

// Boxes, strictest first. The zero value means BoxWorkspace.
const (
	// BoxRead permits no changes, no network and no sockets, and reading only the workspace and system files.
	BoxRead Box = "read"
	// BoxWorkspace permits changes in the workspace. It is the session's sandbox.
	BoxWorkspace Box = "workspace"
	// BoxOutside is no box: the call leaves the sandbox. Only an approval, or a rule with @outside, chooses it.
	BoxOutside Box = "outside"
)

// Confined returns the workspace completed with what a decision on these accesses needs to know about an environment's
// sandbox. It may start the sandbox.
func (w Workspace) Confined(e env.Environment, m Mode, accesses []Access) Workspace {
	box, ok := e.(env.Confined)
	if !ok || box.Info().Limits == nil || box.Info().Limits.Sandbox == "" {
		return w
	}
	w.Masked = box.Info().Limits.Masked
	w.Sandboxed = m == ModeAuto && box.Enforced()
	if slices.ContainsFunc(accesses, func(a Access) bool { return a.Kind == Exec }) {
		w.ReadsOnly = box.ReadsOnly()
		w.Unenforced = !w.ReadsOnly
	}
	return w
}
