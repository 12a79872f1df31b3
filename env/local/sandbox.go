package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/internal/hostproxy"
)

// newBox makes the sandboxes for an environment, if it has one: the configured sandbox, and one for commands that only
// read. Temporary files go to the private directory.
func (e *Env) newBox(c sandbox.Config) error {
	if c.Mode == "" || c.Mode == sandbox.Off {
		return nil
	}
	if c.Mode != sandbox.WorkspaceWrite {
		c.Cache = ""
	}
	root, err := filepath.EvalSymlinks(e.spoolRoot)
	if err != nil {
		return fmt.Errorf("find a directory for temporary files: %w", err)
	}
	e.spoolName = spoolPrefix + newID()
	c.Dir = e.info.Dir
	private := filepath.Join(root, e.spoolName)
	c.Temp = filepath.Join(private, tempName)
	c.Protected = append(slices.Clone(c.Protected), private)
	if c.Cache != "" {
		if c.Cache, e.cacheLock, err = lockCache(c.Cache); err != nil {
			return err
		}
	}
	if c.Cache != "" {
		c.Layers = c.Cache + ".layers"
		c.Overlays = overlays(c.Cache)
	}
	c.Masked = masked(c)
	if len(c.Hosts) > 0 {
		if c.Proxy, err = hostproxy.New(c.Hosts); err != nil {
			return fmt.Errorf("set up the sandbox: %w", err)
		}
	}
	named := c.Readable
	c.Readable = nil
	e.repository, e.around, e.ignores = repository(realDir(c.Dir))
	if c.Listed {
		c.Readable = slices.Concat(readable(e.repository), []string{realDir(c.Dir)}, named)
	}
	if e.box, err = sandbox.New(c); err != nil {
		return err
	}
	e.config = c
	e.cache = c.Cache
	e.named = named
	l := e.info.Limits
	l.Sandbox = string(c.Mode)
	l.Writable = e.box.Writable()
	l.Temp = c.Temp
	l.Network = c.Network
	l.Masked = c.Masked
	if !c.Network {
		l.Hosts = c.Hosts
	}
	return nil
}

// Names for temporary directories in the private directory. watchdog.sh relies on them.
const (
	tempName = "tmp"
	readName = "read" // for commands that only read
)

// reader returns the sandbox for commands that only read, with its configuration. The first such command makes it.
func (e *Env) reader() (*sandbox.Box, sandbox.Config, error) {
	e.making.Lock()
	defer e.making.Unlock()
	if box, err := e.openBox(&e.readBox); box != nil || err != nil {
		return box, e.readConfig, err
	}
	e.readConfig = e.reading()
	box, err := e.makeBox(e.readConfig, func(box *sandbox.Box) { e.readBox = box })
	return box, e.readConfig, err
}

// openBox returns a sandbox that may have been made, or nil.
func (e *Env) openBox(box **sandbox.Box) (*sandbox.Box, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return nil, env.ErrClosed
	}
	return *box, nil
}

// makeBox makes a sandbox, and keeps it unless the environment has been closed. e.mu is not held while the sandbox asks
// which files are hidden, because the answer comes from this environment.
func (e *Env) makeBox(c sandbox.Config, keep func(*sandbox.Box)) (*sandbox.Box, error) {
	box, err := sandbox.New(c)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return nil, errors.Join(env.ErrClosed, box.Close())
	}
	keep(box)
	return box, nil
}

// reading returns the configuration for commands that only read. Caches are in memory, over the user's caches. The caller
// holds e.making.
func (e *Env) reading() sandbox.Config {
	c, dir := e.config, realDir(e.config.Dir)
	temp := filepath.Join(filepath.Dir(c.Temp), readName)
	r := sandbox.Config{
		Mode:      sandbox.ReadOnly,
		Dir:       dir,
		Temp:      temp,
		Protected: c.Protected,
		Overlays:  overlays(temp),

		Masked:    c.Masked,
		Denied:    c.Denied,
		Hidden:    c.Hidden,
		NoSockets: true,
	}
	own := append([]string{dir}, e.named...)
	for _, dir := range c.Writable {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			own = append(own, real)
		}
	}
	r.Readable = slices.Concat(e.box.Writable(), readable(e.repository), own)
	if e.around != nil {
		writable := slices.DeleteFunc(e.box.Writable(), func(path string) bool {
			return slices.ContainsFunc(e.around, func(r string) bool { return contains(r, path) })
		})
		e.narrow = slices.Concat(writable, readable(e.ignores), own)
	}
	return r
}

