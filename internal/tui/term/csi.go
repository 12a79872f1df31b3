package term

import (
	"bytes"
	"slices"
	"strconv"
	"unicode"

	"github.com/reins-agent/reins/internal/tui/keys"
)

// final returns the key for the sequences CSI … c and SS3 c.
func final(c byte) (keys.Code, bool) {
	switch c {
	case 'A':
		return keys.Up, true
	case 'B':
		return keys.Down, true
	case 'C':
		return keys.Right, true
	case 'D':
		return keys.Left, true
	case 'F':
		return keys.End, true
	case 'H':
		return keys.Home, true
	case 'P', 'Q', 'R', 'S':
		return keys.F1 + keys.Code(c-'P'), true
	}
	return 0, false
}

// numbered returns the key for the sequence CSI n ~.
func numbered(n int) (keys.Code, bool) {
	switch {
	case n == 1 || n == 7:
		return keys.Home, true
	case n == 2:
		return keys.Insert, true
	case n == 3:
		return keys.Delete, true
	case n == 4 || n == 8:
		return keys.End, true
	case n == 5:
		return keys.PgUp, true
	case n == 6:
		return keys.PgDown, true
	case n >= 11 && n <= 15:
		return keys.F1 + keys.Code(n-11), true
	case n >= 17 && n <= 21:
		return keys.F1 + keys.Code(n-12), true
	case n == 23 || n == 24:
		return keys.F1 + keys.Code(n-13), true
	}
	return 0, false
}

// sequence is a control sequence: CSI, private byte, parameters, intermediate byte, final byte.
type sequence struct {
	private byte
	params  [][]int // each with its parts, which colons separate; 0 if empty
	middle  byte
	final   byte
}

// at returns part of parameter i, or 0.
func (s sequence) at(i, part int) int {
	if i >= len(s.params) || part >= len(s.params[i]) {
		return 0
	}
	return s.params[i][part]
}

// csi reads a control sequence.
func (p *Parser) csi(b []byte, emit func(Event)) int {
	if len(b) > 2 && b[2] == '[' { // the Linux console: CSI [ A is F1
		if len(b) == 3 {
			return 0
		}
		if c := b[3]; c >= 'A' && c <= 'E' {
			emit(keys.Key{Code: keys.F1 + keys.Code(c-'A')})
		}
		return 4
	}
	var s sequence
	i := 2
	if i < len(b) && b[i] >= '<' && b[i] <= '?' {
		s.private = b[i]
		i++
	}
	start := i
	for ; i < len(b) && b[i] >= '0' && b[i] <= '?'; i++ {
		if i > 64 {
			return i // not a sequence that any terminal sends
		}
	}
	s.params = params(b[start:i])
	for ; i < len(b) && b[i] >= 0x20 && b[i] <= 0x2f; i++ {
		s.middle = b[i]
		if i > 80 {
			return i
		}
	}
	switch {
	case i == len(b):
		return 0
	case b[i] < 0x40 || b[i] > 0x7e: // aborted; the byte stands for itself
		return i
	}
	s.final = b[i]
	p.sequence(s, emit)
	return i + 1
}

// params parses parameters.
func params(b []byte) (list [][]int) {
	if len(b) == 0 {
		return nil
	}
	for _, field := range bytes.Split(b, []byte(";")) {
		var parts []int
		for _, part := range bytes.Split(field, []byte(":")) {
			n, _ := strconv.Atoi(string(part))
			parts = append(parts, max(n, 0))
		}
		list = append(list, parts)
	}
	return list
}

// sequence emits the event that a control sequence stands for. Unknown sequences are ignored.
func (p *Parser) sequence(s sequence, emit func(Event)) {
	switch {
	case s.private == '<' && (s.final == 'M' || s.final == 'm'):
		emit(mouse(s))
	case s.private == '?' && s.final == 'c':
		r := Reply{Query: QueryAttributes}
		if slices.ContainsFunc(s.params, func(p []int) bool { return p[0] == 4 }) {
			r.Value = 1
		}
		emit(r)
	case s.private == '?' && s.final == 'u':
		emit(Reply{Query: QueryKitty, Value: s.at(0, 0)})
	case s.private == '?' && s.middle == '$' && s.final == 'y':
		emit(Reply{Query: QueryMode, Mode: s.at(0, 0), Value: s.at(1, 0)})
	case s.private == '?' && s.final == 'n' && s.at(0, 0) == 997:
		emit(Scheme{Dark: s.at(1, 0) == 1})
	case s.private == 0 && s.final == 't' && s.at(0, 0) == 6:
		emit(Reply{Query: QueryCell, Mode: s.at(2, 0), Value: s.at(1, 0)})
	case s.private != 0 || s.middle != 0:
	case s.final == '~' && s.at(0, 0) == 200:
		p.pasting = true
	case s.final == 'I' && len(s.params) == 0:
		emit(Focus{In: true})
	case s.final == 'O' && len(s.params) == 0:
		emit(Focus{})
	default:
		if k, ok := s.key(); ok {
			emit(k)
		}
	}
}

// key returns the pressed key. Key releases are not reported.
func (s sequence) key() (k keys.Key, ok bool) {
	k.Mods = mods(s.at(1, 0))
	if s.at(1, 1) == 3 {
		return k, false
	}
	switch s.final {
	case 'Z':
		return keys.Key{Code: keys.Tab, Mods: k.Mods | keys.Shift}, true
	case 'u':
		return s.kitty(k.Mods)
	case '~':
		if s.at(0, 0) == 27 { // modifyOtherKeys
			return character(s.at(2, 0), 0, 0, k.Mods)
		}
		k.Code, ok = numbered(s.at(0, 0))
	case '^', '@', '$': // rxvt
		k.Code, ok = numbered(s.at(0, 0))
		k.Mods = keys.Ctrl
	default:
		k.Code, ok = final(s.final)
	}
	return k, ok
}

