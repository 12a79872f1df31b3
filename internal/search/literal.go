package search

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// literal is text that a match must contain. With fold, the text is lower-case ASCII and matches in
// any case, including the two non-ASCII letters that fold to k and s.
type literal struct {
	text string
	fold bool
}

// Limits for a pattern's literals. More or longer literals do not make the search faster.
const (
	maxLiterals   = 32
	maxLiteralLen = 64
	maxClassRunes = 8
)

// literalSet describes the text that an expression matches.
type literalSet struct {
	// exact, if not nil, has all texts that the expression matches, wherever they occur.
	exact []literal
	// need, if not nil, has texts of which every match contains at least one.
	need []literal
}

// requiredLiterals returns literals of which every match of re contains at least one, or nil. If exact
// is true, every occurrence is a match.
func requiredLiterals(re *syntax.Regexp) (lits []literal, exact bool) {
	s := literalsOf(re, 0)
	if useful(s.exact) {
		return s.exact, true
	}
	if useful(s.need) {
		return s.need, false
	}
	return nil, false
}

func useful(lits []literal) bool {
	return len(lits) > 0 && !slices.ContainsFunc(lits, func(l literal) bool { return l.text == "" })
}

func literalsOf(re *syntax.Regexp, depth int) literalSet {
	if depth > 100 {
		return literalSet{}
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return literalSet{exact: []literal{{}}}
	case syntax.OpLiteral:
		return literalRunes(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return classLiterals(re.Rune)
	case syntax.OpCapture:
		return literalsOf(re.Sub[0], depth+1)
	case syntax.OpPlus:
		return literalSet{need: literalsOf(re.Sub[0], depth+1).required()}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literalSet{need: literalsOf(re.Sub[0], depth+1).required()}
		}
	case syntax.OpQuest:
		if s := literalsOf(re.Sub[0], depth+1); s.exact != nil {
			return literalSet{exact: bounded(append([]literal{{}}, s.exact...))}
		}
	case syntax.OpConcat:
		return concatLiterals(re.Sub, depth)
	case syntax.OpAlternate:
		return alternateLiterals(re.Sub, depth)
	}
	return literalSet{}
}

// required returns the literals to look for.
func (s literalSet) required() []literal {
	if useful(s.exact) {
		return s.exact
	}
	return s.need
}

// literalRunes handles a sequence of characters. U+FFFD also matches invalid UTF-8, and a folded
// non-ASCII letter has several encodings, so both end a literal.
func literalRunes(runes []rune, fold bool) literalSet {
	usable := func(r rune) bool {
		return r != utf8.RuneError && utf8.ValidRune(r) && (!fold || r < utf8.RuneSelf)
	}
	var best literal
	start, whole := 0, true
	for i := 0; i <= len(runes); i++ {
		if i < len(runes) && usable(runes[i]) {
			continue
		}
		if l := newLiteral(string(runes[start:i]), fold); better(l, best) {
			best = l
		}
		whole = whole && i == len(runes)
		start = i + 1
	}
	if best.text == "" {
		return literalSet{}
	}
	if whole && len(best.text) <= maxLiteralLen {
		return literalSet{exact: []literal{best}}
	}
	if len(best.text) > maxLiteralLen && (best.fold || isASCII(best.text)) {
		best.text = best.text[:maxLiteralLen]
	}
	return literalSet{need: []literal{best}}
}

func newLiteral(text string, fold bool) literal {
	if !fold {
		return literal{text: text}
	}
	lower := strings.ToLower(text)
	return literal{text: lower, fold: hasLetter(lower)}
}

func better(a, b literal) bool {
	return a.text != "" && (b.text == "" || cost([]literal{a}) < cost([]literal{b}))
}

func hasLetter(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' })
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// classLiterals lists the characters in a small class.
func classLiterals(ranges []rune) literalSet {
	var lits []literal
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if len(lits) == maxClassRunes || r == utf8.RuneError || !utf8.ValidRune(r) {
				return literalSet{}
			}
			lits = append(lits, literal{text: string(r)})
		}
	}
	return literalSet{exact: lits}
}

func alternateLiterals(subs []*syntax.Regexp, depth int) literalSet {
	out := literalSet{exact: []literal{}, need: []literal{}}
	for _, sub := range subs {
		s := literalsOf(sub, depth+1)
		if s.exact == nil {
			out.exact = nil
		} else if out.exact != nil {
			out.exact = bounded(append(out.exact, s.exact...))
		}
		if r := s.required(); len(r) == 0 {
			out.need = nil
		} else if out.need != nil {
			out.need = bounded(append(out.need, r...))
		}
	}
	return out
}

