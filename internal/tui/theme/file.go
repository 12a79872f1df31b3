package theme

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/internal/tui/text"
)

// File is a user's theme: changes to a built-in one.
type File struct {
	Base  string   // the built-in theme; "" is auto
	Notes []string // colors that are hard to read
	roles []entry
}

// entry is a role's entry in the file.
type entry struct {
	table string // "dark" or "light": only on such a background
	role  text.Role
	look  Look
	line  int
}

// Read reads a theme file, whose name is for errors. It gives roles colors, on all backgrounds or, in the tables dark and
// light, on one kind:
//
//	base = "auto"
//	accent = "#88c0d0"
//
//	[light]
//	accent = "bold #005a8f"
//	selected = "#000000 on #c4dcf6"
func Read(name string, data []byte) (*File, error) {
	if err := toml.Unmarshal(data, &map[string]any{}); err != nil {
		line := 1
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ = at.Position()
		}
		return nil, fmt.Errorf("%s:%d: %s", name, line, strings.TrimPrefix(err.Error(), "toml: "))
	}
	f := &File{}
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		path, offset := parts(e)
		line := 1 + strings.Count(string(data[:offset]), "\n")
		if err := f.expression(e, path, &table, line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
	f.check(name)
	return f, p.Error()
}

// parts returns a key's parts and offset.
func parts(n *unstable.Node) (path []string, offset int) {
	for it := n.Key(); it.Next(); {
		if len(path) == 0 {
			offset = int(it.Node().Raw.Offset)
		}
		path = append(path, string(it.Node().Data))
	}
	return path, offset
}

// expression reads a table's name or a setting.
func (f *File) expression(e *unstable.Node, path []string, table *string, line int) error {
	key := strings.Join(path, ".")
	switch {
	case e.Kind == unstable.Table && (key == "dark" || key == "light"):
		*table = key
		return nil
	case e.Kind != unstable.KeyValue || len(path) != 1:
		return fmt.Errorf("unknown table or key %q; the tables are dark and light", key)
	case e.Value().Kind != unstable.String:
		return fmt.Errorf(`%s must be a text, such as "#88c0d0"`, key)
	}
	value := string(e.Value().Data)
	if *table == "" && key == "base" {
		if !slices.Contains(Names(), value) {
			return fmt.Errorf("unknown theme %q; use %s", value, suggest.Or(Names()))
		}
		f.Base = value
		return nil
	}
	i := slices.Index(names[:], key)
	if i < 0 {
		if near := suggest.Words(key, names[:]); len(near) > 0 {
			return fmt.Errorf("unknown role %q; did you mean %s?", key, suggest.Or(near))
		}
		return fmt.Errorf("unknown role %q", key)
	}
	look, err := parseLook(value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	f.roles = append(f.roles, entry{*table, text.Role(i), look, line})
	return nil
}

// readable is the least contrast of text.
const readable = 4.5

// check notes the colors that are hard to read, on the kinds of background on which the theme can be used.
func (f *File) check(name string) {
	for _, e := range f.roles {
		for _, dark := range []bool{true, false} {
			if e.look.FG == nil || Named(f.Base, dark, TrueColor).Dark != dark || !e.applies(dark) || f.overridden(e, dark) {
				continue
			}
			behind, kind := RGB{255, 255, 255}, "a light background"
			if dark {
				behind, kind = RGB{30, 30, 30}, "a dark background"
			}
			if e.look.BG != nil {
				behind, kind = *e.look.BG, "its background"
			}
			if c := Contrast(*e.look.FG, behind); c < readable {
				f.Notes = append(f.Notes, fmt.Sprintf("%s:%d: %s is hard to read on %s: its contrast is %.1f, and text needs %.1f",
					name, e.line, names[e.role], kind, c, readable))
			}
			if e.look.BG != nil {
				break
			}
		}
	}
}

func (e entry) applies(dark bool) bool {
	return e.table == "" || (e.table == "dark") == dark
}

// overridden reports whether a table has another color for a role on a kind of background.
func (f *File) overridden(e entry, dark bool) bool {
	return e.table == "" && slices.ContainsFunc(f.roles, func(o entry) bool {
		return o.table != "" && o.role == e.role && o.applies(dark)
	})
}

// Theme returns the theme for a background.
func (f *File) Theme(onDark bool, depth Depth) *Theme {
	t := Named(f.Base, onDark, depth)
	for _, table := range []string{"", "dark", "light"} {
		for _, e := range f.roles {
			if e.table == table && e.applies(t.Dark) {
				e.look.ANSI = t.Looks[e.role].ANSI
				t.Looks[e.role] = e.look
			}
		}
	}
	return t
}

// Follows reports whether a built-in theme depends on the terminal's background.
func Follows(name string) bool { return name == "" || name == "auto" || name == "ansi" }
