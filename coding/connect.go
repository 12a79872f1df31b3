package coding

import (
	"context"
	"slices"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// Connection is a client with the chosen provider and model.
type Connection struct {
	Client   *llm.Client
	Provider string
	Model    string
	// Server is the local server that was found, if the provider is "local".
	Server *connect.Server
	// Keys lists the providers with a key, if the first of several was chosen.
	Keys []string
}

// Connect makes a client. The provider defaults to the one that serves the model, or else to the first one
// with a key in the environment, in the order of [connect.Names]. The model defaults to that of the provider, or the first one of a local
// server.
func Connect(ctx context.Context, provider, model string, c connect.Config) (Connection, error) {
	if c.Catalogue == nil {
		c.Catalogue = llm.DefaultCatalogue()
	}
	k := Connection{Provider: provider, Model: model}
	if k.Provider == "" {
		if err := k.chooseProvider(c); err != nil {
			return Connection{}, err
		}
	}
	if k.Provider == "local" && c.BaseURL == "" {
		servers, err := c.Search.Local(ctx)
		if err != nil {
			return Connection{}, err
		}
		k.Server, c.BaseURL = &servers[0], servers[0].BaseURL
	}
	client, err := openClient(ctx, k.Provider, c)
	if err != nil {
		return Connection{}, err
	}
	k.Client = client
	if k.Model != "" {
		return k, nil
	}
	standard, ok := c.Catalogue.Default(k.Provider)
	switch {
	case ok:
		k.Model = standard.ID
	case k.Server != nil:
		k.Model = k.Server.Models[0]
	default:
		return Connection{}, llm.Errorf(llm.ErrConfiguration, "", "no model given, and provider %s has no default: choose one (--model)", k.Provider)
	}
	return k, nil
}

// openClient connects to a provider and, unless its address is given, to all others with a key in the
// environment, so that a session can change to their models.
func openClient(ctx context.Context, provider string, c connect.Config) (*llm.Client, error) {
	client, err := connect.Open(ctx, provider, c)
	if err != nil || c.BaseURL != "" {
		return client, err
	}
	c.Default = provider
	return connect.FromEnv(c)
}

// chooseProvider sets the provider that serves the model, or the first one with a key.
func (k *Connection) chooseProvider(c connect.Config) error {
	if m, ok := c.Catalogue.Lookup("", k.Model); ok && slices.Contains(connect.Names(), m.Provider) {
		k.Provider = m.Provider
		return nil
	}
	client, err := connect.FromEnv(c)
	if err != nil {
		return err
	}
	names := client.Providers()
	k.Provider = names[0]
	if len(names) > 1 {
		k.Keys = names
	}
	return nil
}
