package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/chatgpt"
	"github.com/reins-agent/reins/internal/modelfile"
	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// Models returns the built-in catalogue with the imported models, extended by a JSON file if its name is not "".
func (m Machine) Models(file string) (*llm.Catalogue, error) {
	base, err := m.imported()
	if err != nil || file == "" {
		return base, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, mistakef("--catalogue: %w", err)
	}
	defer f.Close()
	over, err := llm.ReadCatalogue(f)
	if err != nil {
		return nil, mistakef("%s: %w", file, err)
	}
	return base.Merge(over)
}

// imported returns the built-in catalogue with the models and prices that `reins models update` has imported.
func (m Machine) imported() (*llm.Catalogue, error) {
	state, err := m.State()
	if errors.Is(err, home.ErrNone) {
		return llm.DefaultCatalogue(), nil
	}
	if err != nil {
		return nil, err
	}
	c, err := modelfile.Read(state.Models(), llm.DefaultCatalogue())
	if err != nil {
		return nil, mistakef("the imported models cannot be used: %s: %w; run \"reins models update\" again, or delete the file",
			state.Models(), err)
	}
	return c, nil
}

// catalogue returns the models without configured providers.
func (p *Project) catalogue() (_ *llm.Catalogue, err error) {
	if p.models == nil {
		p.models, err = p.Machine.Models(p.options.Models)
	}
	return p.models, err
}

// Catalogue returns the models that the project can use.
func (p *Project) Catalogue() (*llm.Catalogue, error) {
	known, err := p.catalogue()
	if err != nil {
		return nil, err
	}
	known, err = connect.Catalogue(known, p.entries(known))
	if err != nil {
		return nil, mistake(err)
	}
	return known, nil
}

// Connection returns the configuration of clients.
func (p *Project) Connection() (connect.Config, error) {
	c := p.options.Connect
	known, err := p.catalogue()
	if err != nil {
		return c, err
	}
	c.Entries = p.entries(known)
	if c.Catalogue, err = connect.Catalogue(known, c.Entries); err != nil {
		return c, mistake(err)
	}
	if c.Catalogue, err = p.withPlans(c.Catalogue, c.Entries); err != nil {
		return c, err
	}
	wait, _ := time.ParseDuration(p.Settings.ResponseTimeout) // already checked
	c.Getenv, c.BaseURL = p.getenv, p.Settings.BaseURL
	c.Plans = p.plans()
	c.Limits.FirstByte, c.Limits.Unary = wait, wait
	if c.Progress == nil {
		c.Progress = func(text string) { p.notef(NoteModel, "%s", text) }
	}
	return c, nil
}

// Connect connects to the provider and chooses the model. Notes say which model that is, unless it was named, and
// whether it ends soon.
func (p *Project) Connect(ctx context.Context) (coding.Connection, error) {
	conf, err := p.Connection()
	if err != nil {
		return coding.Connection{}, err
	}
	provider, err := p.findProvider()
	if err != nil {
		return coding.Connection{}, err
	}
	k, err := coding.Connect(ctx, provider, p.model, conf)
	if err != nil {
		return k, err
	}
	if _, standard := conf.Catalogue.Default(k.Provider); k.Server != nil && (k.Server.Name != "" || p.model == "" && !standard) {
		p.notef(NoteModel, "using model %s from %s%s", k.Model, k.Server, windowNote(k))
	}
	p.noteModel(k.Catalogue, k.Provider, k.Alias, k.Model)
	if len(k.Keys) > 0 {
		p.notef(NoteProvider, "using %s, the first of the providers with a key (%s); choose another with --provider, REINS_PROVIDER or "+
			"\"reins config set provider NAME\"", k.Provider, strings.Join(k.Keys, ", "))
	}
	return k, nil
}

// vendors lists the providers whose models are all in the catalogue.
var vendors = []string{"openai", "anthropic", "gemini"}

// findProvider returns the provider, or "" if the model was chosen in a layer above it and belongs to another vendor.
func (p *Project) findProvider() (string, error) {
	known, err := p.catalogue()
	if err != nil {
		return "", err
	}
	s := p.Settings
	m, listed := known.Lookup(s.Provider, s.Model)
	if alias, ok := known.Resolve("", s.Model); ok {
		m, listed = alias, true
	}
	other := p.Layer("model").Above(p.Layer("provider")) && s.BaseURL == "" && listed &&
		m.Provider != s.Provider && slices.Contains(vendors, s.Provider) && slices.Contains(vendors, m.Provider)
	if other && !p.chosen {
		return "", nil
	}
	return p.provider, nil
}

// UseModel replaces the provider and the model, unless they are "". Another provider has its own default model and
// address.
func (p *Project) UseModel(provider, model string) error {
	now, err := p.findProvider()
	if err != nil {
		return err
	}
	if provider != "" && provider != now {
		p.provider, p.model = provider, ""
		p.chosen = true
		p.Settings.BaseURL = ""
	}
	p.model = cmp.Or(model, p.model)
	return nil
}

