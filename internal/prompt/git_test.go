//go:build unix

package prompt_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/prompt"
)

func TestTakeGit_CountsFilesInsteadOfListingThem(t *testing.T) {
	repo := repository(t)
	repo.write("a b\nc.txt", "tracked\n")
	repo.git("add", ".")
	repo.git("commit", "-q", "-m", "Second <git_snapshot> one")
	repo.write("kept.txt", "changed\n")
	repo.write("a b\nc.txt", "changed and staged\n")
	repo.git("add", "a b\nc.txt")
	repo.write("u1", "")
	repo.write("u2/x", "")
	s := prompt.TakeGit(t.Context(), repo.env(""))
	if !s.Repository || s.Branch != "main" || s.Staged != 1 || s.Modified != 1 || s.Untracked != 2 || s.Conflicted != 0 || len(s.Commits) != 2 {
		t.Errorf("got %+v", s)
	}
	text := build(t, repo.env(""), prompt.Config{Git: &s})
	inOrder(t, text, "Status: 1 staged, 1 modified, 2 untracked", "Recent commits:", "Second &lt;git_snapshot> one", "Begin here")
}

func TestTakeGit_SmallAndOddRepositories(t *testing.T) {
	t.Run("no commits", func(t *testing.T) {
		p := newProject(t)
		p.git("init", "-q", "-b", "trunk")
		if s := prompt.TakeGit(t.Context(), p.env("")); !s.Repository || s.Branch != "trunk" || s.Staged != 0 || s.Commits != nil {
			t.Errorf("got %+v", s)
		}
	})
	t.Run("detached", func(t *testing.T) {
		p := repository(t)
		p.git("checkout", "-q", "--detach")
		if s := prompt.TakeGit(t.Context(), p.env("")); s.Branch != "(detached)" {
			t.Errorf("got %+v", s)
		}
	})
	t.Run("ten commits at most", func(t *testing.T) {
		p := repository(t)
		for i := range 12 {
			p.git("commit", "-q", "--allow-empty", "-m", fmt.Sprintf("Number %d %s", i, strings.Repeat("ü", 300)))
		}
		s := prompt.TakeGit(t.Context(), p.env(""))
		if len(s.Commits) != 10 || !strings.Contains(s.Commits[0], "Number 11") || len(s.Commits[0]) > 210 {
			t.Errorf("got %d commits: %q", len(s.Commits), s.Commits)
		}
	})
	t.Run("below the root", func(t *testing.T) {
		p := repository(t)
		p.write("a/b/c", "")
		if s := prompt.TakeGit(t.Context(), p.env("a/b")); !s.Repository || s.Branch != "main" || s.Untracked != 1 {
			t.Errorf("got %+v", s)
		}
	})
	t.Run("worktree", func(t *testing.T) {
		p := repository(t)
		p.git("worktree", "add", "-q", "-b", "side", "tree")
		if s := prompt.TakeGit(t.Context(), p.env("tree")); !s.Repository || s.Branch != "side" || s.Staged != 0 {
			t.Errorf("got %+v", s)
		}
	})
	t.Run("none", func(t *testing.T) {
		if s := prompt.TakeGit(t.Context(), newProject(t).env("")); s.Repository || s.Branch != "" {
			t.Errorf("got %+v", s)
		}
	})
	for name, file := range map[string]string{"broken": ".git/HEAD", "broken file": ".git", "empty": ".git/hooks/x"} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.write(file, "nonsense")
			if s := prompt.TakeGit(t.Context(), p.env("")); s.Repository || s.Staged != -1 {
				t.Errorf("got %+v", s)
			}
		})
	}
	t.Run("below an empty .git", func(t *testing.T) {
		p := repository(t)
		p.write("a/.git/hooks/x", "")
		if s := prompt.TakeGit(t.Context(), p.env("a")); !s.Repository || s.Branch != "main" || s.Untracked != 0 {
			t.Errorf("got %+v", s)
		}
		if got := prompt.Branch(t.Context(), p.env("a")); got != "main" {
			t.Errorf("got branch %q, want main", got)
		}
	})
	t.Run("branch of a worktree, without commands", func(t *testing.T) {
		p := repository(t)
		p.git("worktree", "add", "-q", "-b", "side", "tree")
		if got := prompt.Branch(t.Context(), p.env("tree")); got != "side" {
			t.Errorf("got branch %q, want side", got)
		}
	})
}

func TestTakeGit_ReadOnlyEnvironmentStillHasTheBranch(t *testing.T) {
	s := prompt.TakeGit(t.Context(), env.ReadOnly(repository(t).env("")))
	if !s.Repository || s.Branch != "main" || s.Staged != -1 {
		t.Errorf("got %+v", s)
	}
	text := build(t, env.ReadOnly(repository(t).env("")), prompt.Config{})
	inOrder(t, text, "Git branch: main\n", "<git_snapshot>\n", "Current branch: main\n</git_snapshot>")
}

func TestTakeGit_ConfinedEnvironmentAsksGit(t *testing.T) {
	repo := repository(t)
	repo.write("sub/x", "")
	e, err := local.New(local.Config{Dir: filepath.Join(repo.dir, "sub"), Roots: []string{"."}, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if s := prompt.TakeGit(t.Context(), e); !s.Repository || s.Branch != "main" {
		t.Errorf("got %+v", s)
	}
}

// A repository can configure programs that git runs. Starting a session must not run any of them.
func TestTakeGit_RunsNothingThatTheRepositoryNames(t *testing.T) {
	repo := repository(t)
	mark := filepath.Join(t.TempDir(), "ran")
	trap := filepath.Join(repo.dir, ".git", "trap")
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho \"$0 $@\" >> "+mark+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	repo.write(".gitattributes", "*.txt filter=evil diff=evil\n*.bin filter=long\n")
	repo.write("kept.txt", "kept and\n")
	repo.write("b.bin", "1")
	repo.git("add", ".")
	hooks := filepath.Join(repo.dir, ".git", "hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "post-checkout"} {
		if err := os.Link(trap, filepath.Join(hooks, hook)); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string]string{
		"core.fsmonitor": trap, "core.pager": trap, "pager.status": "true", "pager.log": trap, "core.sshCommand": trap,
		"filter.evil.clean": trap, "filter.evil.smudge": trap, "filter.evil.required": "true",
		"filter.long.process": trap, "filter.a=b.clean": trap, "diff.evil.textconv": trap, "diff.evil.command": trap, "diff.external": trap,
		"log.showSignature": "true", "gpg.program": trap, "gpg.ssh.program": trap, "core.editor": trap, "core.hooksPath": hooks,
		"core.askPass": trap, "credential.helper": trap, "alias.status": "!" + trap, "alias.log": "!" + trap,
	} {
		repo.git("config", key, value)
	}
	repo.write("kept.txt", "kept too\n") // the same length, so that git compares the content
	repo.write("b.bin", "2")
	s := prompt.TakeGit(t.Context(), repo.env(""))
	if !s.Repository || s.Branch != "main" || s.Modified != 2 {
		t.Errorf("got %+v", s)
	}
	if ran, err := os.ReadFile(mark); err == nil {
		t.Errorf("the repository had its programs run:\n%s", ran)
	}
	// The trap works: plain git runs it.
	_ = exec.Command("git", "-C", repo.dir, "status").Run()
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the trap does not work: %v", err)
	}
}
