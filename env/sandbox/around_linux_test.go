//go:build amd64 || arm64

package sandbox

import (
	"os"
	"strings"
	"testing"
	"time"
)

// newSubdirectory returns a stage whose workspace is a subdirectory in a repository with this configuration.
func newSubdirectory(t *testing.T, config string) *stage {
	return newStage(t, func(s *stage, _ *Config) {
		os.RemoveAll(s.ws + "/.git")
		for _, name := range []string{"objects/x", "refs/heads/x", "hooks/pre-commit"} {
			s.write(".git/"+name, "")
		}
		s.write(".git/HEAD", "ref: refs/heads/main\n")
		s.write(".git/config", config)
	})
}

func TestSubdirectory_CanCommitToTheRepositoryAroundIt(t *testing.T) {
	need(t, "git")
	const work = `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_NOSYSTEM=1 &&
		echo x >> new && git add new && git commit -qm one && git checkout -qb other && echo y >> new && git commit -qam two &&
		echo z >> new && git stash -q && git stash pop -q && git checkout -q -- . && git reset -q --hard HEAD~1 && git status --short .`
	s := newStage(t, func(s *stage, _ *Config) {
		if out, code := s.sh(false, "rm -rf .git sub && cd .. && git init -q . 2>&1"); code != 0 {
			t.Fatal(out)
		}
	})
	s.must(work)
	s.refuses("git config core.fsmonitor ./evil")
	if out, code := s.sh(false, "git config --unset core.fsmonitor && git worktree add -q $OUT/tree -b tree && mkdir $OUT/tree/sub"); code != 0 {
		t.Fatal(out)
	}
	s.box.Close()
	box, err := New(Config{Mode: WorkspaceWrite, Dir: s.out + "/tree/sub", Temp: s.tmp})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	s.box, s.ws = box, s.out+"/tree/sub"
	s.must(strings.ReplaceAll(work, "other", "third"))
	s.refuses("git config core.fsmonitor ./evil")
}

func TestSubdirectory_CannotChangeWhatTheRepositoryAroundItRuns(t *testing.T) {
	s := newSubdirectory(t, "[core]\n\thooksPath = ws/tools/hooks\n[include]\n\tpath = ../ws/gitconfig\n")
	s.write("ws/gitconfig", "[core]\n")
	for _, line := range []string{
		"echo x >> ../.git/config", "echo x >> ../.git/hooks/pre-commit", "touch ../.git/hooks/post-commit", "mv ../.git/config ../.git/x",
		"mkdir -p ../.git/modules/x", "mkdir -p ../.git/worktrees/x", "mv ../.git ../x", "touch ../new", "echo x >> gitconfig",
	} {
		s.refuses(line)
		os.Rename(s.root+"/x", s.root+"/.git")
		os.Rename(s.root+"/.git/x", s.root+"/.git/config")
	}
	s.sh(true, "mkdir -p tools/hooks && touch tools/hooks/post-commit")
	s.blocks("tools/hooks")
	s.sh(true, "echo ../ws > ../.git/commondir; echo x > ../.git/config.worktree")
	s.box.Sweep()
	if s.exists(".git/commondir") || s.exists(".git/config.worktree") {
		t.Error("a command redirected the repository")
	}
}

func TestSubdirectory_RepositoryThatCannotBeProtectedIsReadOnly(t *testing.T) {
	const line = "echo x > ../.git/refs/heads/y"
	t.Run("worktreeConfig", func(t *testing.T) {
		newSubdirectory(t, "[extensions]\n\tworktreeConfig = true\n").refuses(line)
	})
	t.Run("incomplete", func(t *testing.T) {
		s := newStage(t, func(s *stage, _ *Config) {
			os.RemoveAll(s.ws + "/.git")
			s.write(".git/refs/heads/x", "")
			s.write(".git/config", "[core]\n")
		})
		s.refuses(line)
	})
	t.Run("home", func(t *testing.T) {
		s := newStage(t, func(s *stage, _ *Config) {
			t.Setenv("HOME", s.root)
			os.RemoveAll(s.ws + "/.git")
			for _, name := range []string{"objects/x", "refs/heads/x"} {
				s.write(".git/"+name, "")
			}
			s.write(".git/HEAD", "ref: refs/heads/main\n")
			s.write(".git/config", "[core]\n\thooksPath = ws/hooks\n")
			s.write("ws/hooks/x", "")
		})
		s.refuses(line)
		s.refuses("echo x > hooks/x")
	})
	t.Run("without namespaces", func(t *testing.T) {
		useNamespaces = false
		defer func() { useNamespaces = true }()
		newSubdirectory(t, "[core]\n").refuses(line)
	})
}

// Git writes messages, the index and the reflog through links. A link that a command leaves is removed; the user's
// links stay.
func TestRepository_LinksThatGitWritesThroughAreRemoved(t *testing.T) {
	need(t, "git")
	s := newStage(t, func(s *stage, _ *Config) {
		const begin = `rm -rf .git && git init -q . 2>&1 && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one &&
			ln -s $OUT/mine .git/DESCRIPTION`
		if out, code := s.sh(false, begin); code != 0 {
			t.Fatal(out)
		}
	})
	time.Sleep(2 * coarseTime) // the user's link must be older than the first command
	s.must("ln -sf $OUT/a .git/COMMIT_EDITMSG; ln -sf $OUT/b .git/FETCH_HEAD; ln -sf $OUT/c .git/logs/HEAD; " +
		"b=$(ls .git/logs/refs/heads) && ln -sf $OUT/d .git/logs/refs/heads/$b; mkdir -p .git/info && ln -s $OUT/e .git/info/x")
	blocked := s.box.Sweep()
	if len(blocked) != 5 {
		t.Errorf("removed %q, want five links", blocked)
	}
	left, _ := s.sh(false, "find .git -type l")
	if want := ".git/DESCRIPTION"; strings.TrimSpace(left) != want {
		t.Errorf("the links %q are left, want %s", left, want)
	}
}

// Old git versions had remotes in files, which still name repositories to push to, with hooks.
func TestRepository_OldPlacesForRemotesAreProtected(t *testing.T) {
	s := newStage(t, func(s *stage, _ *Config) {
		if out, code := s.sh(false, "rm -rf .git && git init -q . 2>&1 && rm -rf .git/remotes && mkdir -p .git/branches"); code != 0 {
			t.Fatal(out)
		}
	})
	s.refuses("echo URL > .git/branches/origin")
	s.sh(true, "mkdir .git/remotes && echo URL: x > .git/remotes/origin")
	s.blocks(".git/remotes")
}
