package llm

import (
	"slices"
	"strings"
)

// CheckEffort reports an effort that the model does not take. Models that are not in the catalogue,
// or whose efforts are not documented, take any. Adapters are more lenient than this: where another
// model takes over, they send the word of theirs that comes nearest.
func (c *Catalogue) CheckEffort(provider, model, effort string) error {
	m, _ := c.Lookup(provider, model)
	if effort == "" || len(m.Efforts) == 0 || slices.Contains(m.Efforts, effort) {
		return nil
	}
	return EffortError(model, effort, m.Efforts)
}

// EffortError makes the error for an effort that a model does not take.
func EffortError(model, effort string, takes []string) *Error {
	list, last := takes[:len(takes)-1], takes[len(takes)-1]
	if len(list) > 0 {
		last = strings.Join(list, ", ") + " or " + last
	}
	return Errorf(ErrConfiguration, "", "%s does not take the effort %q; use %s", model, effort, last)
}
