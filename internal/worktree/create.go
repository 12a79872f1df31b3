package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/gitrisk"
)

// repository is the repository that a worktree is made from.
type repository struct {
	git
	top     string // its work tree's top directory
	objects string // its object directory
	info    string // its info/exclude file
	index   string
	shallow string // its shallow file
	format  string // hash algorithm of object names
	head    string // checked-out commit; "" if none
}

// repository finds the repository around an environment's working directory.
func (s Store) repository(ctx context.Context, from env.Environment) (r repository, err error) {
	dir := from.Info().Dir
	if !s.Trusted {
		if why := gitrisk.Runs(ctx, from, dir); why != "" {
			return r, fmt.Errorf(
				"git might run programs configured in the repository of %s: %s; review the configuration and trust the project first",
				dir, why,
			)
		}
	}
	r.git = git{env: from, dir: dir}
	paths := []string{"rev-parse", "--show-toplevel", "--show-object-format"}
	places := []*string{&r.objects, &r.info, &r.index, &r.shallow}
	for _, name := range []string{"objects", "info/exclude", "index", "shallow"} {
		paths = append(paths, "--git-path", name)
	}
	out, err := r.line(ctx, paths...)
	if err != nil {
		var failed *gitError
		if errors.As(err, &failed) && strings.Contains(failed.text, "not a git repository") {
			return r, fmt.Errorf("%s is %w: a worktree needs one; run \"git init\" and commit first", dir, ErrNoRepository)
		}
		return r, fmt.Errorf("cannot use the repository of %s: %w", dir, err)
	}
	lines := strings.Split(out, "\n")
	if len(lines) != 2+len(places) {
		return r, fmt.Errorf("paths in the repository of %s contain line breaks, which is not supported", dir)
	}
	r.top, r.format = lines[0], lines[1]
	for i, p := range places {
		*p = from.Info().Paths().Abs(dir, lines[2+i])
	}
	r.dir = r.top
	if strings.ContainsAny(r.objects, "\n\"") || strings.HasPrefix(r.objects, "#") {
		return r, fmt.Errorf("git cannot share the objects of %s: the path contains a line break or a quote, or begins with #", r.top)
	}
	r.head, err = r.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if exitCode(err) == 1 {
		err = nil
	}
	return r, err
}

// own returns git with the private repository and the worktree's files.
func (t *Tree) own() (git, error) {
	if t.admin == nil {
		e, err := t.store.Env(t.place)
		if err != nil {
			return git{}, err
		}
		t.admin = e
	}
	return git{env: t.admin, dir: t.root(), repo: t.private(), tree: t.root()}, nil
}

// fill creates the repositories and checks out the files.
func (t *Tree) fill(ctx context.Context, r repository, changes bool) error {
	if err := os.Mkdir(t.root(), 0o700); err != nil {
		return err
	}
	g, err := t.own()
	if err != nil {
		return err
	}
	config, err := r.settings(ctx)
	if err != nil {
		return err
	}
	plain := git{env: g.env, dir: t.place}
	for _, dir := range []string{t.private(), t.gitDir()} {
		args := []string{"init", "--quiet", "--template=", "--object-format=" + r.format, "--initial-branch=" + t.Branch()}
		if dir == t.private() {
			args = append(args, "--bare", dir)
		} else {
			args = append(args, t.root())
		}
		if _, err := plain.run(ctx, args...); err != nil {
			return err
		}
		if err := share(dir, r, t.alternates(dir, r)); err != nil {
			return err
		}
		if err := configure(dir, config); err != nil {
			return err
		}
	}
	if err := t.setBase(ctx, g, r, changes); err != nil {
		return err
	}
	if err := t.checkOut(ctx, g); err != nil {
		return err
	}
	if err := t.setRefs(ctx, r); err != nil {
		return err
	}
	if err := os.MkdirAll(t.Dir(), 0o755); err != nil { // git does not store empty directories
		return err
	}
	t.Start, err = t.state(ctx)
	return err
}

