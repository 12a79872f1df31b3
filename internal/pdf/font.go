package pdf

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// font maps codes to characters.
type font struct {
	size    int               // bytes per code
	unicode map[uint32]string // from the font's own table
	single  [256]string       // from its encoding, for codes of one byte
	widths  map[uint32]float64
	width   float64 // width of other codes, in thousandths of the font size; 0 if widths are unknown
	steps   int     // taken to read the tables
}

// step reports whether another code in a table may be read.
func (f *font) step() bool {
	f.steps++
	return f.steps <= 4*maxCodes
}

// fontOf returns a resource's font.
func (w *writer) fontOf(o any) *font {
	key, shared := o.(ref)
	if f := w.fonts[key]; shared && f != nil {
		return f
	}
	f := w.newFont(w.dict(o))
	if shared {
		if w.fonts == nil {
			w.fonts = map[ref]*font{}
		}
		w.fonts[key] = f
	}
	return f
}

func (w *writer) newFont(d dict) *font {
	f := &font{size: 1}
	if w.resolve(d["Subtype"]) == name("Type0") {
		f.size = 2
		f.measureWide(w.document, d)
	} else {
		f.encode(w.document, d["Encoding"])
		f.measure(w.document, d)
	}
	if s, ok := w.resolve(d["ToUnicode"]).(*stream); ok {
		f.read(w.decode(s))
	}
	w.steps += f.steps
	return f
}

// encode sets the characters for a font whose codes have one byte.
func (f *font) encode(d *document, encoding any) {
	table := charmap.Windows1252
	base := d.resolve(encoding)
	differences := d.dict(encoding)
	if differences != nil {
		base = d.resolve(differences["BaseEncoding"])
	}
	if base == name("MacRomanEncoding") {
		table = charmap.Macintosh
	}
	for i := range f.single {
		if r := table.DecodeByte(byte(i)); r != utf8.RuneError && (r >= ' ' || r == '\n' || r == '\t') {
			f.single[i] = string(r)
		}
	}
	code := 0
	for _, o := range d.array(differences["Differences"]) {
		switch o := d.resolve(o).(type) {
		case float64:
			code = int(o)
		case name:
			if 0 <= code && code < len(f.single) {
				f.single[code] = glyph(string(o))
			}
			code++
		}
	}
}

// measure sets the widths for a font whose codes have one byte.
func (f *font) measure(d *document, font dict) {
	first, _ := d.resolve(font["FirstChar"]).(float64)
	unit := 1.0
	if matrix := d.array(font["FontMatrix"]); len(matrix) > 0 { // a font with its own units
		n, _ := d.resolve(matrix[0]).(float64)
		unit = n * 1000
	}
	f.widths = map[uint32]float64{}
	for i, o := range d.array(font["Widths"]) {
		if n, ok := d.resolve(o).(float64); ok && i < 256 {
			f.widths[uint32(first)+uint32(i)] = n * unit
			f.width = 500
		}
	}
}

// measureWide sets the widths for a font with wider codes. Its table contains a code and a list of widths starting
// there, or two codes and the width for all codes in between.
func (f *font) measureWide(d *document, font dict) {
	var below dict
	if list := d.array(font["DescendantFonts"]); len(list) > 0 {
		below = d.dict(list[0])
	}
	f.width = 1000
	if n, ok := d.resolve(below["DW"]).(float64); ok {
		f.width = n
	}
	f.widths = map[uint32]float64{}
	list := d.array(below["W"])
	for len(list) >= 2 && f.step() {
		from, _ := d.resolve(list[0]).(float64)
		if widths, ok := d.resolve(list[1]).([]any); ok {
			for i, o := range widths {
				if !f.step() {
					return
				}
				f.widths[uint32(from)+uint32(i)], _ = d.resolve(o).(float64)
			}
			list = list[2:]
			continue
		}
		if len(list) < 3 {
			return
		}
		to, _ := d.resolve(list[1]).(float64)
		n, _ := d.resolve(list[2]).(float64)
		for code := max(from, 0); code <= min(to, maxCodes) && f.step(); code++ {
			f.widths[uint32(code)] = n
		}
		list = list[3:]
	}
}

// maxCodes is the maximum number of codes in a table.
const maxCodes = 1 << 16

// read reads a font's ToUnicode table, which maps codes to characters.
func (f *font) read(cmap []byte) {
	f.unicode = map[uint32]string{}
	p := &parser{data: cmap}
	var operands []any
	for {
		o := p.object(0)
		if o == end {
			return
		}
		op, ok := o.(operator)
		if !ok {
			if len(operands) < 3*maxCodes {
				operands = append(operands, o)
			}
			continue
		}
		switch op {
		case "endcodespacerange":
			if t, ok := last(operands).(text); ok && f.size > 1 && 1 <= len(t) && len(t) <= 4 {
				f.size = len(t)
			}
		case "endbfchar":
			for i := 0; i+1 < len(operands); i += 2 {
				f.add(operands[i], 0, operands[i+1])
			}
		case "endbfrange":
			for i := 0; i+2 < len(operands); i += 3 {
				f.addRange(operands[i], operands[i+1], operands[i+2])
			}
		}
		operands = operands[:0]
	}
}

