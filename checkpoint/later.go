package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Later says what to do with files that others changed after the caller left them.
type Later int

// What can become of such files.
const (
	Overwrite Later = iota // they are restored like all others
	Refuse                 // nothing is restored, and the error is a [LaterError]
	Keep                   // they stay as they are, and the others are restored
)

// LaterError says that restoring would take back what was changed by others since the caller left the
// workspace. Nothing was restored.
type LaterError struct {
	Changes []Change // what restoring would do to these files
	// Unknown says that it is not known how the caller left the workspace, so that the changes are
	// all that restoring would do.
	Unknown bool
}

func (e *LaterError) Error() string {
	const shown = 3
	var names []string
	for _, c := range e.Changes[:min(shown, len(e.Changes))] {
		names = append(names, c.Path)
	}
	if more := len(e.Changes) - shown; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	list := strings.Join(names, ", ")
	if e.Unknown {
		return fmt.Sprintf("nothing was restored: it is not known whether %s changed since", list)
	}
	return fmt.Sprintf("nothing was restored: changed since by others: %s", list)
}

// spare leaves out of the changes what the options want to be left alone.
func (r *restoring) spare(ctx context.Context, changes []Change, o RestoreOptions) ([]Change, error) {
	if o.Later == Overwrite {
		return changes, nil
	}
	later, known, err := r.later(ctx, o)
	if err != nil {
		return nil, err
	}
	touched := func(c Change) bool { return !known || later[c.Path] }
	if o.Later == Keep && known {
		return slices.DeleteFunc(changes, touched), nil
	}
	e := &LaterError{Unknown: !known}
	for _, c := range changes {
		if !c.Dir() && touched(c) && !slices.Contains(o.Allowed, c.Path) {
			e.Changes = append(e.Changes, c)
		}
	}
	if len(e.Changes) > 0 {
		return nil, e
	}
	return changes, nil
}

// later gives the paths that are not as any of the states has them. It is not known without a state
// that can be read.
func (r *restoring) later(ctx context.Context, o RestoreOptions) (later map[string]bool, known bool, err error) {
	for _, id := range o.Left {
		c, err := r.store.readRecord(id)
		if err != nil {
			continue // it was pruned, or is damaged
		}
		how := comparison{list: r.objects.tree, unknownOld: c.unreadable}
		changes, err := r.store.compare(ctx, how, c.root, r.present.root, o.Paths)
		if err != nil {
			return nil, false, err
		}
		differs := make(map[string]bool, len(changes))
		for _, c := range changes {
			if !known || later[c.Path] {
				differs[c.Path] = true
			}
		}
		later, known = differs, true
	}
	return later, known, nil
}
