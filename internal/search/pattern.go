package search

import (
	"regexp"
	"regexp/syntax"
	"slices"
)

// pattern is a compiled search pattern. It is immutable and shared by all workers.
type pattern struct {
	re        *regexp.Regexp
	tree      *syntax.Regexp // the syntax of re; in line mode it cannot match "\n"
	finder    *finder        // nil if no literal is required
	multiline bool
}

// compilePattern compiles a query's pattern. Its errors are of type *PatternError.
func compilePattern(q *GrepQuery) (*pattern, error) {
	text := q.Pattern
	if q.Literal {
		text = regexp.QuoteMeta(text)
	}
	flags := syntax.Perl &^ syntax.OneLine
	prefix := "(?m)"
	if q.IgnoreCase {
		flags |= syntax.FoldCase
		prefix = "(?im)"
	}
	if q.Multiline {
		flags |= syntax.DotNL
		prefix = "(?s)" + prefix
	}
	tree, err := syntax.Parse(text, flags)
	if err != nil {
		return nil, regexError(q.Pattern, err)
	}
	re, err := regexp.Compile(prefix + text)
	if err != nil {
		return nil, regexError(q.Pattern, err)
	}
	if !q.Multiline {
		if matchesNewline(tree) {
			return nil, &PatternError{
				Kind:    "regular expression",
				Pattern: q.Pattern,
				Pos:     -1,

				Problem: "contains a line feed, which cannot match within one line",

				Hint: "use multiline mode",
			}
		}
		tree = withoutNewline(tree)
	}
	lits, exact := requiredLiterals(tree)
	return &pattern{re: re, tree: tree, finder: newFinder(lits, exact), multiline: q.Multiline}, nil
}

// matchesNewline reports whether the pattern contains a literal line feed.
func matchesNewline(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') {
		return true
	}
	return slices.ContainsFunc(re.Sub, matchesNewline)
}

// withoutNewline rewrites re for single lines: no class contains a line feed, and the text begins and
// ends with the line.
func withoutNewline(re *syntax.Regexp) *syntax.Regexp {
	out := *re
	switch re.Op {
	case syntax.OpAnyChar:
		out.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		out.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		out.Op = syntax.OpEndLine
	case syntax.OpCharClass:
		out.Rune = removeRune(re.Rune, '\n')
		if len(out.Rune) == 0 {
			out.Op = syntax.OpNoMatch
		}
	}
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = withoutNewline(sub)
	}
	return &out
}

// removeRune removes a character from a class's ranges.
func removeRune(ranges []rune, r rune) []rune {
	out := make([]rune, 0, len(ranges)+2)
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if r < lo || hi < r {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}
