package search

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// PatternError is an invalid pattern in a query.
type PatternError struct {
	Kind    string // "regular expression", "glob" or "file type"
	Pattern string
	Pos     int // byte offset in Pattern, or -1
	Problem string
	Hint    string // how to fix it; may be empty
}

// Error implements the error interface.
func (e *PatternError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "invalid %s %q", e.Kind, e.Pattern)
	if e.Pos >= 0 {
		fmt.Fprintf(&b, " at offset %d", e.Pos)
	}
	b.WriteString(": " + e.Problem)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// regexError converts an error of package regexp/syntax.
func regexError(pattern string, err error) *PatternError {
	pe := &PatternError{Kind: "regular expression", Pattern: pattern, Pos: -1, Problem: err.Error()}
	var se *syntax.Error
	if !errors.As(err, &se) {
		return pe
	}
	pe.Problem = se.Code.String()
	if se.Expr != "" {
		pe.Pos = strings.Index(pattern, se.Expr)
		if se.Expr != pattern {
			pe.Problem += fmt.Sprintf(" (%q)", se.Expr)
		}
	}
	pe.Hint = regexHint(se)
	return pe
}

func regexHint(se *syntax.Error) string {
	switch se.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		return `write \( and \) for literal parentheses, or search for a literal string`
	case syntax.ErrMissingBracket:
		return `write \[ for a literal bracket, or search for a literal string`
	case syntax.ErrMissingRepeatArgument:
		return `put a backslash before a literal *, + or ?`
	case syntax.ErrTrailingBackslash:
		return `write \\ for a literal backslash`
	}
	if what := unsupported(se); what != "" {
		return what + " are not supported; rewrite the expression without them"
	}
	return ""
}

// unsupported returns the name of the unsupported Perl construct, or "" for any other error.
func unsupported(se *syntax.Error) string {
	switch se.Code {
	case syntax.ErrInvalidPerlOp, syntax.ErrInvalidNamedCapture:
		for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
			if strings.HasPrefix(se.Expr, look) {
				return "lookahead and lookbehind assertions"
			}
		}
	case syntax.ErrInvalidEscape:
		if len(se.Expr) > 1 && (se.Expr[1] >= '1' && se.Expr[1] <= '9' || se.Expr[1] == 'k') {
			return "backreferences"
		}
	case syntax.ErrInvalidRepeatOp:
		return "possessive repeats"
	}
	return ""
}