func last(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// add adds the characters of code + n.
func (f *font) add(code any, n uint32, to any) {
	c, ok1 := code.(text)
	t, ok2 := to.(text)
	if ok1 && ok2 && f.step() {
		f.unicode[value(c)+n] = utf16Text(t)
	}
}

// addRange adds the characters for a range of codes. chars is a list, or the first code's characters.
func (f *font) addRange(from, to, chars any) {
	a, ok1 := from.(text)
	b, ok2 := to.(text)
	if !ok1 || !ok2 {
		return
	}
	count := value(b) - value(a)
	if value(b) < value(a) || count >= maxCodes {
		return
	}
	switch chars := chars.(type) {
	case []any:
		for i, c := range chars[:min(len(chars), int(count)+1)] {
			f.add(from, uint32(i), c)
		}
	case text:
		for n := uint32(0); n <= count && len(chars) >= 2 && f.step(); n++ {
			next := []byte(chars)
			unit := uint32(next[len(next)-2])<<8 | uint32(next[len(next)-1]) + n
			next[len(next)-2], next[len(next)-1] = byte(unit>>8), byte(unit)
			f.add(from, n, text(next))
		}
	}
}

// value returns a code as a number.
func value(code text) (v uint32) {
	for _, b := range []byte(code[:min(len(code), 4)]) {
		v = v<<8 | uint32(b)
	}
	return v
}

// maxLigature is the maximum number of UTF-16 units that a code can represent.
const maxLigature = 32

func utf16Text(t text) string {
	var units []uint16
	for i := 0; i+1 < len(t) && len(units) < maxLigature; i += 2 {
		units = append(units, uint16(t[i])<<8|uint16(t[i+1]))
	}
	return strings.Map(printable, string(utf16.Decode(units)))
}

// printable drops control characters.
func printable(r rune) rune {
	if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == utf8.RuneError {
		return -1
	}
	return r
}

// decode returns a text's characters, and its width in thousandths of the font size. It skips codes that the font does
// not map.
func (f *font) decode(t text) (s string, width float64) {
	var b strings.Builder
	for len(t) > 0 && b.Len() <= MaxText {
		n := min(f.size, len(t))
		code := t[:n]
		t = t[n:]
		if w, ok := f.widths[value(code)]; ok {
			width += w
		} else {
			width += f.width
		}
		if s, ok := f.unicode[value(code)]; ok {
			b.WriteString(s)
		} else if n == 1 {
			b.WriteString(f.single[code[0]])
		}
	}
	return b.String(), width
}

// plain is the font of text without a font.
var plain = sync.OnceValue(func() *font {
	f := &font{size: 1}
	f.encode(&document{}, nil)
	return f
})

// glyphs maps glyph names to characters, except letters and accented letters.
var glyphs = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for i, list := range []string{
		" space ! exclam \" quotedbl # numbersign $ dollar % percent & ampersand ' quotesingle ( parenleft ) parenright * asterisk + plus",
		", comma - hyphen . period / slash : colon ; semicolon < less = equal > greater ? question @ at [ bracketleft \\ backslash",
		"] bracketright ^ asciicircum _ underscore ` grave { braceleft | bar } braceright ~ asciitilde 0 zero 1 one 2 two 3 three",
		"4 four 5 five 6 six 7 seven 8 eight 9 nine ‘ quoteleft ’ quoteright “ quotedblleft ” quotedblright ‚ quotesinglbase",
		"„ quotedblbase – endash — emdash … ellipsis • bullet · periodcentered − minus × multiply ÷ divide ± plusminus ° degree",
		"© copyright ® registered ™ trademark § section ¶ paragraph † dagger ‡ daggerdbl € Euro £ sterling ¥ yen ¢ cent ¡ exclamdown",
		"¿ questiondown « guillemotleft » guillemotright ‹ guilsinglleft › guilsinglright ß germandbls æ ae Æ AE ø oslash Ø Oslash",
		"œ oe Œ OE ð eth Ð Eth þ thorn Þ Thorn ł lslash Ł Lslash ı dotlessi µ mu fi fi fl fl ff ff ffi ffi ffl ffl",
	} {
		words := strings.Fields(list)
		if i == 0 {
			all["space"] = " "
			words = words[1:]
		}
		for j := 0; j+1 < len(words); j += 2 {
			all[words[j+1]] = words[j]
		}
	}
	return all
})

// accents maps the names of accents to combining characters.
var accents = map[string]string{
	"grave": "\u0300", "acute": "\u0301", "circumflex": "\u0302", "tilde": "\u0303", "dieresis": "\u0308", "ring": "\u030a",
	"cedilla": "\u0327", "caron": "\u030c",
}

// glyph returns the character with a glyph name, or "" if it is unknown.
func glyph(n string) string {
	n, _, _ = strings.Cut(n, ".") // a variant
	if s, ok := glyphs()[n]; ok || len(n) == 1 {
		if !ok {
			return n
		}
		return s
	}
	for _, prefix := range []string{"uni", "u"} {
		if digits, ok := strings.CutPrefix(n, prefix); ok && len(digits) >= 4 && len(digits) <= 6 {
			if v, err := strconv.ParseUint(digits, 16, 21); err == nil {
				return strings.Map(printable, string(rune(v)))
			}
		}
	}
	if len(n) > 1 {
		if mark, ok := accents[n[1:]]; ok {
			return norm.NFC.String(n[:1] + mark)
		}
	}
	return ""
}
