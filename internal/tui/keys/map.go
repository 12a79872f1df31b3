package keys

import (
	"slices"
	"strings"
	"unicode"
)

// binding is a key in a context.
type binding struct {
	context Context
	key     string // its name
}

// Map binds keys to actions.
type Map struct {
	// Vim is whether the user wants vim mode.
	Vim bool
	// Notes are the keymap file's side effects, such as an action that has no key any more.
	Notes []string

	actions map[binding]Action
	keys    map[Action][]string
}

// Default returns the default bindings.
func Default() *Map {
	m := &Map{actions: make(map[binding]Action, 2*len(actions)), keys: make(map[Action][]string, len(actions))}
	for _, a := range actions {
		m.keys[a.action] = strings.Fields(a.keys)
		for _, name := range m.keys[a.action] {
			m.actions[binding{a.action.Context(), name}] = a.action
		}
	}
	return m
}

// Find returns a key's action in the first context that binds the key.
func (m *Map) Find(k Key, contexts ...Context) (Action, bool) {
	name := k.String()
	for _, c := range contexts {
		if a, ok := m.actions[binding{c, name}]; ok {
			return a, true
		}
	}
	return "", false
}

// Keys returns the names of an action's keys.
func (m *Map) Keys(a Action) []string { return m.keys[a] }

// Key returns the name of an action's first key, to show in hints, or "".
func (m *Map) Key(a Action) string {
	if len(m.keys[a]) == 0 {
		return ""
	}
	return m.keys[a][0]
}

// Row is an action in the table of keys.
type Row struct {
	Action  Action
	Summary string
	Keys    []string
}

// Table returns a context's actions with their keys.
func (m *Map) Table(c Context) []Row {
	var rows []Row
	for _, a := range actions {
		if a.action.Context() == c {
			rows = append(rows, Row{a.action, a.summary, m.keys[a.action]})
		}
	}
	return rows
}

// unbind removes a binding.
func (m *Map) unbind(b binding) {
	a := m.actions[b]
	delete(m.actions, b)
	m.keys[a] = slices.DeleteFunc(slices.Clone(m.keys[a]), func(name string) bool { return name == b.key })
}

// Everywhere reports whether terminals without the kitty protocol report a key, and not as another one.
func Everywhere(k Key) bool {
	switch {
	case k.Mods&Super != 0:
		return false
	case k.Mods == 0 || k.typed():
		return k.Code < F1+12 || k.Code > lastF
	case k.Code == Tab:
		return k.Mods == Shift
	case k.Code == Enter || k.Code == Backspace:
		return k.Mods == Alt
	case k.Code == Esc:
		return false
	case k.Code > unicode.MaxRune:
		return k.Code < F1+12
	case k.Mods&Ctrl == 0: // with Alt, an escape byte and the character, unless that begins a sequence
		return !strings.ContainsRune("[O]P", k.upper())
	case k.Mods&Shift != 0:
		return false
	}
	return strings.ContainsRune("abcdefghjklnopqrstuvwxyz @\\]^_", rune(k.Code))
}

// upper returns the character that an Alt key sends.
func (k Key) upper() rune {
	if k.Mods&Shift != 0 {
		return unicode.ToUpper(rune(k.Code))
	}
	return rune(k.Code)
}
