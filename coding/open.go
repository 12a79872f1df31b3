package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
	"github.com/reins-agent/reins/llm/wire"
	"github.com/reins-agent/reins/tool"
)

// Config says which session to [Open]. Every zero field means what `reins run` does without flags, so
// that Model and Dir are enough to begin with; even they can be left out.
type Config struct {
	Provider string // "" is the one that serves the model, or the only one with a key
	Model    string // "" is the provider's default
	Effort   string // reasoning effort; "" is the provider's default
	Dir      string // working directory; "" is the current one

	// Connect says how the client is made, unless Session.Client is set.
	Connect connect.Config
	// Vars are environment variables for commands, unless Session.Env is set.
	Vars map[string]string

	// Family is whose tools and instructions the model gets; "" chooses by its name.
	Family Family
	// Toolset is the form of its tools; "" is Standard. A model whose family has no native tools is
	// refused with Native; one that the session changes to later gets the standard ones.
	Toolset Toolset
	// Profile makes the profile of each model that the session uses; nil is [NewProfile].
	Profile func(ProfileConfig) *Profile
	// ToolConfig sets up the tools of the profile.
	ToolConfig ToolConfig
	// Tools are added to those of the profile; one of the same name takes the other's place.
	Tools []tool.Tool
	// Prompt says what goes into the system prompt. Its Tools are always those that the session
	// really offers. If Session.System is set, only Prompt.User is added to it.
	Prompt PromptConfig

	// Resume is the ID of a session to resume. What is empty here stays as it was in the session:
	// its provider, model, effort and directory. The system prompt stays too, as long as it names the
	// model, the tools and the directory that the session has now.
	Resume string
	// State is the directory for sessions and checkpoints; "" is [StateDir]. With NoSave the session
	// is kept in memory and leaves nothing behind, so that it can be neither resumed nor undone.
	State  string
	NoSave bool
	// NoCompaction lets the conversation grow until it no longer fits the context window. Without it,
	// the default is to compact at 80% of the window.
	NoCompaction bool

	// Warn, if set, is told of what is wrong and does not keep the session from working.
	Warn func(error)

	// Session is the rest of the configuration: approvals, policy, limits, hooks, subagents. Open
	// fills in what is empty here, and leaves alone what is set: with Session.Client, Env, Tools,
	// System, Store, Checkpoints or Compaction each part can be replaced. Provider, Model and Effort
	// count if they are empty above.
	Session agent.Config
}

// compactAt is the share of the context window at which a conversation is compacted.
const compactAt = 0.8

// Open assembles a coding session: it connects to the model, chooses the tools and the instructions
// that the model was trained for, reads the project's documents, and sets up the working directory,
// checkpoints, compaction and the place where the session is saved. Closing the session closes
// everything that Open made.
func Open(ctx context.Context, c Config) (*agent.Session, error) {
	b := &builder{config: c, session: c.Session}
	b.config.ToolConfig.state = newToolState()
	s, err := b.open(ctx)
	if err != nil {
		for _, made := range b.made {
			err = errors.Join(err, made.Close())
		}
		return nil, err
	}
	return s, nil
}

// builder assembles one session.
type builder struct {
	config  Config
	session agent.Config // what it has come to
	state   string       // the state directory; "" if nothing is saved there
	meta    event.Meta   // of the session that is resumed
	made    []io.Closer  // what has to be closed
	git     *GitSnapshot // taken once, so that all prompts of the session agree
}

func (b *builder) open(ctx context.Context) (*agent.Session, error) {
	c, s := &b.config, &b.session
	s.Provider, s.Model = cmp.Or(c.Provider, s.Provider), cmp.Or(c.Model, s.Model)
	s.Effort = cmp.Or(c.Effort, s.Effort)
	if s.Catalogue == nil {
		s.Catalogue = cmp.Or(c.Connect.Catalogue, llm.DefaultCatalogue())
	}
	for _, step := range []func(context.Context) error{b.findStore, b.findDir, b.connect, b.prepare, b.keep} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.Middleware = append(s.Middleware[:len(s.Middleware):len(s.Middleware)], RecordDiffs)
	s.Owned = append(s.Owned[:len(s.Owned):len(s.Owned)], b.made...)
	if c.Resume == "" {
		return agent.New(*s)
	}
	s.ID = c.Resume
	return agent.Resume(ctx, *s)
}

// findStore opens the place where the session is saved and finds the session to resume.
func (b *builder) findStore(ctx context.Context) (err error) {
	c, s := &b.config, &b.session
	b.state = c.State
	if s.Store == nil && !c.NoSave {
		if b.state == "" {
			if b.state, err = StateDir(c.Connect.Getenv); err != nil {
				return err
			}
		}
		if s.Store, err = OpenSessions(b.state, nil); err != nil {
			return err
		}
	}
	if c.Resume == "" {
		return nil
	}
	if s.Store == nil {
		return errors.New("a session that was saved can only be resumed with a store: NoSave and Resume exclude each other")
	}
	if b.meta, err = s.Store.Meta(ctx, c.Resume); err != nil {
		return fmt.Errorf("session %s cannot be resumed: %w", c.Resume, err)
	}
	if s.Provider == "" && s.Model == "" {
		s.Provider, s.Model = b.meta.Provider, b.meta.Model
	}
	return nil
}

