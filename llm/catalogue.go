package llm

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Model is what is known of a model before it is called. Unknown numbers are 0, unknown prices nil.
type Model struct {
	ID            string   `json:"id"`
	Provider      string   `json:"provider"` // "openai", "anthropic", "gemini", or who serves it over chat
	Name          string   `json:"name"`
	Aliases       []string `json:"aliases,omitempty"`
	ContextWindow int64    `json:"context_window,omitempty"`
	MaxOutput     int64    `json:"max_output,omitempty"`
	Tools         bool     `json:"tools,omitempty"`
	Freeform      bool     `json:"freeform,omitempty"` // takes freeform tools
	Vision        bool     `json:"vision,omitempty"`
	Documents     bool     `json:"documents,omitempty"`
	Audio         bool     `json:"audio,omitempty"`
	Schema        bool     `json:"schema,omitempty"` // output to a JSON Schema, natively
	Reasoning     bool     `json:"reasoning,omitempty"`
	// Thinking says how its effort is set: "effort" (a word), "adaptive" (Anthropic's adaptive
	// thinking with an effort word), "level" (Gemini's thinkingLevel) or "budget" (tokens).
	Thinking string   `json:"thinking,omitempty"`
	Efforts  []string `json:"efforts,omitempty"` // the words it takes, least first
	Cutoff   string   `json:"cutoff,omitempty"`  // knowledge cutoff, YYYY-MM
	Retired  bool     `json:"retired,omitempty"`
	Default  bool     `json:"default,omitempty"` // the usual choice of its provider
	Price    *Price   `json:"price,omitempty"`
}

// Price is in US dollars for a million tokens. A nil field is not known, or has no such price.
type Price struct {
	Input          *float64 `json:"input,omitempty"`
	Output         *float64 `json:"output,omitempty"`
	CacheRead      *float64 `json:"cache_read,omitempty"`
	CacheWrite     *float64 `json:"cache_write,omitempty"`
	CacheWriteLong *float64 `json:"cache_write_long,omitempty"`
	// Long replaces the prices for calls whose input is over LongFrom tokens. It may have a Long
	// of its own.
	LongFrom int64  `json:"long_from,omitempty"`
	Long     *Price `json:"long,omitempty"`
}

// Cost is what the usage costs in US dollars. It is not known if any kind of token that was used
// has no price.
func (p *Price) Cost(u Usage) (dollars float64, known bool) {
	if p == nil {
		return 0, false
	}
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
	if !known {
		return 0, false
	}
	return dollars, true
}

// Catalogue is a list of models. It does not change once made.
type Catalogue struct {
	models []Model
	byName map[string]int // provider/name, and name alone where that is unambiguous
}

//go:embed catalogue.json
var catalogueJSON []byte

// DefaultCatalogue is the catalogue that ships with this package.
var DefaultCatalogue = sync.OnceValue(func() *Catalogue {
	c, err := ReadCatalogue(bytes.NewReader(catalogueJSON))
	if err != nil {
		panic("llm: the embedded catalogue is broken: " + err.Error())
	}
	return c
})

// ReadCatalogue reads a catalogue: a JSON object {"models": […]}.
func ReadCatalogue(r io.Reader) (*Catalogue, error) {
	var file struct {
		Models []Model `json:"models"`
	}
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("the model catalogue is not readable: %w", err)
	}
	return NewCatalogue(file.Models)
}

// NewCatalogue makes a catalogue of these models.
func NewCatalogue(models []Model) (*Catalogue, error) {
	c := &Catalogue{models: models, byName: make(map[string]int)}
	for i, m := range models {
		if m.ID == "" || m.Provider == "" {
			return nil, fmt.Errorf("model %d of the catalogue has no id or no provider", i+1)
		}
		for _, name := range append([]string{m.ID}, m.Aliases...) {
			key := m.Provider + "/" + name
			if _, dup := c.byName[key]; dup {
				return nil, fmt.Errorf("the catalogue lists %s twice", key)
			}
			c.byName[key] = i
			if _, taken := c.byName[name]; !taken {
				c.byName[name] = i
			}
		}
	}
	return c, nil
}

// Merge is the catalogue with the models of another added, which win over those of the same name.
func (c *Catalogue) Merge(over *Catalogue) (*Catalogue, error) {
	models := append([]Model(nil), over.models...)
	for _, m := range c.models {
		if _, replaced := over.byName[m.Provider+"/"+m.ID]; !replaced {
			models = append(models, m)
		}
	}
	return NewCatalogue(models)
}

// Models lists the models in the order of the catalogue. The slice must not be changed.
func (c *Catalogue) Models() []Model { return c.models }

// Default is the model of a provider that is used where none is named.
func (c *Catalogue) Default(provider string) (Model, bool) {
	for _, m := range c.models {
		if m.Provider == provider && m.Default {
			return m, true
		}
	}
	return Model{}, false
}

// Lookup finds a model by its id or an alias: as the provider serves it, or else as the first one
// that does, because a proxy or a local server may serve any model under any name of its own. A date
// at the end of the name ("-20250514", "-2025-08-07") may be missing from the catalogue. Use
// [Catalogue.Exact] where it matters who serves the model.
func (c *Catalogue) Lookup(provider, name string) (Model, bool) {
	if m, ok := c.Exact(provider, name); ok {
		return m, true
	}
	return c.find("", name)
}

// Exact is Lookup for models that the provider itself serves.
func (c *Catalogue) Exact(provider, name string) (Model, bool) {
	if provider == "" {
		return Model{}, false
	}
	return c.find(provider+"/", name)
}

func (c *Catalogue) find(prefix, name string) (Model, bool) {
	for _, candidate := range []string{name, undated(name)} {
		if i, ok := c.byName[prefix+candidate]; ok {
			return c.models[i], true
		}
	}
	return Model{}, false
}

// undated cuts a date off the end of a model name.
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
