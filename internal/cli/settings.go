package cli

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// flagKeys maps flags to the configuration keys that they override.
var flagKeys = map[string]string{
	"provider": "provider", "model": "model", "effort": "effort", "base-url": "base_url", "response-timeout": "response_timeout",
	"mode": "permissions.mode", "sandbox": "sandbox.mode", "network": "sandbox.network", "max-rounds": "run.max_rounds", "max-turns": "run.max_turns", "budget": "run.budget", "compact-at": "run.compact_at",
	"cache-ttl": "cache_ttl", "service-tier": "service_tier", "thinking": "thinking_display", "past-price-step": "run.past_price_step",
}

// ownMeaning marks a flag that does not override the key of the same name in flagKeys.
const ownMeaning = "own"

// overrides returns the settings of the flags that were given.
func overrides(flags *pflag.FlagSet) (list []config.Override) {
	flags.Visit(func(f *pflag.Flag) {
		if key, ok := flagKeys[f.Name]; ok && f.Annotations[ownMeaning] == nil {
			list = append(list, config.Override{Key: key, Value: f.Value.String(), Name: "--" + f.Name})
		}
	})
	return list
}

// sources returns the sources of the configuration for an untrusted directory.
func (h Host) sources(dir string, flags []config.Override) (config.Sources, error) {
	root, err := config.Root(cmp.Or(dir, "."))
	if err != nil {
		return config.Sources{}, usageError{err}
	}
	return config.Sources{Dir: root, Flags: flags, Getenv: h.Getenv, SystemDir: h.systemDir}, nil
}

// settings reads the configuration for a directory and prints its notes.
func (h Host) settings(dir string, trusted bool, flags []config.Override) (*config.Settings, error) {
	s, err := h.quietSettings(dir, trusted, flags)
	if err != nil {
		return nil, err
	}
	h.printNotes(s.Notes)
	return s, nil
}

func (h Host) printNotes(notes []config.Note) {
	for _, n := range notes {
		n.Origin.Name = shortDir(h, n.Origin.Name)
		notef(h, "%v", n)
	}
}

// unsaid returns the notes without those about files of a project that earlier runs have printed. What would have
// restricted a run is said every time.
func unsaid(notes []config.Note) []config.Note {
	return slices.DeleteFunc(slices.Clone(notes), func(n config.Note) bool {
		restricts := strings.HasPrefix(n.Key, "permissions.deny") || strings.HasPrefix(n.Key, "permissions.ask")
		return (n.Origin.Layer == config.LayerProject || n.Origin.Layer == config.LayerLocal) && !restricts
	})
}

// quietSettings reads the configuration for a directory.
func (h Host) quietSettings(dir string, trusted bool, flags []config.Override) (*config.Settings, error) {
	src, err := h.sources(dir, flags)
	if err != nil {
		return nil, err
	}
	src.Trusted = trusted
	s, err := config.Load(src)
	if err != nil {
		return nil, usageError{err}
	}
	noteUnknownTools(s)
	return s, nil
}

// noteUnknownTools adds notes about rules whose tools do not exist.
func noteUnknownTools(s *config.Settings) {
	for _, key := range ruleLists {
		e, err := s.Get(key)
		if err != nil {
			continue
		}
		for i, text := range e.Value.([]string) {
			r, err := rules.Parse(text)
			if err == nil {
				err = unknownTool(r)
			}
			if err != nil {
				s.Notes = append(s.Notes, config.Note{Key: key + " " + text, Origin: e.Origins[i], Reason: err.Error()})
			}
		}
	}
}

// configure applies the configuration for a directory. Flags override the session, and the session overrides
// lower layers. Without a command line, it does nothing.
func (c *connection) configure(h Host, dir string, trusted bool, session event.Meta) (*config.Settings, error) {
	if c.parsed == nil {
		return nil, nil
	}
	h = h.withProfile(c.profileName)
	flags := overrides(c.parsed)
	if same := c.provider == "" || c.provider == session.Provider; session.ID != "" && c.model == "" && same {
		flags = append(flags,
			config.Override{Key: "provider", Value: session.Provider, Name: "session " + session.ID},
			config.Override{Key: "model", Value: session.Model, Name: "session " + session.ID})
	}
	s, err := h.quietSettings(dir, trusted, flags)
	if err != nil {
		return nil, err
	}
	notes := s.Notes
	if c.noticed {
		notes = unsaid(notes)
	}
	h.printNotes(notes)
	known, err := loadCatalogue(h, c.catalogue)
	if err != nil {
		return nil, err
	}
	c.provider, c.model, c.baseURL, c.responseTimeout, c.entries = s.Provider, s.Model, s.BaseURL, s.ResponseTimeout, h.entries(s, known)
	if otherVendor(s, known) {
		c.provider = "" // chosen by the model
	}
	return s, nil
}

