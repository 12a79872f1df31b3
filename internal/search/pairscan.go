package search

import (
	"encoding/binary"
	"math/bits"
)

// pairScan searches for a literal that has only frequent bytes, where watching one byte would stop too often. It tests
// for two bytes at their distance, at eight positions at a time in the lanes of a machine word. Ignoring case costs
// nothing.
type pairScan struct {
	lit           watched // the watched byte is the pair's first
	gap           int     // from the first to the second
	first, second uint64
	caseless      uint64 // bits to ignore: case bits when folding
}

// The number of stops per 65,536 bytes above which a pairScan is faster than watching. When folding,
// two bytes are watched.
const (
	pairThreshold     = 400
	foldPairThreshold = 150
)

// newPairScan returns nil if watching one byte is faster or no pair is suitable.
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

// rarestPair returns the offsets of the two bytes that are least likely to occur together, or zeros. In a folded
// literal no k or s may be between them, because their third forms would change the distance.
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
				f *= 3 // neighbours and repeats are correlated
			}
			if j > i && f < low {
				low = f
				a = i
				b = j
			}
		}
	}
	return a, b
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// seek is like cursor.seek.
func (p *pairScan) seek(buf []byte, pos int) (at int, sure bool) {
	first := p.first
	second := p.second
	caseless := p.caseless
	gap := p.gap
	i := pos
	for end := len(buf) - gap - 32; i <= end; i += 32 {
		a, b := buf[i:i+32], buf[i+gap:i+gap+32]
		t := ((binary.LittleEndian.Uint64(a) ^ first) | (binary.LittleEndian.Uint64(b) ^ second)) &^ caseless
		u := ((binary.LittleEndian.Uint64(a[8:]) ^ first) | (binary.LittleEndian.Uint64(b[8:]) ^ second)) &^ caseless
		v := ((binary.LittleEndian.Uint64(a[16:]) ^ first) | (binary.LittleEndian.Uint64(b[16:]) ^ second)) &^ caseless
		w := ((binary.LittleEndian.Uint64(a[24:]) ^ first) | (binary.LittleEndian.Uint64(b[24:]) ^ second)) &^ caseless
		// Sets each zero lane's high bit, and sometimes that of the lane above.
		t = (t - lowBits) &^ t
		u = (u - lowBits) &^ u
		v = (v - lowBits) &^ v
		w = (w - lowBits) &^ w
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

// check compares the literal at the positions, from i on, whose lanes have the high bit set.
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
