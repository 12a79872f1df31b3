// Package hidden finds invisible characters that models and compilers read: tags, zero-width characters, direction
// controls and variation selectors.
//
// Ordinary use is not reported: joiners and selectors in emoji, joiners in scripts that need them, and a byte order
// mark before a text.
package hidden

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of hidden characters.
const (
	tag       = "tag character"
	direction = "direction control"
	selector  = "variation selector"
	zeroWidth = "zero-width character"
)

// leads marks the first bytes of hidden characters. All others are skipped without decoding, so that text in most
// languages is scanned as fast as ASCII.
var leads = [256]bool{0xC2: true, 0xCD: true, 0xD8: true, 0xE1: true, 0xE2: true, 0xE3: true, 0xEF: true, 0xF0: true, 0xF3: true}

// Index returns the position and the size of the first hidden character at or after from, or -1. The text before from
// is context for emoji.
func Index(s string, from int) (at, size int) {
	for i := from; i < len(s); {
		switch {
		case s[i] < utf8.RuneSelf:
			for i++; len(s)-i >= 8 && ascii(s[i:i+8]); {
				i += 8
			}
		case !leads[s[i]]:
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if kind(r) != "" && !ordinary(s, i, r, n) {
				return i, n
			}
			i += n
		}
	}
	return -1, 0
}

// ascii reports whether eight bytes are ASCII.
func ascii(s string) bool {
	_ = s[7]
	return (s[0]|s[1]|s[2]|s[3]|s[4]|s[5]|s[6]|s[7])&0x80 == 0
}

// Replace replaces the hidden characters of s[from:] with U+FFFD and returns the result, without s[:from].
func Replace(s string, from int) string {
	at, n := Index(s, from)
	if at < 0 {
		return s[from:]
	}
	var b strings.Builder
	for ; at >= 0; at, n = Index(s, from) {
		b.WriteString(s[from:at])
		b.WriteRune(utf8.RuneError)
		from = at + n
	}
	return b.String() + s[from:]
}

// kind returns a hidden character's kind, or "".
func kind(r rune) string {
	switch {
	case r >= 0xE0100 && r <= 0xE01EF, r >= 0xFE00 && r <= 0xFE0F, r >= 0x180B && r <= 0x180D, r == 0x180F:
		return selector
	case r >= 0xE0000 && r <= 0xE0FFF:
		return tag
	case r == 0x061C, r == 0x200E, r == 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x206F:
		return direction
	case r == 0x00AD, r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x180E,
		r >= 0x200B && r <= 0x200D, r >= 0x2060 && r <= 0x2065, r == 0x3164, r == 0xFEFF, r == 0xFFA0,
		r >= 0xFFF0 && r <= 0xFFFB, r >= 0x1BCA0 && r <= 0x1BCA3, r >= 0x1D173 && r <= 0x1D17A:
		return zeroWidth
	}
	return ""
}

// ordinary reports whether the hidden character r at s[i:i+n] is used as intended. A joiner at the end of s
// counts as ordinary, because more text may follow.
func ordinary(s string, i int, r rune, n int) bool {
	before, size := utf8.DecodeLastRuneInString(s[:i])
	switch r {
	case 0xFEFF:
		return i == 0
	case 0xFE0E, 0xFE0F:
		return emoji(before) || strings.ContainsRune("#*0123456789", before)
	case 0x200C, 0x200D:
		if unicode.In(before, joining...) {
			return true
		}
		if before == 0xFE0F {
			before, _ = utf8.DecodeLastRuneInString(s[:i-size])
		}
		after, _ := utf8.DecodeRuneInString(s[i+n:])
		return r == 0x200D && emoji(before) && (i+n == len(s) || emoji(after))
	}
	return false
}

// emoji reports whether a character can be part of an emoji.
func emoji(r rune) bool {
	switch {
	case r >= 0x1F000 && r <= 0x1FAFF, r >= 0x2190 && r <= 0x21FF, r >= 0x2300 && r <= 0x27BF, r >= 0x2900 && r <= 0x2BFF:
		return true
	}
	return strings.ContainsRune("©®‼⁉™ℹ〰〽㊗㊙", r)
}

// joining lists the scripts whose spelling needs joiners.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar,
}

// Report describes a text's hidden characters.
type Report struct {
	Line   int // first hidden character's line, counted from 1
	counts map[string]int
}

// Find reports the hidden characters in a text, or returns nil.
func Find(s string) *Report {
	var r *Report
	for at, n := Index(s, 0); at >= 0; at, n = Index(s, at+n) {
		if r == nil {
			r = &Report{Line: 1 + strings.Count(s[:at], "\n"), counts: map[string]int{}}
		}
		c, _ := utf8.DecodeRuneInString(s[at:])
		r.counts[kind(c)]++
	}
	return r
}

// String lists the numbers of hidden characters, such as "2 direction controls, 1 tag character".
func (r *Report) String() string {
	var parts []string
	for kind, n := range r.counts {
		if n != 1 {
			kind += "s"
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, kind))
	}
	slices.SortFunc(parts, func(a, b string) int {
		return strings.Compare(a[strings.IndexByte(a, ' '):], b[strings.IndexByte(b, ' '):])
	})
	return strings.Join(parts, ", ")
}
