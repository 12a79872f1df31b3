package connect

import (
	"cmp"
	"context"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
)

// Status describes a provider, without calling it.
type Status struct {
	Name     string   `json:"provider"`
	Aliases  []string `json:"aliases,omitempty"`
	Protocol string   `json:"protocol"`
	BaseURL  string   `json:"base_url,omitempty"` // {NAME} stands for an environment variable that is not set
	Keys     []string `json:"keys,omitempty"`     // environment variables with the key; the first that is set counts
	Ready    bool     `json:"ready"`              // everything that it needs is set
	From     string   `json:"from,omitempty"`     // where the key was found
	Model    string   `json:"model,omitempty"`    // the default model, if it has one
}

// BuiltIn reports whether a name means a provider that needs no entry.
func (c Config) BuiltIn(name string) bool { return !c.hasEntry(name) && Known(name) }

// Ready reports whether a provider is an entry, or a preset whose variables are set.
func (c Config) Ready(name string) bool {
	if c.hasEntry(name) {
		return true
	}
	p := presetNamed(name)
	if p == nil || p.optional {
		return false
	}
	_, err := c.presetKey(p)
	return err == nil
}

// List returns all providers that Open accepts: [Names], the entries and the presets.
func (c Config) List() []Status {
	list := c.listNames()
	for _, e := range c.Entries {
		s := Status{
			Name:     e.Name,
			Protocol: cmp.Or(e.Protocol, chatAPI),
			BaseURL:  wire.RedactURL(e.BaseURL),
			Ready:    true,
			From:     "configuration",
		}
		if e.KeyFrom != "" {
			s.From = e.KeyFrom
		}
		if e.KeyFrom != "" && e.KeyFrom != "key_command" {
			s.Keys, s.Ready = []string{e.KeyFrom}, c.env(e.KeyFrom) != ""
		}
		if len(e.Models) > 0 {
			s.Model = e.Models[0].ID
		}
		list = append(list, s.found())
	}
	for _, p := range presets() {
		if !c.hasEntry(p.name) {
			list = append(list, c.presetStatus(&p))
		}
	}
	return list
}

// listNames returns the status of each provider in Names.
func (c Config) listNames() []Status {
	vendor := []Status{
		{Name: "openai", Protocol: responses, BaseURL: cmp.Or(c.env(openaiURL), openai.BaseURL)},
		{Name: "anthropic", Protocol: messages, BaseURL: cmp.Or(c.env(anthropicURL), anthropic.BaseURL)},
		{Name: "gemini", Protocol: geminiAPI, BaseURL: cmp.Or(c.env(geminiURL), gemini.BaseURL)},
		{Name: "chat", Protocol: chatAPI, BaseURL: c.env(chatURL)},
	}
	for i, v := range vendors {
		s := &vendor[i]
		value, from := c.key(v.needs...)
		s.BaseURL = wire.RedactURL(s.BaseURL)
		s.Keys = v.needs
		s.From = from
		s.Ready = value != "" && c.planToken(v.name) == nil
		vendor[i] = s.found()
	}
	list := append(vendor, Status{Name: "local", Protocol: chatAPI})
	clouds := []Status{
		{Name: "bedrock", Protocol: "bedrock", BaseURL: c.env(bedrockURL), Keys: []string{bedrockToken, awsKeyID, "AWS_PROFILE"}},
		{Name: "vertex", Protocol: geminiAPI, BaseURL: c.env(vertexURL), Keys: []string{"GOOGLE_APPLICATION_CREDENTIALS", googleToken}},
		{Name: "azure", Protocol: responses, BaseURL: c.env(azureURL), Keys: []string{azureKey, azureToken, azureKeyToo}},
		{Name: "azure-chat", Protocol: chatAPI, BaseURL: c.env(azureURL), Keys: []string{azureKey, azureToken, azureKeyToo}},
	}
	for _, s := range clouds {
		_, err := c.prepared().openCloud(s.Name)
		value, from := c.key(s.Keys...)
		if value == "" {
			from = "files of the platform's own tools"
		}
		s.BaseURL = wire.RedactURL(s.BaseURL)
		s.Ready = err == nil
		s.From = from
		list = append(list, s.found())
	}
	return list
}

func (c Config) presetStatus(p *preset) Status {
	value, from := c.key(p.keys...)
	_, err := c.presetKey(p)
	s := Status{
		Name:     p.name,
		Aliases:  slices.Clone(p.aliases),
		Protocol: p.speaks,
		BaseURL:  c.base(p.base),
		Keys:     slices.Clone(p.keys),
		Model:    p.model,
	}
	s.Ready, s.From = err == nil && !(p.optional && value == ""), from
	return s.found()
}

// found returns the status, without a source if nothing was found.
func (s Status) found() Status {
	if !s.Ready {
		s.From = ""
	}
	return s
}

// Models asks a provider's server for its model names. It also returns the address that it asked. Servers with the
// messages or gemini protocol are asked only on this machine.
func (c Config) Models(ctx context.Context, provider string) (models []string, address string, err error) {
	provider = c.Canonical(provider)
	if c, err = c.loaded(ctx, provider); err != nil {
		return nil, "", err
	}
	if err := c.usable(provider); err != nil {
		return nil, "", err
	}
	t := c.prepared().target(provider)
	servers, err := t.servers(ctx)
	if err != nil {
		return nil, "", err
	}
	return slices.Clone(servers[0].Models), servers[0].BaseURL + "/models", nil
}
