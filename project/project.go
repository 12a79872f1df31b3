// Package project opens coding sessions as `reins run` does.
//
// [Open] is the whole product in one call: the user's and the project's configuration, trust, permissions,
// sandbox, skills, hooks, MCP servers, language servers, memory, audit log and redaction of secrets. [Load] reads the
// configuration for programs that want to see or change it; [Project.Session] makes a [coding.Config] of it. Package
// coding alone reads no configuration.
//
// Nothing is printed. Problems that do not keep the project from being used are notes.
package project

import (
	"cmp"
	"context"
	"sync"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/skill"
)

// Options selects what [Load] reads. The zero value is what `reins run` reads in the current directory.
type Options struct {
	Machine

	// Dir is the working directory. It defaults to the directory of Resumed, or else to the current one.
	Dir string
	// Overrides are settings above all files and variables, such as flags.
	Overrides []config.Override
	// Trust decides whether project files that can run programs or widen permissions are used.
	Trust Trust
	// Once leaves out notes about ignored project files that an earlier Load with Once had, until a file
	// changes. The state directory records that.
	Once bool
	// Resumed is the session that continues. Unless overridden, its provider and model, if any, are used.
	Resumed event.Meta

	// Rules is a JSON file with a permission mode and rules, in addition to the configuration.
	Rules string
	// Yes allows calls that the policy would ask about.
	Yes bool
	// Writable are directories that commands in the sandbox can write to, in addition to the configuration.
	Writable []string
	// Servers are files with MCP servers, in addition to the user's and the project's files.
	Servers []string
	// Models is a JSON file with models that extend or replace the built-in models.
	Models string
	// Connect has connection options that are not part of the configuration: headers, where to search for local
	// servers, debugging. The project fills in the other fields.
	Connect connect.Config

	// Note, if set, is called with each note as it is added; see [Project.Notes]. It may be called by several goroutines,
	// also while a session is open.
	Note func(Note)
}

// Project is the configuration for working in a directory. Its methods read further files when they are called.
type Project struct {
	Machine

	Dir      string // working directory
	Root     string // repository root, or else the working directory
	Trusted  bool
	Settings *config.Settings // with the origin of each value; changes apply to later calls of methods

	options  Options
	provider string // "" is chosen by the model or by the keys that are set
	model    string // "" is the provider's default model
	chosen   bool   // UseModel chose the provider

	skills *skill.Registry
	extra  []Server                // of Options.Servers
	models *llm.Catalogue          // without configured providers
	own    func() policy.Workspace // Machine.Workspace, computed once

	mu    sync.Mutex
	notes []Note
}

// Load reads the configuration for a directory and finds out whether its project is trusted. A user's mistake is an
// [*Error]. With an error, the project has no settings; its other fields and notes are those found so far.
func Load(_ context.Context, o Options) (*Project, error) {
	p := &Project{Machine: o.Machine, Dir: cmp.Or(o.Dir, o.Resumed.Dir, "."), options: o}
	p.own = sync.OnceValue(o.Workspace)
	noted := p.findTrust()
	src, err := p.Sources(p.Dir)
	if err != nil {
		return p, err
	}
	p.Root = src.Dir
	src.Trusted, src.Flags = p.Trusted, p.overrides()
	s, err := config.Load(src)
	if err != nil {
		return p, mistake(err)
	}
	noteUnknownTools(s)
	p.Settings = s
	p.provider, p.model = s.Provider, s.Model
	p.noteSettings(noted)
	return p, p.readExtra()
}

// overrides returns the given overrides, and the model of the continued session.
func (p *Project) overrides() []config.Override {
	list, from := p.options.Overrides[:len(p.options.Overrides):len(p.options.Overrides)], p.options.Resumed
	if from.Model == "" {
		return list
	}
	provider, model := given(list, "provider"), given(list, "model")
	if model != "" || provider != "" && provider != from.Provider {
		return list
	}
	return append(list,
		config.Override{Key: "provider", Value: from.Provider, Name: "session " + from.ID},
		config.Override{Key: "model", Value: from.Model, Name: "session " + from.ID})
}

// given returns a key's last override, or "".
func given(list []config.Override, key string) (value string) {
	for _, o := range list {
		if o.Key == key {
			value = o.Value
		}
	}
	return value
}

// Layer returns the layer that sets a key, or the lowest layer if none does.
func (p *Project) Layer(key string) config.Layer { return p.origin(key).Layer }

// origin returns a key's origin, or the lowest layer if it is not set.
func (p *Project) origin(key string) config.Origin {
	if e, err := p.Settings.Get(key); err == nil && len(e.Origins) > 0 {
		return e.Origins[0]
	}
	return config.Origin{Layer: config.LayerDefault}
}

// Open opens a session with everything that `reins run` uses. complete, if not nil, completes the configuration before
// that: it sets the approver, or replaces any part. Without an approver, calls that need approval are refused.
func Open(ctx context.Context, o Options, complete func(*coding.Config)) (*agent.Session, error) {
	p, err := Load(ctx, o)
	if err != nil {
		return nil, err
	}
	c, err := p.Session(ctx, SessionOptions{})
	if err != nil {
		return nil, err
	}
	if complete != nil {
		complete(&c)
	}
	return coding.Open(ctx, c)
}
