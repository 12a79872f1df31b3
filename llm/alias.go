package llm

import "time"

// Alias is a short name that users type for the current model in a series. Unlike [Model.Aliases], it moves to the next
// model when that is released.
type Alias struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// Aliases returns a copy of the alias list.
func (c *Catalogue) Aliases() (list []Alias) {
	for _, g := range c.groups {
		list = append(list, g.open().aliases...)
	}
	return list
}

// Resolve returns the model that an alias means. It reports false for all other names, and for aliases of models that the
// provider does not serve; "" means any provider. A model that has the name itself is not an alias.
func (c *Catalogue) Resolve(provider, name string) (Model, bool) {
	if _, taken := c.find(provider, name); taken {
		return Model{}, false
	}
	for _, g := range c.groups {
		if !g.mentions(name) {
			continue
		}
		for _, a := range g.open().aliases {
			if a.Name == name && (provider == "" || serves(provider, a.Provider)) {
				return c.Exact(a.Provider, a.Model)
			}
		}
	}
	return Model{}, false
}

// serves reports whether a provider serves a vendor's models under the vendor's names.
func serves(provider, vendor string) bool {
	return provider == vendor || provider == "vertex" && (vendor == "anthropic" || vendor == "gemini")
}

// Ended reports whether the provider no longer serves the model at a time.
func (m Model) Ended(t time.Time) bool {
	return m.Retired || m.Ends != "" && t.UTC().Format(time.DateOnly) >= m.Ends
}

// Successor returns the newest model in m's family, or else its provider's default model. It reports whether that is
// another model.
func (c *Catalogue) Successor(m Model) (Model, bool) {
	next, ok := c.family(m.Provider, m.ID)
	if !ok {
		next, ok = c.Default(m.Provider)
	}
	return next, ok && next.ID != m.ID
}
