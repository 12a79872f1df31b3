package search

import (
	"encoding/binary"
	"math/bits"
)

// pairScan looks for a literal all of whose bytes are common, where watching one byte would stop
// too often. It tests for two of the bytes at their distance, at eight positions at once in the
// lanes of a machine word. Ignoring case costs it nothing.
type pairScan struct {
	lit           watched // by the first byte of the pair
	gap           int     // from there to the second
	first, second uint64
	caseless      uint64 // bits that do not count in comparing; those of case, if it is ignored
}

// How many of 65,536 bytes watching may stop at before a pairScan is faster. Ignoring case, there
// are two bytes to watch.
const (
	pairThreshold     = 400
	foldPairThreshold = 150
)

// newPairScan returns nil if watching one byte is faster or there are no two bytes to test.
func newPairScan(l literal) *pairScan {
	if _, f := rarest(l); f < foldPairThreshold || !l.fold && f < pairThreshold {
		return nil
	}
	a, b := rarestPair(l)
	if a == b {
		return nil
	}
	p := &pairScan{lit: watched{literal: l, offset: a}, gap: b - a}
	p.first, p.second = lowBits*uint64(l.text[a]), lowBits*uint64(l.text[b])
	if l.fold {
		p.caseless = lowBits * ('a' - 'A')
	}
	return p
}

// rarestPair chooses two bytes that seldom stand at their distance by chance; both offsets are
// zero if there are none. From the one to the other there must be no k or s of a folded literal,
// because their third forms would change the distance.
func rarestPair(l literal) (a, b int) {
	low := 1 << 62
	for i := range len(l.text) {
		for j := i; j < len(l.text); j++ {
			c := l.text[j]
			if l.fold && (c == 'k' || c == 's') {
				break
			}
			f := pairFrequency(l.text[i], l.fold) * pairFrequency(c, l.fold)
			if j == i+1 || c == l.text[i] {
				f *= 3 // neighbours and repeats occur together more often than by chance
			}
			if j > i && f < low {
				low, a, b = f, i, j
			}
		}
	}
	return a, b
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// seek is as [cursor.seek].
func (p *pairScan) seek(buf []byte, pos int) (at int, sure bool) {
	first, second, caseless, gap := p.first, p.second, p.caseless, p.gap
	i := pos
	for end := len(buf) - gap - 32; i <= end; i += 32 {
		a, b := buf[i:i+32], buf[i+gap:i+gap+32]
		t := ((binary.LittleEndian.Uint64(a) ^ first) | (binary.LittleEndian.Uint64(b) ^ second)) &^ caseless
		u := ((binary.LittleEndian.Uint64(a[8:]) ^ first) | (binary.LittleEndian.Uint64(b[8:]) ^ second)) &^ caseless
		v := ((binary.LittleEndian.Uint64(a[16:]) ^ first) | (binary.LittleEndian.Uint64(b[16:]) ^ second)) &^ caseless
		w := ((binary.LittleEndian.Uint64(a[24:]) ^ first) | (binary.LittleEndian.Uint64(b[24:]) ^ second)) &^ caseless
		// A lane that is zero, and sometimes the one above it, gets its high bit set.
		t, u, v, w = (t-lowBits)&^t, (u-lowBits)&^u, (v-lowBits)&^v, (w-lowBits)&^w
		if (t|u|v|w)&highBits == 0 {
			continue
		}
		if at, sure := p.check(buf, i, [4]uint64{t, u, v, w}); at >= 0 {
			return at, sure
		}
	}
	for ; i+gap < len(buf); i++ {
		if (buf[i]^byte(first))&^byte(caseless) == 0 {
			if ok, sure := p.lit.at(buf, i); ok {
				return i, sure
			}
		}
	}
	return -1, false
}

// check compares the literal at the positions from i on whose lanes were set.
func (p *pairScan) check(buf []byte, i int, found [4]uint64) (at int, sure bool) {
	for _, z := range found {
		for z &= highBits; z != 0; z &= z - 1 {
			at := i + bits.TrailingZeros64(z)/8
			if ok, sure := p.lit.at(buf, at); ok {
				return at, sure
			}
		}
		i += 8
	}
	return -1, false
}
