package gitrisk

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/lazy"
)

// find checks a directory's repository. It searches as git does, and continues where git might.
func (c *checker) find(dir string) error {
	dir, err := c.env.RealPath(c.ctx, dir)
	if err != nil {
		return err
	}
	if fi, err := c.env.Stat(c.ctx, dir); err != nil || !fi.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	for {
		if yes, err := c.exists(dir, ".git"); err != nil {
			return err
		} else if yes {
			if certain, err := c.workTree(dir); certain || err != nil {
				return err
			}
		}
		if err := c.bare(dir); err != nil {
			return err
		}
		above := c.paths.Dir(dir)
		if above == dir {
			return nil
		}
		dir = above
	}
}

// bare checks a directory that git may take for a bare repository.
func (c *checker) bare(dir string) error {
	for _, names := range [][]string{{"HEAD"}, {"refs", "commondir"}} {
		found := false
		for _, name := range names {
			yes, err := c.exists(dir, name)
			if err != nil {
				return err
			}
			found = found || yes
		}
		if !found {
			return nil
		}
	}
	r, err := c.inspect(dir, "")
	if err != nil {
		return err
	}
	if r.tree != "" { // must be this repository's work tree
		if back, err := c.gitDir(r.tree); err != nil || back != dir {
			return elsewhere(r)
		}
	}
	return c.contents(r, r.tree)
}

// gitDir returns the repository that a directory's .git entry is or names.
func (c *checker) gitDir(dir string) (string, error) {
	name := c.paths.Join(dir, ".git")
	fi, err := c.env.Stat(c.ctx, name)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() {
		text, err := c.line(name)
		if err != nil {
			return "", err
		}
		target, ok := strings.CutPrefix(text, "gitdir: ")
		if !ok || target == "" {
			return "", fmt.Errorf("%s does not name a repository", name)
		}
		name = c.paths.Abs(dir, target)
	}
	return c.env.RealPath(c.ctx, name)
}

// workTree checks the repository for a directory with a .git entry. It reports whether git is certain to use it.
func (c *checker) workTree(dir string) (certain bool, err error) {
	if dir, err = c.env.RealPath(c.ctx, dir); err != nil {
		return false, err
	}
	name, err := c.gitDir(dir)
	if err != nil {
		return false, err
	}
	r, err := c.inspect(name, dir)
	if err != nil {
		return false, err
	}
	if r.tree != "" && r.tree != dir {
		return false, elsewhere(r)
	}
	return c.complete(r), c.contents(r, dir)
}

// elsewhere is the error for a repository that makes git read other directories.
func elsewhere(r repository) error {
	return fmt.Errorf("core.worktree of %s is %s", r.dir, quote(r.tree))
}

var head = lazy.Regexp(`^(ref: refs/[^\s]+|[0-9a-f]{40}|[0-9a-f]{64})$`)

// complete reports whether git recognizes a repository. Otherwise it searches further.
func (c *checker) complete(r repository) bool {
	name := c.paths.Join(r.dir, "HEAD")
	text, err := c.line(name)
	if fi, statErr := c.env.Lstat(c.ctx, name); err != nil || statErr != nil || !fi.Mode.IsRegular() || !head().MatchString(text) {
		return false
	}
	for _, name := range []string{"objects", "refs"} {
		dir := c.paths.Join(r.common, name)
		fi, err := c.env.Stat(c.ctx, dir)
		if err != nil || !fi.IsDir() {
			return false
		}
		if _, err := c.exists(dir, "x"); err != nil { // git must be able to use the directory
			return false
		}
	}
	return true
}