// vendors lists the providers whose models are all in the catalogue.
var vendors = []string{"openai", "anthropic", "gemini"}

// otherVendor reports whether the model was chosen in a layer above the provider and belongs to another vendor.
func otherVendor(s *config.Settings, known *llm.Catalogue) bool {
	m, listed := known.Lookup(s.Provider, s.Model)
	if alias, ok := known.Resolve("", s.Model); ok {
		m, listed = alias, true
	}
	return layerOf(s, "model").Above(layerOf(s, "provider")) && s.BaseURL == "" && listed &&
		m.Provider != s.Provider && slices.Contains(vendors, s.Provider) && slices.Contains(vendors, m.Provider)
}

// originOf returns the origin of a key, or the lowest layer if it is not set.
func originOf(s *config.Settings, key string) config.Origin {
	if e, err := s.Get(key); err == nil && len(e.Origins) > 0 {
		return e.Origins[0]
	}
	return config.Origin{Layer: config.LayerDefault}
}

// layerOf returns the layer of a key, or the lowest one if it is not set.
func layerOf(s *config.Settings, key string) config.Layer { return originOf(s, key).Layer }

// configure applies the configuration to a run, and finds out whether its directory is trusted. A resumed session
// keeps its effort, unless a flag sets it.
func (o *run) configure(h Host, session event.Meta) error {
	dir := cmp.Or(o.dir, session.Dir, ".")
	if !o.trust {
		trusted, isNew := trustsAgain(h, dir)
		o.trust, o.noticed = trusted, !isNew
	}
	s, err := o.connection.configure(h, dir, o.trust, session)
	if s == nil || err != nil {
		return err
	}
	o.settings = s
	if session.ID == "" || layerOf(s, "effort").Above(config.LayerEnvironment) {
		o.effort = s.Effort
	}
	o.maxRounds, o.maxTurns, o.budget, o.compactAt = s.Run.MaxRounds, s.Run.MaxTurns, s.Run.Budget, s.Run.CompactAt
	o.apply(s)
	if o.permitted, err = h.permissions(s, o.rules); err != nil {
		return err
	}
	if o.yes && o.permitted.mode == policy.ModePlan {
		return usagef("--yes cannot be combined with the permission mode plan, which changes nothing")
	}
	o.pass = s.Environment.Pass
	if err := o.useBox(h, s); err != nil {
		return err
	}
	if o.skills, err = h.findSkills(s, dir, o.trust); err != nil {
		return err
	}
	o.hooks, err = h.hooks(s, dir, o.trust)
	return err
}

// apply takes over what the configuration says about requests to the model.
func (o *run) apply(s *config.Settings) {
	o.cacheTTL, o.service, o.thinking, o.pastStep = s.CacheTTL, s.ServiceTier, s.ThinkingDisplay, s.Run.PastPriceStep
}

// useBox sets up the sandbox. The permissions must be set first.
func (o *run) useBox(h Host, s *config.Settings) (err error) {
	if o.box, err = h.box(s, o.boxed.writable, o.permitted.own); err != nil {
		return err
	}
	o.permitted.workspace.Unenforced = o.box.Mode == "" && s.Sandbox.Mode == ""
	// Directories that the policy treats as part of the workspace are writable in the sandbox, and vice versa.
	for _, dir := range o.box.Writable {
		o.permitted.workspace.Roots = append(o.permitted.workspace.Roots, realpath.Resolve(dir))
	}
	for _, dir := range o.permitted.workspace.Roots {
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() && !slices.Contains(o.box.Writable, dir) {
			o.box.Writable = append(o.box.Writable, dir)
		}
	}
	return nil
}
