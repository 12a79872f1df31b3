package cli

import (
	"slices"

	"github.com/reins-agent/reins/llm"
)

// listed are the providers whose models the catalogue lists. Others may serve any model.
var listed = []string{"openai", "anthropic", "gemini"}

// checkModels refuses models that cannot be kept within the budget, before anything is made for the
// run, and warns of stand-ins that may not exist: they would fail only when they are needed.
func (o run) checkModels(h Host, known *llm.Catalogue, provider, model string) error {
	named := provider
	if !slices.Contains(listed, provider) {
		named = ""
	}
	for i, name := range append([]string{model}, o.fallback...) {
		m, _ := known.Lookup(provider, name)
		switch {
		case o.budget > 0 && m.Price == nil:
			return usagef("the price of %s is not known, so --budget cannot be kept: add the model to a --catalogue, or leave --budget out", name)
		case i > 0 && named != "" && m.Provider != provider:
			aside(h, "--fallback: %s is no model of %s that is known; it will be tried all the same (\"reins models\" lists those that are known)", name, provider)
		}
	}
	return nil
}
