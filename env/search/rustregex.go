package search

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// rustRegex writes an expression in the syntax of ripgrep's own engine so that it means the same
// there as here: classes such as \w are spelled out as the ASCII ranges they are in RE2, and every
// character is written by its number, so none can be taken for an operator.
func rustRegex(re *syntax.Regexp) string {
	var b strings.Builder
	writeRust(&b, re)
	return b.String()
}

func writeRust(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpNoMatch:
		b.WriteString(`[^\x{0}-\x{10FFFF}]`)
	case syntax.OpEmptyMatch:
		b.WriteString(`(?:)`)
	case syntax.OpLiteral:
		writeRustLiteral(b, re)
	case syntax.OpCharClass:
		writeRustClass(b, re.Rune)
	case syntax.OpAnyCharNotNL:
		b.WriteString(`[^\n]`)
	case syntax.OpAnyChar:
		b.WriteString(`(?s:.)`)
	case syntax.OpBeginLine:
		b.WriteString(`(?m:^)`)
	case syntax.OpEndLine:
		b.WriteString(`(?m:$)`)
	case syntax.OpBeginText:
		b.WriteString(`\A`)
	case syntax.OpEndText:
		b.WriteString(`\z`)
	case syntax.OpWordBoundary:
		b.WriteString(`(?-u:\b)`)
	case syntax.OpNoWordBoundary:
		b.WriteString(`(?-u:\B)`)
	case syntax.OpCapture:
		writeRustGroup(b, re.Sub, "")
	case syntax.OpConcat:
		writeRustGroup(b, re.Sub, "")
	case syntax.OpAlternate:
		writeRustGroup(b, re.Sub, "|")
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		writeRustGroup(b, re.Sub, "")
		b.WriteString(rustRepeat(re))
		if re.Flags&syntax.NonGreedy != 0 {
			b.WriteByte('?')
		}
	}
}

func writeRustGroup(b *strings.Builder, subs []*syntax.Regexp, between string) {
	b.WriteString("(?:")
	for i, sub := range subs {
		if i > 0 {
			b.WriteString(between)
		}
		writeRust(b, sub)
	}
	b.WriteByte(')')
}

func writeRustLiteral(b *strings.Builder, re *syntax.Regexp) {
	b.WriteString("(?")
	if re.Flags&syntax.FoldCase != 0 {
		b.WriteByte('i')
	}
	b.WriteByte(':')
	for _, r := range re.Rune {
		fmt.Fprintf(b, `\x{%X}`, r)
	}
	b.WriteByte(')')
}

// writeRustClass leaves out the surrogates, which no text holds and Rust does not accept.
func writeRustClass(b *strings.Builder, ranges []rune) {
	const low, high = 0xD800, 0xDFFF
	var spans []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if lo < low {
			spans = append(spans, lo, min(hi, low-1))
		}
		if hi > high {
			spans = append(spans, max(lo, high+1), hi)
		}
	}
	if len(spans) == 0 {
		b.WriteString(`[^\x{0}-\x{10FFFF}]`)
		return
	}
	b.WriteByte('[')
	for i := 0; i < len(spans); i += 2 {
		fmt.Fprintf(b, `\x{%X}-\x{%X}`, spans[i], spans[i+1])
	}
	b.WriteByte(']')
}

func rustRepeat(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpStar:
		return "*"
	case syntax.OpPlus:
		return "+"
	case syntax.OpQuest:
		return "?"
	}
	if re.Max < 0 {
		return fmt.Sprintf("{%d,}", re.Min)
	}
	return fmt.Sprintf("{%d,%d}", re.Min, re.Max)
}
