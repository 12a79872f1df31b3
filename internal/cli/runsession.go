package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/coding/feature"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/project"
	"github.com/reins-agent/reins/session"
)

// assemble adds the flags to the session configuration of the project.
func (r *opener) assemble(ctx context.Context, place saved) (coding.Config, error) {
	o := r.flags
	c, err := o.project.Session(ctx, r.sessionOptions(ctx))
	if err != nil {
		return c, err
	}
	r.models = c.Connect.Catalogue
	r.box = c.Sandbox
	if err := r.checkVision(r.models, c.Provider, c.Model); err != nil {
		return c, err
	}
	r.model = coding.Connection{Client: c.Session.Client.(*llm.Client), Provider: c.Provider, Model: c.Model}
	c.Vars, c.Family = r.vars, coding.Family(o.profile)
	c.Toolset, c.Tier = coding.Toolset(o.toolset), coding.Tier(o.tier)
	c.ToolConfig.DefaultTimeout, c.Prompt.User = o.timeout, o.appendSystem
	c.Resume = place.meta.ID
	s := &c.Session
	s.ID, s.System = o.id, r.system
	s.SkipDamaged = o.skipDamaged
	s.Allow, s.Deny = o.allow, o.deny
	s.Compaction.NoModel = o.noModel
	s.Subagents.Teams = s.Subagents.Teams || o.higherTier()
	if o.noModel {
		s.Hooks = nil
	}
	if o.reads {
		s.Policy = reading{rules.Of(s.Policy)}
	}
	if !s.Hooks.Has(hook.UserPromptSubmit) { // a hook may refuse the prompt
		s.Meta.Prompt = show.FirstLine(r.given) // so that the session is listed even if it is interrupted early
	}
	if place.store == nil {
		c.State = ""
	} else {
		s.Store = place.store
	}
	return c, r.prepareCommands(c)
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

// prepareCommands sets what prompts that use skills need.
func (r *opener) prepareCommands(c coding.Config) error {
	skills, err := r.flags.project.FindSkills()
	c.Session.Approve = r.approveCommand
	r.commands = feature.Commands{
		Skills:   skills,
		Provider: c.Provider,
		Config:   &c,
		Warn:     c.Warn,
		Exists:   exists,
		Format:   r.format,
	}
	return err
}

// sessionOptions returns what the session has besides the configuration. MCP servers can ask the user if somebody
// answers, and use the model if there is no budget, because the session does not count what that costs.
func (r *opener) sessionOptions(ctx context.Context) project.SessionOptions {
	o := r.flags
	r.tools = &feature.Servers{}
	if c := &r.tools.Config; !r.alone {
		c.Elicit = r.elicit
		if o.budget == 0 {
			c.Sample = func(ctx context.Context, server string, q mcp.SampleRequest) (mcp.SampleAnswer, error) {
				return sampling{r, r.model}.sample(ctx, server, q)
			}
		}
	}
	options := project.SessionOptions{
		Connection: r.model,
		Fallback:   o.fallback,
		NoSave:     o.noSave,
		NoMCP:      o.noMCP,
		Servers:    r.tools,
		Leave:      r.launcher(ctx),
		Secrets:    []string{o.secretEnv},
		Worktree:   o.tree,
	}
	if r.standby != nil {
		options.Schedule = &r.standby.schedule
	}
	return options
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
		return fmt.Errorf(
			"session %s is open in another process; join it with \"reins attach %s\", or continue a copy with --fork %s",
			id,
			id,
			id,
		)
	}
	return err
}