// realDir resolves symbolic links in a directory path, if it can.
func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// caches are compiler and package manager caches, with the variable for each and its default place in the home
// directory or in the cache directory. Commands have their own caches, layered over the user's: what a command changed
// in the user's caches would be used outside the sandbox.
var caches = []struct{ variable, name, place string }{
	{"GOCACHE", "go-build", "cache/go-build"},
	{"GOPLSCACHE", "gopls", "cache/gopls"},
	{"GOLANGCI_LINT_CACHE", "golangci-lint", "cache/golangci-lint"},
	{"STATICCHECK_CACHE", "staticcheck", "cache/staticcheck"},
	{"npm_config_cache", "npm", "home/.npm"},
	{"YARN_CACHE_FOLDER", "yarn", "cache/yarn"},
	{"PIP_CACHE_DIR", "pip", "cache/pip"},
	{"CCACHE_DIR", "ccache", "cache/ccache"},
}

// cacheOf returns the user's own directory for a cache, or "" if there is none.
func cacheOf(variable, place string) string {
	dir := os.Getenv(variable)
	if dir == "" {
		root, name, _ := strings.Cut(place, "/")
		find := os.UserHomeDir
		if root == "cache" {
			find = os.UserCacheDir
		}
		home, err := find()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, name)
	}
	real, err := filepath.EvalSymlinks(dir)
	if fi, errStat := os.Stat(real); err != nil || errStat != nil || !fi.IsDir() {
		return ""
	}
	return real
}

// overlays returns overlays for the user's caches.
func overlays(cache string) (list []sandbox.Overlay) {
	for _, c := range caches {
		if lower := cacheOf(c.variable, c.place); lower != "" {
			list = append(list, sandbox.Overlay{Dir: filepath.Join(cache, c.name), Lower: lower})
		}
	}
	return list
}

// confineVars sets the variables that make programs write where they can.
func confineVars(vars map[string]string, temp, cache string) {
	own := map[string]string{"TMPDIR": temp, "TMP": temp, "TEMP": temp}
	for _, c := range caches {
		own[c.variable] = filepath.Join(cmp.Or(cache, temp), c.name)
	}
	setVars(vars, own)
}

// proxyVars sets the variables that make programs use the sandbox proxy.
func proxyVars(vars map[string]string) {
	own := map[string]string{"NODE_USE_ENV_PROXY": "1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		own[name], own[strings.ToLower(name)] = "http://"+sandbox.ProxyAddr, "http://"+sandbox.ProxyAddr
	}
	own["NO_PROXY"], own["no_proxy"] = "localhost,127.0.0.1,::1", "localhost,127.0.0.1,::1"
	setVars(vars, own)
}

// boxFor returns the sandbox for a command, or nil if it is unconfined.
func (e *Env) boxFor(c env.Command) (*sandbox.Box, error) {
	if e.box == nil || e.outside {
		return nil, nil
	}
	box, config := e.box, e.config
	if c.ReadOnly {
		var err error
		if box, config, err = e.reader(); err != nil {
			return nil, err
		}
	}
	narrow := c.ReadOnly && !c.Repository && e.around != nil
	if len(c.Reveal) == 0 && !narrow {
		return box, nil
	}
	// An overlay must not be mounted twice.
	special, changed := config, narrow
	special.Overlays, special.Layers = nil, ""
	if narrow {
		special.Readable = slices.Clip(e.narrow)
	}
	special.Masked = slices.DeleteFunc(slices.Clone(config.Masked), func(m string) bool {
		named := slices.ContainsFunc(c.Reveal, func(path string) bool { return contains(m, path) })
		changed = changed || named
		return named
	})
	for _, path := range c.Reveal {
		if config.Readable != nil && !slices.ContainsFunc(special.Readable, func(dir string) bool { return contains(dir, path) }) {
			special.Readable, changed = append(slices.Clip(special.Readable), path), true
		}
	}
	if !changed {
		return box, nil
	}
	return e.special(special)
}

// special returns a sandbox in which commands can read more or less than in the others.
func (e *Env) special(c sandbox.Config) (*sandbox.Box, error) {
	key := fmt.Sprintf("%s %q %q", c.Mode, c.Masked, c.Readable)
	e.making.Lock()
	defer e.making.Unlock()
	known := e.revealed[key]
	if box, err := e.openBox(&known); box != nil || err != nil {
		return box, err
	}
	return e.makeBox(c, func(box *sandbox.Box) {
		if e.revealed == nil {
			e.revealed = make(map[string]*sandbox.Box)
		}
		e.revealed[key] = box
	})
}

// boxes returns all sandboxes. The caller holds e.mu, or has closed the environment.
func (e *Env) boxes() []*sandbox.Box {
	if e.box == nil {
		return nil
	}
	list := []*sandbox.Box{e.box}
	if e.readBox != nil {
		list = append(list, e.readBox)
	}
	return slices.AppendSeq(list, maps.Values(e.revealed))
}