// findDir makes the environment.
func (b *builder) findDir(context.Context) error {
	if b.session.Env != nil {
		return nil
	}
	dir := b.config.Dir
	if dir == "" && b.meta.Dir != "" {
		dir = b.meta.Dir
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the directory of session %s is gone: %s; name another one", b.meta.ID, dir)
		}
	}
	e, err := local.New(local.Config{Dir: dir, Vars: b.config.Vars})
	if err != nil {
		return err
	}
	b.session.Env, b.made = e, append(b.made, e)
	return nil
}

// connect makes the client.
func (b *builder) connect(ctx context.Context) error {
	s := &b.session
	if s.Client != nil {
		if client, ok := s.Client.(*llm.Client); ok && s.Provider == "" && len(client.Providers()) == 1 {
			s.Provider = client.Providers()[0]
		}
		return nil
	}
	c := b.config.Connect
	c.Catalogue = s.Catalogue
	if c.HTTPClient == nil {
		c.HTTPClient = wire.NewHTTPClient(c.Limits)
		b.made = append(b.made, idle{c.HTTPClient})
	}
	k, err := Connect(ctx, s.Provider, s.Model, c)
	if err != nil {
		return err
	}
	s.Client, s.Provider, s.Model = k.Client, k.Provider, k.Model
	return nil
}

// idle closes the connections of an HTTP client that nobody uses.
type idle struct{ *http.Client }

func (i idle) Close() error {
	i.CloseIdleConnections()
	return nil
}

// prepare fills in what depends on the model.
func (b *builder) prepare(ctx context.Context) error {
	s := &b.session
	recorded, err := b.recorded(ctx)
	if err != nil {
		return err
	}
	u, err := b.adapt(ctx, s.Provider, s.Model, recorded)
	if err != nil {
		return err
	}
	s.Tools, s.System, s.Options, s.Vision = u.Tools, u.System, u.Options, u.Vision
	s.ContextWindow, s.Serial, s.Unary = u.ContextWindow, u.Serial, u.Unary
	if s.Adapt == nil {
		s.Adapt = func(ctx context.Context, provider, model string) (agent.Setup, error) {
			u, err := b.adapt(ctx, provider, model, "")
			return u.Setup, err
		}
	}
	return cmp.Or(b.checkToolset(u), b.checkEffort(u), b.checkTools())
}

// checkToolset reports native tools that were asked for and that the model's family does not have.
func (b *builder) checkToolset(u setup) error {
	if b.config.Toolset == Native && u.profile.Family == GenericFamily {
		return llm.Errorf(llm.ErrConfiguration, "", "the %s profile has only the standard toolset; for native tools choose the openai, anthropic or gemini profile", u.profile.Family)
	}
	return nil
}

// checkEffort reports a reasoning effort that the model is known not to take.
func (b *builder) checkEffort(u setup) error {
	s := &b.session
	if _, listed := s.Catalogue.Lookup(s.Provider, s.Model); listed && s.Effort != "" && !u.profile.Reasoning {
		return llm.Errorf(llm.ErrConfiguration, "", "%s takes no reasoning effort; leave %q out", s.Model, s.Effort)
	}
	return s.Catalogue.CheckEffort(s.Provider, s.Model, s.Effort)
}

// checkTools reports names in Allow and Deny that are not those of tools.
func (b *builder) checkTools() error {
	all := b.session
	all.Allow, all.Deny = nil, nil
	var names []string
	for _, spec := range agent.Offered(all) {
		names = append(names, spec.Name)
	}
	for _, n := range slices.Concat(b.session.Allow, b.session.Deny) {
		if _, ok := all.Tools.Spec(n); !ok && !slices.Contains(names, n) {
			return llm.Errorf(llm.ErrConfiguration, "", "unknown tool %q: the tools are %s", n, strings.Join(names, ", "))
		}
	}
	return nil
}

// recorded returns the system prompt of the session that is resumed, unless another one is wanted. What
// the user wrote of it stays, whatever model comes.
func (b *builder) recorded(ctx context.Context) (string, error) {
	c := &b.config
	if c.Resume == "" || c.Session.System != "" || c.Prompt.User != "" {
		return "", nil
	}
	system, err := recordedSystem(ctx, b.session.Store, c.Resume)
	if err != nil {
		return "", err
	}
	if system != "" && !generated(system) {
		c.Session.System = system
		return "", nil
	}
	c.Prompt.User = userInstructions(system)
	return system, nil
}

// keep sets up what lets the session be undone and fit the context window.
func (b *builder) keep(ctx context.Context) error {
	s := &b.session
	if s.Compaction.At == 0 && !b.config.NoCompaction {
		s.Compaction.At = compactAt
	}
	if s.Store == nil {
		return nil
	}
	s.Meta.Branch = cmp.Or(s.Meta.Branch, GitBranch(ctx, s.Env))
	if _, here := s.Env.(*local.Env); here && s.Checkpoints == nil && b.state != "" {
		s.Checkpoints = sessionCheckpoints(ctx, b.state, s.Env.Info().Dir, b.config.Warn)
	}
	return nil
}
