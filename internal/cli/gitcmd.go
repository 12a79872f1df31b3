package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/gitrisk"
)

// repo is the git repository that the user works in.
type repo struct {
	top   string // the directory with its files
	index string // another index; "" means the repository's
	git   string // its git directory

	// settings override git's configuration in commands that only read.
	settings []string // pairs of names and values
}

// readingGit are options with which git runs no hooks, monitors, pagers and signature checks.
var readingGit = []string{
	"--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.quotePath=false", "-c", "log.showSignature=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	"-c", "color.ui=false",
	"-c", "diff.ignoreSubmodules=dirty", "-c", "i18n.logOutputEncoding=UTF-8",
}

// plainDiff are arguments of git diff with which it runs no programs for its output.
var plainDiff = []string{
	"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/", "-O" + os.DevNull,
}

// openRepo finds the repository around a directory.
func openRepo(ctx context.Context, dir string) (r repo, err error) {
	out, err := repo{top: dir}.run(ctx, "rev-parse", "--show-toplevel", "--absolute-git-dir")
	if err != nil {
		return r, usageError{err}
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 2 {
		return r, usagef("the path of the repository has a line break, which is not supported")
	}
	return repo{top: filepath.FromSlash(lines[0]), git: filepath.FromSlash(lines[1])}, nil
}

// run runs a git command that only reads, in a way that runs none of the repository's programs except filters. See
// [repo.filters].
func (r repo) run(ctx context.Context, args ...string) (string, error) {
	return r.some(ctx, math.MaxInt, args...)
}

// some does the same, and stops git when the output exceeds a number of bytes. It returns a little more then.
func (r repo) some(ctx context.Context, most int, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append(slices.Clone(readingGit), args...)...)
	cmd.Dir = r.top
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "LC_ALL=C")
	if r.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+r.index)
	}
	cmd.Env = append(cmd.Env, r.overrides()...)
	out, problem := beginning{most: most}, beginning{most: maxGitError}
	cmd.Stdout, cmd.Stderr = &out, &problem
	err := cmd.Run()
	var failed *exec.ExitError
	switch {
	case out.full:
		return out.String(), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not installed, or not in PATH")
	case errors.As(err, &failed):
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimPrefix(strings.TrimSpace(problem.String()), "fatal: "))
	}
	return out.String(), err
}

// overrides returns the environment that tells git the settings.
func (r repo) overrides() (env []string) {
	if len(r.settings) == 0 {
		return nil
	}
	for i := 0; i+1 < len(r.settings); i += 2 {
		env = append(
			env,
			fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, r.settings[i]),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, r.settings[i+1]),
		)
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(r.settings)/2))
}

// withoutFilters returns the repository with all filters off. Git runs a filter even to read the index, when a file is as
// new as the index.
func (r repo) withoutFilters(ctx context.Context) (repo, error) {
	out, err := r.run(ctx, "config", "--includes", "-z", "--name-only", "--list")
	if err != nil {
		return r, err
	}
	for name := range strings.SplitSeq(out, "\x00") {
		at := strings.LastIndexByte(name, '.')
		if !strings.HasPrefix(name, "filter.") || at < 0 {
			continue
		}
		switch name[at+1:] {
		case "clean", "smudge", "process":
			r.settings = append(r.settings, name, "")
		case "required":
			r.settings = append(r.settings, name, "false")
		}
	}
	return r, nil
}

// maxGitError is how much git may write to standard error.
const maxGitError = 1 << 20

// beginning keeps the first bytes written to it. Then it fails, which ends the writer.
type beginning struct {
	bytes.Buffer
	most int
	full bool
}

func (b *beginning) Write(p []byte) (int, error) {
	if b.full = b.Len() > b.most; b.full {
		return 0, io.ErrShortWrite
	}
	return b.Buffer.Write(p)
}

// line returns a git command's output without the final line break.
func (r repo) line(ctx context.Context, args ...string) (string, error) {
	out, err := r.run(ctx, args...)
	return strings.TrimRight(out, "\r\n"), err
}

// list returns the elements in a git command's -z output.
func (r repo) list(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.run(ctx, args...)
	return strings.FieldsFunc(out, func(c rune) bool { return c == 0 }), err
}

// filters returns which program in the repository configuration git might run when it compares files, or "".
func (r repo) filters(ctx context.Context) (string, error) {
	e, err := local.New(local.Config{Dir: r.top})
	if err != nil {
		return "", err
	}
	defer e.Close()
	return gitrisk.Runs(ctx, e, r.top), nil
}

// checkFilters returns an error if git might run a program that an untrusted repository configures.
func (r repo) checkFilters(ctx context.Context, h Host) error {
	if h.trusted(r.top) {
		return nil
	}
	why, err := r.filters(ctx)
	if err == nil && why != "" {
		err = usagef(
			"git might run a program that the repository configures: %s; review it, and trust the project with \"reins trust\"",
			why,
		)
	}
	return err
}
