// Package theme gives the roles of text their colors.
package theme

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/tui/text"
)

// RGB is a color.
type RGB struct{ R, G, B uint8 }

// Look is how a role is shown. Nil colors are the terminal's own.
type Look struct {
	FG, BG *RGB
	ANSI   string // SGR parameters on terminals with 16 colors
	Attr   text.Attr
}

// Depth is how many colors a terminal can show.
type Depth uint8

// Depths.
const (
	Monochrome Depth = iota
	ANSI16
	ANSI256
	TrueColor
)

// Theme gives each role a look.
type Theme struct {
	Name  string
	Dark  bool // made for a dark background
	Depth Depth
	Looks [text.Roles]Look
}

// DepthOf returns a terminal's color depth, according to its environment variables.
func DepthOf(getenv func(string) string) Depth {
	term := getenv("TERM")
	switch c := getenv("COLORTERM"); {
	case getenv("NO_COLOR") != "" || term == "dumb":
		return Monochrome
	case c == "truecolor" || c == "24bit" || getenv("WT_SESSION") != "" || strings.Contains(term, "direct"):
		return TrueColor
	case strings.Contains(term, "256color"), strings.Contains(term, "kitty"), strings.Contains(term, "ghostty"):
		return ANSI256
	}
	return ANSI16
}

// SGR returns the parameters that show a style, or "" for the terminal's own.
func (t *Theme) SGR(s text.Style) string {
	look := t.Looks[min(s.Role, text.Roles-1)]
	var list []string
	attr := s.Attr | look.Attr
	if s.URL != "" {
		attr |= text.Underline
	}
	for _, a := range []struct {
		bit text.Attr
		n   string
	}{{text.Bold, "1"}, {text.Italic, "3"}, {text.Underline, "4"}, {text.Reverse, "7"}, {text.Strike, "9"}} {
		if attr&a.bit != 0 {
			list = append(list, a.n)
		}
	}
	switch {
	case t.Depth == Monochrome && s.Role == text.Selected && attr&text.Reverse == 0:
		list = append(list, "7")
	case t.Depth == Monochrome:
	case t.Depth == ANSI16:
		list = append(list, look.ANSI)
	default:
		list = append(list, t.color("38", look.FG), t.color("48", look.BG))
	}
	return strings.Join(slices.DeleteFunc(list, func(p string) bool { return p == "" }), ";")
}

// color returns a color's SGR parameters.
func (t *Theme) color(kind string, c *RGB) string {
	switch {
	case c == nil:
		return ""
	case t.Depth == TrueColor:
		return fmt.Sprintf("%s;2;%d;%d;%d", kind, c.R, c.G, c.B)
	}
	return kind + ";5;" + strconv.Itoa(near(*c))
}

// near returns the index of the palette color nearest to c.
func near(c RGB) int {
	best, at := 1<<30, 0
	for i := 16; i < 256; i++ {
		p := palette(i)
		dr, dg, db := int(c.R)-int(p.R), int(c.G)-int(p.G), int(c.B)-int(p.B)
		if d := 2*dr*dr + 4*dg*dg + 3*db*db; d < best {
			best, at = d, i
		}
	}
	return at
}

// palette returns color i of the palette: 216 colors in a cube, then 24 grays.
func palette(i int) RGB {
	if i >= 232 {
		v := uint8(8 + 10*(i-232))
		return RGB{v, v, v}
	}
	level := func(n int) uint8 {
		if n == 0 {
			return 0
		}
		return uint8(55 + 40*n)
	}
	i -= 16
	return RGB{level(i / 36), level(i / 6 % 6), level(i % 6)}
}

// names has the names of roles in user themes, by role.
var names = [text.Roles]string{
	"plain", "dim", "accent", "success", "warning", "failure", "user", "heading", "quote", "code", "link", "border",
	"selected", "match", "added", "removed", "added_word", "removed_word", "keyword", "string", "number", "comment", "name",
	"kind",
}

// parseLook parses a look such as "#88c0d0", "#ffffff on #004466" or "bold #ff8800".
func parseLook(value string) (look Look, err error) {
	to := &look.FG
	attrs := map[string]text.Attr{"bold": text.Bold, "italic": text.Italic, "underline": text.Underline, "reverse": text.Reverse}
	for _, word := range strings.Fields(value) {
		switch {
		case word == "on":
			to = &look.BG
		case attrs[word] != 0:
			look.Attr |= attrs[word]
		default:
			c, ok := parseColor(word)
			if !ok {
				return look, fmt.Errorf("%q is not a color such as #88c0d0", word)
			}
			*to = &c
		}
	}
	return look, nil
}

func parseColor(s string) (RGB, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 32)
	return RGB{uint8(n >> 16), uint8(n >> 8), uint8(n)}, err == nil && len(s) == 7 && s[0] == '#'
}
