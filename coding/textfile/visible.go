package textfile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns one line of text with everything that cannot be seen, or
// told from an ordinary space, escaped: tabs, control and format characters,
// special spaces, spaces at the end, and invalid bytes. Text without such
// characters is returned as it is.
func Visible(line string) string {
	body := strings.TrimRight(line, " ")
	var out strings.Builder
	for i := 0; i < len(body); {
		r, size := utf8.DecodeRuneInString(body[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, body[i])
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\n':
			out.WriteString(`\n`)
		case r != ' ' && !unicode.IsPrint(r) || unicode.Is(unicode.Mn, r):
			out.WriteString(escapeRune(r))
		default:
			out.WriteString(body[i : i+size])
		}
		i += size
	}
	out.WriteString(strings.Repeat(`\x20`, len(line)-len(body)))
	return out.String()
}

func escapeRune(r rune) string {
	if r > 0xFFFF {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// describeRune names a character by its code point and, where it can be seen,
// by itself.
func describeRune(r rune) string {
	if unicode.IsPrint(r) {
		return fmt.Sprintf("%q (U+%04X)", r, r)
	}
	return fmt.Sprintf("U+%04X", r)
}
