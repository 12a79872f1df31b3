package coding

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// Local returns an environment on this machine whose sandbox enforces what a policy says about reading: commands that
// only read can read the roots of the workspace, but not what rules deny.
func Local(c local.Config, p policy.Policy, w policy.Workspace) (*local.Env, error) {
	return ruledEnv(c, func() policy.Policy { return p }, w)
}

// ruledEnv is Local for a policy that may be replaced.
func ruledEnv(c local.Config, p func() policy.Policy, w policy.Workspace) (*local.Env, error) {
	c.Sandbox.Readable = slices.Concat(c.Sandbox.Readable, w.Roots)
	denied := &deniedFiles{policy: p, workspace: w}
	c.Sandbox.Hidden = denied.list
	e, err := local.New(c)
	if err != nil {
		return nil, err
	}
	if dir, err := e.RealPath(context.Background(), e.Info().Dir); err == nil {
		denied.set(e, dir)
	}
	return e, nil
}

// deniedFiles finds the files that rules deny to read.
type deniedFiles struct {
	policy func() policy.Policy

	mu        sync.Mutex
	workspace policy.Workspace
	rules     []rules.Rule // of the last search
	found     []string
	at        time.Time // of the last search
}

// searchPause is how long the result of a search is used.
const searchPause = 2 * time.Second

// set sets where to search.
func (d *deniedFiles) set(e *local.Env, dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	info := e.Info()
	d.workspace.Dir, d.workspace.Paths, d.workspace.Files = dir, info.Paths(), e
}

// list returns the files.
func (d *deniedFiles) list() []string {
	rules := rules.Of(d.policy())
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.workspace.Files == nil {
		return nil
	}
	if time.Since(d.at) > searchPause || !reflect.DeepEqual(rules.Deny, d.rules) {
		d.found, d.at, d.rules = rules.Unreadable(context.Background(), d.workspace), time.Now(), rules.Deny
	}
	return d.found
}
