package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Sources tells Load where to look for settings. The zero Sources reads the system files, the user file and the
// environment variables.
type Sources struct {
	// Dir is the project root; see [Root]. "" means no project.
	Dir string
	// Trusted reports that the user trusts the project. Without trust, the project's files can only restrict
	// permissions.
	Trusted bool
	// Flags are settings from the command line. Later flags win.
	Flags []Override
	// Getenv returns environment variables; nil means os.Getenv.
	Getenv func(string) string
	// SystemDir holds the system file and the managed file; "" means the standard directory.
	SystemDir string
}

// Override is a setting that does not come from a file.
type Override struct {
	Key   string
	Value string
	Name  string // source, such as "--model"
}

// Settings is a configuration that records each value's origin. It must not be changed while it is used concurrently.
type Settings struct {
	Config
	// Notes lists settings without effect, with the reason.
	Notes []Note

	origins   map[string][]Origin
	dir, home string
}

// Entry is one key with its value.
type Entry struct {
	Key string `json:"key"`
	// Value is a string, bool, int or float64, or a list.
	Value any `json:"value"`
	// Origins has the value's origin, or one origin for each list element or map entry, sorted by name.
	Origins []Origin `json:"origins"`
}

// Entries returns the keys that have a value, in the order of Config.
func (s *Settings) Entries() (list []Entry) {
	for _, f := range fields {
		if e := s.entry(f); len(e.Origins) > 0 {
			list = append(list, e)
		}
	}
	return list
}

// Get returns the entry for a key. An entry without a value has no origins. An unknown key is an error.
func (s *Settings) Get(key string) (Entry, error) {
	f, err := findField(key)
	if err != nil {
		return Entry{}, err
	}
	return s.entry(f), nil
}

func (s *Settings) entry(f field) Entry {
	return Entry{f.key, f.in(&s.Config).Interface(), s.origins[f.key]}
}

// Load reads and merges all layers. Missing files are skipped. A file with an unknown key, a wrong type or an invalid
// value is an [*Error]; in a project that is not trusted, it is ignored with a note.
//
// Load also reads the permissions in Claude Code settings: deny and ask rules, and allow rules if the file belongs to
// the user or to a trusted project. They belong to the layer with the same name, below its own file.
func Load(src Sources) (*Settings, error) {
	src.Getenv = src.getenv()
	s := &Settings{origins: map[string][]Origin{}, dir: src.Dir, home: cmp.Or(src.Getenv("HOME"), src.Getenv("USERPROFILE"))}
	for _, o := range defaults() {
		if err := s.override(LayerDefault, o); err != nil {
			return nil, err
		}
	}
	files := src.Files()
	managed := len(files) - 1
	for _, f := range files[:managed] {
		s.claude(src, f.Layer)
		if err := s.file(f, src.Trusted); err != nil {
			return nil, err
		}
	}
	for _, o := range src.variables() {
		if err := s.override(LayerEnvironment, o); err != nil {
			return nil, err
		}
	}
	for _, o := range src.Flags {
		if err := s.override(LayerFlag, o); err != nil {
			return nil, err
		}
	}
	if err := s.file(files[managed], true); err != nil {
		return nil, err
	}
	return s, s.checkProvider()
}

// defaults returns the default values.
func defaults() (list []Override) {
	for _, f := range fields {
		if value, ok := f.tag.Lookup("default"); ok {
			list = append(list, Override{Key: f.key, Value: value})
		}
	}
	return list
}

// variables returns the settings from environment variables.
func (src Sources) variables() (list []Override) {
	for _, f := range fields {
		if name := f.tag.Get("env"); name != "" {
			if value := strings.TrimSpace(src.Getenv(name)); value != "" {
				list = append(list, Override{f.key, value, name})
			}
		}
	}
	return list
}

// override applies a setting that does not come from a file.
func (s *Settings) override(name Layer, o Override) error {
	f, err := findField(o.Key)
	if err != nil {
		return err
	}
	text, err := f.literal(o.Value)
	if err != nil {
		return &Error{Name: o.Name, Message: err.Error()}
	}
	l, err := parse(Origin{Layer: name, Name: o.Name}, []byte(o.Key+" = "+text))
	if err != nil {
		return err
	}
	s.apply(l)
	return nil
}