// confines reports whether a process is in any sandbox.
func (e *Env) confines(pid int) bool {
	e.mu.Lock()
	list := e.boxes()
	e.mu.Unlock()
	return slices.ContainsFunc(list, func(b *sandbox.Box) bool { return b.Contains(pid) })
}

// Sandbox returns what the system enforces for commands. ok is false if there is no sandbox. The first time,
// it starts a process.
func (e *Env) Sandbox() (s sandbox.Support, ok bool) {
	if e.box == nil || e.outside {
		return s, false
	}
	if err := e.readyBox(e.box); err != nil {
		return sandbox.Support{Problems: []string{err.Error()}}, true
	}
	return e.box.Support(), true
}

// ReadsOnly implements [env.Confined].
func (e *Env) ReadsOnly() bool {
	if e.box == nil || e.outside {
		return false
	}
	box, _, err := e.reader()
	return err == nil && e.readyBox(box) == nil && box.Support().Reads()
}

// readyBox prepares a sandbox for a command.
func (e *Env) readyBox(box *sandbox.Box) error {
	if box == nil {
		return nil
	}
	e.mu.Lock()
	err := e.makeTemp()
	e.mu.Unlock()
	if err != nil {
		return fmt.Errorf("create the directory for temporary files: %w", err)
	}
	s := box.Support()
	if !s.Any() {
		return fmt.Errorf("start the sandbox: %s", strings.Join(s.Problems, "; "))
	}
	if !s.Full() && e.incomplete != nil {
		e.report.Do(func() { e.incomplete(s) })
	}
	return nil
}

// tellGuard tells the guard about changes in the sandbox. The caller holds e.mu.
func (e *Env) tellGuard() {
	if e.box == nil {
		return
	}
	var reserved, forbidden []string
	for _, box := range e.boxes() {
		r, f := box.Traces()
		reserved, forbidden = append(reserved, r...), append(forbidden, f...)
	}
	if all := strings.Join(append(slices.Concat(reserved, forbidden), "boxed"), "\n"); all != e.told {
		e.guard.confines(reserved, forbidden)
		e.told = all
	}
}

// Allows implements [env.Confined].
func (e *Env) Allows(path string) bool { return e.box == nil || e.outside || e.box.Allows(path) }

// Enforced implements [env.Confined].
func (e *Env) Enforced() bool {
	s, ok := e.Sandbox()
	return ok && s.Full()
}

// Outside implements [env.Confined].
func (e *Env) Outside() env.Environment {
	view := &Env{state: e.state, tree: e.tree, outside: true}
	return view
}

// change runs an operation that changes a path, if the sandbox permits it. It then works on the real path, which
// must have no symbolic links by then.
func (e *Env) change(ctx context.Context, op, path string, last bool, f func(h handle, name string) error) error {
	return e.operate(ctx, op, path, func() error {
		t, real, err := e.changeable(path, last)
		if err != nil {
			return err
		}
		return t.follow(real, last, f)
	})
}

// changeable returns the tree and the path for changing a file.
func (e *Env) changeable(path string, last bool) (*tree, string, error) {
	if e.box == nil {
		return &e.tree, path, nil
	}
	if e.outside {
		if abs, err := e.tree.abs(path); err == nil {
			if abs, err = e.tree.canonical(abs, last); err == nil {
				e.box.Expect(abs)
			}
		}
		return &e.tree, path, nil
	}
	abs, err := e.tree.abs(path)
	if err != nil {
		return nil, "", err
	}
	if abs, err = e.tree.canonical(abs, last); err != nil {
		return nil, "", err
	}
	if !e.box.Allows(abs) {
		if slices.Contains(e.info.Limits.Writable, abs) && last {
			return nil, "", env.ErrIsDir
		}
		return nil, "", env.ErrConfined
	}
	t := e.tree
	t.exact = true
	if path[len(path)-1] == filepath.Separator {
		abs += string(filepath.Separator)
	}
	return &t, abs, nil
}

// makeTemp creates the directory for temporary files. The caller holds e.mu.
func (e *Env) makeTemp() error {
	if e.closed.Load() {
		return env.ErrClosed
	}
	if e.hasTemp {
		return nil
	}
	err := e.prepare() // the guard removes the directory if this process is killed
	if err == nil {
		err = e.makeSpool()
	}
	for _, name := range []string{tempName, readName} {
		if err == nil {
			err = e.spool.Mkdir(name, 0o700)
		}
	}
	e.hasTemp = err == nil
	return err
}
