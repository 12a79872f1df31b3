package chatgpt

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/openai"
)

// Config configures a provider.
type Config struct {
	// Endpoint is where to send requests. Its name is always [Name]. Its base URL must be empty, because the tokens are
	// only for [Service.API].
	llm.Endpoint

	Account   *Account
	Catalogue *llm.Catalogue // nil means llm.DefaultCatalogue()
	Summary   string         // see openai.Config
}

// Provider calls models with a ChatGPT plan. It implements llm.Provider.
type Provider struct {
	account *Account
	inner   llm.Provider
}

// New returns a provider. The account needs no sign-in yet.
func New(c Config) (*Provider, error) {
	if c.BaseURL != "" {
		return nil, llm.Errorf(
			llm.ErrConfiguration,
			"", "provider %s has no other base URL; remove it, or use provider openai with an API key", Name,
		)
	}
	catalogue, err := uncached(c.Catalogue)
	if err != nil {
		return nil, err
	}
	e := c.Endpoint
	e.Name = Name
	e.BaseURL = c.Account.Service.withDefaults().API
	e.APIKey = ""
	e.KeyFrom = "`reins login chatgpt`"
	e.Rewrite = rewrite
	e.Sign = func(r *http.Request, _ []byte) error { return sign(c.Account, r) }
	return &Provider{c.Account, openai.New(openai.Config{Endpoint: e, Catalogue: catalogue, Summary: c.Summary})}, nil
}

// uncached returns a catalogue without prompt cache settings for OpenAI models: plans refuse them.
func uncached(c *llm.Catalogue) (*llm.Catalogue, error) {
	if c == nil {
		c = llm.DefaultCatalogue()
	}
	models := c.ModelsOf("openai")
	for i := range models {
		models[i].Rules.Cache, models[i].Rules.CacheTTLs = "", nil
	}
	if len(models) == 0 {
		return c, nil
	}
	over, err := llm.NewCatalogue(models)
	if err != nil {
		return nil, err
	}
	return c.Merge(over)
}

// Models returns the catalogue's OpenAI models as models of this provider. They cost nothing beyond the plan. OpenAI
// decides which of them a plan includes.
func Models(c *llm.Catalogue) (list []llm.Model) {
	for _, m := range c.ModelsOf("openai") {
		if m.Reasoning && m.Tools && !m.Retired {
			m.Provider = Name
			m.Aliases = slices.Clone(m.Aliases)
			m.Price = &llm.Price{Input: new(0.0), Output: new(0.0)}
			m.Rules.Cache, m.Rules.CacheTTLs = "", nil
			list = append(list, m)
		}
	}
	return list
}

// Name returns "chatgpt".
func (p *Provider) Name() string { return Name }

// Shape returns the Responses API shape.
func (p *Provider) Shape(r *llm.Request) string { return p.inner.(llm.Shaper).Shape(r) }

// tokenKey is the context key for the tokens that a call used.
type tokenKey struct{}

type used struct{ refused, token string }

// sign sets the access token.
func sign(a *Account, r *http.Request) error {
	u, _ := r.Context().Value(tokenKey{}).(*used)
	if u == nil {
		u = new(used)
	}
	token, err := a.Token(r.Context(), u.refused)
	if err != nil {
		return err
	}
	u.token = token
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// Stream makes one call. If the access token is refused, it refreshes the token and makes the call once more.
func (p *Provider) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		u := new(used)
		ctx := context.WithValue(ctx, tokenKey{}, u)
		if !p.stream(ctx, r, u, yield) {
			return
		}
		u.refused = u.token
		p.stream(ctx, r, u, yield)
	}
}

// stream makes one call, and reports whether the token was refused and can be replaced.
func (p *Provider) stream(ctx context.Context, r *llm.Request, u *used, yield func(llm.StreamEvent, error) bool) (again bool) {
	started := false
	for ev, err := range p.inner.Stream(ctx, r) {
		if err != nil {
			if !started && u.refused == "" && u.token != "" && status(err) == http.StatusUnauthorized && !ineligible(err) {
				return true
			}
			yield(nil, explain(err, u))
			return false
		}
		started = true
		if !yield(ev, nil) {
			return false
		}
	}
	return false
}

func status(err error) int {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e.Status
	}
	return 0
}

// explanations lists the error codes for plans, with an explanation for the user.
var explanations = []struct {
	code string
	kind llm.ErrorKind
	text string
}{
	{"subscription_sharing_workplace_individual_usage_limit_exceeded", llm.ErrQuota, workspaceLimit},
	{"subscription_sharing_workspace_individual_usage_limit_exceeded", llm.ErrQuota, workspaceLimit},
	{"subscription_sharing_usage_limit_exceeded", llm.ErrQuota,
		"the part of your ChatGPT plan that Reins may use is used up; you can see when it resets and allow more at " + UsageURL},
	{"subscription_sharing_user_not_eligible", llm.ErrAccessDenied,
		"this ChatGPT account cannot use its plan in other programs; it needs ChatGPT Plus or Pro, see " + UsageURL},
	{"subscription_sharing_invalid_user", llm.ErrAuthentication, "OpenAI does not accept this ChatGPT account; " + again + " again"},
	{
		"chatpass_v2_scope_not_authorized",
		llm.ErrAuthentication,
		"you did not allow Reins to use your ChatGPT plan; " + again + " and allow it",
	},
}

const workspaceLimit = "your part of the plan of your ChatGPT workspace is used up; an administrator of the workspace can " +
	"allow more in its settings, " +
	"and you can see your usage at " + UsageURL

// ineligible reports whether another token would be refused too.
func ineligible(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && explanation(e) >= 0
}

// explanation returns the index of the explanation for e, or -1. The code may be in several places.
func explanation(e *llm.Error) int {
	for i, x := range explanations {
		if e.Code == x.code || strings.Contains(string(e.Body), `"`+x.code+`"`) {
			return i
		}
	}
	return -1
}

// explain returns an error without tokens, and with a remedy for the user.
func explain(err error, u *used) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	for _, secret := range []string{u.token, u.refused} {
		conceal(e, secret)
	}
	if i := explanation(e); i >= 0 {
		x := explanations[i]
		e.Kind = x.kind
		e.Code = x.code
		e.Message = x.text
		e.Temporary = false
		e.Final = true
		e.RetryAfter = 0
	}
	return e
}

// conceal removes a secret from an error.
func conceal(e *llm.Error, secret string) {
	if secret == "" {
		return
	}
	const hidden = "[redacted]"
	e.Message = strings.ReplaceAll(e.Message, secret, hidden)
	e.Code = strings.ReplaceAll(e.Code, secret, hidden)
	e.Body = []byte(strings.ReplaceAll(string(e.Body), secret, hidden))
	if e.Err != nil && strings.Contains(e.Err.Error(), secret) {
		e.Err = nil
	}
}
