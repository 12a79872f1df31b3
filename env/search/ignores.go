package search

// ignores are the rules in force in one directory, gathered on the way down to it. It is never
// changed once children share it.
//
// The kinds are asked in the order of the fields, and within a kind the nearest directory first;
// the first rule set that decides wins. Git's own files count only inside a repository and end at
// its root, where a nested repository begins anew.
type ignores struct {
	rgignore  []scopedRules
	ignore    []scopedRules
	gitignore []scopedRules
	exclude   []scopedRules
	global    []scopedRules
	inRepo    bool
	any       bool // at least one rule set
}

// scopedRules are rules that apply below a directory. Paths are absolute here; skip is the length
// of the directory's path and the slash after it.
type scopedRules struct {
	rules rules
	skip  int
}

// found is what a directory holds that bears on ignoring.
type found struct {
	dir                         string // absolute, without a slash at its end
	repo                        bool   // it has a .git
	rgignore, ignore, gitignore rules
	exclude                     rules
}

// enter gives the rules in force inside a directory below ig. The globals apply to every
// repository, relative to its root.
func (ig *ignores) enter(f found, globals rules) *ignores {
	if !f.repo && f.rgignore == nil && f.ignore == nil && (f.gitignore == nil || !ig.inRepo) {
		return ig
	}
	skip := len(f.dir) + 1
	next := *ig
	next.rgignore = prepend(f.rgignore, skip, ig.rgignore)
	next.ignore = prepend(f.ignore, skip, ig.ignore)
	if f.repo {
		next.inRepo = true
		next.gitignore = nil
		next.exclude = prepend(f.exclude, skip, nil)
		next.global = prepend(globals, skip, nil)
	}
	if next.inRepo {
		next.gitignore = prepend(f.gitignore, skip, next.gitignore)
	}
	next.any = len(next.rgignore)+len(next.ignore)+len(next.gitignore)+len(next.exclude)+len(next.global) > 0
	return &next
}

// asRepo gives the rules that are in force if the directory counts as inside a repository, so that
// its .gitignore files are heeded without git.
func (ig *ignores) asRepo() *ignores {
	next := *ig
	next.inRepo = true
	return &next
}

func prepend(rs rules, skip int, list []scopedRules) []scopedRules {
	if len(rs) == 0 {
		return list
	}
	out := make([]scopedRules, 0, len(list)+1)
	return append(append(out, scopedRules{rs, skip}), list...)
}

// match gives the verdict on an entry.
func (ig *ignores) match(c *candidate, dir bool) verdict {
	for _, kind := range [...][]scopedRules{ig.rgignore, ig.ignore, ig.gitignore, ig.exclude, ig.global} {
		for i := range kind {
			if v := kind[i].rules.match(c, kind[i].skip, dir); v != undecided {
				return v
			}
		}
	}
	return undecided
}
