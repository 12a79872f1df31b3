package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/coding/feature"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/session"
)

// assemble returns the configuration of the session that the flags describe.
func (r *opener) assemble(ctx context.Context, k coding.Connection, place saved) (coding.Config, error) {
	c, err := r.config(k, place)
	if err != nil {
		return c, err
	}
	r.models = c.Connect.Catalogue
	if err := r.flags.checkModels(r.host, r.models, k.Provider, k.Model); err != nil {
		return c, err
	}
	if err := r.checkVision(r.models, k.Provider, k.Model); err != nil {
		return c, err
	}
	if r.tools, err = r.mcpServers(ctx, k); err != nil {
		return c, err
	}
	if r.tools != nil {
		c.Extensions = slices.Insert(c.Extensions, 0, coding.Extension(r.tools.extend))
	}
	r.commands.Config = r.forCommands(c)
	return c, nil
}

// openError explains an error of opening a session.
func openError(place saved, err error) error {
	var unwritable *os.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unwritable):
		return usagef("%w; use --no-save to run without saving, or set REINS_HOME to another directory", err)
	case place.resumes():
		return err
	}
	return usageError{err}
}

// forCommands returns the configuration for commands and files in the text of skills.
func (r *opener) forCommands(c coding.Config) *coding.Config {
	c.Session.Approve = r.approveCommand
	return &c
}

// config translates the flags into a session configuration.
func (r *opener) config(k coding.Connection, place saved) (coding.Config, error) {
	o := r.flags
	conf, err := o.connection.config(r.host)
	if err != nil {
		return coding.Config{}, err
	}
	if k.Catalogue != nil {
		conf.Catalogue = k.Catalogue
	}
	c := coding.Config{
		Provider: k.Provider, Model: k.Model, Effort: o.effort, Dir: o.dir, Vars: r.vars, Pass: o.pass, Sandbox: o.box, Connect: conf,
		Family: coding.Family(o.profile), Toolset: coding.Toolset(o.toolset), Tier: coding.Tier(o.tier), ToolConfig: coding.ToolConfig{DefaultTimeout: o.timeout, ReadBeforeWrite: true},
		Prompt: o.prompt(r.host), Resume: place.meta.ID, NoSave: o.noSave, NoCompaction: o.compactAt == 0,
		Warn: func(err error) { notef(r.host, "%v", err) },
		Session: agent.Config{
			ID: o.id, Client: k.Client, System: r.system, Allow: o.allow, Deny: o.deny, Limits: o.limits(), Subagents: o.subagents(), SkipDamaged: o.skipDamaged,
			Mode: o.permitted.mode, Policy: o.permitted.rules, Workspace: o.permitted.workspace,
			Compaction: agent.Compaction{At: o.compactAt, NoModel: o.noModel, PastPriceStep: o.pastStep}, Hooks: o.hooks,
			CacheTTL: o.cacheTTL, Tier: o.service, Display: o.thinking,
			Meta: event.Meta{Prompt: show.FirstLine(r.given)}, // so that the session is listed even if it is interrupted early
		},
	}
	if c.Audit, c.Secrets, err = o.guards(r.host); err != nil {
		return c, err
	}
	if c.Extensions, err = r.features(); err != nil {
		return c, err
	}
	if c.Tools, err = r.host.webTools(o.settings); err != nil {
		return c, err
	}
	if o.settings != nil {
		c.Tools = append(c.Tools, r.host.configTool(o.settings))
	}
	if place.store != nil {
		c.Session.Store = place.store
		state, err := stateDir(r.host)
		if err != nil {
			return c, err
		}
		c.State = string(state)
	}
	if o.hooks.Has(hook.UserPromptSubmit) { // a hook may refuse the prompt
		c.Session.Meta.Prompt = ""
	}
	if o.yes {
		c.Session.Policy = yes{o.permitted.rules}
	}
	if o.reads {
		c.Session.Policy = reading{o.permitted.rules}
	}
	for _, name := range o.fallback {
		if m, ok := conf.Catalogue.Resolve(k.Provider, name); ok {
			name = m.ID
		}
		c.Session.Fallback = append(c.Session.Fallback, agent.Model{Name: name})
	}
	return c, nil
}

