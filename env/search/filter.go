package search

import "strings"

// filter decides which entries of a directory a search sees. It is built once per query.
type filter struct {
	globs   rules // "!" is inverted: a plain glob chooses
	chooses bool  // at least one glob chooses, so files that none chooses are out
	types   *glob // nil: files of every type
	hidden  bool
	// names, if set, are the path elements for which a hidden entry is seen after all.
	names *glob
}

func newFilter(globs, types []string, hidden bool) (*filter, error) {
	f := &filter{hidden: hidden}
	for _, g := range globs {
		pattern, excludes := strings.CutPrefix(g, "!")
		r, ok, err := parseRule(escapeComment(pattern))
		if err != nil {
			return nil, wholePattern(err, g)
		}
		if !ok {
			continue
		}
		r.negated = !excludes
		f.chooses = f.chooses || !excludes
		f.globs = append(f.globs, r)
	}
	var err error
	f.types, err = typeGlob(types)
	return f, err
}

// escapeComment keeps a leading "#" or "!" from being read as ignore file syntax.
func escapeComment(pattern string) string {
	if strings.HasPrefix(pattern, "#") || strings.HasPrefix(pattern, "!") {
		return `\` + pattern
	}
	return pattern
}

// candidate is an entry that is being decided on. Its path is only put together if a rule asks.
type candidate struct {
	dir  string // absolute
	base string
	skip int // the part of the path after skip is relative to the search's root
	full string
}

func (c *candidate) path() string {
	if c.full == "" {
		c.full = c.dir + "/" + c.base
	}
	return c.full
}

// admits reports whether an entry is searched, or for a directory entered. The order of the
// questions and what each answer overrules are ripgrep's.
func (f *filter) admits(ig *ignores, c *candidate, dir bool) bool {
	if c.base == ".git" {
		return false
	}
	if f.globs != nil {
		switch v := f.globs.match(c, c.skip, dir); {
		case v == ignored:
			return false
		case v == whitelisted:
			return true
		case f.chooses && !dir:
			return false
		}
	}
	chosen := false
	if ig.any {
		switch ig.match(c, dir) {
		case ignored:
			return false
		case whitelisted:
			chosen = true
		}
	}
	if f.types != nil && !dir {
		if !f.types.match(c.base) {
			return false
		}
		chosen = true
	}
	return chosen || f.hidden || c.base[0] != '.' || f.names.match(c.base)
}
