package gitrisk

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/reins-agent/reins/env"
)

// contents checks the repositories nested in another one. Its work tree is "" if it has none.
func (c *checker) contents(r repository, tree string) error {
	key := r.dir + "\x00" + tree
	if c.seen[key] {
		return nil
	}
	c.seen[key] = true
	for _, dir := range slices.Compact([]string{r.dir, r.common}) {
		if err := c.modules(c.paths.Join(dir, "modules")); err != nil {
			return err
		}
	}
	if tree == "" {
		return nil
	}
	name := c.paths.Join(r.dir, "index")
	data, err := env.ReadFile(c.ctx, c.env, name, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	paths, err := nested(data, r.hash)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for path, isRepo := range paths {
		if err := c.entry(c.paths.Join(tree, path), isRepo); err != nil {
			return err
		}
	}
	return nil
}

// entry checks a directory in the index.
func (c *checker) entry(dir string, isRepo bool) error {
	if err := c.step(); err != nil {
		return err
	}
	name := ".git"
	if !isRepo {
		name = "."
	}
	yes, err := c.exists(dir, name)
	switch {
	case err != nil || !yes:
		return err
	case isRepo:
		_, err = c.workTree(dir)
		return err
	}
	return fmt.Errorf("the sparse index does not list the files of %s", dir)
}

// step counts nested repositories and directories.
func (c *checker) step() error {
	if c.steps++; c.steps > maxRepos {
		return fmt.Errorf("there are more than %d nested repositories", maxRepos)
	}
	return nil
}

// modules checks the repositories below .git/modules. Git uses them for submodules without a work tree.
func (c *checker) modules(dir string) error {
	list, err := c.env.ReadDir(c.ctx, dir)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, fi := range list {
		if err := c.step(); err != nil {
			return err
		}
		sub := c.paths.Join(dir, fi.Name)
		yes, err := c.exists(sub, "HEAD")
		switch {
		case err != nil:
		case !yes:
			err = c.modules(sub)
		default:
			var r repository
			if r, err = c.inspect(sub, ""); err == nil {
				err = c.contents(r, "")
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