// kitty returns the key of CSI code:shifted:base ; mods ; text u.
func (s sequence) kitty(m keys.Mods) (keys.Key, bool) {
	k, ok := character(s.at(0, 0), s.at(0, 1), s.at(0, 2), m)
	if k.Text != "" && len(s.params) > 2 {
		if text := s.at(2, 0); text >= 0x20 && text != 0x7f && text <= unicode.MaxRune {
			k.Text = string(rune(text))
		}
	}
	return k, ok
}

// character returns the key for a kitty protocol code. Shifted is the code with Shift, and base the code on a US
// keyboard, which shortcuts use if the keyboard has another script.
func character(code, shifted, base int, m keys.Mods) (keys.Key, bool) {
	if c, ok := functional(code); ok {
		k := keys.Key{Code: c, Mods: m}
		if c < unicode.MaxRune && m&^keys.Shift == 0 {
			k.Text = string(rune(c))
		}
		return k, true
	}
	if code < 0x20 || code > unicode.MaxRune || code >= 57344 && code <= 63743 || code >= 0x80 && code < 0xa0 {
		return keys.Key{}, false
	}
	if m&^keys.Shift != 0 {
		if base > 0x20 && base < 0x7f && code >= 0x80 {
			code = base
		}
		if r := rune(code); unicode.IsUpper(r) {
			code, m = int(unicode.ToLower(r)), m|keys.Shift
		}
		return keys.Key{Code: keys.Code(code), Mods: m}, true
	}
	text := rune(code)
	switch {
	case m == keys.Shift && shifted >= 0x20 && shifted <= unicode.MaxRune:
		text = rune(shifted)
	case m == keys.Shift:
		text = unicode.ToUpper(text)
	}
	return keys.Key{Code: keys.Code(code), Mods: m, Text: string(text)}, true
}

// functional returns the keys whose code is not a character, and the keypad as the keys that it stands for.
func functional(code int) (keys.Code, bool) {
	switch {
	case code == 9:
		return keys.Tab, true
	case code == 13 || code == 57414:
		return keys.Enter, true
	case code == 27:
		return keys.Esc, true
	case code == 8 || code == 127:
		return keys.Backspace, true
	case code == 32:
		return keys.Space, true
	case code >= 57376 && code <= 57387: // F13 to F24
		return keys.F1 + keys.Code(code-57376+12), true
	case code >= 57399 && code <= 57416 && code != 57414:
		return keys.Code("0123456789./*-+\r=,"[code-57399]), true
	}
	keypad := [...]keys.Code{
		keys.Left, keys.Right, keys.Up, keys.Down, keys.PgUp, keys.PgDown, keys.Home, keys.End, keys.Insert, keys.Delete,
	}
	if i := code - 57417; i >= 0 && i < len(keypad) {
		return keypad[i], true
	}
	return 0, false
}

// mods reads modifiers: 1 plus Shift 1, Alt 2, Ctrl 4, Super 8, Hyper 16, Meta 32, and locks.
func mods(n int) keys.Mods {
	if n <= 1 {
		return 0
	}
	n--
	m := keys.Mods(n & 0xf)
	if n&0x20 != 0 {
		m |= keys.Alt
	}
	return m
}

// mouse reads CSI < button ; x ; y M.
func mouse(s sequence) Mouse {
	b := s.at(0, 0)
	m := Mouse{X: max(s.at(1, 0)-1, 0), Y: max(s.at(2, 0)-1, 0), Button: b & 3}
	m.Mods = keys.Mods(b >> 2 & 7) // Shift 4, Alt 8, Ctrl 16
	switch {
	case b&64 != 0:
		m.Wheel, m.Button = 2*(b&1)-1, 0
	case s.final == 'm':
		m.Release = true
	case b&32 != 0:
		m.Drag = true
	default:
		m.Press = true
	}
	return m
}

// answer reports a control string. Only answers to this package's queries are used.
func answer(kind byte, b []byte, emit func(Event)) {
	switch {
	case kind == ']' && bytes.HasPrefix(b, []byte("11;")):
		if c, ok := color(string(b[3:])); ok {
			emit(c)
		}
	case kind == '_' && bytes.HasPrefix(b, []byte("Gi=31;")):
		emit(Reply{Query: QueryGraphics, Text: string(b[6:])})
	case kind == 'P' && bytes.HasPrefix(b, []byte(">|")):
		emit(Reply{Query: QueryVersion, Text: string(b[2:])})
	}
}

// color parses rgb:RRRR/GGGG/BBBB, with one to four digits each, or rgba.
func color(s string) (c Background, ok bool) {
	rgb := [3]*uint8{&c.R, &c.G, &c.B}
	_, list, found := bytes.Cut([]byte(s), []byte(":"))
	parts := bytes.Split(list, []byte("/"))
	if !found || len(parts) < 3 {
		return c, false
	}
	for i, to := range rgb {
		n, err := strconv.ParseUint(string(parts[i]), 16, 16)
		if err != nil || len(parts[i]) == 0 {
			return c, false
		}
		*to = uint8(n * 255 / (1<<(4*len(parts[i])) - 1))
	}
	return c, true
}
