package search

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// Limits on the braces of one glob.
const (
	maxAlternatives = 1024
	maxBraceDepth   = 16
)

// glob is a compiled path pattern. When it is compiled, braces are expanded and each alternative
// is split at its slashes. Matching backtracks to the last "**" only, so it takes at most quadratic
// time. Package doublestar matches single elements.
type glob struct {
	alts [][]element
	fold bool // patterns are lower case, and paths are lowered before they are matched
}

// element matches one path element, or any number if deep.
type element struct {
	deep    bool
	pattern string
	shape   shape
	lit     string
}

// shape is a form of pattern that a plain comparison with element.lit can match. Most lines of
// ignore files have one.
type shape uint8

const (
	anyShape shape = iota
	onlyLit        // lit
	starLit        // *lit
	litStar        // lit*
)

func globError(pattern, problem, hint string) *PatternError {
	return &PatternError{
		Kind:    "glob",
		Pattern: pattern,
		Pos:     -1,
		Problem: problem,
		Hint:    hint,
	}
}

// compileGlob compiles a pattern. Its errors are of type *PatternError.
func compileGlob(pattern string, fold bool) (*glob, error) {
	if !utf8.ValidString(pattern) {
		return nil, globError(pattern, "not valid UTF-8", "")
	}
	if !doublestar.ValidatePattern(pattern) {
		return nil, globError(pattern, "unbalanced brackets or braces, or a trailing backslash",
			`write \[, \{ or \\ to match the character itself`)
	}
	p := pattern
	if fold {
		p = strings.ToLower(p)
	}
	expanded := expandBraces(p, 0)
	if expanded == nil {
		return nil, globError(pattern, "the braces have too many alternatives", "use several globs")
	}
	g := &glob{fold: fold}
	for _, p := range expanded {
		g.alts = append(g.alts, splitElements(p))
	}
	return g, nil
}

func splitElements(pattern string) []element {
	var elems []element
	for p := range strings.SplitSeq(pattern, "/") {
		e := newElement(p)
		if n := len(elems); n == 0 || !e.deep || !elems[n-1].deep {
			elems = append(elems, e)
		}
	}
	return elems
}

func newElement(pattern string) element {
	if pattern == "**" {
		return element{deep: true}
	}
	e := element{pattern: pattern}
	const meta = `*?[\`
	switch n := len(pattern) - 1; {
	case !strings.ContainsAny(pattern, meta):
		e.shape, e.lit = onlyLit, pattern
	case pattern[0] == '*' && !strings.ContainsAny(pattern[1:], meta):
		e.shape, e.lit = starLit, pattern[1:]
	case pattern[n] == '*' && !strings.ContainsAny(pattern[:n], meta):
		e.shape, e.lit = litStar, pattern[:n]
	}
	return e
}

// match reports whether the glob matches the whole path. A nil glob matches nothing.
func (g *glob) match(path string) bool {
	if g == nil {
		return false
	}
	if g.fold {
		path = strings.ToLower(path)
	}
	var room [24]string
	names := room[:0]
	for name := range strings.SplitSeq(path, "/") {
		names = append(names, name)
	}
	return slices.ContainsFunc(g.alts, func(elems []element) bool { return matchElements(elems, names) })
}

func matchElements(elems []element, names []string) bool {
	e, n := 0, 0
	deep, from := -1, 0 // the last "**", and the first name that it does not cover
	for {
		switch {
		case e < len(elems) && elems[e].deep:
			deep, from = e, n
			e++
			continue
		case e < len(elems) && n < len(names) && elems[e].match(names[n]):
			e++
			n++
			continue
		case e == len(elems) && n == len(names):
			return true
		case deep < 0 || from >= len(names):
			return false
		}
		from++
		e, n = deep+1, from
	}
}

func (e *element) match(name string) bool {
	switch e.shape {
	case onlyLit:
		return name == e.lit
	case starLit:
		return strings.HasSuffix(name, e.lit)
	case litStar:
		return strings.HasPrefix(name, e.lit)
	}
	return doublestar.MatchUnvalidated(e.pattern, name)
}

// onlyNames reports whether a path's last element alone decides if the glob matches.
func (g *glob) onlyNames() bool {
	return !slices.ContainsFunc(g.alts, func(elems []element) bool {
		return len(elems) != 2 || !elems[0].deep || elems[1].deep
	})
}

// hiddenNames returns a glob with the elements that name hidden files explicitly.
func (g *glob) hiddenNames() *glob {
	names := &glob{fold: g.fold}
	for _, elems := range g.alts {
		for _, e := range elems {
			if strings.HasPrefix(e.pattern, ".") || strings.HasPrefix(e.pattern, `\.`) {
				names.alts = append(names.alts, []element{e})
			}
		}
	}
	return names
}

// expandBraces replaces each {a,b} in a valid glob by its alternatives: {a,b}/{c,d} gives four
// globs. It returns nil if there are too many.
func expandBraces(pattern string, depth int) []string {
	open := 0
	for open < len(pattern) && pattern[open] != '{' {
		open = nextChar(pattern, open)
	}
	if open >= len(pattern) {
		return []string{pattern}
	}
	if depth == maxBraceDepth {
		return nil
	}
	choices, rest := splitBraces(pattern[open:])
	tails := expandBraces(rest, depth)
	var out []string
	for _, choice := range choices {
		heads := expandBraces(choice, depth+1)
		if heads == nil || len(out)+len(heads)*len(tails) > maxAlternatives {
			return nil
		}
		for _, head := range heads {
			for _, tail := range tails {
				out = append(out, pattern[:open]+head+tail)
			}
		}
	}
	return out
}

// splitBraces splits "{a,b}rest" into its choices and the rest.
func splitBraces(pattern string) (choices []string, rest string) {
	depth, start := 0, 1
	for i := 0; i < len(pattern); i = nextChar(pattern, i) {
		switch pattern[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				choices, start = append(choices, pattern[start:i]), i+1
			}
		case '}':
			if depth--; depth == 0 {
				return append(choices, pattern[start:i]), pattern[i+1:]
			}
		}
	}
	return append(choices, pattern[start:]), ""
}

// nextChar returns the offset after the character, escape or character class at pattern[i].
func nextChar(pattern string, i int) int {
	switch pattern[i] {
	case '\\':
		return i + 2
	case '[':
		for i++; pattern[i] != ']'; i++ {
			if pattern[i] == '\\' {
				i++
			}
		}
	}
	return i + 1
}
