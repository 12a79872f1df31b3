package prompt

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/gitdir"
	"github.com/reins-agent/reins/internal/lazy"
)

// Git is a snapshot of the repository, taken when a session starts.
type Git struct {
	Repository bool
	Branch     string // "" if unknown; "(detached)" for a detached head
	// The numbers of files; all -1 if unknown.
	Staged, Modified, Untracked, Conflicted int
	Commits                                 []string // last commits, newest first: short hash and subject
}

const (
	gitTimeout = 5 * time.Second
	gitCommits = 10
	maxSubject = 200 // bytes of a commit subject or a branch name
)

// TakeGit takes a snapshot of the working directory's repository. It does not trust repositories: it does not run any
// hook, filter, monitor, pager, signature checker or transport that they configure. It omits facts that git does not
// report in time.
func TakeGit(ctx context.Context, e env.Environment) Git {
	s := Git{Staged: -1, Modified: -1, Untracked: -1, Conflicted: -1}
	t := findTree(ctx, e)
	if !t.git && !t.fenced {
		return s
	}
	s.Repository = t.git
	if t.git && includes(ctx, e, t) {
		s.Branch = branchOf(ctx, e, t.repo)
		return s
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.Commits = gitLog(ctx, e) })
	status, err := gitStatus(ctx, e)
	wg.Wait()
	switch {
	case err == nil:
		s.Repository = true
		s.readStatus(status)
	case t.git:
		s.Branch = branchOf(ctx, e, t.repo)
	}
	return s
}

// git runs a read-only git command.
func git(ctx context.Context, e env.Environment, vars map[string]string, args ...string) (string, error) {
	safe := []string{
		"git", "--no-pager", "--no-optional-locks", "--literal-pathspecs",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=true",
		"-c", "log.showSignature=false", "-c", "color.ui=false", "-c", "submodule.recurse=false",
		"-c", "safe.bareRepository=explicit",
	}
	command := env.Command{
		Args: append(safe, args...), Timeout: gitTimeout, MaxOutput: 16 << 20,
		// Without transports, a partial clone cannot fetch missing objects.
		Env: map[string]string{
			"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1",
			"GIT_PAGER": "cat", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C",
		},
	}
	for k, v := range vars {
		command.Env[k] = v
	}
	r, err := env.Exec(ctx, e, command)
	switch {
	case err != nil:
		return r.Stdout, err
	case r.Exit.TimedOut:
		return r.Stdout, errors.New("git took too long")
	case r.Exit.Code != 0:
		return r.Stdout, gitExit(r.Exit.Code)
	}
	return r.Stdout, nil
}

// gitExit is a failed git command's exit code.
type gitExit int

func (g gitExit) Error() string { return fmt.Sprintf("git exited with code %d", int(g)) }

var include = lazy.Regexp(`(?i)\[\s*include`)

// includes reports whether a repository's configuration includes other files. Git is not run in such a repository,
// because it would block if an included file is a pipe.
func includes(ctx context.Context, e env.Environment, t tree) bool {
	for _, file := range []string{t.paths.Join(t.repo.Common, "config"), t.paths.Join(t.repo.Dir, "config.worktree")} {
		if _, err := e.Stat(ctx, file); err != nil {
			continue
		}
		if text, err := env.ReadFile(ctx, e, file, 1<<20); err != nil || include().Match(text) {
			return true
		}
	}
	return false
}

