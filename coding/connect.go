package coding

import (
	"cmp"
	"context"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// Connection is a client with the chosen provider and model.
type Connection struct {
	Client   *llm.Client
	Provider string
	Model    string
	// Alias is the name that was given for the model, if it was one of [llm.Catalogue.Aliases].
	Alias string
	// Catalogue contains the models of the configuration, those of connect.Config.Entries, and the local model as its
	// server describes it.
	Catalogue *llm.Catalogue
	// Server is the model's server, if it was asked about the model; see [connect.Find].
	Server *connect.Server
	// Keys lists the providers with a key, if the first of several was chosen.
	Keys []string
}

// Connect creates a client. The model may be an alias. The provider defaults to the provider that serves the model, or
// else to the first provider with a key in the environment, in [connect.Names] order. The model defaults to the
// provider's default model, or to a model that its server offers.
func Connect(ctx context.Context, provider, model string, c connect.Config) (k Connection, err error) {
	if c.Catalogue, err = connect.Catalogue(c.Catalogue, c.Entries); err != nil {
		return k, err
	}
	if c.HTTPClient == nil {
		c.HTTPClient = wire.NewHTTPClient(c.Limits)
	}
	k = Connection{Provider: c.Canonical(provider), Model: model}
	if m, ok := c.Catalogue.Resolve(provider, model); ok {
		k.Model, k.Alias = m.ID, model
	}
	if k.Provider == "" {
		if err := k.chooseProvider(c); err != nil {
			return Connection{}, err
		}
	}
	if c.Catalogue, err = c.Serving(k.Provider); err != nil {
		return Connection{}, err
	}
	if standard, ok := c.Catalogue.Default(k.Provider); ok && k.Model == "" {
		k.Model = standard.ID
	}
	if err := k.ask(ctx, &c); err != nil {
		return Connection{}, err
	}
	k.Catalogue = c.Catalogue
	k.Client, err = openClient(ctx, k.Provider, c)
	return k, err
}

// ask queries the provider's server about the model, or for a model. It adds the result to the catalogue.
func (k *Connection) ask(ctx context.Context, c *connect.Config) error {
	srv, m, err := connect.Find(ctx, k.Provider, *c, k.Model)
	if err != nil {
		return err
	}
	k.Server, k.Model = srv, m.ID
	if srv == nil {
		return nil
	}
	if k.Provider == "local" {
		c.BaseURL = srv.BaseURL
	}
	known, listed := c.Catalogue.Exact(k.Provider, m.ID)
	switch {
	case listed && m.ContextWindow > 0 && (known.ContextWindow == 0 || m.ContextWindow < known.ContextWindow):
		known.ContextWindow, known.MaxOutput = m.ContextWindow, cmp.Or(known.MaxOutput, m.MaxOutput)
		m = known
	case listed, k.Provider != "local" && m.ContextWindow == 0:
		return nil
	}
	c.Catalogue, err = connect.Extend(c.Catalogue, m)
	return err
}

// openClient connects to a provider. Unless a base URL or headers are given, it also connects to all others with a key
// in the environment, so that a session can change to their models.
func openClient(ctx context.Context, provider string, c connect.Config) (*llm.Client, error) {
	client, err := connect.Open(ctx, provider, c)
	if err != nil || c.BaseURL != "" || len(c.Header) > 0 || !c.BuiltIn(provider) {
		return client, err
	}
	c.Default = provider
	return connect.FromEnv(c)
}

// chooseProvider sets the provider that serves the model, or the first one with a key.
func (k *Connection) chooseProvider(c connect.Config) error {
	if m, ok := c.Catalogue.Lookup("", k.Model); ok && (slices.Contains(connect.Names(), m.Provider) || c.Ready(m.Provider)) {
		k.Provider = m.Provider
		return nil
	}
	client, err := connect.FromEnv(c)
	if err != nil {
		return err
	}
	names := client.Providers()
	for _, name := range names { // a new model of a known family
		if m, ok := c.Catalogue.Like(name, k.Model); ok && m.Provider == name {
			k.Provider = name
			return nil
		}
	}
	k.Provider = names[0]
	if len(names) > 1 {
		k.Keys = names
	}
	return nil
}
