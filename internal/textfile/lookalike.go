package textfile

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold replaces characters that look alike: typographic quotes and primes become ' and ", hyphens,
// dashes and the minus sign become -, special spaces become a space, full-width forms become ASCII, an
// ellipsis becomes three dots, and accents are composed (NFC). Line endings and invalid bytes are kept.
func Fold(text []byte) []byte {
	if IsASCII(text) {
		return text
	}
	out := make([]byte, 0, len(text))
	composable := false // NFC may change something
	for i := 0; i < len(text); {
		run := asciiRun(text[i:])
		out = append(out, text[i:i+run]...)
		if i += run; i == len(text) {
			break
		}
		r, size := utf8.DecodeRune(text[i:])
		if ascii := lookalike(r); ascii != "" {
			out = append(out, ascii...)
		} else {
			out = append(out, text[i:i+size]...)
			composable = true
		}
		i += size
	}
	if !composable || norm.NFC.IsNormal(out) {
		return out
	}
	return norm.NFC.Bytes(out)
}

// lookalike returns the ASCII text that r looks like, or "".
func lookalike(r rune) string {
	switch {
	case r >= 0x2010 && r <= 0x2015, r == 0x2212:
		return "-"
	case r >= 0x2018 && r <= 0x201B, r == 0x2032, r == 0x02BC:
		return "'"
	case r >= 0x201C && r <= 0x201F, r == 0x2033:
		return `"`
	case r == 0x00A0, r >= 0x2000 && r <= 0x200A, r == 0x202F, r == 0x205F, r == 0x3000:
		return " "
	case r == 0x2026:
		return "..."
	case r >= 0xFF01 && r <= 0xFF5E:
		return string(r - 0xFF01 + '!')
	}
	return ""
}

// IsASCII reports whether text is all ASCII.
func IsASCII(text []byte) bool { return asciiRun(text) == len(text) }

// A FoldMapper maps offsets in folded text, in ascending order, to offsets in the original text.
type FoldMapper struct {
	text       []byte
	at, offset int // the same position in the folded and in the original text
}

// NewFoldMapper returns a FoldMapper for the result of Fold(text).
func NewFoldMapper(text []byte) *FoldMapper { return &FoldMapper{text: text} }

// Offset returns the original offset for the folded offset at, which must not be less than in the previous call. It
// returns false if the position is inside an original character.
func (m *FoldMapper) Offset(at int) (int, bool) {
	for m.at < at && m.offset < len(m.text) {
		rest := m.text[m.offset:]
		run := asciiRun(rest)
		if run < len(rest) {
			run-- // the next character may combine with the last one
		}
		if run = min(run, at-m.at); run > 0 {
			m.at += run
			m.offset += run
			continue
		}
		size := max(1, norm.NFC.NextBoundary(rest, true))
		m.at += len(Fold(rest[:size]))
		m.offset += size
	}
	return m.offset, m.at == at
}
