package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/coding/feature"
	slash "github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/internal/memory"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/project"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/skill"
	"github.com/reins-agent/reins/tool"
)

// opener opens one session as the flags of "reins run" describe it: settings, trust, sandbox, tools, MCP servers, skills,
// hooks, the audit log and where it is saved. Every face that has flags of "reins run" uses it:
//
//	o := newOpener(h, flags)
//	s, err := o.open(ctx)
//	if err != nil {
//		return err // for the user
//	}
//	defer s.Close()
//
// The session is a [session.Handle], which other processes reach while it is open. Its questions wait for Handle.Answer,
// unless approvals says otherwise. Its commands are built-in commands, skills and MCP prompts. Problems that do not
// stop the work are printed to host.Stderr, also later: an interface that owns the screen sets another writer.
//
// To open another session, as session.ActionOpen and session.ActionNew ask for, close the first one and use a new opener
// with other flags: resume names a session, and a new session has neither resume, nor continueLast, nor fork.
type opener struct {
	host  Host
	flags run
	vars  map[string]string // environment variables for commands
	given string            // the first prompt, which describes the session in lists; may be ""

	// alone means that no user answers questions. MCP servers cannot ask then, and features that need a decision to start are
	// left out.
	alone     bool
	approvals session.Approvals
	refuse    func(context.Context, tool.Request) tool.Approval // with session.RefuseApproval

	working context.Context // of all work; nil for faces that interrupt it with Handle.Interrupt

	asker   *asker     // asks on the terminal before there is a session
	leaving []decision // about servers that need to leave the sandbox
	standby *standby   // with --keep-running

	words string // the first prompt's words from the command line

	system   string            // the content of --system
	attached []llm.Part        // the files for the first prompt
	format   *llm.OutputFormat // result format; nil is text
	place    saved             // where the session is saved, and what it continues
	commands feature.Commands  // prompts that use skills
	tools    *feature.Servers  // MCP servers
	model    coding.Connection
	box      sandbox.Config
	models   *llm.Catalogue

	ready chan struct{}  // closed when there is a session
	local *session.Local // the session
}

// newOpener returns an opener for a face that answers questions.
func newOpener(h Host, flags run) *opener {
	return &opener{host: h, flags: flags, asker: newAsker(h), ready: make(chan struct{})}
}

// open finds the session that the flags name, or creates one, and opens it.
func (r *opener) open(ctx context.Context) (*shared, error) {
	if err := r.flags.check(); err != nil {
		return nil, err
	}
	place, err := r.flags.place(ctx, r.host, cmp.Or(r.flags.dir, "."), runCommand)
	if err != nil {
		return nil, err
	}
	s, err := r.begin(ctx, place)
	if err != nil {
		return nil, errors.Join(err, place.discard(ctx))
	}
	return s, nil
}

// begin connects to the model and opens the session. By default, a resumed session keeps its directory and model.
func (r *opener) begin(ctx context.Context, place saved) (*shared, error) {
	if err := r.prepare(ctx, place); err != nil {
		return nil, err
	}
	s, err := r.session(ctx, place)
	if err == nil {
		err = r.setMode(ctx, place, s)
	}
	if err != nil {
		return nil, explainResume(cmp.Or(place.meta.ID, r.flags.id), explainExists(r.flags.id, "--session-id", err))
	}
	state, _ := stateDir(r.host) // place has found it
	return share(s, state, place.store != nil), nil
}

// session opens the session that the flags describe, which were applied before.
func (r *opener) session(ctx context.Context, place saved) (*session.Local, error) {
	c, err := r.assemble(ctx, place)
	if err != nil {
		return nil, err
	}
	s, err := session.Open(ctx, c, r.options())
	if err != nil {
		return nil, openError(place, err)
	}
	r.opened(s)
	return s, nil
}

