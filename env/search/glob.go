package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A glob is a compiled path pattern. Braces are expanded to alternatives beforehand and each
// alternative is cut at its slashes, which leaves two nested problems of the same simple kind:
// match a list of elements where "**" stands for any number of them, and match one element where
// "*" stands for any number of characters. Both are solved by going back to the last star only,
// so matching takes at most quadratic time.
type glob struct {
	alts [][]segment
}

// segment matches one path element, or any number of them if deep.
type segment struct {
	deep bool
	toks []token
	// shape is the form of toks where a plain comparison with lit can do the work.
	shape shape
	lit   string
	dot   bool // starts with a literal dot, so it names hidden files
}

type shape uint8

const (
	anyTokens  shape = iota
	onlyLit          // lit
	starLit          // *lit
	litStar          // lit*
	everything       // *
)

type token struct {
	kind  tokenKind
	lit   string // of a literal
	class *class
	fold  bool
}

type tokenKind uint8

const (
	literalToken tokenKind = iota
	anyRune
	star
	classToken
)

type class struct {
	negated bool
	ranges  []rune // pairs, both ends included
}

func globError(pattern string, pos int, problem string) *PatternError {
	return &PatternError{Kind: "glob", Pattern: pattern, Pos: pos, Problem: problem}
}

// compileGlob compiles a pattern whose elements are separated by slashes.
func compileGlob(pattern string, fold bool) (*glob, error) {
	if !utf8.ValidString(pattern) {
		return nil, globError(pattern, -1, "it is not valid UTF-8")
	}
	expanded, err := expandBraces(pattern)
	if err != nil {
		return nil, err
	}
	g := &glob{alts: make([][]segment, 0, len(expanded))}
	for _, p := range expanded {
		segs, err := compileSegments(p, fold)
		if err != nil {
			if err.Pattern != pattern {
				err.Pattern, err.Pos = pattern, -1
			}
			return nil, err
		}
		g.alts = append(g.alts, segs)
	}
	return g, nil
}

func compileSegments(p string, fold bool) ([]segment, *PatternError) {
	var segs []segment
	c := tokenizer{pattern: p, fold: fold}
	for {
		start := c.pos
		toks, err := c.element()
		if err != nil {
			return nil, err
		}
		if p[start:c.pos] == "**" {
			if n := len(segs); n == 0 || !segs[n-1].deep {
				segs = append(segs, segment{deep: true})
			}
		} else {
			segs = append(segs, newSegment(toks, fold))
		}
		if c.pos >= len(p) {
			return segs, nil
		}
		c.pos++ // the slash
	}
}

func newSegment(toks []token, fold bool) segment {
	s := segment{toks: toks}
	if len(toks) > 0 && toks[0].kind == literalToken {
		s.dot = toks[0].lit[0] == '.'
	}
	if len(toks) == 1 && toks[0].kind == star {
		s.shape = everything
	}
	if fold {
		return s
	}
	switch {
	case len(toks) == 0:
		s.shape = onlyLit
	case len(toks) == 1 && toks[0].kind == literalToken:
		s.shape, s.lit = onlyLit, toks[0].lit
	case len(toks) == 2 && toks[0].kind == star && toks[1].kind == literalToken:
		s.shape, s.lit = starLit, toks[1].lit
	case len(toks) == 2 && toks[1].kind == star && toks[0].kind == literalToken:
		s.shape, s.lit = litStar, toks[0].lit
	}
	return s
}

// tokenizer cuts a pattern without braces into the tokens of its elements.
type tokenizer struct {
	pattern string
	pos     int
	fold    bool
}

// element reads up to the next slash or the end.
func (c *tokenizer) element() ([]token, *PatternError) {
	var toks []token
	var lit []byte
	flush := func() {
		if len(lit) > 0 {
			toks = append(toks, token{kind: literalToken, lit: string(lit), fold: c.fold})
			lit = nil
		}
	}
	for c.pos < len(c.pattern) && c.pattern[c.pos] != '/' {
		b := c.pattern[c.pos]
		switch b {
		case '*':
			flush()
			if n := len(toks); n == 0 || toks[n-1].kind != star {
				toks = append(toks, token{kind: star})
			}
			c.pos++
		case '?':
			flush()
			toks = append(toks, token{kind: anyRune})
			c.pos++
		case '[':
			flush()
			cl, err := c.class()
			if err != nil {
				return nil, err
			}
			toks = append(toks, token{kind: classToken, class: cl, fold: c.fold})
		case '\\':
			if c.pos+1 >= len(c.pattern) {
				return nil, globError(c.pattern, c.pos, "a backslash at the end escapes nothing")
			}
			c.pos++
			if c.pattern[c.pos] == '/' {
				continue
			}
			lit = append(lit, c.pattern[c.pos])
			c.pos++
		default:
			lit = append(lit, b)
			c.pos++
		}
	}
	flush()
	return toks, nil
}

