package cli

import (
	"context"
	"os"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/policy"
)

// session opens the session that the flags describe.
func (r *runner) session(ctx context.Context, k coding.Connection, place saved) (*agent.Session, error) {
	c, err := r.config(k, place)
	if err != nil {
		return nil, err
	}
	if err := r.flags.checkModels(r.host, c.Connect.Catalogue, k.Provider, k.Model); err != nil {
		return nil, err
	}
	s, err := coding.Open(ctx, c)
	switch {
	case err == nil:
		return s, nil
	case place.resumes():
		return nil, notSavable(err)
	}
	return nil, usageError{notSavable(err)}
}

// config maps the flags to the configuration of a session.
func (r *runner) config(k coding.Connection, place saved) (coding.Config, error) {
	o := r.flags
	conf, err := o.connection.config(r.host)
	if err != nil {
		return coding.Config{}, err
	}
	c := coding.Config{
		Provider: k.Provider, Model: k.Model, Effort: o.effort, Dir: o.dir, Vars: r.vars, Connect: conf,
		Family: coding.Family(o.profile), Toolset: coding.Toolset(o.toolset), ToolConfig: coding.ToolConfig{DefaultTimeout: o.timeout},
		Prompt: coding.PromptConfig{User: o.appendSystem}, Resume: place.meta.ID, NoSave: o.noSave, NoCompaction: o.compactAt == 0,
		Warn: func(err error) { aside(r.host, "%v; \"reins sessions verify\" tells more", err) },
		Session: agent.Config{
			ID: o.id, Client: k.Client, Allow: o.allow, Deny: o.deny, Limits: o.limits(), SkipDamaged: o.skipDamaged,
			Approve:    r.asker.approve,
			Compaction: agent.Compaction{At: o.compactAt, NoModel: o.noModel},
			Meta:       event.Meta{Prompt: show.FirstLine(r.given)}, // which lists the session if it is interrupted before it is described
		},
	}
	if place.store != nil {
		c.Session.Store = place.store
		if c.State, err = stateDir(r.host); err != nil {
			return c, err
		}
	}
	if o.yes {
		c.Session.Policy = policy.AllowAll{}
	}
	for _, name := range o.fallback {
		c.Session.Fallback = append(c.Session.Fallback, agent.Model{Name: name})
	}
	if o.system != "" {
		b, err := os.ReadFile(o.system)
		if err != nil {
			return c, usagef("--system: %w", err)
		}
		c.Session.System = string(b)
	}
	return c, nil
}

// follow takes over the model of a session, unless the flags name another.
func (o *run) follow(m event.Meta) {
	if o.provider == "" && o.model == "" {
		o.provider, o.model = m.Provider, m.Model
	}
}
