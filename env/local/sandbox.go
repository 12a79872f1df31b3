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
	root, err := filepath.EvalSymlinks(e.spoolRoot)
	if err != nil {
		return fmt.Errorf("find a directory for temporary files: %w", err)
	}
	e.spoolName = spoolPrefix + newID()
	c.Dir = e.info.Dir
	private := filepath.Join(root, e.spoolName)
	c.Temp = filepath.Join(private, "tmp")
	c.Protected = append(slices.Clone(c.Protected), private)
	if e.box, err = sandbox.New(c); err != nil {
		return err
	}
	l := e.info.Limits
	l.Sandbox, l.Writable, l.Temp, l.Network = string(c.Mode), e.box.Writable(), c.Temp, c.Network
	return nil
}

// confineVars sets the variables that make programs write where they can. Caches of compilers and package
// managers are separate, because what a command puts into the user's own would be used outside of the sandbox.
func (e *Env) confineVars(vars map[string]string, cache string) {
	temp := e.info.Limits.Temp
	if cache == "" {
		cache = temp
	}
	setVars(vars, map[string]string{
		"TMPDIR": temp, "TMP": temp, "TEMP": temp,
		"GOCACHE":             filepath.Join(cache, "go-build"),
		"GOLANGCI_LINT_CACHE": filepath.Join(cache, "golangci-lint"),
		"STATICCHECK_CACHE":   filepath.Join(cache, "staticcheck"),
		"npm_config_cache":    filepath.Join(cache, "npm"),
		"YARN_CACHE_FOLDER":   filepath.Join(cache, "yarn"),
		"PIP_CACHE_DIR":       filepath.Join(cache, "pip"),
		"CCACHE_DIR":          filepath.Join(cache, "ccache"),
	})
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
	if s := e.box.Support(); !s.Any() {
		return fmt.Errorf("start the sandbox: %s", strings.Join(s.Problems, "; "))
	}
	return nil
}

// tellGuard tells the guard what is new about the sandbox. The caller holds e.mu.
func (e *Env) tellGuard() {
	if e.box == nil {
		return
	}
	spaces, reserved, forbidden := e.box.Traces()
	if all := strings.Join(slices.Concat(spaces, reserved, forbidden), "\n"); all != e.told {
		e.guard.confines(spaces, reserved, forbidden)
		e.told = all
	}
}

// Allows implements [env.Confined].
func (e *Env) Allows(path string) bool { return e.box == nil || e.outside || e.box.Allows(path) }

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
