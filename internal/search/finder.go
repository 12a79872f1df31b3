package search

import "bytes"

// finder searches for any of several literals. For each it looks for one rare byte with
// bytes.IndexByte, and compares the rest only where that byte occurs. Literals share a watched byte if
// possible. A finder is immutable; its state for one buffer is a [cursor].
type finder struct {
	watches []watch
	exact   bool      // every occurrence matches the pattern
	pair    *pairScan // for a single literal without a rare byte; otherwise nil
}

// watch is a byte to stop at, and the literals that contain it.
type watch struct {
	b    byte
	lits []watched
}

// watched is a literal with a watched byte. A second byte, the guard, rejects most false stops before
// the rest is compared.
type watched struct {
	literal
	offset int  // watched byte's offset in text
	delta  int  // from there to the guard
	guard  byte // guard value with the mask bits set
	mask   byte
}

// guarded returns l with the byte at offset watched, and chooses its guard. In a folded literal there
// must be no k or s between the two, because their third forms would change the distance.
func guarded(l literal, offset int) watched {
	w := watched{literal: l, offset: offset, guard: l.text[offset]}
	low := 1 << 30
	try := func(i int) bool {
		b := l.text[i]
		if l.fold && (b == 'k' || b == 's') {
			return false
		}
		f := pairFrequency(b, l.fold)
		if i == offset-1 || i == offset+1 || b == l.text[offset] {
			f *= 3 // neighbours and repeats are correlated
		}
		if f < low {
			low = f
			w.delta = i - offset
			w.guard = b
		}
		return true
	}
	for i := offset + 1; i < len(l.text) && try(i); i++ {
	}
	for i := offset - 1; i >= 0 && try(i); i-- {
	}
	if l.fold && 'a' <= w.guard && w.guard <= 'z' {
		w.mask = 'a' - 'A'
	}
	return w
}

// passes reports whether the guard matches, with the watched byte at buf[i].
func (w *watched) passes(buf []byte, i int) bool {
	g := uint(i + w.delta)
	return g < uint(len(buf)) && buf[g]|w.mask == w.guard || w.delta == 0
}

// newFinder returns a finder, or nil without literals.
func newFinder(lits []literal, exact bool) *finder {
	if len(lits) == 0 {
		return nil
	}
	f := &finder{exact: exact}
	for _, l := range lits {
		f.add(l)
	}
	if len(lits) == 1 {
		f.pair = newPairScan(lits[0])
	}
	return f
}

// add adds a literal and chooses its watched byte. A byte that is already watched costs nothing extra,
// so it is preferred unless it is much more frequent.
func (f *finder) add(l literal) {
	const newWatch = 200 // cost of another watched byte, in stops per 65,536 bytes
	best, _ := rarest(l)
	low := 1 << 30
	for i := range len(l.text) {
		b := l.text[i]
		if l.fold && (b == 'k' || b == 's') {
			continue
		}
		cost := pairFrequency(b, l.fold)
		for _, form := range byteForms(b, l.fold) {
			if f.find(form) == nil {
				cost += newWatch
			}
		}
		if cost < low {
			best, low = i, cost
		}
	}
	for _, form := range byteForms(l.text[best], l.fold) {
		w := f.find(form)
		if w == nil {
			f.watches = append(f.watches, watch{b: form})
			w = &f.watches[len(f.watches)-1]
		}
		w.lits = append(w.lits, guarded(l, best))
	}
}

func (f *finder) find(b byte) *watch {
	for i := range f.watches {
		if f.watches[i].b == b {
			return &f.watches[i]
		}
	}
	return nil
}

// byteForms returns the first byte of each form of a character. The third forms of k and s are not ASCII: U+212A is E2
// 84 AA, U+017F is C5 BF.
func byteForms(b byte, fold bool) []byte {
	switch {
	case !fold || b < 'a' || b > 'z':
		return []byte{b}
	case b == 'k':
		return []byte{'k', 'K', 0xE2}
	case b == 's':
		return []byte{'s', 'S', 0xC5}
	}
	return []byte{b, b - 'a' + 'A'}
}

