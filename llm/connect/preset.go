package connect

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
)

// preset is a provider that needs only a key.
type preset struct {
	name     string
	aliases  []string
	speaks   string
	base     string
	keys     []string // variables; the first that is set counts
	model    string   // the default
	like     string   // the provider in the catalogue that has the same models
	trim     string   // what the names of these models begin with there, but not here
	session  string   // header for the prompt cache key, which routes a conversation to one server
	header   string   // a header of every request
	auth     string   // how to send the key: bearer, or a header; "" means as the protocol does
	optional bool     // the key is not required
	routes   []route
}

// route is the gateway address for models whose name contains a word. The first match wins.
type route struct{ word, speaks, base, auth string }

// bearer sends the key as a bearer token.
const bearer = "bearer"

// Preset describes a provider that Open knows by name and that needs only a key.
type Preset struct {
	Name     string
	Aliases  []string
	Protocol string   // one of Protocols
	BaseURL  string   // {NAME} stands for an environment variable
	Keys     []string // environment variables, the first that is set counts
	Optional bool     // works without a key
	Model    string   // the default model, or ""
}

// Presets returns all presets, the most used first.
func Presets() (list []Preset) {
	for _, p := range presets() {
		list = append(list, p.public())
	}
	return list
}

func (p *preset) public() Preset {
	return Preset{p.name, slices.Clone(p.aliases), p.speaks, p.base, slices.Clone(p.keys), p.optional, p.model}
}

// preset returns the preset that a name means, or nil. An entry with the same name replaces it.
func (c Config) preset(name string) *preset {
	if c.hasEntry(name) {
		return nil
	}
	return presetNamed(name)
}

func presetNamed(name string) *preset {
	list := presets()
	for i := range list {
		if p := &list[i]; p.name == name || slices.Contains(p.aliases, name) {
			return p
		}
	}
	return nil
}

// Canonical returns the name under which a provider is registered, for one of its names. Names in [Config.Entries] and
// unknown names are returned unchanged.
func (c Config) Canonical(name string) string {
	if c.hasEntry(name) {
		return name
	}
	for _, r := range renamed {
		if r[0] == name {
			return r[1]
		}
	}
	if p := presetNamed(name); p != nil {
		return p.name
	}
	return name
}

// Known reports whether Open accepts a name without an entry for it, or explains why it cannot open it.
func Known(name string) bool {
	return slices.Contains(Names(), Config{}.Canonical(name)) || presetNamed(name) != nil || refusal(name) != ""
}

// Near returns the names of providers that look like an unknown one.
func Near(name string) []string {
	names := Names()
	for _, p := range presets() {
		names = append(append(names, p.name), p.aliases...)
	}
	return suggest.Words(name, names)
}

// refusal returns why a provider cannot be opened, or "".
func refusal(name string) string {
	for _, r := range refused {
		if r[0] == name {
			return r[1]
		}
	}
	return ""
}

// Serving returns Config.Catalogue with a preset's models under its own name, and with its default model. Other
// providers need no such models.
func (c Config) Serving(name string) (*llm.Catalogue, error) {
	base := c.Catalogue
	if base == nil {
		base = llm.DefaultCatalogue()
	}
	p := c.preset(name)
	if p == nil {
		return base, nil
	}
	var added []llm.Model
	if p.like != "" {
		for _, m := range base.ModelsOf(p.like) {
			added = append(added, p.copies(m, base)...)
		}
	}
	if _, ok := base.Default(p.name); !ok && p.model != "" {
		added = p.withDefault(added, base)
	}
	if len(added) == 0 {
		return base, nil
	}
	return base.Extend(added...)
}

// copies returns another provider's model under the names that it has here, unless the catalogue has them. It has no
// price: prices differ between providers.
func (p *preset) copies(m llm.Model, base *llm.Catalogue) (list []llm.Model) {
	m.Provider = p.name
	m.Price = nil
	m.Default = false
	for _, id := range []string{m.ID, strings.TrimPrefix(m.ID, p.trim)} {
		if _, ok := base.Exact(p.name, id); ok || len(list) > 0 && id == m.ID {
			continue
		}
		m.ID = id
		list = append(list, m)
		m.Aliases = nil
	}
	return list
}