// prompt returns the system prompt configuration.
func (o run) prompt(h Host) coding.PromptConfig {
	c := coding.PromptConfig{User: o.appendSystem, Trusted: o.trust}
	if o.settings != nil {
		c.UserFiles, c.Home = h.userDocs(), h.skillOptions().Home
	}
	return c
}

// features returns the extensions of the session, except MCP servers. The demo has no configuration.
func (r *opener) features() ([]coding.Extension, error) {
	o := r.flags
	list := []coding.Extension{feature.Worktrees()}
	if o.tree != "" {
		list = []coding.Extension{feature.InWorktree(o.tree)}
	}
	if r.standby != nil {
		list = append(list, r.standby.schedule.Attach)
	}
	servers, err := languageServers(o.settings)
	if err != nil {
		return nil, err
	}
	list = append(list, feature.LanguageServers(servers))
	if s := o.settings; s != nil {
		if s.Memory.Enabled {
			list = append(list, feature.Memory(cmp.Or(s.Memory.Budget, -1)))
		}
		if s.Web.SearchBackend == "provider" {
			list = append(list, feature.HostedSearch())
		}
	}
	return append(list, feature.Skills(o.skills)), nil
}

// guards returns the configuration for the audit log and secrets. The demo has no configuration. With --no-save, a run
// does not need the state directory, unless the configuration requires the audit log.
func (o run) guards(h Host) (a coding.Audit, s coding.Secrets, err error) {
	c := o.settings
	if c == nil {
		return coding.Audit{Off: true}, s, nil
	}
	a, err = auditConfig(h, c)
	if o.noSave && layerOf(c, "audit.required") == config.LayerDefault {
		a.Optional = true
		if errors.Is(err, home.ErrNone) {
			a.Off, err = true, nil
		}
	}
	s = coding.Secrets{Off: !c.Secrets.Redact, Names: append(slices.Clone(c.Secrets.Names), searchKey(c.Web)), Patterns: c.Secrets.Patterns}
	secrets := []string{o.secretEnv}
	for _, t := range c.Triggers {
		secrets = append(secrets, t.SecretEnv)
	}
	s.Names = append(s.Names, slices.DeleteFunc(secrets, func(name string) bool { return name == "" })...)
	for _, p := range c.Providers {
		if p.KeyEnv != "" {
			s.Names = append(s.Names, p.KeyEnv)
		}
	}
	return a, s, err
}

// checkModels rejects models whose price is unknown if there is a budget, and warns about models that
// the catalogue does not list. The catalogue is complete only for the three vendors.
func (o run) checkModels(h Host, known *llm.Catalogue, provider, model string) error {
	listed := slices.Contains([]string{"openai", "anthropic", "gemini"}, provider)
	for i, name := range append([]string{model}, o.fallback...) {
		flag := "--model"
		if i > 0 {
			flag = "--fallback"
			alias := ""
			if m, ok := known.Resolve(provider, name); ok {
				alias, name = name, m.ID
			}
			noteModel(h, known, provider, alias, name)
		}
		m, _ := known.Lookup(provider, name)
		switch {
		case o.budget > 0 && m.Price == nil:
			return usagef("the budget cannot be enforced because the price of %s is unknown: add the model with --catalogue, or remove the budget", name)
		case o.budget > 0 && !pricedTier(m.Price, o.service):
			return usagef("the budget cannot be enforced because the price of the service tier %s of %s is unknown: "+
				"choose another tier, add its factor with --catalogue, or remove the budget", o.service, name)
		case listed && m.Provider != provider:
			notef(h, "%s: unknown %s model %q, trying it anyway%s", flag, provider, name, didYouMean(name, modelIDs(known, provider)))
		}
	}
	return nil
}

// pricedTier reports whether a service tier has a known price.
func pricedTier(p *llm.Price, tier string) bool {
	_, known := p.Cost(llm.Usage{Tier: tier})
	return known
}

