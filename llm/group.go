package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
)

// A group is a part of a catalogue.
type group struct {
	list *list // use open

	// A built-in group has the models of one provider. Its text is read and its list decoded when they are first used.
	provider string
	text     func() []byte
	decode   sync.Once
	absent   sync.Map // names that the text does not have
}

// list is a list of models with their index.
type list struct {
	models   []Model
	byName   map[string]int // key(provider, name), and the name alone for the first model that has it
	families []Family       // the first that fits counts
	aliases  []Alias        // the first that fits counts
}

// open returns the list.
func (g *group) open() *list {
	g.decode.Do(func() {
		if g.text == nil {
			return
		}
		var err error
		if g.list, err = readList(bytes.NewReader(g.text())); err != nil {
			panic("llm: built-in models of " + g.provider + ": " + err.Error())
		}
	})
	return g.list
}

// of returns the list, or an empty one if it has no models of the provider.
func (g *group) of(provider string) *list {
	if g.text != nil && provider != g.provider {
		return new(list)
	}
	return g.open()
}

// mentions reports whether the list may have a name. It does not decode the list.
func (g *group) mentions(name string) bool {
	if g.text == nil {
		return true
	}
	if _, absent := g.absent.Load(name); absent {
		return false
	}
	found := bytes.Contains(g.text(), []byte(`"`+name+`"`))
	if !found {
		g.absent.Store(name, nil)
	}
	return found
}

// named returns the model with this id or alias from the provider; "" means any provider.
func (g *group) named(provider, name string) (Model, bool) {
	i, ok := g.index(provider, name)
	if !ok {
		return Model{}, false
	}
	return g.list.models[i], true
}

// index returns the model's index.
func (g *group) index(provider, name string) (int, bool) {
	l := new(list)
	if provider != "" {
		l, name = g.of(provider), key(provider, name)
	} else if g.mentions(name) {
		l = g.open()
	}
	i, ok := l.byName[name]
	return i, ok
}

// without returns the group without the models that a catalogue has.
func (g *group) without(over *Catalogue) (*group, error) {
	if g.text != nil && len(over.ModelsOf(g.provider)) == 0 {
		return g, nil
	}
	return g.with(slices.DeleteFunc(slices.Clone(g.open().models), func(m Model) bool {
		_, replaced := over.named(m.Provider, m.ID)
		return replaced
	}))
}

// replace returns the group with new versions of its models, and the models that it does not have.
func (g *group) replace(models []Model) (_ *group, rest []Model, _ error) {
	var changed []Model
	for _, m := range models {
		i, ok := g.index(m.Provider, m.ID)
		if !ok || g.list.models[i].ID != m.ID {
			rest = append(rest, m)
			continue
		}
		if changed == nil {
			changed = slices.Clone(g.list.models)
		}
		changed[i] = m // its place decides which model the name alone means
	}
	if changed == nil {
		return g, models, nil
	}
	g, err := g.with(changed)
	return g, rest, err
}

// with returns the group with other models.
func (g *group) with(models []Model) (*group, error) {
	l, err := newList(models)
	if err != nil {
		return nil, err
	}
	l.families, l.aliases = g.list.families, g.list.aliases
	return &group{list: l}, nil
}

// join returns a catalogue of groups. It fails if two groups have the same name from the same provider.
func join(groups []*group) (*Catalogue, error) {
	for i, g := range groups {
		if g.text != nil { // built-in groups have different providers
			continue
		}
		for _, m := range g.list.models {
			for _, name := range m.names() {
				has := func(other *group) bool { _, ok := other.index(m.Provider, name); return ok }
				if slices.ContainsFunc(groups[:i], has) || slices.ContainsFunc(groups[i+1:], has) {
					return nil, fmt.Errorf("the catalogue lists %s/%s twice", m.Provider, name)
				}
			}
		}
	}
	return &Catalogue{groups}, nil
}

// readList reads a list in the format of [ReadCatalogue].
func readList(r io.Reader) (*list, error) {
	var file struct {
		Models   []Model            `json:"models"`
		Search   map[string]float64 `json:"search"`
		Families []Family           `json:"families"`
		Aliases  []Alias            `json:"aliases"`
	}
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("invalid model catalogue: %w", err)
	}
	l, err := newList(withSearch(file.Models, file.Search))
	if err != nil {
		return nil, err
	}
	l.families, l.aliases = file.Families, file.Aliases
	return l, nil
}

// withSearch gives models without a price for web searches their provider's price.
func withSearch(models []Model, prices map[string]float64) []Model {
	for i := range models {
		search, ok := prices[models[i].Provider]
		for p := models[i].Price; ok && p != nil; p = p.Next {
			if p.Search == nil {
				p.Search = &search
			}
		}
	}
	return models
}

// newList returns a list of these models, which it keeps.
func newList(models []Model) (*list, error) {
	l := &list{models: models, byName: make(map[string]int, 3*len(models))}
	for i, m := range models {
		if m.ID == "" || m.Provider == "" {
			return nil, fmt.Errorf("model %d in the catalogue has no id or no provider", i+1)
		}
		for _, name := range m.names() {
			key := key(m.Provider, name)
			if _, dup := l.byName[key]; dup {
				return nil, fmt.Errorf("the catalogue lists %s/%s twice", m.Provider, name)
			}
			l.byName[key] = i
			if _, taken := l.byName[name]; !taken {
				l.byName[name] = i
			}
		}
	}
	return l, nil
}

// names returns the ID and the aliases.
func (m Model) names() []string { return append([]string{m.ID}, m.Aliases...) }

// key differs from all names: a model ID may be "openai/gpt-5".
func key(provider, name string) string { return provider + "\x00" + name }
