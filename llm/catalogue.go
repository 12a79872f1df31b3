package llm

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Model describes a model. Unknown numbers are 0, unknown prices nil.
type Model struct {
	ID            string   `json:"id"`
	Provider      string   `json:"provider"` // "openai", "anthropic", "gemini", or a vendor that uses chat
	Name          string   `json:"name"`
	Aliases       []string `json:"aliases,omitempty"`
	ContextWindow int64    `json:"context_window,omitempty"`
	MaxOutput     int64    `json:"max_output,omitempty"`
	Tools         bool     `json:"tools,omitempty"`
	Freeform      bool     `json:"freeform,omitempty"` // supports freeform tools
	Vision        bool     `json:"vision,omitempty"`
	Documents     bool     `json:"documents,omitempty"`
	Audio         bool     `json:"audio,omitempty"`
	Schema        bool     `json:"schema,omitempty"` // supports output that follows a JSON Schema
	Reasoning     bool     `json:"reasoning,omitempty"`
	// Thinking is how the effort is set: "effort" (a word), "adaptive" (Anthropic's adaptive
	// thinking with an effort word), "level" (Gemini's thinkingLevel) or "budget" (tokens).
	Thinking string   `json:"thinking,omitempty"`
	Efforts  []string `json:"efforts,omitempty"` // supported efforts, least first
	Cutoff   string   `json:"cutoff,omitempty"`  // knowledge cutoff, YYYY-MM
	Ends     string   `json:"ends,omitempty"`    // the day the provider stops serving it, YYYY-MM-DD
	Retired  bool     `json:"retired,omitempty"`
	Default  bool     `json:"default,omitempty"` // its provider's default model
	Price    *Price   `json:"price,omitempty"`
	Rules    Rules    `json:"rules,omitzero"`
}

// Price is in US dollars per million tokens. A nil field means that the price is unknown or does not exist.
type Price struct {
	Input          *float64 `json:"input,omitempty"`
	Output         *float64 `json:"output,omitempty"`
	CacheRead      *float64 `json:"cache_read,omitempty"`
	CacheWrite     *float64 `json:"cache_write,omitempty"`
	CacheWriteLong *float64 `json:"cache_write_long,omitempty"`
	// Search is the price of 1,000 web searches that the provider makes.
	Search *float64 `json:"search,omitempty"`
	// Long replaces the price for calls with more than LongFrom input tokens. It may have its own Long.
	LongFrom int64  `json:"long_from,omitempty"`
	Long     *Price `json:"long,omitempty"`
	// Next replaces the price from the day NextFrom on, YYYY-MM-DD in UTC. It may have its own Next.
	NextFrom string `json:"next_from,omitempty"`
	Next     *Price `json:"next,omitempty"`
	// Tiers has the factor of each service tier that has its own price, such as "flex": 0.5.
	Tiers map[string]float64 `json:"tiers,omitempty"`
}

// At returns the price at a time.
func (p *Price) At(t time.Time) *Price {
	day := t.UTC().Format(time.DateOnly)
	for p != nil && p.Next != nil && day >= p.NextFrom {
		p = p.Next
	}
	return p
}

// Cost returns the usage's cost in US dollars. It is unknown if anything used has no price.
func (p *Price) Cost(u Usage) (dollars float64, known bool) {
	if p == nil {
		return 0, false
	}
	search, factor := p.Search, p.tier(u.Tier)
	for p.Long != nil && u.Input > p.LongFrom {
		p = p.Long
	}
	known = true
	add := func(tokens int64, price *float64) {
		switch {
		case tokens <= 0:
		case price == nil:
			known = false
		default:
			dollars += float64(tokens) * *price / 1e6
		}
	}
	long := min(u.CacheWriteLong, u.CacheWrite)
	add(u.Input-u.CacheRead-u.CacheWrite, p.Input)
	add(u.Output, p.Output)
	add(u.CacheRead, p.CacheRead)
	add(u.CacheWrite-long, p.CacheWrite)
	add(long, p.CacheWriteLong)
	add(u.Searches*1000, search) // per thousand instead of per million
	if !known || factor == 0 {
		return 0, false
	}
	return dollars * factor, true
}

