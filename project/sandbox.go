package project

import (
	"cmp"
	"os"
	"slices"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/internal/realpath"
)

// Sandbox returns the configured sandbox. If no mode is configured and the system has no sandbox, it returns
// none and adds a note. Commands cannot write the files of Reins itself.
func (p *Project) Sandbox() (sandbox.Config, error) {
	s := p.Settings
	c := sandbox.Config{Mode: sandbox.Mode(s.Sandbox.Mode), Network: s.Sandbox.Network.All(), Hosts: s.Sandbox.Network.Hosts()}
	c.Writable = slices.Concat(s.Sandbox.WritableRoots, p.options.Writable)
	c.Readable, c.Denied = s.SandboxPaths()
	c.Listed = s.Sandbox.Reading == "listed"
	for _, dir := range c.Writable {
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
			return c, mistakef("the writable directory %s does not exist or is not a directory", dir)
		}
	}
	if c.Mode == sandbox.Off {
		return sandbox.Config{}, nil
	}
	if ok, why := sandbox.Available(); !ok {
		if c.Mode != "" {
			return c, p.noSandbox(why)
		}
		p.notef(NoteSandbox, "WARNING: commands are not confined: %s. Every command needs approval, also one that only reads. "+
			"Run \"reins doctor\" for details, or use --sandbox off to accept that.", why)
		return sandbox.Config{}, nil
	}
	c.Mode, c.Protected = cmp.Or(c.Mode, sandbox.WorkspaceWrite), p.own().Protected
	return c, nil
}

// noSandbox returns an error that names what has set a sandbox mode, although the system has no sandbox.
func (p *Project) noSandbox(why string) error {
	from := p.origin("sandbox.mode")
	from.Name = p.Short(from.Name)
	return mistakef("%s: the sandbox %s is not available: %s; use off to run without a sandbox", from, p.Settings.Sandbox.Mode, why)
}

// Confine returns the sandbox, and adds to the permissions what depends on it: directories that the policy treats as
// part of the workspace are writable in the sandbox, and vice versa.
func (p *Project) Confine(list *Permissions) (sandbox.Config, error) {
	box, err := p.Sandbox()
	if err != nil {
		return box, err
	}
	w := &list.Workspace
	w.Unenforced = box.Mode == "" && p.Settings.Sandbox.Mode == ""
	for _, dir := range box.Writable {
		w.Roots = append(w.Roots, realpath.Resolve(dir))
	}
	for _, dir := range w.Roots {
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() && !slices.Contains(box.Writable, dir) {
			box.Writable = append(box.Writable, dir)
		}
	}
	return box, nil
}

// Env returns an environment for commands outside a session, in a sandbox such as [Project.Sandbox] returns.
func (p *Project) Env(box sandbox.Config) (*local.Env, error) {
	if state, err := p.State(); err == nil && box.Mode == sandbox.WorkspaceWrite {
		box.Cache = state.Cache(p.options.Dir)
	}
	return local.New(local.Config{Dir: p.options.Dir, Sandbox: box, Pass: p.Settings.Environment.Pass})
}
