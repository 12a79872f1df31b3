package checkpoint

import (
	"context"
	"path"
	"slices"
)

// author tells who made a change that a restore would revert.
type author int

const (
	others author = iota // only others
	caller               // only the caller
	both
	either // the caller or others, or both
)

// own returns the changes for a traced restore: changes that the caller made or may have made. The rest is kept.
func (r *restoring) own(ctx context.Context, changes []Change, o RestoreOptions) ([]Change, error) {
	by, err := r.authors(ctx, changes, o)
	if err != nil {
		return nil, err
	}
	inTheWay(changes, by)
	e := &LaterError{}
	chosen := make([]bool, len(changes))
	for i := range changes {
		c := &changes[i]
		switch {
		case by[i] == caller:
			chosen[i] = true
		case c.Dir() || by[i] == others && !o.Ask:
		case o.Later == Keep:
		case o.Later == Overwrite || slices.Contains(o.Allowed, c.Path):
			chosen[i] = true
		default:
			e.Changes = append(e.Changes, *c)
			if by[i] != both {
				e.Unsure = append(e.Unsure, c.Path)
			}
		}
	}
	if len(e.Changes) > 0 {
		return nil, e
	}
	emptied(changes, by, chosen)
	var list []Change
	for i, c := range changes {
		if chosen[i] {
			list = append(list, c)
		} else if !c.Dir() {
			r.Kept = append(r.Kept, c)
		}
	}
	return list, nil
}

// authors tells who made each change.
func (r *restoring) authors(ctx context.Context, changes []Change, o RestoreOptions) ([]author, error) {
	by := make([]author, len(changes))
	if o.Wrote != nil {
		for i := range changes {
			by[i] = changes[i].author(o.Wrote)
		}
		return by, nil
	}
	touched := make(map[string]bool, len(o.Touched))
	for _, p := range o.Touched {
		touched[p] = true
	}
	later, known, err := r.later(ctx, o)
	for i := range changes {
		switch p := changes[i].Path; {
		case !touched[p]:
		case !known || later[p]:
			by[i] = both
		default:
			by[i] = caller
		}
	}
	return by, err
}

// author tells who made the change that c reverts.
func (c *Change) author(wrote map[string]Write) author {
	w, ok := wrote[c.Path]
	switch {
	case !ok:
		return others
	case w.Unsure:
		return either
	case w.Shared || c.old.identity() != w.After || c.new.identity() != w.Before:
		return both
	}
	return caller
}

// inTheWay marks files by others that are in the way of other changes, so that they are not kept silently: files in a
// directory that is to become a file, and a file that is to become a directory.
func inTheWay(changes []Change, by []author) {
	var replaced []string
	needed := map[string]bool{} // directories
	for i, c := range changes {
		if by[i] == others || c.new == nil {
			continue
		}
		if c.old.isDir() && !c.new.isDir() {
			replaced = append(replaced, c.Path)
		}
		above(c.Path, needed)
	}
	for i, c := range changes {
		if by[i] == others && (c.new == nil && under(replaced, c.Path) || c.old != nil && !c.old.isDir() && needed[c.Path]) {
			by[i] = both
		}
	}
}

// emptied chooses the directories that may be empty once the chosen files are removed, unless only others created them.
func emptied(changes []Change, by []author, chosen []bool) {
	parents := map[string]bool{}
	for i, c := range changes {
		if chosen[i] && c.new == nil {
			above(c.Path, parents)
		}
	}
	for i, c := range changes {
		if c.Dir() && c.new == nil && by[i] != others && parents[c.Path] {
			chosen[i] = true
		}
	}
}

// above adds the directories above a path to a set.
func above(p string, set map[string]bool) {
	for dir := path.Dir(p); dir != "." && !set[dir]; dir = path.Dir(dir) {
		set[dir] = true
	}
}
