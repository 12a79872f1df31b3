package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	slash "github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/internal/memory"
	"github.com/reins-agent/reins/internal/realpath"
)

// listRules lists the rules of the configuration, and removes rules from it. The session keeps rules that are removed
// while it is open; they are not listed any more.
func (r *opener) listRules(h *slash.Host) {
	var removed sync.Map
	h.Rules = func(context.Context) ([]slash.Rule, error) {
		return slices.DeleteFunc(r.rules(), func(rule slash.Rule) bool {
			_, gone := removed.Load(rule)
			return gone
		}), nil
	}
	h.RemoveRule = func(_ context.Context, rule slash.Rule) error {
		err := r.removeRule(rule)
		if err == nil {
			removed.Store(rule, true)
		}
		return err
	}
}

// removeRule removes a rule from the file of the user that it comes from.
func (r *opener) removeRule(rule slash.Rule) error {
	for _, layer := range ownLayers {
		file, err := r.host.configFileFor(cmp.Or(r.flags.dir, "."), layer)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(rule.Origin+":", shortDir(r.host, file.Path)+":") {
			continue
		}
		found, err := file.Remove("permissions."+rule.Effect, rule.Rule)
		if err == nil && !found {
			err = fmt.Errorf("the rule %s %s is not in %s any more", rule.Effect, rule.Rule, shortDir(r.host, file.Path))
		}
		return err
	}
	return fmt.Errorf("the rule is in %s: remove it there", rule.Origin)
}

// notebook returns the notes between sessions.
func (r *opener) notebook() (memory.Store, error) {
	state, err := stateDir(r.host)
	if err != nil {
		return memory.Store{}, err
	}
	dir, err := realpath.Dir(cmp.Or(r.flags.dir, "."))
	if err != nil {
		return memory.Store{}, err
	}
	return memory.Open(state.Memory(), dir), nil
}

// forget removes a note.
func (r *opener) forget(ctx context.Context, n slash.Note) error {
	store, err := r.notebook()
	if err != nil {
		return err
	}
	found, err := store.Delete(ctx, memory.Scope(n.Scope), n.Title)
	if err == nil && !found {
		err = fmt.Errorf("there is no %s note %q any more", n.Scope, n.Title)
	}
	return err
}
