package term

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/tui/keys"
)

// Parser reads a terminal's bytes as events. Sequences may be split anywhere.
type Parser struct {
	// Kitty tells that the terminal reports Esc as a sequence, so that a lone ESC byte begins one.
	Kitty bool
	// Asked tells that answers to queries may arrive. An answer may be split after its first bytes, which otherwise mean
	// Alt and a key.
	Asked bool

	buf     []byte // what is incomplete
	paste   []byte
	pasting bool
	stalled bool // the paste has stopped without an end
	skip    bool // the string is too long, and dropped up to its end
	late    bool // Esc was reported, and may have begun an answer
}

const (
	escWait    = 10 * time.Millisecond // after ESC, for the rest of a sequence
	kittyWait  = 50 * time.Millisecond
	answerWait = 250 * time.Millisecond
	pasteWait  = 2 * time.Second

	maxString = 4 << 10  // bytes in a control string
	maxPaste  = 64 << 20 // bytes in one Paste event
)

const (
	esc        = 0x1b
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// Feed reads bytes and calls emit for each event.
func (p *Parser) Feed(b []byte, emit func(Event)) {
	if p.pasting && p.stalled && len(b) == 1 && b[0] == 3 { // ctrl+c leaves a paste that has no end
		p.paste, p.buf = append(p.paste, p.buf...), p.buf[:0]
		p.endPaste(emit)
		return
	}
	if p.late && startsAnswer(b) {
		p.buf = append(p.buf, esc)
	}
	p.late, p.stalled = false, false
	p.buf = append(p.buf, b...)
	rest := p.buf
	for len(rest) > 0 {
		n := p.next(rest, emit)
		if n == 0 {
			break
		}
		rest = rest[n:]
	}
	p.buf = p.buf[:copy(p.buf, rest)]
}

// startsAnswer reports whether bytes are an answer whose ESC came before.
func startsAnswer(b []byte) bool {
	for _, start := range []string{"]11;", "[?", "P>|", "_Gi", "[6;"} {
		if bytes.HasPrefix(b, []byte(start)) && len(b) > len(start) {
			return true
		}
	}
	return false
}

// Wait returns after which time without bytes Timeout must be called; 0 means never.
func (p *Parser) Wait() time.Duration {
	switch {
	case p.pasting && !p.stalled:
		return pasteWait
	case p.pasting || len(p.buf) == 0 || len(p.buf) > 2 || p.buf[0] != esc:
		return 0
	case p.Asked && len(p.buf) == 2:
		return answerWait
	case p.Kitty:
		return kittyWait
	}
	return escWait
}

// Timeout reports keys that could have begun a sequence. A longer piece of a sequence still waits for its end.
func (p *Parser) Timeout(emit func(Event)) {
	switch {
	case p.pasting:
		p.stalled = true
	case len(p.buf) == 1 && p.buf[0] == esc:
		emit(keys.Key{Code: keys.Esc})
		p.late, p.buf = p.Asked, p.buf[:0]
	case len(p.buf) == 2 && p.buf[0] == esc:
		emit(keys.Key{Code: keys.Code(p.buf[1]), Mods: keys.Alt})
		p.buf = p.buf[:0]
	}
}

// next reads an event and returns its length, or 0 if it is incomplete.
func (p *Parser) next(b []byte, emit func(Event)) int {
	switch {
	case p.pasting:
		return p.pasted(b, emit)
	case p.skip:
		return p.dropped(b)
	case b[0] == esc:
		return p.escape(b, emit)
	case b[0] < 0x20 || b[0] == 0x7f:
		emit(control(b[0]))
		return 1
	case !utf8.FullRune(b):
		return 0
	}
	r, n := utf8.DecodeRune(b)
	if r != utf8.RuneError || n > 1 {
		emit(keys.Key{Code: keys.Code(r), Text: string(r)})
	}
	return n
}

// pasted reads pasted text up to its end.
func (p *Parser) pasted(b []byte, emit func(Event)) int {
	if i := bytes.Index(b, []byte(pasteEnd)); i >= 0 {
		p.paste = append(p.paste, b[:i]...)
		p.endPaste(emit)
		return i + len(pasteEnd)
	}
	n := max(len(b)-len(pasteEnd)+1, 0)
	if p.paste = append(p.paste, b[:n]...); len(p.paste) > maxPaste {
		p.endPaste(emit)
		p.pasting = true
	}
	return n
}

func (p *Parser) endPaste(emit func(Event)) {
	text := bytes.ReplaceAll(p.paste, []byte("\r\n"), []byte("\n"))
	text = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	p.paste, p.pasting, p.stalled = nil, false, false
	emit(Paste{string(text)})
}

// control returns the key for a control byte.
func control(c byte) keys.Key {
	switch c {
	case 0:
		return keys.Key{Code: keys.Space, Mods: keys.Ctrl}
	case '\t':
		return keys.Key{Code: keys.Tab}
	case '\r':
		return keys.Key{Code: keys.Enter}
	case 0x7f:
		return keys.Key{Code: keys.Backspace}
	case esc:
		return keys.Key{Code: keys.Esc}
	case 0x1c, 0x1d, 0x1e, 0x1f: // \ ] ^ _
		return keys.Key{Code: keys.Code(c + 0x40), Mods: keys.Ctrl}
	}
	return keys.Key{Code: keys.Code(c + 0x60), Mods: keys.Ctrl}
}

// escape reads what begins with ESC.
func (p *Parser) escape(b []byte, emit func(Event)) int {
	if len(b) == 1 {
		return 0
	}
	switch b[1] {
	case '[':
		return p.csi(b, emit)
	case 'O':
		return ss3(b, emit)
	case ']', 'P', '_', '^', 'X':
		return p.str(b, emit)
	case esc: // Esc twice, or Esc and a sequence
		emit(keys.Key{Code: keys.Esc})
		return 1
	}
	if b[1] < 0x20 || b[1] == 0x7f {
		k := control(b[1])
		k.Mods |= keys.Alt
		emit(k)
		return 2
	}
	if !utf8.FullRune(b[1:]) {
		return 0
	}
	r, n := utf8.DecodeRune(b[1:])
	emit(keys.Key{Code: keys.Code(r), Mods: keys.Alt})
	return 1 + n
}

// ss3 reads ESC O and a byte.
func ss3(b []byte, emit func(Event)) int {
	if len(b) == 2 {
		return 0
	}
	if code, ok := final(b[2]); ok {
		emit(keys.Key{Code: code})
		return 3
	}
	switch c := b[2]; {
	case c == 'M':
		emit(keys.Key{Code: keys.Enter})
	case c >= 'j' && c <= 'y': // the keypad: * + , - . / 0 to 9
		emit(keys.Key{Code: keys.Code(c - 0x40), Text: string(rune(c - 0x40))})
	case c < 0x20: // alt+O and a control key
		emit(keys.Key{Code: 'O', Mods: keys.Alt})
		return 2
	}
	return 3
}

// str reads a control string: OSC, DCS, APC, PM or SOS. ESC \ or BEL ends it. Other control bytes abort it, so that a key
// is never lost in a string without an end.
func (p *Parser) str(b []byte, emit func(Event)) int {
	for i := 2; i < len(b); i++ {
		switch c := b[i]; {
		case c == 7:
			answer(b[1], b[2:i], emit)
			return i + 1
		case c == esc && i+1 == len(b):
			return p.long(i)
		case c == esc && b[i+1] == '\\':
			answer(b[1], b[2:i], emit)
			return i + 2
		case c < 0x20:
			if c == 0x18 || c == 0x1a {
				i++
			}
			return i
		}
	}
	return p.long(len(b))
}

// long begins to drop a string if its first n bytes are too many.
func (p *Parser) long(n int) int {
	if n < maxString {
		return 0
	}
	p.skip = true
	return n
}

// dropped drops bytes until a control string ends.
func (p *Parser) dropped(b []byte) int {
	i := bytes.IndexFunc(b, func(r rune) bool { return r < 0x20 })
	switch {
	case i < 0:
		return len(b)
	case b[i] == esc && i+1 == len(b):
		return i
	case b[i] == esc && b[i+1] == '\\':
		i += 2
	case b[i] == 7:
		i++
	}
	p.skip = false
	return max(i, 1)
}