// tier returns the factor for a service tier, 0 if unknown.
func (p *Price) tier(name string) float64 {
	switch name {
	case "", "auto", "default", "standard", "standard_only", "on_demand":
		return 1
	}
	return p.Tiers[name]
}

// Cost is an amount in US dollars. If it is not Known, at least one of its parts has no price, and Dollars is the sum
// of the others. The zero value is unknown.
type Cost struct {
	Dollars float64 `json:"dollars"`
	Known   bool    `json:"known"`
}

// NewCost returns the result of [Price.Cost] as a Cost.
func NewCost(dollars float64, known bool) Cost { return Cost{dollars, known} }

// CostOf returns the cost for a recorded amount; nil means unknown.
func CostOf(dollars *float64) Cost {
	if dollars == nil {
		return Cost{}
	}
	return Cost{*dollars, true}
}

// Add returns the sum of two costs. It is known if both are.
func (c Cost) Add(d Cost) Cost { return Cost{c.Dollars + d.Dollars, c.Known && d.Known} }

// Pointer returns the dollars, or nil if the cost is unknown.
func (c Cost) Pointer() *float64 {
	if !c.Known {
		return nil
	}
	return &c.Dollars
}

// String returns "$0.1234", "$0.1234 + unknown" or "unknown".
func (c Cost) String() string {
	switch {
	case c.Known:
		return fmt.Sprintf("$%.4f", c.Dollars)
	case c.Dollars != 0:
		return fmt.Sprintf("$%.4f + unknown", c.Dollars)
	}
	return "unknown"
}

// Catalogue is an immutable list of models.
type Catalogue struct {
	groups []*group // the first that has a name counts
}

// ReadCatalogue reads a catalogue: a JSON object {"models": […]}. It may also have "search", the price of 1,000 web
// searches by provider, "families", the rules of unknown models, and "aliases", names for the current models.
func ReadCatalogue(r io.Reader) (*Catalogue, error) {
	l, err := readList(r)
	if err != nil {
		return nil, err
	}
	return &Catalogue{[]*group{{list: l}}}, nil
}

// NewCatalogue returns a catalogue of these models.
func NewCatalogue(models []Model) (*Catalogue, error) {
	l, err := newList(slices.Clone(models))
	if err != nil {
		return nil, err
	}
	return &Catalogue{[]*group{{list: l}}}, nil
}

// Merge returns the models of both catalogues. If both have a model, the one in over wins.
func (c *Catalogue) Merge(over *Catalogue) (*Catalogue, error) {
	groups := slices.Clone(over.groups)
	for _, g := range c.groups {
		rest, err := g.without(over)
		if err != nil {
			return nil, err
		}
		groups = append(groups, rest)
	}
	return join(groups)
}

// Extend returns a catalogue with further models, which replace those with the same provider and ID. A name alone
// still means the model that it meant before.
func (c *Catalogue) Extend(models ...Model) (*Catalogue, error) {
	groups := slices.Clone(c.groups)
	for i, g := range groups {
		var err error
		if groups[i], models, err = g.replace(models); err != nil {
			return nil, err
		}
	}
	added, err := newList(slices.Clone(models))
	if err != nil {
		return nil, err
	}
	return join(append(groups, &group{list: added}))
}

// Models returns a copy of the model list.
func (c *Catalogue) Models() (models []Model) {
	for _, g := range c.groups {
		models = append(models, g.open().models...)
	}
	return models
}

// ModelsOf returns a copy of a provider's model list.
func (c *Catalogue) ModelsOf(provider string) (models []Model) {
	for _, g := range c.groups {
		for _, m := range g.of(provider).models {
			if m.Provider == provider {
				models = append(models, m)
			}
		}
	}
	return models
}

// Default returns the model to use if a request names only the provider.
func (c *Catalogue) Default(provider string) (Model, bool) {
	for _, g := range c.groups {
		for _, m := range g.of(provider).models {
			if m.Provider == provider && m.Default {
				return m, true
			}
		}
	}
	return Model{}, false
}

