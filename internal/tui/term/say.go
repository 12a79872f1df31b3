package term

import (
	"encoding/base64"
	"strings"
)

// Title sets the terminal window's title.
func (t *Terminal) Title(title string) {
	t.say("\x1b]2;" + printable(title) + "\x07")
}

// Copy puts text on the clipboard of the machine where the terminal runs.
func (t *Terminal) Copy(text string) {
	s := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\x07"
	t.say(s)
	if t.o.Getenv("TMUX") != "" {
		t.say(through(s))
	}
}

// Notify rings the bell and shows a notification, in the way that the terminal knows.
func (t *Terminal) Notify(title, body string) {
	title, body = printable(title), printable(body)
	s := ""
	switch program := t.o.Getenv("TERM_PROGRAM"); {
	case strings.Contains(t.o.Getenv("TERM"), "kitty"):
		s = "\x1b]99;i=reins:d=0;" + title + "\x1b\\\x1b]99;i=reins:p=body;" + body + "\x1b\\"
	case strings.HasPrefix(t.o.Getenv("TERM"), "rxvt"), strings.HasPrefix(t.o.Getenv("TERM"), "foot"):
		s = "\x1b]777;notify;" + strings.ReplaceAll(title, ";", ",") + ";" + body + "\x1b\\"
	case program != "Apple_Terminal":
		s = "\x1b]9;" + title + ": " + body + "\x07"
	}
	if t.o.Getenv("TMUX") != "" && s != "" {
		s = through(s)
	}
	t.say(s + "\x07")
}

// say writes a sequence to the terminal. It does nothing in plain mode.
func (t *Terminal) say(s string) {
	if !t.o.Plain {
		_, _ = t.Write([]byte(s))
	}
}

// through passes a sequence through tmux.
func through(s string) string {
	return "\x1bPtmux;" + strings.ReplaceAll(s, "\x1b", "\x1b\x1b") + "\x1b\\"
}

// printable removes control characters and shortens text to fit a title.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200])
	}
	return s
}
