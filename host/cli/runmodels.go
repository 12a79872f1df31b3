package cli

import (
	"slices"

	"github.com/reins-agent/reins/llm"
)

// listed are the providers whose models the catalogue lists. Others may serve any model.
var listed = []string{"openai", "anthropic", "gemini"}

// checkModels refuses models that cannot be kept within the budget, before anything is made for the
// run, and warns of models that may not exist.
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
		case named != "" && m.Provider != provider:
			flag := "--model"
			if i > 0 {
				flag = "--fallback"
			}
			aside(h, "%s: %s is not a known model of %s, but it is tried all the same%s", flag, name, provider, didYouMean(name, modelIDs(known, provider)))
		}
	}
	return nil
}

// modelIDs lists the models of a provider; "" is all.
func modelIDs(c *llm.Catalogue, provider string) []string {
	var ids []string
	for _, m := range c.Models() {
		if provider == "" || m.Provider == provider {
			ids = append(ids, m.ID)
		}
	}
	return ids
}
