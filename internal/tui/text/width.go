package text

import (
	"iter"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/width"
)

// Rule is how a terminal counts the columns of text. The text must be clean: see [Clean].
//
// The rules differ only for clusters of more than one character. A screen that sets the cursor after such a cluster
// stays aligned even if the terminal counts in another way.
type Rule uint8

// Rules of terminals.
const (
	// Wcwidth adds the widths of all characters, as terminals do by default.
	Wcwidth Rule = iota
	// Graphemes takes a cluster as one character, with one or two columns, as terminals do in mode 2027.
	Graphemes
)

// Width returns the number of columns that s takes.
func (r Rule) Width(s string) int {
	columns := 0
	for len(s) > 0 {
		n := asciiPrefix(s)
		if n == len(s) {
			return columns + n
		}
		if n > 1 { // the last one may have combining marks
			columns += n - 1
			s = s[n-1:]
		}
		cluster, rest := Next(s)
		columns += r.cluster(cluster)
		s = rest
	}
	return columns
}

// LineWidth returns the number of columns that a line takes.
func (r Rule) LineWidth(l Line) int {
	columns := 0
	for _, s := range l {
		columns += r.Width(s.Text)
	}
	return columns
}

// cluster returns a cluster's width.
func (r Rule) cluster(s string) int {
	if len(s) == 1 {
		return 1
	}
	first, n := utf8.DecodeRuneInString(s)
	columns := runeWidth(first)
	selected := regional(first)
	for _, c := range s[n:] {
		if w := runeWidth(c); r == Wcwidth {
			columns += w
		} else {
			columns = max(columns, w)
		}
		selected = selected || c == '\ufe0f'
	}
	if r == Graphemes && selected {
		return 2
	}
	return columns
}

// Next splits s after its first cluster, which users perceive as one character.
func Next(s string) (cluster, rest string) {
	if len(s) > 0 && s[0] < utf8.RuneSelf && s[0] != '\r' && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1], s[1:]
	}
	if n := soleIdeograph(s); n > 0 {
		return s[:n], s[n:]
	}
	all := graphemes.FromString(s)
	all.Next()
	n := all.End()
	return s[:n], s[n:]
}

// soleIdeograph returns the length of a leading ideograph or syllable without marks after it, or 0.
func soleIdeograph(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if !ideograph(r) {
		return 0
	}
	if next, _ := utf8.DecodeRuneInString(s[n:]); len(s) > n && next >= 0x300 && !ideograph(next) {
		return 0
	}
	return n
}

// ideograph reports whether a character is an ordinary character of Chinese, Japanese or Korean.
func ideograph(r rune) bool {
	return r >= 0x3041 && r < 0x3097 || r >= 0x3400 && r < 0x4DC0 || r >= 0x4E00 && r < 0xA000 || r >= 0xAC00 && r < 0xD7A4
}

// Clusters iterates over the clusters in s.
func Clusters(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for all := graphemes.FromString(s); all.Next(); {
			if !yield(all.Value()) {
				return
			}
		}
	}
}

// asciiPrefix returns how many ASCII bytes s starts with.
func asciiPrefix(s string) int {
	n := 0
	for ; len(s)-n >= 8; n += 8 {
		if b := s[n : n+8]; (b[0]|b[1]|b[2]|b[3]|b[4]|b[5]|b[6]|b[7])&0x80 != 0 {
			break
		}
	}
	for n < len(s) && s[n] < utf8.RuneSelf {
		n++
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case ideograph(r):
		return 2
	case r < 0x370, zeroHangul(r), r >= 0x200B && r <= 0x200F, r >= 0x2028 && r <= 0x202E, r >= 0x2060 && r <= 0x206F, r == 0xFEFF:
		return 0
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// zeroHangul reports whether a character is a vowel or a final consonant that combines with the syllable before it.
func zeroHangul(r rune) bool { return r >= 0x1160 && r <= 0x11FF || r >= 0xD7B0 && r <= 0xD7FB }

// regional reports whether a character is a regional indicator, half a flag.
func regional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }
