package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// verdict is a rule set's decision on a path.
type verdict uint8

const (
	undecided verdict = iota
	ignored
	whitelisted
)

// rules are the lines of one ignore file, in order.
type rules []rule

// rule is one line in an ignore file.
type rule struct {
	negated bool
	dirOnly bool
	names   bool // only the last path element counts
	glob    *glob
}

// parseIgnore parses gitignore syntax as ripgrep does: braces are supported, trailing white space is
// removed unless the last space is escaped, and invalid globs are skipped. Parsing stops at a line that
// is not valid UTF-8.
func parseIgnore(data string) rules {
	data = strings.TrimPrefix(data, "\ufeff")
	var rs rules
	for line := range strings.Lines(data) {
		if !utf8.ValidString(line) {
			break
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if r, ok, err := parseRule(line); err == nil && ok {
			rs = append(rs, r)
		}
	}
	return rs
}

// parseRule parses a line. It reports false for blank lines and comments.
func parseRule(line string) (r rule, ok bool, err error) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false, nil
	}
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
	}
	if line == "" {
		return rule{}, false, nil
	}
	anchored := false
	if strings.HasPrefix(line, `\!`) || strings.HasPrefix(line, `\#`) {
		line = line[1:]
	} else {
		line, r.negated = strings.CutPrefix(line, "!")
		line, anchored = strings.CutPrefix(line, "/")
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly = true
		line = strings.TrimSuffix(line[:len(line)-1], `\`)
	}
	if !anchored && !strings.Contains(line, "/") && line != "**" {
		line = "**/" + line
	}
	if strings.HasSuffix(line, "/**") {
		line += "/*"
	}
	r.glob, err = compileGlob(line, false)
	if err != nil {
		return rule{}, false, err
	}
	r.names = r.glob.onlyNames()
	return r, true, nil
}

// match returns the last matching rule's verdict. The path after skip is relative to the ignore file's directory.
func (rs rules) match(c *candidate, skip int, dir bool) verdict {
	for i := len(rs) - 1; i >= 0; i-- {
		r := &rs[i]
		if r.dirOnly && !dir {
			continue
		}
		if r.names && !r.glob.match(c.base) || !r.names && !r.glob.match(c.path()[skip:]) {
			continue
		}
		if r.negated {
			return whitelisted
		}
		return ignored
	}
	return undecided
}