// Lookup returns the model with this id or alias from the provider, or else from the first provider that has
// it, because a proxy or a local server may serve any model. If the catalogue does not have the name, Lookup
// ignores a date at its end ("-20250514", "-2025-08-07"), and what Bedrock adds to the names of models. Use
// [Catalogue.Exact] if the provider matters.
func (c *Catalogue) Lookup(provider, name string) (Model, bool) {
	if m, ok := c.Exact(provider, name); ok {
		return m, true
	}
	if m, ok := c.find("", name); ok || provider != "bedrock" {
		return m, ok
	}
	return c.onBedrock(name)
}

// onBedrock returns the model behind a name such as "us.anthropic.claude-opus-4-6-v1:0". It has a price only if the
// profile is global, because regions have their own prices.
func (c *Catalogue) onBedrock(name string) (m Model, ok bool) {
	profile, rest := "", ""
	if i := strings.Index(name, "anthropic."); i >= 0 {
		profile, rest = name[:i], name[i+len("anthropic."):]
		if v := strings.LastIndex(rest, "-v"); v > 0 && strings.Trim(rest[v+len("-v"):], "0123456789:") == "" {
			rest = rest[:v]
		}
		m, ok = c.Exact("anthropic", rest)
	} else if i := strings.Index(name, "amazon."); i >= 0 {
		profile = name[:i]
		m, ok = c.Exact("bedrock", name[i:])
	}
	if profile != "global." {
		m.Price = nil
	}
	m.Rules.InlineTools, m.Rules.Compacts = false, false // only Anthropic's own API has them
	return m, ok
}

// Exact is like Lookup, but returns only the provider's models.
func (c *Catalogue) Exact(provider, name string) (Model, bool) {
	if provider == "" {
		return Model{}, false
	}
	return c.find(provider, name)
}

// find returns one of the provider's models. Without a provider, the name may begin with one.
func (c *Catalogue) find(provider, name string) (Model, bool) {
	candidates := []string{name}
	if plain := undated(name); plain != name {
		candidates = append(candidates, plain)
	}
	for _, candidate := range candidates {
		if first, rest, ok := strings.Cut(candidate, "/"); ok && provider == "" && first != "" {
			if m, ok := c.named(first, rest); ok {
				return m, true
			}
		}
		if m, ok := c.named(provider, candidate); ok {
			return m, true
		}
	}
	return Model{}, false
}

// named returns the first model with this id or alias from the provider; "" means any provider.
func (c *Catalogue) named(provider, name string) (Model, bool) {
	for _, g := range c.groups {
		if m, ok := g.named(provider, name); ok {
			return m, true
		}
	}
	return Model{}, false
}

// CheckEffort reports an effort that the model does not support. It accepts any effort for models that are not
// in the catalogue or have no documented efforts. Adapters are more lenient: for a fallback model, they
// send the nearest effort that it supports.
func (c *Catalogue) CheckEffort(provider, model, effort string) error {
	m, _ := c.Lookup(provider, model)
	if effort == "" || len(m.Efforts) == 0 || slices.Contains(m.Efforts, effort) {
		return nil
	}
	return EffortError(model, effort, m.Efforts)
}

// EffortError returns the error for an effort that a model does not support.
func EffortError(model, effort string, supported []string) *Error {
	list, last := supported[:len(supported)-1], supported[len(supported)-1]
	if len(list) > 0 {
		last = strings.Join(list, ", ") + " or " + last
	}
	return Errorf(ErrConfiguration, "", "%s does not support effort %q; use %s", model, effort, last)
}

// undated removes a date that ends a model name.
func undated(name string) string {
	for _, form := range []string{"-dddddddd", "-dddd-dd-dd", "@dddddddd"} {
		if n := len(name) - len(form); n > 0 && matches(name[n:], form) {
			return name[:n]
		}
	}
	return strings.TrimSuffix(name, "-latest")
}

func matches(s, form string) bool {
	for i := range len(form) {
		digit := s[i] >= '0' && s[i] <= '9'
		if (form[i] == 'd') != digit || (form[i] != 'd' && form[i] != s[i]) {
			return false
		}
	}
	return true
}
