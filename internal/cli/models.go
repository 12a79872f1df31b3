package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// connection holds the flags of commands that call a provider.
type connection struct {
	provider, model, baseURL, catalogue string
	responseTimeout                     string
	headers                             []string
	debug                               bool
	level                               verbosity
	profileName                         string // of the user's settings

	parsed *pflag.FlagSet    // nil if there is no command line
	given  []config.Override // settings that are not flags
}

func (c *connection) flags(h Host, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(
		&c.provider,
		"provider",
		"",
		"model provider: openai, anthropic, gemini, chat, local, bedrock, vertex, azure, azure-chat, chatgpt, one that \"reins "+
			"providers list\" shows, or one from your configuration (default: the session's, if any, or the configured one, or "+
			"chosen by --model or by the API keys that are set)",
	)
	f.StringVar(&c.model, "model", "", "model to use (default: the session's, if any, or the configured one, or the provider's default)")
	f.StringVar(&c.baseURL, "base-url", "", "`URL` of the API (default: the provider's)")
	f.StringArrayVar(&c.headers, "header", nil, "add the HTTP header `\"NAME: VALUE\"` to the provider's requests; can be repeated")
	f.StringVar(
		&c.responseTimeout,
		"response-timeout",
		"",
		"maximum `DURATION` until the first byte of an answer, such as 20m (default: 5m, and 15m for local servers and answers "+
			"that are not streamed)",
	)
	f.StringVar(
		&c.profileName,
		"profile-name",
		"",
		"use the settings of the profile `NAME`, over those of your configuration (default: REINS_PROFILE)",
	)
	f.StringVar(&c.catalogue, "catalogue", "", catalogueHelp)
	f.BoolVar(&c.debug, "debug", false, "log HTTP traffic to standard error, without keys")
	completeFlag(cmd, "provider", completeProviders)
	completeModels(h, cmd, c, "model")
	c.parsed = f
}

// catalogueHelp describes the --catalogue flag of all commands.
const catalogueHelp = "JSON `FILE` with models that extend or replace the built-in ones"

type models struct {
	provider, catalogue, check string
	asJSON, all                bool
}

func newModels(h Host) *cobra.Command {
	var o models
	cmd := &cobra.Command{
		Use:   "models [PATTERN]",
		Short: "List known models, their limits and prices",
		Long: `List known models, or those whose name contains PATTERN. Prices are in US
dollars per million tokens. Models that are not listed work too, but their
prices are unknown.

For a cloud platform, the models are listed under the names that their vendors
use. On bedrock, Claude models are named anthropic.NAME; on azure, models have
the names of your deployments.`,
		Args: wantArgs(0, 1, "at most one PATTERN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.check != "" {
				return o.checkModelFile(cmd.Context(), h)
			}
			return o.run(h, strings.ToLower(strings.Join(args, "")))
		},
	}
	cmd.AddCommand(newModelsUpdate(h))
	f := cmd.Flags()
	f.StringVar(&o.provider, "provider", "", "only models of this provider")
	f.StringVar(&o.catalogue, "catalogue", "", catalogueHelp)
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	f.BoolVar(&o.all, "all", false, "include retired models")
	f.StringVar(
		&o.check,
		"check",
		"",
		"compare the built-in models with `FILE|URL` in the format of models.dev; the exit code is 1 if they differ",
	)
	completeFlag(cmd, "provider", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return modelProviders(llm.DefaultCatalogue()), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (o models) run(h Host, pattern string) error {
	options := h.options(".")
	options.Models = o.catalogue
	p, err := loadProject(options)
	if err != nil {
		return err
	}
	c, err := p.Catalogue()
	if err != nil {
		return err
	}
	if err := checkProvider(c, o.provider); err != nil {
		return err
	}
	found := []llm.Model{}
	for _, m := range c.Models() {
		names := strings.ToLower(strings.Join(append([]string{m.ID, m.Name}, m.Aliases...), " "))
		m.Price = m.Price.At(h.time())
		if (o.provider == "" || m.Provider == o.provider || slices.Contains(hosted[o.provider], m.Provider)) &&
			strings.Contains(names, pattern) &&
			(o.all || !m.Ended(h.time()) || pattern != "") {
			found = append(found, m)
		}
	}
	switch {
	case o.asJSON:
		return printJSON(h.Stdout, found)
	case len(found) == 0:
		return noMatch(c, o.provider, pattern)
	}
	return printTable(h, modelTable(found, h.time()))
}

// hosted lists the providers whose models a cloud platform serves too.
var hosted = map[string][]string{
	"bedrock": {"anthropic"}, "vertex": {"gemini", "anthropic"}, "azure": {"openai"}, "azure-chat": {"openai"}, "chatgpt": {"openai"},
}

// modelProviders lists the providers in a catalogue, and the cloud platforms that serve models of others.
func modelProviders(c *llm.Catalogue) []string {
	var names []string
	for _, m := range c.Models() {
		if !slices.Contains(names, m.Provider) {
			names = append(names, m.Provider)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(hosted)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func checkProvider(c *llm.Catalogue, provider string) error {
	names := modelProviders(c)
	if provider == "" || slices.Contains(names, provider) {
		return nil
	}
	if connect.Known(provider) { // such as chat or local
		return usagef("the models of provider %s cannot be listed: they depend on the server", provider)
	}
	return usagef("unknown provider %q%s", provider, useInstead(provider, names))
}

// modelIDs lists the models of a provider; "" means all providers.
func modelIDs(c *llm.Catalogue, provider string) []string {
	var ids []string
	for _, m := range c.Models() {
		if provider == "" || m.Provider == provider {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// noMatch returns an error that suggests the nearest models.
func noMatch(c *llm.Catalogue, provider, pattern string) error {
	words := modelIDs(c, provider)
	for _, id := range modelIDs(c, provider) {
		for part := range strings.SplitSeq(id, "-") {
			if !slices.Contains(words, part) {
				words = append(words, part)
			}
		}
	}
	return fmt.Errorf("no model matches %q%s", pattern, didYouMean(pattern, words))
}

func modelTable(models []llm.Model, now time.Time) *show.Table {
	t := &show.Table{Columns: []show.Column{
		{Title: "PROVIDER"}, {Title: "MODEL", Colour: show.Cyan}, {Title: "CONTEXT", Right: true}, {Title: "OUTPUT", Right: true},
		{
			Title: "INPUT $",
			Right: true,
		}, {Title: "OUTPUT $", Right: true}, {Title: "CACHE READ $", Right: true}, {Title: "CACHE WRITE $", Right: true},
		{Title: "EFFORT"}, {Title: "STATUS"},
	}}
	for _, m := range models {
		p := m.Price
		if p == nil {
			p = &llm.Price{}
		}
		t.Add(m.Provider, m.ID, tokenCount(m.ContextWindow), tokenCount(m.MaxOutput), dollars(p.Input), dollars(p.Output),
			dollars(p.CacheRead), dollars(p.CacheWrite), cmp.Or(strings.Join(m.Efforts, " "), "-"), modelStatus(m, now))
	}
	return t
}

// tokenCount formats a limit, such as 200k or 1.05M.
func tokenCount(n int64) string {
	switch {
	case n == 0:
		return "?"
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n)/1e6, 'g', 3, 64) + "M"
	case n >= 1000:
		return strconv.FormatInt(n/1000, 10) + "k"
	}
	return strconv.FormatInt(n, 10)
}

func dollars(p *float64) string {
	if p == nil {
		return "-"
	}
	return strconv.FormatFloat(*p, 'f', -1, 64)
}