func (t *Tree) gitDir() string { return filepath.Join(t.root(), ".git") }

// alternates returns the content for the alternates file in a worktree's repository.
func (t *Tree) alternates(dir string, r repository) string {
	other := t.private()
	if dir == other {
		other = t.gitDir()
	}
	return r.objects + "\n" + filepath.Join(other, "objects") + "\n"
}

// share sets a repository's alternates, and copies r's exclude and shallow files.
func share(dir string, r repository, alternates string) error {
	if err := os.MkdirAll(filepath.Join(dir, "objects", "info"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "objects", "info", "alternates"), []byte(alternates), 0o600); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "info"), 0o700); err != nil {
		return err
	}
	return errors.Join(copyFile(filepath.Join(dir, "info", "exclude"), r.info), copyFile(filepath.Join(dir, "shallow"), r.shallow))
}

// configure adds settings to a repository. Commands cannot change its configuration.
func configure(dir string, settings [][2]string) error {
	f, err := os.OpenFile(filepath.Join(dir, "config"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	for _, s := range settings {
		section, name, _ := strings.Cut(s[0], ".")
		_, err = fmt.Fprintf(f, "[%s]\n\t%s = \"%s\"\n", section, name, quote.Replace(s[1]))
	}
	return errors.Join(err, f.Close())
}

// copyFile copies a file, if it exists.
func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// settings returns the repository's settings for line endings, long paths and the committer.
func (r repository) settings(ctx context.Context) (settings [][2]string, err error) {
	out, err := r.run(ctx, "config", "--local", "-z", "--get-regexp", `^(core\.(autocrlf|eol|longpaths)|user\.(name|email))$`)
	if err != nil && exitCode(err) != 1 { // 1: none
		return nil, err
	}
	for _, s := range list(out) {
		name, value, _ := strings.Cut(s, "\n")
		settings = append(settings, [2]string{name, value})
	}
	return settings, nil
}

// setBase sets the commit that the worktree starts from: the repository's HEAD or, with changes, a new commit that
// includes the uncommitted changes.
func (t *Tree) setBase(ctx context.Context, g git, r repository, changes bool) (err error) {
	if t.Base = r.head; !changes {
		if r.head == "" {
			return errors.New("the repository has no commit yet; commit first, or include the uncommitted changes")
		}
		return nil
	}
	g.index = filepath.Join(t.private(), "carried.index")
	if err := copyFile(g.index, r.index); err != nil { // saves git from reading unchanged files
		return err
	}
	g.dir, g.tree = r.top, r.top
	if _, err := g.run(ctx, "add", "--all"); err != nil {
		return err
	}
	tree, err := g.line(ctx, "write-tree")
	if err != nil {
		return err
	}
	args := []string{"commit-tree", "-m", "Uncommitted changes", tree}
	if r.head != "" {
		args = append(args, "-p", r.head)
	}
	t.Base, err = g.line(ctx, args...)
	return err
}

// checkOut writes the files, and the index in the agent's repository.
func (t *Tree) checkOut(ctx context.Context, g git) error {
	if _, err := g.run(ctx, "read-tree", t.Base); err != nil {
		return err
	}
	if _, err := g.run(ctx, "checkout-index", "--all", "--index", "--quiet"); err != nil {
		return err
	}
	return copyFile(filepath.Join(t.gitDir(), "index"), filepath.Join(t.private(), "index"))
}

// setRefs copies the branches and tags to the agent's repository, and creates the worktree's branch.
func (t *Tree) setRefs(ctx context.Context, r repository) error {
	refs, err := r.run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return err
	}
	own := "refs/heads/" + t.Branch()
	var packed strings.Builder
	for line := range strings.Lines(refs) {
		if _, name, _ := strings.Cut(strings.TrimSpace(line), " "); name != own {
			packed.WriteString(line)
		}
	}
	fmt.Fprintf(&packed, "%s %s\n", t.Base, own)
	return os.WriteFile(filepath.Join(t.gitDir(), "packed-refs"), []byte(packed.String()), 0o600)
}
