package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/sandbox"
)

// newBox makes the sandbox of an environment, if it has one. Temporary files go to the private directory.
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
	c.Temp = filepath.Join(private, "tmp")
	c.Protected = append(slices.Clone(c.Protected), private)
	if c.Cache != "" {
		if c.Cache, e.cacheLock, err = lockCache(c.Cache); err != nil {
			return err
		}
	}
	if c.Cache != "" {
		c.Overlays = overlays(c.Cache)
	}
	if e.box, err = sandbox.New(c); err != nil {
		return err
	}
	e.cache = c.Cache
	l := e.info.Limits
	l.Sandbox, l.Writable, l.Temp, l.Network = string(c.Mode), e.box.Writable(), c.Temp, c.Network
	return nil
}

// caches are the caches of compilers and package managers, with the variable for each and its default place in the
// home directory or in the cache directory. Commands have their own caches, layered over those of the user: what a
// command changed in the user's caches would be used outside the sandbox.
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

// overlays returns the overlays of the user's caches.
func overlays(cache string) (list []sandbox.Overlay) {
	for _, c := range caches {
		if lower := cacheOf(c.variable, c.place); lower != "" {
			list = append(list, sandbox.Overlay{Dir: filepath.Join(cache, c.name), Lower: lower})
		}
	}
	return list
}

// confineVars sets the variables that make programs write where they can.
func (e *Env) confineVars(vars map[string]string, cache string) {
	temp := e.info.Limits.Temp
	if cache == "" {
		cache = temp
	}
	own := map[string]string{"TMPDIR": temp, "TMP": temp, "TEMP": temp}
	for _, c := range caches {
		own[c.variable] = filepath.Join(cache, c.name)
	}
	setVars(vars, own)
	if _, err := os.Lstat(filepath.Join(e.info.Dir, ".git")); err != nil {
		// Go takes the placeholder for a repository, and fails because git does not.
		vars["GOFLAGS"] = strings.TrimSpace(vars["GOFLAGS"] + " -buildvcs=false")
	}
}

// Sandbox returns what the system enforces for commands. ok is false if there is no sandbox. The first time,
// it starts a process.
func (e *Env) Sandbox() (s sandbox.Support, ok bool) {
	if e.box == nil || e.outside {
		return s, false
	}
	if err := e.readyBox(); err != nil {
		return sandbox.Support{Problems: []string{err.Error()}}, true
	}
	return e.box.Support(), true
}

// readyBox prepares the sandbox for a command.
func (e *Env) readyBox() error {
	if e.box == nil || e.outside {
		return nil
	}
	e.mu.Lock()
	err := e.makeTemp()
	e.mu.Unlock()
	if err != nil {
		return fmt.Errorf("create the directory for temporary files: %w", err)
	}
	s := e.box.Support()
	if !s.Any() {
		return fmt.Errorf("start the sandbox: %s", strings.Join(s.Problems, "; "))
	}
	if !s.Full() && e.incomplete != nil {
		e.report.Do(func() { e.incomplete(s) })
	}
	return nil
}

// tellGuard tells the guard what is new about the sandbox. The caller holds e.mu.
func (e *Env) tellGuard() {
	if e.box == nil {
		return
	}
	reserved, forbidden := e.box.Traces()
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
	if e.box == nil || e.outside {
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
	if e.closed {
		return env.ErrClosed
	}
	if e.hasTemp {
		return nil
	}
	err := e.makeSpool()
	if err == nil {
		err = e.spool.Mkdir("tmp", 0o700)
	}
	e.hasTemp = err == nil
	return err
}
