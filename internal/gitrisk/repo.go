// Package gitrisk finds out whether git would run programs that a repository names.
//
// Commands such as git status and git log only read, but a repository's configuration can make them run monitors,
// filters, pagers, diff drivers and hooks. [Runs] looks for such settings before git does. It reads files only and
// starts no program.
package gitrisk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/gitconfig"
)

const (
	maxConfig = 1 << 20
	maxIndex  = 64 << 20
	maxLine   = 4096 // of files that contain one path
	maxRepos  = 5000 // nested repositories, and directories to search for them
)

// Runs returns why a git command that only reads in a directory could run a program that the repository names, or "" if
// it would run none. Nested repositories count. User and system settings do not. Anything that cannot be read or
// understood is a reason.
func Runs(ctx context.Context, e env.Environment, dir string) (why string) {
	c := &checker{ctx: ctx, env: e, paths: e.Info().Paths(), seen: map[string]bool{}}
	if err := c.find(dir); err != nil {
		return err.Error()
	}
	return ""
}

// checker checks a repository and those nested in it.
type checker struct {
	ctx   context.Context
	env   env.Environment
	paths env.Paths
	seen  map[string]bool // repositories with their work trees
	steps int             // compared with maxRepos
}

// repository is a repository whose settings and hooks were checked.
type repository struct {
	dir, common string // the work tree's git directory, and the directory that all work trees share
	tree        string // the work tree according to core.worktree, or ""
	hash        int    // bytes per object name
}

// inspect checks a repository's settings and hooks. Its work tree is "" if unknown.
func (c *checker) inspect(dir, tree string) (repository, error) {
	r := repository{dir: dir, common: dir, hash: 20}
	linked, err := c.exists(dir, "commondir")
	if err == nil && linked {
		var text string
		if text, err = c.line(c.paths.Join(dir, "commondir")); err == nil {
			r.common, err = c.env.RealPath(c.ctx, c.paths.Abs(dir, text))
		}
	}
	if err != nil {
		return r, err
	}
	shared, err := c.settings(c.paths.Join(r.common, "config"))
	if err != nil {
		return r, err
	}
	own, err := c.settings(c.paths.Join(dir, "config.worktree"))
	if err != nil {
		return r, err
	}
	all := append(shared, own...)
	names := promisors(all)
	if err := fetches(all, names); err != nil {
		return r, err
	}
	if err := r.setHash(shared); err != nil {
		return r, err
	}
	if r.tree, err = c.tree(dir, all, linked); err != nil {
		return r, err
	}
	return r, c.hooks(r, tree, all, len(names) > 0)
}

// settings reads a configuration file, which may be missing. It returns an error if a setting runs a program.
func (c *checker) settings(name string) ([]gitconfig.Setting, error) {
	data, err := env.ReadFile(c.ctx, c.env, name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := gitconfig.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, s := range list {
		if runs(s) {
			return nil, fmt.Errorf("%s in %s", describe(s), name)
		}
	}
	return list, nil
}

// setHash sets the length of object names.
func (r *repository) setHash(list []gitconfig.Setting) error {
	version, format := "0", ""
	for _, s := range list {
		switch s.Key() {
		case "core.repositoryformatversion":
			version = s.Value
		case "extensions.objectformat":
			format += s.Value
		}
	}
	switch {
	case format == "" || format == "sha1":
	case format == "sha256" && version == "1":
		r.hash = 32
	default:
		return fmt.Errorf("extensions.objectFormat is %s", quote(format))
	}
	return nil
}

// tree returns the directory that core.worktree names, or "".
func (c *checker) tree(dir string, list []gitconfig.Setting, linked bool) (string, error) {
	tree, own := "", false
	for _, s := range list {
		switch s.Key() {
		case "extensions.worktreeconfig":
			own = true
		case "core.worktree":
			tree = s.Value
		}
	}
	if tree == "" || linked && !own { // git ignores it in a linked work tree
		return "", nil
	}
	return c.env.RealPath(c.ctx, c.paths.Abs(dir, tree))
}

// hooks returns an error if reading commands run one of the repository's hooks.
func (c *checker) hooks(r repository, tree string, list []gitconfig.Setting, fetches bool) error {
	dirs := []string{c.paths.Join(r.common, "hooks")}
	for _, s := range list {
		if s.Key() != "core.hookspath" {
			continue
		}
		if s.Value == "" || strings.ContainsAny(s.Value[:1], "~%:") {
			return fmt.Errorf("%s", describe(s))
		}
		for _, base := range []string{r.dir, r.tree, tree} {
			if base != "" {
				dirs = append(dirs, c.paths.Abs(base, s.Value))
			}
		}
	}
	names := []string{"post-index-change"} // of status, which saves the index
	if fetches {
		names = append(names, "reference-transaction", "pre-auto-gc")
	}
	for _, dir := range dirs {
		for _, name := range names {
			if err := c.hook(c.paths.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// hook returns an error if git would run a hook.
func (c *checker) hook(name string) error {
	names, windows := []string{name}, c.env.Info().Platform == "windows"
	if windows {
		names = append(names, name+".exe")
	}
	for _, name := range names {
		fi, err := c.env.Stat(c.ctx, name)
		switch {
		case missing(err):
		case err != nil:
			return err
		case fi.Mode.IsRegular() && (windows || fi.Mode&0o111 != 0):
			return fmt.Errorf("the hook %s", name)
		}
	}
	return nil
}

// exists reports whether a directory has an entry.
func (c *checker) exists(dir, name string) (bool, error) {
	_, err := c.env.Lstat(c.ctx, c.paths.Join(dir, name))
	if missing(err) {
		return false, nil
	}
	return err == nil, err
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, env.ErrNotDir) }

// line reads a file that contains one line.
func (c *checker) line(name string) (string, error) {
	data, err := env.ReadFile(c.ctx, c.env, name, maxLine)
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(data), "\r\n")
	if strings.ContainsAny(text, "\x00\n") {
		return "", fmt.Errorf("%s has more than one line", name)
	}
	return text, nil
}
