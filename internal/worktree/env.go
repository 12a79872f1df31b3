package worktree

import (
	"os"

	"github.com/reins-agent/reins/env"
)

// Env returns the worktree's environment. It cannot read or change files outside the worktree, even with an approval.
// Its commands run in the same sandbox as in the store's other environments, and can write in the worktree. Closing the
// worktree closes it.
func (t *Tree) Env() (env.Environment, error) {
	if t.env == nil {
		e, err := t.store.Env(t.Dir())
		if err != nil {
			return nil, err
		}
		// After a crash, the lock remains held until the commands have ended.
		if h, ok := e.(interface {
			Hold(f *os.File) (release func())
		}); ok {
			t.free = h.Hold(t.lock)
		}
		t.env = e
	}
	return within(t.env), nil
}

// within returns an environment that is confined to its working directory.
func within(e env.Environment) env.Environment {
	s := env.Scoped(e, e.Info().Dir)
	if box, ok := e.(env.Confined); ok {
		return confined{s, box}
	}
	return s
}

// confined is a scoped environment with a sandbox. With an approval, commands may run outside the sandbox, but file
// access remains limited to the scope.
type confined struct {
	env.Wrapper
	box env.Confined
}

var _ env.Confined = confined{}

// Allows implements env.Confined.
func (c confined) Allows(path string) bool {
	info := c.Info()
	return info.Paths().Within(info.Dir, path) && c.box.Allows(path)
}

// Enforced implements env.Confined.
func (c confined) Enforced() bool { return c.box.Enforced() }

// ReadsOnly implements env.Confined.
func (c confined) ReadsOnly() bool { return c.box.ReadsOnly() }

// Outside implements env.Confined.
func (c confined) Outside() env.Environment { return env.Scoped(c.box.Outside(), c.Info().Dir) }

// NoLinks returns the scope without symbolic links; see [env.NoLinks].
func (c confined) NoLinks(env.Environment) env.Environment { return env.NoLinks(c.Wrapper) }
