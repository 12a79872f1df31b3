package cli

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/connect"
	"github.com/reins-agent/reins/project"
)

// flagKeys maps flags to the configuration keys that they override.
var flagKeys = map[string]string{
	"provider":         "provider",
	"model":            "model",
	"effort":           "effort",
	"base-url":         "base_url",
	"response-timeout": "response_timeout",
	"mode":             "permissions.mode",
	"sandbox":          "sandbox.mode",
	"network":          "sandbox.network",
	"max-rounds":       "run.max_rounds",
	"max-turns":        "run.max_turns",
	"budget":           "run.budget",
	"compact-at":       "run.compact_at",
	"cache-ttl":        "cache_ttl",
	"service-tier":     "service_tier",
	"thinking":         "thinking_display",
	"past-price-step":  "run.past_price_step",
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

// machine returns the variables and the files of the user.
func (h Host) machine() project.Machine {
	return project.Machine{
		Getenv:    h.Getenv,
		SystemDir: h.systemDir,
		Version:   Version,
		ChatGPT:   h.chatgpt,
		Stderr:    h.Stderr,
		Now:       h.now,
	}
}

// options returns what to load for a directory. Notes are printed.
func (h Host) options(dir string, flags ...config.Override) project.Options {
	return project.Options{
		Machine:   h.machine(),
		Dir:       dir,
		Overrides: flags,
		Connect:   connect.Config{Search: h.search},
		Note:      func(n project.Note) { notef(h, "%s", n.Text) },
	}
}

// load reads the configuration for a directory and prints its notes, but not which files need trust.
func (h Host) load(dir string, flags ...config.Override) (*project.Project, error) {
	return loadProject(h.options(dir, flags...))
}

// loadProject loads a project without printing which files need trust.
func loadProject(o project.Options) (*project.Project, error) {
	say := o.Note
	o.Note = func(n project.Note) {
		if n.Kind != project.NoteTrust {
			say(n)
		}
	}
	return project.Load(context.Background(), o)
}

// peek reads the configuration for a directory without printing notes.
func (h Host) peek(dir string) (*project.Project, error) {
	o := h.options(dir)
	o.Note = nil
	return project.Load(context.Background(), o)
}

// trusted reports whether the user trusts a directory.
func (h Host) trusted(dir string) bool {
	trusted, _ := h.machine().Distrust(dir)
	return trusted
}

// options returns what to load for a directory, with the flags.
func (c *connection) options(h Host, dir string) (o project.Options, err error) {
	h = h.withProfile(c.profileName)
	o = h.options(dir, c.given...)
	if c.parsed != nil {
		o.Overrides = append(o.Overrides, overrides(c.parsed)...)
	}
	o.Models = c.catalogue
	if say := o.Note; c.level.quiet {
		o.Note = func(n project.Note) {
			if n.Kind != project.NoteProvider {
				say(n)
			}
		}
	}
	if c.debug {
		o.Connect.Debug = redacted(screen(h.Stderr))
	}
	o.Connect.Header, err = parseHeaders(c.headers)
	return o, err
}

// configure loads the project of a run. A resumed session keeps its provider, model and effort, unless a flag sets them.
func (o *run) configure(h Host, session event.Meta) error {
	options, err := o.connection.options(h, o.dir)
	if err != nil {
		return err
	}
	if o.asksLater && session.Turns == 0 { // it was opened again with more settings
		session.Provider, session.Model = "", ""
	}
	options.Once, options.Resumed = !o.asksLater, session
	if say := options.Note; o.asksLater {
		options.Note = func(n project.Note) {
			if n.Kind != project.NoteTrust {
				say(n)
			}
		}
	}
	if o.trust {
		options.Trust = project.TrustYes
	}
	options.Rules, options.Yes = o.rules, o.yes
	options.Writable, options.Servers = o.boxed.writable, o.mcpConfig
	return o.load(options)
}

// load loads a project.
func (o *run) load(options project.Options) error {
	p, err := project.Load(context.Background(), options)
	if err != nil {
		return err
	}
	r := p.Settings.Run
	o.project, o.budget, o.compactAt = p, r.Budget, r.CompactAt
	o.maxRounds, o.maxTurns = r.MaxRounds, r.MaxTurns
	return nil
}

// isUsage reports whether an error is a mistake of the user.
func isUsage(err error) bool {
	var usage usageError
	var mistake *project.Error
	return errors.As(err, &usage) || errors.As(err, &mistake)
}
