package search

// ignores has a directory's rules, collected from its parents. It is immutable, because subdirectories share it.
//
// Rule sets are tried in field order, and within a field the nearest directory first; the first that decides wins.
// Git's files apply only inside a repository, up to its root.
type ignores struct {
	rgignore  []scopedRules
	ignore    []scopedRules
	gitignore []scopedRules
	exclude   []scopedRules
	global    []scopedRules
	inRepo    bool
	any       bool // at least one rule set
}

// scopedRules are rules that apply below a directory. skip is the length of its path and a slash.
type scopedRules struct {
	rules rules
	skip  int
}

// found has a directory's ignore files.
type found struct {
	dir                         string // absolute, without a slash at its end
	repo                        bool   // top of a repository
	rgignore, ignore, gitignore rules
	exclude                     rules
}

// enter returns the rules for a subdirectory. The globals apply to every repository, relative to its root.
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

func prepend(rs rules, skip int, list []scopedRules) []scopedRules {
	if len(rs) == 0 {
		return list
	}
	out := make([]scopedRules, 0, len(list)+1)
	return append(append(out, scopedRules{rs, skip}), list...)
}

// match returns the verdict on an entry.
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
