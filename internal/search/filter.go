package search

import "strings"

// filter decides which directory entries are searched.
type filter struct {
	globs   rules // with the meaning of "!" inverted
	chooses bool  // at least one glob selects files, so all others are excluded
	types   *glob // nil: files of every type
	hidden  bool
	// names, if set, matches hidden entries that are searched anyway.
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

// escapeComment escapes a leading "#" or "!", which has a meaning in ignore files.
func escapeComment(pattern string) string {
	if strings.HasPrefix(pattern, "#") || strings.HasPrefix(pattern, "!") {
		return `\` + pattern
	}
	return pattern
}

// candidate is an entry to decide on. Its path is built only if a rule needs it.
type candidate struct {
	dir  string // absolute
	base string
	skip int // where the path relative to the search root starts
	full string
}

func (c *candidate) path() string {
	if c.full == "" {
		c.full = c.dir + "/" + c.base
	}
	return c.full
}

// admits reports whether a file is searched or a directory entered. Precedence is as in ripgrep.
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