// withDefault returns the models with the default one.
func (p *preset) withDefault(added []llm.Model, base *llm.Catalogue) []llm.Model {
	for i := range added {
		if added[i].ID == p.model {
			added[i].Default = true
			return added
		}
	}
	m, ok := base.Exact(p.name, p.model)
	if !ok {
		m = llm.Model{ID: p.model, Provider: p.name, Name: p.model, Tools: true, Reasoning: true}
		if same, listed := base.Lookup("", p.model); listed {
			m = same
			m.Provider = p.name
			m.Price = nil
			m.Aliases = nil
		}
	}
	m.Default = true
	return append(added, m)
}

// openPreset returns a preset's provider.
func (c Config) openPreset(p *preset) (llm.Provider, error) {
	key, err := c.presetKey(p)
	if err != nil {
		return nil, err
	}
	if c.Catalogue, err = c.Serving(p.name); err != nil {
		return nil, err
	}
	own := c.base(p.base)
	if c.BaseURL != "" {
		own = c.BaseURL
	}
	others, err := c.via(p, route{speaks: p.speaks, base: own, auth: p.auth}, key)
	if err != nil || len(p.routes) == 0 || c.BaseURL != "" {
		return others, err
	}
	type choice struct {
		word string
		llm.Provider
	}
	var choices []choice
	for _, r := range p.routes {
		r.base = c.base(r.base)
		if r.auth == "" {
			r.auth = p.auth
		}
		to, err := c.via(p, r, key)
		if err != nil {
			return nil, err
		}
		choices = append(choices, choice{r.word, to})
	}
	return byModel{p.name, func(model string) llm.Provider {
		for _, to := range choices {
			if strings.Contains(model, to.word) {
				return to.Provider
			}
		}
		return others
	}}, nil
}

// presetKey returns a preset's key. It is an error if the key or a variable in the base URL is missing, unless another
// base URL is set.
func (c Config) presetKey(p *preset) (key string, err error) {
	names := p.keys
	key, _ = c.key(names...)
	if c.BaseURL != "" {
		return key, nil
	}
	var missing []string
	if key == "" && !p.optional {
		missing = append(missing, strings.Join(names, " or "))
	}
	for _, name := range placeholders(p.base) {
		switch value := c.env(name); {
		case value == "":
			missing = append(missing, name)
		case strings.ContainsAny(bare(value), "/?#@ \\"):
			return "", notConfigured(p.name, "%s is %q, which cannot be a part of the address %s", name, value, p.base)
		}
	}
	if len(missing) > 0 {
		return "", notConfigured(p.name, "set %s; `reins demo` needs no key", strings.Join(missing, ", and "))
	}
	return key, nil
}

// usable returns an error for a preset that lacks a variable, and for a provider that cannot be opened.
func (c Config) usable(provider string) (err error) {
	if p := c.preset(provider); p != nil {
		_, err = c.presetKey(p)
	} else if refusal(provider) != "" && !c.hasEntry(provider) {
		err = c.unknown(provider)
	}
	return err
}

// placeholders returns the variables in a base URL.
func placeholders(base string) (names []string) {
	for {
		_, rest, found := strings.Cut(base, "{")
		if !found {
			return names
		}
		name, after, _ := strings.Cut(rest, "}")
		names, base = append(names, name), after
	}
}

// base returns a base URL with its variables replaced by their values.
func (c Config) base(base string) string {
	for _, name := range placeholders(base) {
		if value := bare(c.env(name)); value != "" {
			base = strings.ReplaceAll(base, "{"+name+"}", value)
		}
	}
	return base
}

// bare returns the host from a URL, or from a bare host name.
func bare(value string) string {
	return strings.TrimRight(strings.TrimPrefix(value, "https://"), "/")
}