// gitStatus returns the status in git's porcelain v2 format. Comparing a file with the index runs the
// filters that the repository configures, so they are disabled first, as are hooks that it configures by
// name.
func gitStatus(ctx context.Context, e env.Environment) (string, error) {
	names, err := git(ctx, e, nil, "config", "-z", "--name-only", "--get-regexp", `^(filter|hook)\.`)
	if err != nil && err != error(gitExit(1)) { // 1: none
		return "", err
	}
	vars := map[string]string{}
	n := 0
	for _, name := range strings.Split(names, "\x00") {
		if name == "" {
			continue
		}
		value := ""
		switch end := strings.LastIndexByte(name, '.'); {
		case strings.HasPrefix(name, "hook."):
			name, value = name[:end]+".enabled", "false"
		case name[end:] == ".required":
			value = "false"
		}
		vars[fmt.Sprintf("GIT_CONFIG_KEY_%d", n)], vars[fmt.Sprintf("GIT_CONFIG_VALUE_%d", n)] = name, value
		n++
	}
	vars["GIT_CONFIG_COUNT"] = strconv.Itoa(n)
	return git(ctx, e, vars, "status", "--porcelain=v2", "--branch", "--no-ahead-behind", "--no-renames",
		"--untracked-files=normal", "--ignore-submodules=all", "-z")
}

// readStatus parses the output of gitStatus.
func (s *Git) readStatus(status string) {
	s.Staged = 0
	s.Modified = 0
	s.Untracked = 0
	s.Conflicted = 0
	for _, entry := range strings.Split(status, "\x00") {
		kind, rest, _ := strings.Cut(entry, " ")
		switch {
		case strings.HasPrefix(entry, "# branch.head "):
			s.Branch = strings.TrimPrefix(entry, "# branch.head ")
		case kind == "?":
			s.Untracked++
		case kind == "u":
			s.Conflicted++
		case kind == "1" || kind == "2":
			if rest != "" && rest[0] != '.' {
				s.Staged++
			}
			if len(rest) > 1 && rest[1] != '.' {
				s.Modified++
			}
		}
	}
}

func gitLog(ctx context.Context, e env.Environment) []string {
	out, err := git(ctx, e, nil, "log", "-n", strconv.Itoa(gitCommits), "--no-show-signature", "--no-notes", "--format=%h %s", "-z")
	if err != nil {
		return nil // for example in a repository without commits
	}
	var commits []string
	for _, line := range strings.Split(out, "\x00") {
		if line = shorten(oneLine(line), maxSubject); line != "" {
			commits = append(commits, line)
		}
	}
	return commits
}

// Branch returns the branch that is checked out in the working directory, or "" if unknown. It does not run commands.
func Branch(ctx context.Context, e env.Environment) string {
	if t := findTree(ctx, e); t.git {
		return branchOf(ctx, e, t.repo)
	}
	return ""
}

// branchOf reads the branch from a repository's files.
func branchOf(ctx context.Context, e env.Environment, r gitdir.Repo) string {
	head, err := env.ReadFile(ctx, e, e.Info().Paths().Join(r.Dir, "HEAD"), 4096)
	if err != nil {
		return ""
	}
	branch, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	switch {
	case !ok:
		return "(detached)"
	case branch == ".invalid": // references are stored elsewhere
		return ""
	}
	return shorten(oneLine(branch), maxSubject)
}

// text returns the prompt section about the repository.
func (s *Git) text() string {
	if !s.Repository || s.Branch == "" && len(s.Commits) == 0 && s.Staged < 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<git_snapshot>\nTaken at the start of the session and not updated.\n")
	if s.Branch != "" {
		fmt.Fprintf(&b, "Current branch: %s\n", oneLine(s.Branch))
	}
	if s.Staged >= 0 {
		fmt.Fprintf(&b, "Status: %s\n", s.status())
	}
	if len(s.Commits) > 0 {
		b.WriteString("Recent commits:\n")
		for _, c := range s.Commits {
			b.WriteString("  " + oneLine(c) + "\n")
		}
	}
	head, rest, _ := strings.Cut(b.String(), "\n")
	return head + "\n" + fenced(rest) + "</git_snapshot>"
}

func (s *Git) status() string {
	var parts []string
	for _, p := range []struct {
		count int
		what  string
	}{{s.Conflicted, "conflicted"}, {s.Staged, "staged"}, {s.Modified, "modified"}, {s.Untracked, "untracked"}} {
		if p.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.count, p.what))
		}
	}
	if len(parts) == 0 {
		return "clean"
	}
	return strings.Join(parts, ", ") + " (file counts)"
}