// concatLiterals joins adjacent parts whose texts are all known. It returns the cheapest among the joined texts and the
// literals that the other parts need.
func concatLiterals(subs []*syntax.Regexp, depth int) literalSet {
	run := []literal{{}} // joined texts since the last part that is not exact
	var best []literal
	whole := true
	consider := func(lits []literal) {
		if useful(lits) && (best == nil || cost(lits) < cost(best)) {
			best = lits
		}
	}
	for _, sub := range subs {
		s := literalsOf(sub, depth+1)
		if s.exact == nil {
			consider(run)
			consider(s.need)
			run, whole = []literal{{}}, false
			continue
		}
		if joined := crossLiterals(run, s.exact); joined != nil {
			run = joined
			continue
		}
		consider(run)
		run, whole = s.exact, false
	}
	if whole {
		return literalSet{exact: run}
	}
	consider(run)
	return literalSet{need: best}
}

// crossLiterals joins each text in a with each in b. It returns nil if that is not possible.
func crossLiterals(a, b []literal) []literal {
	if len(a)*len(b) > maxLiterals {
		return nil
	}
	out := make([]literal, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if x.fold != y.fold && (!x.fold && hasCase(x.text) || !y.fold && hasCase(y.text)) {
				return nil
			}
			if len(x.text)+len(y.text) > maxLiteralLen {
				return nil
			}
			out = append(out, literal{text: x.text + y.text, fold: x.fold || y.fold})
		}
	}
	return out
}

// hasCase reports whether folding may change the text.
func hasCase(s string) bool { return hasLetter(s) || !isASCII(s) }

// bounded returns nil for sets that are too large.
func bounded(lits []literal) []literal {
	if len(lits) > maxLiterals {
		return nil
	}
	return lits
}

// cost estimates the work to search for lits from their byte frequencies: stopping wherever the rarest byte occurs, and
// running the pattern wherever the literal occurs.
func cost(lits []literal) float64 {
	total := 0.0
	for _, l := range lits {
		_, f := rarest(l)
		stop, occur := float64(f)/65536, 1.0
		for i := range len(l.text) {
			occur *= float64(pairFrequency(l.text[i], l.fold)) / 65536
		}
		total += 0.002 + 3*stop + 100*occur
	}
	return total
}

// pairFrequency returns a byte's frequency, including its other case if folded.
func pairFrequency(b byte, fold bool) int {
	f := byteFrequency(b)
	if fold && 'a' <= b && b <= 'z' {
		f += byteFrequency(b - 'a' + 'A')
	}
	return f
}

// rarest returns the least frequent byte's offset. In a folded literal k and s are the last choice, because they have a
// third form.
func rarest(l literal) (offset, frequency int) {
	frequency = 1 << 30
	for i := range len(l.text) {
		f := pairFrequency(l.text[i], l.fold)
		if l.fold && (l.text[i] == 'k' || l.text[i] == 's') {
			f += 1 << 20
		}
		if f < frequency {
			offset, frequency = i, f
		}
	}
	return offset, frequency
}

// byteFrequency returns how often a byte occurs in 65,536 bytes of source code, averaged over Go, C,
// Python and JavaScript. It affects speed only.
func byteFrequency(b byte) int { return int(byteFrequencies[b]) }

var byteFrequencies = [256]uint16{
	1, 1, 1, 1, 1, 1, 1, 1, 1, 682, 1816, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	12550, 46, 525, 201, 26, 28, 63, 470, 725, 720, 327, 58, 1068, 302, 743, 512,
	803, 406, 306, 221, 207, 181, 186, 114, 163, 150, 455, 180, 120, 411, 143, 25,
	21, 450, 186, 373, 237, 505, 194, 140, 95, 379, 25, 73, 319, 215, 335, 349,
	313, 51, 371, 579, 438, 147, 132, 65, 116, 69, 24, 134, 138, 133, 10, 1275,
	88, 2051, 485, 1320, 1218, 3934, 996, 634, 808, 2218, 68, 351, 1433, 763, 2253, 2013,
	1050, 63, 2219, 2235, 2946, 965, 349, 285, 531, 478, 63, 210, 69, 209, 12, 1,
	7, 5, 4, 4, 4, 4, 4, 5, 5, 4, 3, 3, 4, 3, 3, 5,
	3, 4, 3, 3, 5, 4, 6, 3, 4, 5, 3, 3, 4, 4, 3, 8,
	4, 4, 3, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3,
	3, 3, 3, 3, 3, 3, 3, 7, 8, 5, 4, 4, 4, 5, 4, 4,
	1, 1, 7, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 1,
	8, 3, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1,
	6, 1, 12, 2, 3, 14, 15, 13, 13, 10, 1, 2, 3, 1, 1, 2,
	7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
}
