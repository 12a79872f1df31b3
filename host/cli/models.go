package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/llm"
)

func newModels(h Host) *cobra.Command {
	var provider, catalogue string
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "models [PATTERN]",
		Short: "List the models that are known, with their limits and prices",
		Long: `List the models that are known. A model that is not listed can be used all the same;
its price is then unknown. Prices are in US dollars for a million tokens.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := loadCatalogue(catalogue)
			if err != nil {
				return err
			}
			if err := checkProvider(c, provider); err != nil {
				return err
			}
			pattern := strings.ToLower(strings.Join(args, ""))
			models := []llm.Model{}
			for _, m := range c.Models() {
				names := strings.ToLower(strings.Join(append([]string{m.ID, m.Name}, m.Aliases...), " "))
				if (provider == "" || m.Provider == provider) && strings.Contains(names, pattern) && (all || !m.Retired || pattern != "") {
					models = append(models, m)
				}
			}
			if asJSON {
				out := json.NewEncoder(h.Stdout)
				out.SetEscapeHTML(false)
				return out.Encode(models)
			}
			if len(models) == 0 {
				return noMatch(c, provider, pattern)
			}
			return printModels(h.Stdout, models)
		},
	}
	f := cmd.Flags()
	f.StringVar(&provider, "provider", "", "only the models of this provider")
	f.StringVar(&catalogue, "catalogue", "", "a JSON file of models that are added to the built-in ones, or replace them")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&all, "all", false, "list retired models too")
	must(cmd.RegisterFlagCompletionFunc("provider", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return modelProviders(llm.DefaultCatalogue()), cobra.ShellCompDirectiveNoFileComp
	}))
	return cmd
}

// modelProviders lists the providers that a catalogue has models of.
func modelProviders(c *llm.Catalogue) []string {
	var names []string
	for _, m := range c.Models() {
		if !slices.Contains(names, m.Provider) {
			names = append(names, m.Provider)
		}
	}
	return names
}

func checkProvider(c *llm.Catalogue, provider string) error {
	names := modelProviders(c)
	if provider == "" || slices.Contains(names, provider) {
		return nil
	}
	if near := nearWords(provider, names); len(near) > 0 {
		return usagef("no models of the provider %q are known; did you mean %s?", provider, near[0])
	}
	return usagef("no models of the provider %q are known; there are models of %s", provider, strings.Join(names, ", "))
}

// noMatch says that no model matches, and which one may have been meant.
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

// loadCatalogue is the built-in catalogue, with the models of a file over it.
func loadCatalogue(path string) (*llm.Catalogue, error) {
	if path == "" {
		return llm.DefaultCatalogue(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usageError{err}
	}
	defer f.Close()
	over, err := llm.ReadCatalogue(f)
	if err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	return llm.DefaultCatalogue().Merge(over)
}

func printModels(w io.Writer, models []llm.Model) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "PROVIDER\tMODEL\tCONTEXT\tOUTPUT\tINPUT $\tOUTPUT $\tCACHE READ $\tCACHE WRITE $\tEFFORT")
	for _, m := range models {
		p := m.Price
		if p == nil {
			p = &llm.Price{}
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Provider, m.ID, count(m.ContextWindow), count(m.MaxOutput),
			dollars(p.Input), dollars(p.Output), dollars(p.CacheRead), dollars(p.CacheWrite), cmp.Or(strings.Join(m.Efforts, " "), "-"))
	}
	return tw.Flush()
}

func count(n int64) string {
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