// windowNote describes the context window of a local model, and how to raise one that is too small for an agent.
func windowNote(k coding.Connection) string {
	const small = 16_384
	m, _ := k.Catalogue.Exact(k.Provider, k.Model)
	switch {
	case m.ContextWindow == 0:
		return ""
	case m.ContextWindow < small && k.Server.Name == "Ollama":
		return fmt.Sprintf(", with a context window of only %d tokens; raise it with OLLAMA_CONTEXT_LENGTH or num_ctx", m.ContextWindow)
	}
	return fmt.Sprintf(", with a context window of %d tokens", m.ContextWindow)
}

// plans returns the providers that the user can sign in to.
func (m Machine) plans() []connect.Plan {
	return []connect.Plan{{Name: chatgpt.Name, Open: func(e llm.Endpoint, c *llm.Catalogue) (llm.Provider, error) {
		return chatgpt.New(chatgpt.Config{Endpoint: e, Account: m.Account(), Catalogue: c})
	}}}
}

// withPlans adds the models of plans that are used to a catalogue.
func (p *Project) withPlans(c *llm.Catalogue, entries []connect.Entry) (*llm.Catalogue, error) {
	if slices.ContainsFunc(entries, func(e connect.Entry) bool { return e.Name == chatgpt.Name }) {
		return c, nil
	}
	if p.provider != chatgpt.Name {
		if st, err := p.Account().Status(); err != nil || !st.SignedIn {
			return c, nil
		}
	}
	return connect.Extend(c, chatgpt.Models(c)...)
}

// endsSoon is how long before its end a model is noted.
const endsSoon = 60 * 24 * time.Hour

// noteModel notes what an alias means, and the end of a model.
func (p *Project) noteModel(known *llm.Catalogue, provider, alias, model string) {
	if alias != "" {
		p.notef(NoteModel, "%s is %s", alias, model)
	}
	if m, ok := known.Exact(provider, model); ok {
		if note := endNote(known, m, p.time()); note != "" {
			p.notef(NoteModel, "%s", note)
		}
	}
}

// endNote returns a warning about a model that has ended or ends soon, or "".
func endNote(known *llm.Catalogue, m llm.Model, now time.Time) string {
	note := ""
	switch {
	case m.Ended(now) && m.Ends != "":
		note = fmt.Sprintf("%s ended on %s and may not answer", m.ID, m.Ends)
	case m.Ended(now):
		note = fmt.Sprintf("%s is retired and may not answer", m.ID)
	case m.Ended(now.Add(endsSoon)):
		note = fmt.Sprintf("%s ends on %s", m.ID, m.Ends)
	default:
		return ""
	}
	if next, ok := known.Successor(m); ok {
		note += "; use " + next.ID
	}
	return note
}

// checkModels rejects models whose price is unknown if there is a budget, and notes models that the catalogue does not
// list. The catalogue is complete only for the three vendors.
func (p *Project) checkModels(known *llm.Catalogue, k coding.Connection, fallback []string) error {
	provider, budget, service := k.Provider, p.Settings.Run.Budget, p.Settings.ServiceTier
	for i, name := range append([]string{k.Model}, fallback...) {
		flag := "--model"
		if i > 0 {
			flag = "--fallback"
			alias := ""
			if m, ok := known.Resolve(provider, name); ok {
				alias, name = name, m.ID
			}
			p.noteModel(known, provider, alias, name)
		}
		m, _ := known.Lookup(provider, name)
		switch {
		case budget > 0 && m.Price == nil:
			return mistakef("the budget cannot be enforced because the price of %s is unknown: "+
				"add the model with --catalogue, or remove the budget", name)
		case budget > 0 && !pricedTier(m.Price, service):
			return mistakef("the budget cannot be enforced because the price of the service tier %s of %s is unknown: "+
				"choose another tier, add its factor with --catalogue, or remove the budget", service, name)
		case slices.Contains(vendors, provider) && m.Provider != provider:
			p.notef(NoteModel, "%s: unknown %s model %q, trying it anyway%s", flag, provider, name, didYouMean(name, known, provider))
		}
	}
	return nil
}

// pricedTier reports whether a service tier has a known price.
func pricedTier(p *llm.Price, tier string) bool {
	_, known := p.Cost(llm.Usage{Tier: tier})
	return known
}

// didYouMean suggests models of a provider with similar names.
func didYouMean(name string, known *llm.Catalogue, provider string) string {
	var ids []string
	for _, m := range known.ModelsOf(provider) {
		ids = append(ids, m.ID)
	}
	if near := suggest.Words(name, ids); len(near) > 0 {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}
