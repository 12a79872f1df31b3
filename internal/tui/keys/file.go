package keys

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/reins-agent/reins/internal/suggest"
)

// Read returns the default bindings, changed by a keymap file; errors mention its name. The file has a table
// for each context that gives actions other keys, one or several, in place of their default keys:
//
//	vim = true
//
//	[editor]
//	submit = "ctrl+s"
//	newline = ["enter", "ctrl+j"]
//
// A key that the file gives to one action is taken from the context's other actions.
func Read(name string, data []byte) (*Map, error) {
	r := reader{
		name:    name,
		data:    data,
		m:       Default(),
		bound:   map[binding]int{},
		emptied: map[Action]int{},
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	return r.m, nil
}

// reader reads a keymap file.
type reader struct {
	name    string
	data    []byte
	parser  unstable.Parser
	m       *Map
	bound   map[binding]int // the file's line numbers
	emptied map[Action]int  // actions that lost their last key, with the line that took it
	settled []setting
}

// setting is an action's entry in the file.
type setting struct {
	action Action
	line   int
	keys   []Key
}

func (r *reader) errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.name, line, fmt.Sprintf(format, args...))
}

func (r *reader) note(line int, format string, args ...any) {
	r.m.Notes = append(r.m.Notes, r.errorAt(line, format, args...).Error())
}

func (r *reader) read() error {
	if err := toml.Unmarshal(r.data, &map[string]any{}); err != nil {
		line := 1
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ = at.Position()
		}
		return r.errorAt(line, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	if err := r.document(); err != nil {
		return err
	}
	for _, s := range r.settled { // all defaults go first, so that the file can swap keys
		for _, name := range slices.Clone(r.m.keys[s.action]) {
			r.m.unbind(binding{s.action.Context(), name})
		}
	}
	for _, s := range r.settled {
		if err := r.bind(s); err != nil {
			return err
		}
	}
	return r.check()
}

// document reads all lines.
func (r *reader) document() error {
	r.parser.Reset(r.data)
	var table []string
	for r.parser.NextExpression() {
		var err error
		e := r.parser.Expression()
		path, line := r.path(e)
		switch {
		case e.Kind == unstable.Table && len(path) == 1 && slices.Contains(Contexts(), Context(path[0])):
			table = path
		case e.Kind == unstable.KeyValue:
			err = r.setting(slices.Concat(table, path), line, e.Value())
		default:
			err = r.errorAt(line, "unknown table [%s]%s", strings.Join(path, "."), hint(path[0], contextNames()))
		}
		if err != nil {
			return err
		}
	}
	return r.parser.Error()
}

// path returns a key's parts and line number.
func (r *reader) path(n *unstable.Node) (parts []string, line int) {
	for it := n.Key(); it.Next(); {
		if len(parts) == 0 {
			line = r.line(int(it.Node().Raw.Offset))
		}
		parts = append(parts, string(it.Node().Data))
	}
	return parts, line
}

func (r *reader) line(offset int) int {
	return 1 + strings.Count(string(r.data[:offset]), "\n")
}

// setting reads a key and its value.
func (r *reader) setting(path []string, line int, v *unstable.Node) error {
	if len(path) == 1 && path[0] == "vim" {
		if v.Kind != unstable.Bool {
			return r.errorAt(line, "vim must be true or false")
		}
		r.m.Vim = string(v.Data) == "true"
		return nil
	}
	action := Action(strings.Join(path, "."))
	if _, known := r.m.keys[action]; !known || len(path) != 2 {
		return r.errorAt(line, "unknown action %q%s", action, hint(path[len(path)-1], actionNames(path)))
	}
	if slices.ContainsFunc(r.settled, func(s setting) bool { return s.action == action }) {
		return r.errorAt(line, "%s has keys twice", action)
	}
	names, ok := stringsOf(v)
	if !ok {
		return r.errorAt(line, `%s must be the name of a key, such as "ctrl+j", or a list of names`, action)
	}
	s := setting{action: action, line: line}
	for _, name := range names {
		k, err := Parse(name)
		if err != nil {
			return r.errorAt(line, "%s: %v", action, err)
		}
		s.keys = append(s.keys, k)
	}
	r.settled = append(r.settled, s)
	return nil
}

// stringsOf returns a string or a list of strings.
func stringsOf(v *unstable.Node) (list []string, ok bool) {
	if v.Kind == unstable.String {
		return []string{string(v.Data)}, true
	}
	if v.Kind != unstable.Array {
		return nil, false
	}
	for it := v.Children(); it.Next(); {
		if it.Node().Kind == unstable.Comment {
			continue
		}
		if it.Node().Kind != unstable.String {
			return nil, false
		}
		list = append(list, string(it.Node().Data))
	}
	return list, true
}

// bind gives an action its keys.
func (r *reader) bind(s setting) error {
	for _, k := range s.keys {
		b := binding{s.action.Context(), k.String()}
		if k.typed() && b.context != Transcript {
			return r.errorAt(s.line, "%s: %s types text there: add ctrl or alt", s.action, b.key)
		}
		old, taken := r.m.actions[b]
		switch first, inFile := r.bound[b]; {
		case old == s.action && inFile:
			continue
		case inFile:
			return r.errorAt(s.line, "%s: %s is the key of %s already, in line %d", s.action, b.key, old, first)
		case taken:
			r.m.unbind(b)
			if len(r.m.keys[old]) == 0 {
				r.emptied[old] = s.line
				r.note(s.line, "%s is the key of %s now, and %s has no key", b.key, s.action, old)
			}
		}
		r.bound[b] = s.line
		r.m.actions[b] = s.action
		r.m.keys[s.action] = append(r.m.keys[s.action], b.key)
		r.hides(s, b)
		if !Everywhere(k) {
			r.note(s.line, "%s: only terminals with the kitty keyboard protocol report %s", s.action, b.key)
		}
	}
	return nil
}

// hides notes a key that hides a global action.
func (r *reader) hides(s setting, b binding) {
	if global, ok := r.m.actions[binding{Global, b.key}]; ok && b.context != Global {
		r.note(s.line, "%s is the key of %s, so it does not do %s in this context", b.key, s.action, global)
	}
}

// check returns an error if an action that everybody needs has no key.
func (r *reader) check() error {
	for _, a := range actions {
		if !a.needed || len(r.m.keys[a.action]) > 0 {
			continue
		}
		line := r.emptied[a.action]
		for _, s := range r.settled {
			if s.action == a.action {
				line = s.line
			}
		}
		return r.errorAt(line, "%s needs a key", a.action)
	}
	return nil
}

func contextNames() []string {
	var names []string
	for _, c := range Contexts() {
		names = append(names, string(c))
	}
	return names
}

// actionNames returns the action names in a path's context, or in all contexts.
func actionNames(path []string) []string {
	var names []string
	for _, a := range actions {
		switch {
		case len(path) != 2 || !slices.Contains(contextNames(), path[0]):
			names = append(names, string(a.action))
		case string(a.action.Context()) == path[0]:
			names = append(names, a.action.Name())
		}
	}
	return names
}

// hint suggests a word that the user may have meant; it is appended to an error.
func hint(word string, words []string) string {
	if near := suggest.Words(word, words); len(near) > 0 {
		return ": did you mean " + suggest.Or(near) + "?"
	}
	return ""
}