// via returns the provider for one of a preset's addresses.
func (c Config) via(p *preset, r route, key string) (llm.Provider, error) {
	e := c.endpoint()
	_, from := c.key(p.keys...)
	e.Name = p.name
	e.BaseURL = r.base
	e.APIKey = key
	e.KeyFrom = from
	if name, value, ok := strings.Cut(p.header, ": "); ok && e.Header.Get(name) == "" {
		if e.Header == nil {
			e.Header = http.Header{}
		}
		e.Header.Set(name, value)
	}
	if p.session != "" {
		e.Rewrite = func(r *llm.Request, call *llm.Call) error {
			if r.CacheKey != "" {
				call.Header.Set(p.session, r.CacheKey)
			}
			return nil
		}
	}
	if r.auth != "" && r.auth != bearer && key != "" {
		e.Sign = signHeader(r.auth, key)
	}
	catalogue, err := c.vendorModels(p, r)
	if err != nil {
		return nil, err
	}
	switch r.speaks {
	case responses:
		return openai.New(openai.Config{Endpoint: e, Catalogue: catalogue}), nil
	case messages:
		token := ""
		if r.auth == bearer {
			token = key
		}
		return anthropic.New(anthropic.Config{Endpoint: e, AuthToken: token, Catalogue: catalogue}), nil
	case geminiAPI:
		return gemini.New(gemini.Config{Endpoint: e, Catalogue: catalogue}), nil
	}
	return chat.New(chat.Config{Endpoint: e, Catalogue: catalogue, Like: p.base}), nil
}

// signHeader returns an Endpoint.Sign that sends the key in a header. Names that end in "Authorization" have the form of
// that header.
func signHeader(name, key string) func(*http.Request, []byte) error {
	if strings.HasSuffix(name, "Authorization") {
		key = "Bearer " + key
	}
	return func(r *http.Request, _ []byte) error {
		r.Header.Set(name, key)
		return nil
	}
}

// vendorModels returns a catalogue in which an adapter finds a preset's models. Adapters for a vendor's protocol look
// for that vendor's models.
func (c Config) vendorModels(p *preset, r route) (*llm.Catalogue, error) {
	vendor := vendorOf[r.speaks]
	if vendor == "" || vendor == p.like {
		return c.Catalogue, nil
	}
	var added []llm.Model
	add := func(m llm.Model) {
		if _, ok := c.Catalogue.Exact(vendor, m.ID); !ok && !slices.ContainsFunc(added, func(a llm.Model) bool { return a.ID == m.ID }) {
			m.Provider, m.Default = vendor, false
			added = append(added, m)
		}
	}
	if strings.HasSuffix(r.word, "/") { // such as anthropic/claude-sonnet-5.5
		for _, m := range c.Catalogue.ModelsOf(vendor) {
			m.ID, m.Aliases = r.word+dotted(m.ID), nil
			add(m)
		}
	}
	for _, m := range c.Catalogue.ModelsOf(p.name) {
		add(translated(m, r.speaks))
	}
	if len(added) == 0 {
		return c.Catalogue, nil
	}
	return c.Catalogue.Extend(added...)
}

// translated returns a model as another protocol describes it: an effort is a part of adaptive thinking there.
func translated(m llm.Model, speaks string) llm.Model {
	if speaks == messages && m.Thinking == "effort" {
		m.Thinking = "adaptive"
		if len(m.Rules.ThinkingTypes) == 0 && !slices.Contains(m.Efforts, "none") {
			m.Rules.ThinkingTypes = []string{"adaptive"}
		}
	}
	return m
}

// dotted returns a model's name with a dot in its version: claude-sonnet-5.5.
func dotted(id string) string {
	for i := 1; i+1 < len(id); i++ {
		if id[i] == '-' && digit(id[i-1]) && digit(id[i+1]) {
			return id[:i] + "." + id[i+1:]
		}
	}
	return id
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// byModel is a provider that serves its models through several others.
type byModel struct {
	name   string
	choose func(model string) llm.Provider
}

func (p byModel) Name() string { return p.name }

func (p byModel) Shape(r *llm.Request) string {
	if s, ok := p.choose(r.Model).(llm.Shaper); ok {
		return s.Shape(r)
	}
	return ""
}

func (p byModel) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return p.choose(r.Model).Stream(ctx, r)
}
