package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/modelfile"
	"github.com/reins-agent/reins/llm"
)

func newModelsUpdate(h Host) *cobra.Command {
	var prices bool
	cmd := &cobra.Command{
		Use:   "update FILE|URL",
		Short: "Import models from a file in the format of models.dev",
		Long: `Import models from a file in the format of https://models.dev/api.json. All
commands use them from then on. It replaces what was imported before.

Models that Reins knows are not changed. With --prices, they get the prices of
the file. Only models that can call tools are imported, of providers that
"reins models" lists or that your configuration names.`,
		Args: wantArgs(1, 1, "one FILE or URL"),
		RunE: func(cmd *cobra.Command, args []string) error { return updateModels(cmd.Context(), h, args[0], prices) },
	}
	cmd.Flags().BoolVar(&prices, "prices", false, "replace the prices of known models")
	return cmd
}

func updateModels(ctx context.Context, h Host, source string, prices bool) error {
	state, err := stateDir(h)
	if err != nil {
		return err
	}
	list, err := h.readDev(ctx, source)
	if err != nil {
		return err
	}
	builtin, now := llm.DefaultCatalogue(), h.time()
	out := modelfile.File{Source: sourceName(source), Day: now.UTC().Format(time.DateOnly)}
	differ, aliases := 0, 0
	for _, m := range list.models {
		old, listed := builtin.Exact(m.Provider, m.ID)
		switch {
		case !listed && means(builtin, m.ID):
			aliases++
		case !listed && list.wanted(m):
			out.Models = append(out.Models, m)
			fmt.Fprintf(h.Stdout, "added %s/%s\n", m.Provider, m.ID)
		case listed && old.ID == m.ID && len(priceDiffs(old.Price.At(now), m.Price)) > 0:
			differ++
			if prices {
				out.Prices = append(
					out.Prices,
					modelfile.Price{Provider: m.Provider, ID: m.ID, Price: mergedPrice(old.Price.At(now), m.Price)},
				)
				fmt.Fprintf(h.Stdout, "changed %s/%s: %s\n", m.Provider, m.ID, strings.Join(priceDiffs(old.Price.At(now), m.Price), ", "))
			}
		}
	}
	if err := out.Write(state.Models()); err != nil {
		return err
	}
	if list.skipped > 0 {
		notef(h, "skipped %d models with invalid names", list.skipped)
	}
	if aliases > 0 {
		notef(h, "skipped %d models with the names of aliases", aliases)
	}
	if differ > 0 && !prices {
		notef(h, "%d prices differ from the built-in prices; see them with \"reins models --check\", or use them with --prices", differ)
	}
	notef(h, "imported %d models and %d prices of %s", len(out.Models), len(out.Prices), strings.Join(list.providers, ", "))
	return nil
}

// means reports whether a name is an alias of the catalogue. A model with that name would replace what people mean by it.
func means(c *llm.Catalogue, name string) bool {
	return slices.ContainsFunc(c.Aliases(), func(a llm.Alias) bool { return a.Name == name })
}

// readDev reads a file of models.dev. It accepts the providers of the catalogue and of the user's configuration.
func (h Host) readDev(ctx context.Context, source string) (*devList, error) {
	p, err := h.load(".")
	if err != nil {
		return nil, err
	}
	builtin := llm.DefaultCatalogue()
	var providers []string
	for _, m := range builtin.Models() {
		if !slices.Contains(providers, m.Provider) {
			providers = append(providers, m.Provider)
		}
	}
	for name := range p.Settings.Providers {
		providers = append(providers, name)
	}
	data, err := readSource(ctx, source)
	if err != nil {
		return nil, err
	}
	list, err := parseDev(data, builtin, providers)
	if err != nil {
		return nil, usagef("%s: %w", sourceName(source), err)
	}
	return list, nil
}

// maxSource is the maximum size of a file to import.
const maxSource = 16 << 20

// readSource reads a file or a URL.
func readSource(ctx context.Context, source string) ([]byte, error) {
	if !strings.Contains(source, "://") {
		return readFile(ctx, source)
	}
	u, err := url.Parse(source)
	if err != nil || !safeURL(u) {
		return nil, usagef("%s: use an https URL; http is permitted only for this machine", sourceName(source))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, usageError{err}
	}
	r.Header.Set("User-Agent", "reins")
	client := http.Client{CheckRedirect: checkRedirect}
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: the server answered %s", sourceName(source), res.Status)
	}
	return readLimited(res.Body, sourceName(source))
}

// readFile reads a file. It can be a pipe without a writer, so it stops waiting when ctx ends.
func readFile(ctx context.Context, name string) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		f, err := os.Open(name)
		if err != nil {
			done <- result{err: usageError{err}}
			return
		}
		defer f.Close()
		data, err := readLimited(f, name)
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func checkRedirect(r *http.Request, via []*http.Request) error {
	const most = 5
	switch {
	case len(via) > most:
		return errors.New("too many redirects")
	case !safeURL(r.URL):
		return fmt.Errorf("a redirect to %s is not permitted: it does not use https", r.URL.Host)
	}
	return nil
}

// safeURL reports whether a URL uses https or this machine.
func safeURL(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && local)
}

// sourceName returns a source without credentials.
func sourceName(source string) string {
	if u, err := url.Parse(source); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host + u.Path
	}
	return source
}

func readLimited(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(data) > maxSource:
		return nil, usagef("%s is larger than %d MiB", name, maxSource>>20)
	}
	return data, nil
}
