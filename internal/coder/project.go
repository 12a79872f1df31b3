package coder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/project"
)

// Of returns the configuration for runs that use the user's and the projects' configuration. The options select
// the model; their trust holds only for runs in Options.Dir. The user's configuration for dir selects the agent.
// complete sets the approver of a session, and may change anything else.
func Of(o project.Options, dir string, complete func(*coding.Config)) (Config, error) {
	quiet := o
	quiet.Dir, quiet.Trust = dir, project.TrustNo
	quiet.Servers, quiet.Note = nil, nil // each run has the notes about its configuration
	p, err := project.Load(context.Background(), quiet)
	if err != nil {
		return Config{}, err
	}
	state, err := p.State()
	if err != nil {
		return Config{}, err
	}
	s := p.Settings.Coder
	c := Config{State: string(state), FullAccess: s.FullAccess}
	if s.Backend != "command" {
		c.Session = func(ctx context.Context, dir string, box Sandbox) (coding.Config, error) {
			c, err := sessionConfig(ctx, o, dir, box)
			if err == nil {
				complete(&c)
			}
			return c, err
		}
		return c, nil
	}
	c.Command = &Command{
		Args:       s.Command,
		ResumeFlag: s.ResumeFlag,
		SystemFlag: s.SystemFlag,
		Env:        func(dir string, box Sandbox) (env.Environment, error) { return commandEnv(o, dir, box) },
	}
	return c, nil
}

// sessionConfig returns a session's configuration.
func sessionConfig(ctx context.Context, o project.Options, dir string, box Sandbox) (coding.Config, error) {
	p, mode, err := load(o, dir, box)
	if err != nil {
		return coding.Config{}, err
	}
	if s := p.Settings.Coder; !overridden(o, "provider") && !overridden(o, "model") {
		if err := p.UseModel(s.Provider, s.Model); err != nil {
			return coding.Config{}, err
		}
	}
	c, err := p.Session(ctx, project.SessionOptions{NoMCP: true})
	if c.Session.Mode = mode; box == FullAccess {
		c.Sandbox = sandbox.Config{}
	}
	return c, err
}

// overridden reports whether the options override a setting.
func overridden(o project.Options, key string) bool {
	return slices.ContainsFunc(o.Overrides, func(s config.Override) bool { return s.Key == key })
}

// load loads a run's project, and returns the permission mode. The sandbox determines what the agent may do without
// asking, within the configured limits.
func load(o project.Options, dir string, box Sandbox) (*project.Project, policy.Mode, error) {
	if !realpath.Same(cmp.Or(o.Dir, "."), dir) && o.Trust == project.TrustYes {
		o.Trust = project.TrustRecorded
	}
	o.Dir = dir
	o.Yes, o.Once = false, true
	p, err := project.Load(context.Background(), o)
	if err != nil {
		return nil, "", err
	}
	permitted, err := p.Permissions()
	if err != nil {
		return nil, "", err
	}
	mode, err := modeOf(box, permitted.Mode, sandbox.Mode(p.Settings.Sandbox.Mode))
	if err != nil {
		return nil, "", &project.Error{Err: err}
	}
	if ok, _ := sandbox.Available(); ok && box != FullAccess {
		p.Settings.Sandbox.Mode = string(box)
	}
	return p, mode, nil
}

// modeOf returns a run's permission mode, if the configuration permits its sandbox.
func modeOf(box Sandbox, mode policy.Mode, configured sandbox.Mode) (policy.Mode, error) {
	switch {
	case box == FullAccess && configured != "" && configured != sandbox.Off:
		return "", fmt.Errorf("the sandbox danger-full-access is not permitted: the configured sandbox is %s", configured)
	case box == FullAccess:
		return policy.ModeBypass, nil
	case box == ReadOnly:
		return policy.ModePlan, nil
	case configured == sandbox.ReadOnly || mode == policy.ModePlan:
		return "", errors.New("the sandbox workspace-write is not permitted: the configuration permits only reading; use read-only")
	case mode == policy.ModeDontAsk:
		return mode, nil
	}
	return policy.ModeAuto, nil
}

// commandEnv returns the environment for a run's command. It has network access, because the command calls a model.
func commandEnv(o project.Options, dir string, box Sandbox) (env.Environment, error) {
	p, _, err := load(o, dir, box)
	if err != nil {
		return nil, err
	}
	permitted, err := p.Permissions()
	if err != nil {
		return nil, err
	}
	c, err := p.Confine(&permitted)
	switch {
	case err != nil:
		return nil, err
	case box == FullAccess:
		c = sandbox.Config{}
	case c.Mode == "" && p.Settings.Sandbox.Mode != string(sandbox.Off):
		return nil, errors.New("the sandbox is not available, so the command cannot be confined; " +
			"set sandbox.mode to off to run it without a sandbox")
	}
	for _, dir := range p.Settings.CoderWritable() {
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
			return nil, fmt.Errorf("coder.writable: %s does not exist or is not a directory", dir)
		}
		c.Writable = append(c.Writable, dir)
	}
	c.Network = len(c.Hosts) == 0
	for _, name := range credentials {
		c.Readable = append(c.Readable, realpath.Resolve(filepath.Join(permitted.Workspace.Home, name)))
	}
	p.Settings.Environment.Pass = slices.Concat(p.Settings.Environment.Pass, p.Settings.Coder.Pass)
	return p.Env(c)
}

// credentials are the files of other agents in the home directory, with their own credentials.
var credentials = []string{".claude", ".claude.json", ".codex", ".gemini", ".config/opencode", ".local/share/opencode"}
