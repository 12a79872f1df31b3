package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

type providersTest struct {
	connection
	timeout time.Duration
	asJSON  bool
}

// providerResult is what a test of a provider found.
type providerResult struct {
	Provider string `json:"provider"`
	OK       bool   `json:"ok"`
	URL      string `json:"url,omitempty"`
	Latency  int64  `json:"latency_ms,omitempty"` // until the headers of the answer
	Model    string `json:"model,omitempty"`
	Answer   string `json:"answer,omitempty"`
	Error    string `json:"error,omitempty"`
}

func newProvidersTest(h Host) *cobra.Command {
	var o providersTest
	cmd := &cobra.Command{
		Use:   "test [NAME...]",
		Short: "Send a small request to providers",
		Long: `Send a request of a few tokens to providers, with the cheapest model that Reins
knows. If it knows none, ask for the list of models instead. Without names, it
tests all providers that "reins providers list" shows with a key. The exit code
is 1 if a provider cannot be used.`,
		Args:              wantArgs(0, anyNumber, "names of providers"),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), h, args) },
		ValidArgsFunction: completeProviders,
	}
	f := cmd.Flags()
	f.StringVar(&o.model, "model", "", "model to use (default: the cheapest one of the provider)")
	f.StringVar(&o.baseURL, "base-url", "", "`URL` of the API (default: the provider's)")
	f.StringArrayVar(&o.headers, "header", nil, "add the HTTP header `\"NAME: VALUE\"`; can be repeated")
	f.StringVar(&o.catalogue, "catalogue", "", catalogueHelp)
	f.DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait for each provider")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o providersTest) run(ctx context.Context, h Host, names []string) error {
	conf, err := h.providerConfig(o.connection)
	if err != nil {
		return err
	}
	conf.Retry = llm.RetryPolicy{Retries: -1}
	if len(names) == 0 {
		for _, s := range conf.List() {
			if s.Ready {
				names = append(names, s.Name)
			}
		}
		if len(names) == 0 {
			return fmt.Errorf(`no provider has a key; "reins providers list" shows the variables to set`)
		}
	}
	failed := false
	for _, name := range names {
		if !conf.BuiltIn(name) && !slices.ContainsFunc(conf.Entries, func(e connect.Entry) bool { return e.Name == name }) {
			_, err := connect.Open(ctx, name, conf)
			return err
		}
		r := o.test(ctx, conf, name)
		failed = failed || !r.OK
		if err := o.print(h, r); err != nil {
			return err
		}
	}
	return failIf(failed)
}

// test calls a provider once.
func (o providersTest) test(ctx context.Context, conf connect.Config, name string) (r providerResult) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	conf.HTTPClient = wire.NewHTTPClient(conf.Limits) // which follows no redirects to other hosts
	trace := &tracer{next: conf.HTTPClient.Transport}
	conf.HTTPClient.Transport = trace
	defer conf.HTTPClient.CloseIdleConnections()
	r.Provider = conf.Canonical(name)
	err := o.ask(ctx, conf, &r)
	r.OK, r.URL, r.Latency = err == nil, trace.url, trace.took.Milliseconds()
	if err != nil {
		r.Error = oneLine(err)
	}
	return r
}

// ask sends the request and adds the model and its answer to the result.
func (o providersTest) ask(ctx context.Context, conf connect.Config, r *providerResult) error {
	catalogue, err := conf.Serving(r.Provider)
	if err != nil {
		return err
	}
	m := llm.Model{ID: o.model}
	if o.model == "" {
		m = cheapest(catalogue, r.Provider)
		if vendor := hosted[r.Provider]; m.ID == "" && slices.Contains(vendor, "gemini") {
			m = cheapest(catalogue, "gemini")
		}
	}
	if m.ID == "" {
		models, _, err := conf.Models(ctx, r.Provider)
		r.Answer = fmt.Sprintf("%d models, such as %s", len(models), strings.Join(models[:min(len(models), 3)], ", "))
		return err
	}
	client, err := connect.Open(ctx, r.Provider, conf)
	if err != nil {
		return err
	}
	request := &llm.Request{
		Provider:  r.Provider,
		Model:     m.ID,
		MaxTokens: 1024,
		Messages:  []llm.Message{llm.UserText("Reply with the word ok.")},
	}
	if len(m.Efforts) > 0 {
		request.Effort = m.Efforts[0]
	}
	r.Model = m.ID
	resp, err := client.Complete(ctx, request)
	if err == nil {
		r.Answer = show.OneLine(strings.TrimSpace(resp.Text()))
	}
	return err
}

func (o providersTest) print(h Host, r providerResult) error {
	if o.asJSON {
		return printJSON(h.Stdout, r)
	}
	state, said := "ok", r.Answer
	if !r.OK {
		state, said = "failed", r.Error
	} else if r.Model != "" {
		said = fmt.Sprintf("%s answered %q", r.Model, r.Answer)
	}
	where := cmp.Or(r.URL, "no request was sent")
	if r.URL != "" {
		where = fmt.Sprintf("%s, %d ms", r.URL, r.Latency)
	}
	_, err := fmt.Fprintln(h.Stdout, show.OneLine(hostSecrets().Text(fmt.Sprintf("%s: %s (%s): %s", r.Provider, state, where, said))))
	return err
}

// tracer records the address of the last request, and how long the headers of its answer took.
type tracer struct {
	next http.RoundTripper

	mu   sync.Mutex
	url  string
	took time.Duration
}

func (t *tracer) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	resp, err := t.next.RoundTrip(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.url, t.took = wire.RedactURL(r.URL.String()), time.Since(start)
	return resp, err
}

func (t *tracer) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
