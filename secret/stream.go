package secret

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// hashBits is the size of the anchor table, as a power of two. The table fits the first-level processor cache.
const hashBits = 14

// rules finds anchors: texts that begin or announce a secret. The first three bytes of each anchor select a table
// entry, so that almost all text is skipped with one lookup per byte.
type rules struct {
	table   [1 << hashBits]bool
	index   [1 << hashBits]uint16 // start of each entry in anchors
	anchors [][]anchor
	starts  map[string]bool // first one and two bytes of all anchors
}

// anchor begins a secret: either for a rule, or a complete value.
type anchor struct {
	text string
	rule *rule  // nil for a value
	kind string // the placeholder
}

func newRules(values map[string]string) *rules {
	r := &rules{anchors: make([][]anchor, 1), starts: make(map[string]bool)}
	shapes := rulesOfShapes()
	for i := range shapes {
		for _, text := range shapes[i].anchors {
			r.add(anchor{text, &shapes[i], placeholder(shapes[i].kind)})
		}
	}
	// Longest values first.
	for _, v := range slices.SortedFunc(maps.Keys(values), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) {
		r.add(anchor{text: v, kind: values[v]})
	}
	return r
}

// add adds an anchor under its first three bytes, in all combinations of cases if its rule ignores case.
func (r *rules) add(a anchor) {
	variants := 1
	if a.rule != nil && a.rule.fold {
		variants = 8
	}
	for v := range variants {
		k := [3]byte([]byte(a.text))
		for i := range k {
			if v>>i&1 == 0 {
				continue
			}
			if k[i] ^= 0x20; classOf(k[i]) <= '0' {
				k[i] ^= 0x20 // not a letter
			}
		}
		h := hash(trigram(k[:]))
		r.table[h] = true
		slot := &r.index[h]
		if *slot == 0 {
			*slot = uint16(len(r.anchors))
			r.anchors = append(r.anchors, nil)
		}
		if list := &r.anchors[*slot]; len(*list) == 0 || (*list)[len(*list)-1] != a {
			*list = append(*list, a)
		}
		r.starts[string(k[:1])], r.starts[string(k[:2])] = true, true
	}
}

func trigram(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }

// hash returns the table entry for the three lowest bytes; the product does not depend on the fourth.
func hash(trigram uint32) uint32 { return trigram * (0x9E3779 << 8) >> (32 - hashBits) }

// next returns the first position from i on where an anchor may begin. Without one it returns len(b), or less if an
// anchor may begin at the end of b.
func (r *rules) next(b []byte, i int, all bool) int {
	for ; i+8 <= len(b); i += 6 { // six positions at a time
		t := binary.LittleEndian.Uint64(b[i:])
		if r.table[hash(uint32(t))] || r.table[hash(uint32(t>>8))] || r.table[hash(uint32(t>>16))] ||
			r.table[hash(uint32(t>>24))] || r.table[hash(uint32(t>>32))] || r.table[hash(uint32(t>>40))] {
			break
		}
	}
	for ; i+3 <= len(b); i++ {
		if r.table[hash(trigram(b[i:]))] {
			return i
		}
	}
	for ; !all && i < len(b); i++ {
		if r.starts[string(b[i:])] {
			return i
		}
	}
	return len(b)
}

// at returns the secret that begins or is announced at i.
func (r *rules) at(b []byte, i int, before byte, all bool) (m match, kind string, v verdict) {
	rest := b[i:]
	if len(rest) < 3 {
		return m, "", more
	}
	list := r.anchors[r.index[hash(trigram(rest))]]
	for n := range list {
		a := &list[n]
		if a.rule == nil {
			m, v = match{to: len(a.text)}, has(rest, a.text, false, all)
		} else if a.rule.inside || !word[before] {
			if v = has(rest, a.text, a.rule.fold, all); v == yes {
				m, v = a.rule.find(rest, len(a.text), all)
			}
		}
		if v != no {
			return m, a.kind, v
		}
	}
	return m, "", no
}

// has reports whether b begins with prefix. fold ignores case.
func has(b []byte, prefix string, fold, all bool) verdict {
	n := min(len(b), len(prefix))
	for i := range n {
		if b[i] != prefix[i] && !(fold && b[i]^prefix[i] == 0x20 && classOf(b[i]) > '0') {
			return no
		}
	}
	switch {
	case n == len(prefix):
		return yes
	case all:
		return no
	}
	return more
}

// Stream redacts text that arrives in pieces. It must not be used concurrently.
type Stream struct {
	redactor *Redactor
	rules    *rules
	held     []byte // may begin a secret
	last     byte   // byte before held
	tail     *set   // tail of the last secret found
	end      pemEnd
	line     []byte // not yet matched against patterns
	found    int
}

// Stream returns a new stream. Streams from a nil Redactor change nothing.
func (r *Redactor) Stream() *Stream {
	if r == nil {
		return &Stream{}
	}
	return &Stream{redactor: r, rules: r.rules.Load()}
}