// prepare loads the project.
func (r *opener) prepare(ctx context.Context, place saved) (err error) {
	r.place = place
	if place.resumes() {
		if r.flags.dir, err = place.dir(r.flags.dir); err != nil {
			return err
		}
	}
	if err := checkDir(r.flags.dir); err != nil {
		return err
	}
	if err := r.flags.configure(r.host, place.meta); err != nil {
		return err
	}
	if err := r.readFiles(); err != nil {
		return err
	}
	return r.attach(ctx, r.words)
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// setMode gives a resumed session the permission mode from the command line. It also ends a plan mode that the model
// entered.
func (r *opener) setMode(ctx context.Context, place saved, s *session.Local) error {
	p := r.flags.project
	if !place.resumes() || p.Layer("permissions.mode") != config.LayerFlag {
		return nil
	}
	mode := policy.Mode(p.Settings.Permissions.Mode)
	if err := s.Reconfigure(ctx, session.Settings{Mode: mode}); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// options returns the session options for this process.
func (r *opener) options() session.Options {
	o := session.Options{
		Approvals: r.approvals,
		Refusal:   r.refuse,
		Places:    r.host.rulePlaces(r.flags.dir),
		Save:      func(layer string, rules []string) error { return r.host.allow(r.flags.dir, config.Layer(layer), rules) },
		Registry:  slash.New(r.commandHost()),
		Commands:  r.prompts,
		Submit:    r.submit,
		Context:   r.working,
	}
	if r.place.store != nil {
		o.Manager, _ = openSessions(r.host) // place has opened them
	}
	return o
}

// rulePlaces returns the files in which approvals can save rules for a directory.
func (h Host) rulePlaces(dir string) (list []ask.Place) {
	for _, layer := range ownLayers {
		if file, err := h.configFileFor(dir, layer); err == nil {
			list = append(list, ask.Place{Layer: string(layer), File: shortDir(h, file.Path)})
		}
	}
	return list
}

// allow adds rules to a configuration layer's file for a directory.
func (h Host) allow(dir string, layer config.Layer, rules []string) error {
	file, err := h.configFileFor(dir, layer)
	for _, rule := range rules {
		if err == nil {
			err = file.Add("permissions.allow", rule)
		}
	}
	return err
}

// submit submits input, which may call an MCP prompt or a skill.
func (r *opener) submit(ctx context.Context, s *agent.Session, input string, more ...llm.Part) (agent.Outcome, error) {
	more = append(r.attached, more...)
	r.attached = nil // they are for the first prompt
	parts, ok, err := r.tools.Command(ctx, input)
	switch {
	case err != nil:
		return agent.Outcome{}, usageError{err}
	case ok:
		return s.Submit(ctx, append(parts, more...)...)
	}
	return r.commands.Submit(ctx, s, input, more...)
}

// prompts lists the commands that are prompts.
func (r *opener) prompts() []session.Command {
	var list []session.Command
	for _, k := range r.commands.Skills.All() {
		if !k.UserInvocable {
			continue
		}
		c := session.Command{
			Name:      k.Name,
			Aliases:   k.Aliases,
			Summary:   k.Description,
			Arguments: k.ArgumentHint,
			Source:    session.SourceFile,
		}
		if k.Kind == skill.KindSkill {
			c.Source = session.SourceSkill
		}
		list = append(list, c)
	}
	return append(list, serverPrompts(r.tools.Client())...)
}

// serverPrompts lists the prompts of MCP servers; c may be nil. Servers that do not answer soon are left out.
func serverPrompts(c *mcp.Client) (list []session.Command) {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	found, _ := c.Prompts(ctx, "")
	for _, p := range found {
		list = append(list, session.Command{
			Name:    mcp.ToolName(p.Server, p.Name),
			Summary: cmp.Or(p.Title, p.Description),
			Source:  session.SourceMCP,
		})
	}
	return list
}

// commandHost returns the host that built-in commands need besides the session.
func (r *opener) commandHost() slash.Host {
	h := slash.Host{
		Models: r.models,
		Exists: exists,
	}
	r.listRules(&h)
	if sessions, err := openSessions(r.host); err == nil && r.place.store != nil {
		h.Sessions = sessions
	}
	if len(r.tools.Config.Servers) > 0 {
		h.Servers = func() []mcp.Status { return r.tools.Client().Status() }
	}
	if r.flags.project.Settings.Memory.Enabled {
		h.Notes = func(context.Context) ([]slash.Note, error) { return r.notes() }
		h.Forget = r.forget
	}
	return h
}

// rules lists the configured permission rules.
func (r *opener) rules() (list []slash.Rule) {
	for _, key := range project.RuleLists {
		e, err := r.flags.project.Settings.Get(key)
		if err != nil {
			continue
		}
		for i, rule := range e.Value.([]string) {
			list = append(list, slash.Rule{
				Effect: key[len("permissions."):],
				Rule:   rule,
				Origin: shortDir(r.host, e.Origins[i].String()),
			})
		}
	}
	return list
}

// notes lists the notes between sessions.
func (r *opener) notes() (list []slash.Note, err error) {
	store, err := r.notebook()
	if err != nil {
		return nil, err
	}
	for _, scope := range []memory.Scope{memory.User, memory.Project} {
		found, failed := store.Notes(scope)
		err = errors.Join(err, failed)
		for _, n := range found {
			list = append(list, slash.Note{Scope: string(scope), Title: n.Title, Text: n.Text})
		}
	}
	return list, err
}

// readFiles reads the files that flags name, so that a mistake is reported before anything is connected.
func (r *opener) readFiles() error {
	if name := r.flags.schema; name != "" {
		var err error
		if r.format, err = readSchema(name); err != nil {
			return usagef("--json-schema: %w", err)
		}
	}
	if r.flags.system == "" {
		return nil
	}
	b, err := os.ReadFile(r.flags.system)
	if err != nil {
		return usagef("--system: %w", err)
	}
	r.system = string(b)
	return nil
}

// checkDir returns an error unless dir is a directory; "" means the current directory.
func checkDir(dir string) error {
	info, err := os.Stat(cmp.Or(dir, "."))
	switch {
	case err != nil:
		return usagef("--cwd: %w", err)
	case !info.IsDir():
		return usagef("--cwd: %s is not a directory", dir)
	}
	return nil
}