// saved is where a run is saved, and the session that it continues.
type saved struct {
	store event.Store // nil if the run is not saved
	meta  event.Meta  // the session to resume; its ID is "" for a new one
	fresh bool        // the session is a fork made for this run
}

func (s saved) resumes() bool { return s.meta.ID != "" }

// resumes reports whether the flags name a session to continue.
func (o run) resumes() bool { return o.resume != "" || o.continueLast || o.fork != "" }

// checkSaved rejects flags that contradict each other.
func (o run) checkSaved() error {
	ways := 0
	for _, given := range []bool{o.resume != "", o.continueLast, o.fork != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		return usagef("--resume, --continue and --fork cannot be combined")
	case ways > 0 && o.noSave:
		return usagef("--no-save cannot be combined with --resume, --continue or --fork")
	case (ways > 0 || o.noSave) && (o.inTree || o.attempts.given()):
		return usagef("--worktree and --attempts cannot be combined with --resume, --continue, --fork or --no-save")
	case o.id != "" && (o.resume != "" || o.continueLast):
		return usagef("--session-id cannot be combined with --resume or --continue")
	}
	return nil
}

// place finds the session to continue and the place to save it. With --fork, it creates the fork.
// Errors suggest the command, which must accept an ID.
func (o run) place(ctx context.Context, h Host, dir, command string) (saved, error) {
	if o.noSave {
		return saved{}, nil
	}
	sessions, err := openSessions(h)
	if errors.Is(err, home.ErrNone) && !o.resumes() {
		return saved{}, usagef("%w, or use --no-save", err)
	}
	if err != nil {
		return saved{}, err
	}
	s := saved{store: sessions.Store}
	switch {
	case o.resume != "":
		s.meta, err = sessions.Find(ctx, o.resume)
		err = explain(err)
	case o.continueLast:
		s.meta, err = o.lastSession(ctx, h, sessions, dir, command)
	case o.fork != "":
		s.meta, err = sessions.Fork(ctx, session.ForkOptions{From: o.fork, ID: o.id, Damaged: o.skipDamaged})
		s.fresh = err == nil
		err = explainResume(o.fork, explainExists(o.id, "--session-id", explain(err)))
	}
	return s, err
}

// lastSession returns the last session for a directory. "reins run" also accepts the session of a parent
// directory; for other commands that is an error that names the session.
func (o run) lastSession(ctx context.Context, h Host, sessions *session.Manager, dir, command string) (event.Meta, error) {
	if o.dir != "" || command != runCommand {
		return latestSession(ctx, h, sessions, dir, command)
	}
	m, above, err := sessions.Nearest(ctx, dir)
	if err == nil && above {
		notef(h, "continuing session %s of %s", m.ID, shortDir(h, m.Dir))
	}
	return m, explain(err)
}

// discard removes a fork whose run could not start.
func (s saved) discard(ctx context.Context) error {
	if !s.fresh {
		return nil
	}
	return s.store.Delete(context.WithoutCancel(ctx), s.meta.ID)
}

// dir returns the given directory, or else the session's working directory.
func (s saved) dir(given string) (string, error) {
	if given != "" || s.meta.Dir == "" {
		return given, nil
	}
	if _, err := os.Stat(s.meta.Dir); errors.Is(err, os.ErrNotExist) {
		return "", usagef("the directory of session %s no longer exists: %s; choose another with --cwd", s.meta.ID, s.meta.Dir)
	}
	return s.meta.Dir, nil
}

// explainResume adds advice to an error of resuming a session in "reins run".
func explainResume(id string, err error) error {
	var damage *event.CorruptError
	switch {
	case errors.As(err, &damage):
		return usagef("%w; run \"reins sessions verify\" for details, or use --skip-damaged to skip unreadable records", err)
	case errors.Is(err, event.ErrLocked):
		return fmt.Errorf("session %s is open in another process; join it with \"reins attach %s\", or continue a copy with --fork %s", id, id, id)
	}
	return err
}
