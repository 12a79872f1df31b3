package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/chatgpt"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

func newProviders(h Host) *cobra.Command {
	return group(&cobra.Command{
		Use:   "providers",
		Short: "List model providers, and test their keys",
		Long: `List the model providers that Reins knows, and test those that have a key.
Choose one with --provider, REINS_PROVIDER or "reins config set provider NAME".`,
		Example: `  reins providers list
  reins providers test openrouter`,
	}, newProvidersList(h), newProvidersTest(h))
}

func newProvidersList(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all providers, usable providers first",
		Long: `List all providers, usable providers first. KEY is the environment variable for
the key, FOUND is where the key was found. In a URL, {NAME} stands for an
environment variable that must be set too. No provider is called.`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			conf, err := h.providerConfig(connection{})
			if err != nil {
				return err
			}
			return h.printProviders(conf.List(), asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// providerConfig returns the configuration of clients with the providers of the user's configuration.
func (h Host) providerConfig(c connection) (connect.Config, error) {
	o, err := c.options(h, ".")
	if err != nil {
		return connect.Config{}, err
	}
	p, err := loadProject(o)
	if err != nil {
		return connect.Config{}, err
	}
	conf, err := p.Connection()
	conf.BaseURL, conf.Limits = c.baseURL, llm.Limits{} // what is configured is for one provider
	return conf, err
}

func (h Host) printProviders(list []connect.Status, asJSON bool) error {
	slices.SortStableFunc(list, func(a, b connect.Status) int { return cmp.Compare(order(a), order(b)) })
	if asJSON {
		for _, s := range list {
			if err := printJSON(h.Stdout, s); err != nil {
				return err
			}
		}
		return nil
	}
	t := &show.Table{
		Columns: []show.Column{
			{Title: "PROVIDER", Colour: show.Cyan},
			{Title: "PROTOCOL"},
			{Title: "KEY", Max: 64},
			{Title: "FOUND", Max: 32},
			{Title: "URL"},
		},
	}
	for _, s := range list {
		t.Add(s.Name, s.Protocol, cmp.Or(strings.Join(s.Keys, " or "), "-"), cmp.Or(s.From, "-"), cmp.Or(s.BaseURL, "-"))
	}
	return printTable(h, t)
}

func order(s connect.Status) int {
	if s.Ready {
		return 0
	}
	return 1
}

// completeProviders completes the value of --provider.
func completeProviders(_ *cobra.Command, _ []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
	all := append(connect.Names(), chatgpt.Name)
	for _, p := range connect.Presets() {
		all = append(all, p.Name)
	}
	for _, name := range all {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// cheapest returns the model of a provider with the lowest price, or else the default one, if it has any.
func cheapest(c *llm.Catalogue, provider string) (best llm.Model) {
	best, _ = c.Default(provider)
	for _, m := range c.ModelsOf(provider) {
		if m.Retired || m.Ends != "" || !m.Tools || m.Price == nil || m.Price.Input == nil || m.Price.Output == nil {
			continue
		}
		if best.Price == nil || best.Price.Output == nil || *m.Price.Output < *best.Price.Output {
			best = m
		}
	}
	return best
}
