// Package keys names the terminal's keys and the interface's actions, and binds the first to the
// second: by default, in vim mode, and as the user's keymap file says.
package keys

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Key is a key press.
type Key struct {
	// Code is the key's character without Shift, or a special key. Terminals without the kitty protocol report only
	// the character that was typed.
	Code Code
	Mods Mods
	// Text is the text that the key types. It is empty for special keys and with Alt, Ctrl or Super.
	Text string
}

// Code is a character or a special key.
type Code rune

// Special keys.
const (
	Enter Code = unicode.MaxRune + 1 + iota
	Tab
	Backspace
	Esc
	Insert
	Delete
	Up
	Down
	Left
	Right
	Home
	End
	PgUp
	PgDown
	F1 // F2 is F1+1, up to F24
)

// Space is the space key, which types text.
const Space Code = ' '

// lastF is the last function key.
const lastF = F1 + 23

// Mods is a set of modifiers.
type Mods uint8

// Modifiers, as bits in the kitty protocol.
const (
	Shift Mods = 1 << iota
	Alt
	Ctrl
	Super
)

// special has the names of special keys, by their code after Enter.
var special = [...]string{
	"enter", "tab", "backspace", "esc", "insert", "delete", "up", "down", "left", "right", "home", "end", "pgup", "pgdown",
}

// modifiers has the names of modifiers, in the order in which a name has them.
var modifiers = [...]struct {
	mod  Mods
	name string
}{{Ctrl, "ctrl"}, {Alt, "alt"}, {Shift, "shift"}, {Super, "super"}}

// other has further names that users write.
var other = map[string]string{
	"return":    "enter",
	"escape":    "esc",
	"del":       "delete",
	"ins":       "insert",
	"bs":        "backspace",
	"pageup":    "pgup",
	"pagedown":  "pgdown",
	"pgdn":      "pgdown",
	"control":   "ctrl",
	"option":    "alt",
	"meta":      "alt",
	"cmd":       "super",
	"command":   "super",
	"win":       "super",
	"backslash": `\`,
	"plus":      "+",
}

// String returns the key's name, such as "ctrl+j", "shift+enter", "alt+left", "G" or "space". Keys with the same name
// have the same bindings. [Parse] reads it.
func (k Key) String() string {
	if k.typed() {
		if k.Text == " " {
			return "space"
		}
		return k.Text
	}
	code, mods := k.Code, k.Mods
	if unicode.IsUpper(rune(code)) { // terminals report alt+shift+a as alt+A
		code, mods = Code(unicode.ToLower(rune(code))), mods|Shift
	}
	var b strings.Builder
	for _, m := range modifiers {
		if mods&m.mod != 0 {
			b.WriteString(m.name + "+")
		}
	}
	return b.String() + code.name()
}

// typed reports whether the key types its text.
func (k Key) typed() bool {
	return k.Text != "" && k.Mods&^Shift == 0
}

func (c Code) name() string {
	switch {
	case c >= F1 && c <= lastF:
		return "f" + strconv.Itoa(int(c-F1)+1)
	case c >= Enter && c < F1:
		return special[c-Enter]
	case c == Space:
		return "space"
	}
	return string(rune(c))
}

// Parse parses a key name. It accepts other common names, such as "Control+J" and "return".
func Parse(name string) (Key, error) {
	parts := split(strings.TrimSpace(name))
	var k Key
	for _, p := range parts[:len(parts)-1] {
		m, ok := modifier(p)
		if !ok {
			return Key{}, fmt.Errorf("unknown key %q: %q is not one of ctrl, alt, shift and super", name, p)
		}
		k.Mods |= m
	}
	code, ok := parseCode(parts[len(parts)-1])
	if !ok {
		return Key{}, fmt.Errorf("unknown key %q: write a character, or a name such as enter, esc, pgup, left or f1", name)
	}
	k.Code = code
	k.fill()
	return k, nil
}

// fill adds the text that a key types, and moves Shift into it.
func (k *Key) fill() {
	if k.Code > unicode.MaxRune {
		return
	}
	if r := rune(k.Code); k.Mods&^Shift == 0 {
		if k.Mods == Shift {
			r = unicode.ToUpper(r)
		}
		k.Text = string(r)
	}
	if r := rune(k.Code); unicode.IsUpper(r) {
		k.Code, k.Mods = Code(unicode.ToLower(r)), k.Mods|Shift
	}
}

// split splits a name at plus signs. The last part may be a plus sign.
func split(name string) []string {
	if rest, ok := strings.CutSuffix(name, "++"); ok {
		return append(strings.Split(rest, "+"), "+")
	}
	if name == "+" {
		return []string{"+"}
	}
	return strings.Split(name, "+")
}

func modifier(name string) (Mods, bool) {
	name = strings.ToLower(name)
	if o, ok := other[name]; ok {
		name = o
	}
	for _, m := range modifiers {
		if m.name == name {
			return m.mod, true
		}
	}
	return 0, false
}

func parseCode(name string) (Code, bool) {
	if r, n := utf8.DecodeRuneInString(name); n > 0 && n == len(name) {
		return Code(r), r != utf8.RuneError && unicode.IsPrint(r)
	}
	name = strings.ToLower(name)
	if o, ok := other[name]; ok {
		name = o
	}
	switch {
	case name == "space":
		return Space, true
	case name == "+" || name == `\`:
		return Code(name[0]), true
	}
	for i, s := range special {
		if s == name {
			return Enter + Code(i), true
		}
	}
	if digits, ok := strings.CutPrefix(name, "f"); ok {
		n, err := strconv.Atoi(digits)
		return F1 + Code(n-1), err == nil && n >= 1 && n <= int(lastF-F1)+1 && digits[0] != '0' && digits[0] != '+'
	}
	return 0, false
}