// cursor is a finder's state in one buffer.
type cursor struct {
	*finder
	buf  []byte
	next []int // next offset of each watched byte, or len(buf)
}

// reset starts with a new buffer.
func (c *cursor) reset(f *finder, buf []byte) {
	c.finder, c.buf = f, buf
	c.next = c.next[:0]
	if f.pair != nil {
		return
	}
	for i := range f.watches {
		c.next = append(c.next, indexFrom(buf, f.watches[i].b, 0))
	}
}

func indexFrom(buf []byte, b byte, pos int) int {
	if pos >= len(buf) {
		return len(buf)
	}
	if i := bytes.IndexByte(buf[pos:], b); i >= 0 {
		return pos + i
	}
	return len(buf)
}

// seek returns the next offset at or after pos that may be inside a literal, or -1. If sure is false,
// non-ASCII bytes prevented the comparison, and the pattern must decide.
func (c *cursor) seek(pos int) (at int, sure bool) {
	switch {
	case c.pair != nil:
		return c.pair.seek(c.buf, pos)
	case len(c.watches) == 1:
		return c.seekOne(pos)
	}
	for i := range c.next {
		if c.next[i] < pos {
			c.next[i] = indexFrom(c.buf, c.watches[i].b, pos)
		}
	}
	for {
		w := 0
		for i, n := range c.next {
			if n < c.next[w] {
				w = i
			}
		}
		at = c.next[w]
		if at == len(c.buf) {
			return -1, false
		}
		for i := range c.watches[w].lits {
			l := &c.watches[w].lits[i]
			if !l.passes(c.buf, at) {
				continue
			}
			if ok, sure := l.at(c.buf, at); ok {
				return at, sure
			}
		}
		c.next[w] = indexFrom(c.buf, c.watches[w].b, at+1)
	}
}

// seekOne is seek for a single watched byte.
func (c *cursor) seekOne(pos int) (at int, sure bool) {
	w := &c.watches[0]
	at = max(c.next[0], pos)
	for at < len(c.buf) {
		i := bytes.IndexByte(c.buf[at:], w.b)
		if i < 0 {
			break
		}
		at += i
		for j := range w.lits {
			l := &w.lits[j]
			if !l.passes(c.buf, at) {
				continue
			}
			if ok, sure := l.at(c.buf, at); ok {
				c.next[0] = at
				return at, sure
			}
		}
		at++
	}
	c.next[0] = len(c.buf)
	return -1, false
}

// at reports whether the literal may occur with its watched byte at buf[i], and whether that is sure.
func (w *watched) at(buf []byte, i int) (ok, sure bool) {
	if w.fold {
		return w.foldAt(buf, i)
	}
	start := i - w.offset
	if start < 0 || start+len(w.text) > len(buf) {
		return false, false
	}
	return string(buf[start:start+len(w.text)]) == w.text, true
}

// foldAt compares in both directions from the watched byte. Where a k or s meets a non-ASCII byte the
// lengths may differ, so the result is true but not sure.
func (w *watched) foldAt(buf []byte, i int) (ok, sure bool) {
	if c := w.text[w.offset]; lower(buf[i]) != c {
		return (c == 'k' || c == 's') && buf[i] >= 0x80, false
	}
	for j := w.offset + 1; j < len(w.text); j++ {
		at := i + j - w.offset
		if at >= len(buf) {
			return false, false
		}
		if c := w.text[j]; lower(buf[at]) != c {
			return (c == 'k' || c == 's') && buf[at] >= 0x80, false
		}
	}
	for j := w.offset - 1; j >= 0; j-- {
		at := i + j - w.offset
		if at < 0 {
			return false, false
		}
		if c := w.text[j]; lower(buf[at]) != c {
			return (c == 'k' || c == 's') && buf[at] >= 0x80, false
		}
	}
	return true, true
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + ('a' - 'A')
	}
	return b
}