// file applies a file, if it exists.
func (s *Settings) file(f File, trusted bool) error {
	source := Origin{Layer: f.Layer, Name: f.Path}
	data, err := f.read()
	var l *layer
	if err == nil && data != nil {
		l, err = parse(source, data)
	}
	if err != nil && f.inProject() && !trusted {
		reason := err.Error()
		if mistake := (*Error)(nil); errors.As(err, &mistake) {
			source.Line, reason = mistake.Line, mistake.Message
		}
		s.Notes = append(s.Notes, Note{"", source, reason})
		return nil
	}
	if err != nil || l == nil {
		return err
	}
	if l.project() {
		s.restrict(l, trusted)
	}
	s.apply(l)
	return nil
}

// restrict drops keys that a project must not set, and reports them.
func (s *Settings) restrict(l *layer, trusted bool) {
	for _, f := range fields {
		at, set := l.keys[f.key]
		if !set {
			continue
		}
		if reason := s.refuse(f, f.in(&l.config), trusted); reason != "" {
			delete(l.keys, f.key)
			s.Notes = append(s.Notes, Note{f.key, l.origin(at), reason})
		}
	}
}

// refuse returns why a project must not set a value, or "".
func (s *Settings) refuse(f field, v reflect.Value, trusted bool) string {
	switch who := f.tag.Get("project"); {
	case who == "any":
		return ""
	case who != "trusted" && who != "stricter":
		return "a project cannot set it; set it in your user configuration"
	case !trusted:
		return untrusted
	case who == "stricter" && !stricter(v, f.in(&s.Config)):
		return fmt.Sprintf("a project can only make it stricter than %v", f.in(&s.Config).Interface())
	}
	return ""
}

// untrusted explains why a setting in an untrusted project has no effect.
const untrusted = "the project is not trusted; see \"reins trust\""

// widths lists the comparable modes, strictest first.
var widths = []string{"dontAsk", "default", "acceptEdits", "auto", "bypassPermissions"}

// stricter reports whether a mode permits less than another, or a limit is lower. A limit of 0 means no limit.
func stricter(v, than reflect.Value) bool {
	switch {
	case v.CanInt():
		return v.Int() > 0 && (than.Int() == 0 || v.Int() < than.Int())
	case v.CanFloat():
		return v.Float() > 0 && (than.Float() == 0 || v.Float() < than.Float())
	}
	mode := slices.Index(widths, v.String())
	return mode >= 0 && mode < slices.Index(widths, than.String())
}

// apply merges a layer: scalars replace scalars from lower layers, and lists are merged.
func (s *Settings) apply(l *layer) {
	if _, set := l.keys["provider"]; set && s.Provider != "" && l.config.Provider != s.Provider {
		s.forget(l, "model", "base_url")
	}
	for _, f := range fields {
		at, set := l.keys[f.key]
		if !set {
			continue
		}
		if f.isMap() {
			s.replace(l)
			continue
		}
		if !f.isList() {
			f.in(&s.Config).Set(f.in(&l.config))
			s.origins[f.key] = []Origin{l.origin(at)}
			continue
		}
		s.unite(f, l)
	}
}

// replace adds a layer's providers. A provider replaces the whole entry with the same name, so that one entry's key is
// never sent to another entry's address.
func (s *Settings) replace(l *layer) {
	if s.Providers == nil {
		s.Providers = map[string]Provider{}
	}
	for name, p := range l.config.Providers {
		s.Providers[name] = p
		s.origins["providers."+name] = []Origin{l.origin(l.keys["providers."+name])}
	}
	s.origins["providers"] = nil
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		s.origins["providers"] = append(s.origins["providers"], s.origins["providers."+name]...)
	}
}

// forget drops values from lower layers that were set for a different provider, so that one provider's key is never
// sent to another provider's address.
func (s *Settings) forget(l *layer, keys ...string) {
	for _, f := range fields {
		if o := s.origins[f.key]; slices.Contains(keys, f.key) && len(o) > 0 && o[0].Layer != l.source.Layer {
			f.in(&s.Config).SetZero()
			delete(s.origins, f.key)
		}
	}
}

// unite adds a list's new elements, or replaces the list.
func (s *Settings) unite(f field, l *layer) {
	to, from := f.in(&s.Config), f.in(&l.config)
	whole := f.tag.Get("merge") == "replace"
	if whole {
		to.SetZero()
		s.origins[f.key] = nil
	}
	have := map[any]bool{}
	for i := range to.Len() {
		have[to.Index(i).Interface()] = true
	}
	for i, at := range l.items[f.key] {
		if v := from.Index(i); whole || !have[v.Interface()] {
			have[v.Interface()] = true
			to.Set(reflect.Append(to, v))
			s.origins[f.key] = append(s.origins[f.key], l.origin(at))
		}
	}
}
