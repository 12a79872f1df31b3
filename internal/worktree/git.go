package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
)

// gitTimeout limits one git command. Checking out a large repository can take minutes on a slow disk.
const gitTimeout = 10 * time.Minute

// maxList is the maximum output for a git command, such as a list of files.
const maxList = 64 << 20

// git runs git without hooks, file system monitor and pager, and with only the local transport.
type git struct {
	env   env.Environment
	dir   string // working directory
	repo  string // repository; "" means dir's
	tree  string // the work tree, if repo is set; "" means none
	index string // index; "" means the repository's
	stdin string
}

var safeOptions = []string{
	"--no-pager", "--literal-pathspecs",
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.quotePath=false", "-c", "color.ui=false",
	"-c", "submodule.recurse=false", "-c", "diff.ignoreSubmodules=all", "-c", "commit.gpgSign=false", "-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "safe.bareRepository=all", "-c", "core.untrackedCache=false", "-c", "core.splitIndex=false", "-c", "advice.detachedHead=false",
}

// run runs a git command and returns its output.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	options := append([]string{"git"}, safeOptions...)
	if g.repo != "" {
		options = append(options, "--git-dir="+g.repo)
	}
	if g.tree != "" {
		options = append(options, "--work-tree="+g.tree)
	}
	c := env.Command{
		Args:      append(options, args...),
		Dir:       g.dir,
		Stdin:     strings.NewReader(g.stdin),
		Timeout:   gitTimeout,
		MaxOutput: maxList,

		Env: map[string]string{
			"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0",
			"GIT_LFS_SKIP_SMUDGE": "1", "GIT_PAGER": "cat", "GIT_EDITOR": "false", "LC_ALL": "C",
			"GIT_AUTHOR_NAME": "Reins", "GIT_AUTHOR_EMAIL": "reins@localhost", "GIT_COMMITTER_NAME": "Reins",
			"GIT_COMMITTER_EMAIL": "reins@localhost",
		},
	}
	if g.index != "" {
		c.Env["GIT_INDEX_FILE"] = g.index
	}
	r, err := env.Exec(ctx, g.env, c)
	switch {
	case err != nil:
		return "", err
	case r.Exit.TimedOut:
		return "", fmt.Errorf("git %s took longer than %v", args[0], gitTimeout)
	case r.Exit.Dropped > 0:
		return "", fmt.Errorf("git %s printed more than %d MiB", args[0], maxList>>20)
	case r.Exit.Code != 0:
		return r.Stdout, &gitError{args[0], r.Exit.Code, firstLines(r.Stderr)}
	}
	return r.Stdout, nil
}

// line runs a git command and returns its output without the final line break.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, args...)
	return strings.TrimRight(out, "\r\n"), err
}

// gitError is a git command that failed.
type gitError struct {
	command string
	code    int
	text    string
}

func (e *gitError) Error() string {
	if e.text == "" {
		return fmt.Sprintf("git %s failed with exit code %d", e.command, e.code)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.text)
}

// exitCode returns a failed git command's exit code, or -1.
func exitCode(err error) int {
	var g *gitError
	if errors.As(err, &g) {
		return g.code
	}
	return -1
}

// firstLines returns the beginning of git's error output as one line.
func firstLines(text string) string {
	const maximum = 500
	text = strings.Join(strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	if len(text) > maximum {
		text = strings.ToValidUTF8(text[:maximum], "") + " ..."
	}
	return text
}

// list splits a command's output with -z.
func list(out string) []string {
	if out = strings.TrimSuffix(out, "\x00"); out == "" {
		return nil
	}
	return strings.Split(out, "\x00")
}