// class reads a character class from its opening bracket past its closing one.
func (c *tokenizer) class() (*class, *PatternError) {
	open, end := c.pos, classEnd(c.pattern, c.pos)
	if end == open+1 {
		return nil, globError(c.pattern, open, `"[" without a "]"`)
	}
	body := c.pattern[open+1 : end-1]
	c.pos = end
	cl := &class{}
	if body != "" && (body[0] == '!' || body[0] == '^') {
		cl.negated, body = true, body[1:]
	}
	for body != "" {
		lo, n := classRune(body)
		body = body[n:]
		hi := lo
		if len(body) >= 2 && body[0] == '-' {
			hi, n = classRune(body[1:])
			body = body[1+n:]
		}
		if lo > hi {
			return nil, globError(c.pattern, open, "the range ends before it starts")
		}
		cl.ranges = append(cl.ranges, lo, hi)
	}
	return cl, nil
}

func classRune(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		r, n := utf8.DecodeRuneInString(s[1:])
		return r, n + 1
	}
	return utf8.DecodeRuneInString(s)
}

func (cl *class) has(r rune, fold bool) bool {
	in := cl.contains(r)
	if fold {
		for f := unicode.SimpleFold(r); f != r && !in; f = unicode.SimpleFold(f) {
			in = cl.contains(f)
		}
	}
	return in != cl.negated
}

func (cl *class) contains(r rune) bool {
	for i := 0; i < len(cl.ranges); i += 2 {
		if cl.ranges[i] <= r && r <= cl.ranges[i+1] {
			return true
		}
	}
	return false
}

// match reports whether the glob matches the whole path.
func (g *glob) match(path string) bool {
	var room [24]string
	elems := room[:0]
	for rest := path; ; {
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			elems = append(elems, rest)
			break
		}
		elems = append(elems, rest[:i])
		rest = rest[i+1:]
	}
	for _, segs := range g.alts {
		if matchSegments(segs, elems) {
			return true
		}
	}
	return false
}

func matchSegments(segs []segment, elems []string) bool {
	si, ei := 0, 0
	deepS, deepE := -1, 0
	for {
		switch {
		case si < len(segs) && segs[si].deep:
			deepS, deepE = si, ei
			si++
			continue
		case si < len(segs) && ei < len(elems) && segs[si].match(elems[ei]):
			si++
			ei++
			continue
		case si == len(segs) && ei == len(elems):
			return true
		}
		if deepS < 0 || deepE >= len(elems) {
			return false
		}
		deepE++
		si, ei = deepS+1, deepE
	}
}

// match reports whether the segment matches the whole element.
func (s *segment) match(elem string) bool {
	switch s.shape {
	case everything:
		return true
	case onlyLit:
		return elem == s.lit
	case starLit:
		return strings.HasSuffix(elem, s.lit)
	case litStar:
		return strings.HasPrefix(elem, s.lit)
	}
	ti, pos := 0, 0
	starT, starP := -1, 0
	for {
		if ti < len(s.toks) {
			if s.toks[ti].kind == star {
				starT, starP = ti, pos
				ti++
				continue
			}
			if n := s.toks[ti].match(elem[pos:]); n > 0 {
				ti++
				pos += n
				continue
			}
		} else if pos == len(elem) {
			return true
		}
		if starT < 0 || starP >= len(elem) {
			return false
		}
		_, n := utf8.DecodeRuneInString(elem[starP:])
		starP += n
		ti, pos = starT+1, starP
	}
}

// match gives the number of bytes at the start of s that the token matches; zero is no match.
func (t *token) match(s string) int {
	if s == "" {
		return 0
	}
	switch t.kind {
	case literalToken:
		if t.fold {
			return foldPrefix(s, t.lit)
		}
		if strings.HasPrefix(s, t.lit) {
			return len(t.lit)
		}
	case anyRune:
		_, n := utf8.DecodeRuneInString(s)
		return n
	case classToken:
		if r, n := utf8.DecodeRuneInString(s); t.class.has(r, t.fold) {
			return n
		}
	}
	return 0
}

// foldPrefix gives the length of the prefix of s that equals lit but for case, or zero.
func foldPrefix(s, lit string) int {
	pos := 0
	for _, want := range lit {
		r, n := utf8.DecodeRuneInString(s[pos:])
		if n == 0 || !equalFold(r, want) {
			return 0
		}
		pos += n
	}
	return pos
}

func equalFold(a, b rune) bool {
	if a == b {
		return true
	}
	for f := unicode.SimpleFold(a); f != a; f = unicode.SimpleFold(f) {
		if f == b {
			return true
		}
	}
	return false
}