// Found returns the number of secrets found so far.
func (s *Stream) Found() int { return s.found }

// Write returns as much redacted text as can be shown so far. The result may share memory with p.
func (s *Stream) Write(p []byte) []byte { return s.write(p, false) }

// Close returns the remaining text.
func (s *Stream) Close() []byte { return s.write(nil, true) }

func (s *Stream) write(p []byte, all bool) []byte {
	if s.rules == nil {
		return p
	}
	out := s.scan(p, all)
	if len(s.redactor.patterns) == 0 {
		return out
	}
	return s.lines(out, all)
}

// scan redacts the next piece, except for patterns.
func (s *Stream) scan(p []byte, all bool) []byte {
	b := p
	if len(s.held) > 0 {
		b = append(s.held, p...)
		s.held = nil
	}
	var out []byte // nil while b is unchanged
	i := 0
	if s.tail != nil {
		i, out = s.swallow(b, 0), []byte{}
	}
	done := i
	for {
		if i = s.rules.next(b, i, all); i >= len(b) {
			break
		}
		m, kind, v := s.rules.at(b, i, s.before(b, i), all)
		if v == more {
			break
		}
		if v == no {
			i++
			continue
		}
		s.found++
		out = append(out, b[done:i]...)
		if m.from > 0 { // text before the secret may contain others
			sub := Stream{redactor: s.redactor, rules: s.rules, last: s.before(b, i)}
			out = append(out, sub.scan(b[i:i+m.from], true)...)
		}
		out = append(out, kind...)
		s.tail, s.end = m.tail, pemEnd{}
		i = s.swallow(b, i+m.to)
		done = i
	}
	s.last, s.held = s.before(b, i), append(s.held, b[i:]...)
	if out == nil {
		return b[:i]
	}
	return append(out, b[done:i]...)
}

// before returns the byte before i.
func (s *Stream) before(b []byte, i int) byte {
	if i == 0 {
		return s.last
	}
	return b[i-1]
}

// swallow returns where the last secret ends, at i or later.
func (s *Stream) swallow(b []byte, i int) int {
	if s.tail == nil {
		return i
	}
	for ; i < len(b); i++ {
		if s.tail == pem && !s.end.includes(b[i]) || s.tail != pem && !s.tail[b[i]] {
			s.tail = nil
			return i
		}
	}
	return i
}

// pemEnd finds where a private key ends.
type pemEnd struct {
	matched int // bytes matched in the marker, or in the five dashes after it
	after   bool
	over    bool
	begun   bool // the line has more than a number
	last    byte
}

const endMarker = "-----END"

var (
	pemBody   = setOf("A-Za-z0-9+/=:,._\\\"'\r\n\t-")
	pemPrefix = setOf(" \t0-9|:→") // prefix of a line that a tool has numbered
)

// includes reports whether the next byte belongs to the key: base64 or header bytes, up to the end marker.
func (e *pemEnd) includes(c byte) bool {
	last := e.last
	e.last = c
	switch {
	case e.over:
		return false
	case e.after:
		if c != '-' {
			e.matched = 0
			return upper[c] || c == ' '
		}
		e.matched++
		e.over = e.matched == 5
		return true
	case c == '-':
		e.matched = min(e.matched+1, 5)
	case e.matched >= 5 && c == endMarker[e.matched]:
		e.matched++
		e.after = e.matched == len(endMarker)
	default:
		e.matched = 0
	}
	if e.after {
		e.matched = 0
	}
	if prefix := pemPrefix[c]; c == '\n' || !e.begun && prefix {
		e.begun = false
		return true
	}
	e.begun = true
	return pemBody[c] || c == ' ' && last == ':'
}

// maxLine limits the line length for patterns: a longer line is matched in parts.
const maxLine = 64 << 10

// lines redacts pattern matches in the complete lines so far.
func (s *Stream) lines(p []byte, all bool) []byte {
	s.line = append(s.line, p...)
	var out []byte
	for {
		n := bytes.IndexByte(s.line, '\n') + 1
		switch {
		case n == 0 && len(s.line) > maxLine, n > maxLine:
			n = maxLine
		case n == 0 && all:
			n = len(s.line)
		}
		if n == 0 {
			return out
		}
		out = append(out, s.match(s.line[:n])...)
		s.line = s.line[n:]
	}
}

// match redacts pattern matches in a line, outside placeholders.
func (s *Stream) match(line []byte) []byte {
	for _, re := range s.redactor.patterns {
		if !re.Match(line) {
			continue
		}
		var out []byte
		done := 0
		for _, p := range append(placeholders().FindAllIndex(line, -1), []int{len(line), len(line)}) {
			out = append(out, re.ReplaceAllFunc(line[done:p[0]], func([]byte) []byte {
				s.found++
				return []byte(placeholder("pattern"))
			})...)
			out = append(out, line[p[0]:p[1]]...)
			done = p[1]
		}
		line = out
	}
	return line
}
