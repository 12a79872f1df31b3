//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// blocks checks that Sweep reports a path of the workspace, which is gone, and no other.
func (s *stage) blocks(names ...string) {
	s.t.Helper()
	blocked := s.box.Sweep()
	var want []string
	for _, name := range names {
		path := filepath.Join(s.ws, name)
		want = append(want, path)
		if !missing(path) {
			s.t.Errorf("%s still exists", name)
		}
	}
	if !slices.Equal(blocked, want) {
		s.t.Errorf("blocked %q, want %q", blocked, want)
	}
}

func TestMissing_IsBlocked(t *testing.T) {
	for _, probe := range []struct{ name, line, path string }{
		{"file", `echo x > .mcp.json`, ".mcp.json"},
		{"file as a directory", `mkdir -p .mcp.json && touch .mcp.json/x`, ".mcp.json"},
		{"file as a link", `ln -sT file .mcp.json`, ".mcp.json"},
		{"file through rename", `mv -T file .mcp.json`, ".mcp.json"},
		{"file through a hard link", `ln -T file .mcp.json`, ".mcp.json"},
		{"directory", `mkdir -p .claude && echo x > .claude/settings.json`, ".claude"},
		{"directory as a link", `mkdir c && ln -sT c .claude`, ".claude"},
		{"directory through rename", `mkdir c && touch c/x && mv -T c .claude`, ".claude"},
		{"editor", `mkdir -p .zed .devcontainer && touch .zed/settings.json`, ".zed"},
		{"direnv", `echo x > .envrc`, ".envrc"},
		{"npm", `echo x > .npmrc`, ".npmrc"},
		{"another case", `echo x > .Envrc`, ".Envrc"}, // the same file on some file systems
	} {
		t.Run(probe.name, func(t *testing.T) {
			s := newStage(t, nil)
			s.sh(true, probe.line)
			blocked := s.box.Sweep()
			if path := s.ws + "/" + probe.path; !slices.Contains(blocked, path) || !missing(path) || missing(path+blockedSuffix) {
				t.Errorf("blocked %q, want %s to be renamed", blocked, probe.path)
			}
		})
	}
}

// A command must not have to end before what it plants is blocked.
func TestMissing_IsBlockedWhileTheCommandRuns(t *testing.T) {
	s := newStage(t, nil)
	s.must(`echo x > .envrc; for i in $(seq 500); do test -e .envrc || exit 0; sleep 0.01; done; exit 1`)
	s.blocks(".envrc")
}

// A command that creates very many files must not hide one from the box.
func TestMissing_IsBlockedIfEventsWereLost(t *testing.T) {
	s := newStage(t, nil)
	s.must("true")
	s.box.mu.Lock()
	s.write("ws/.envrc", "x")
	s.box.watch.collect(func(string) bool { return false })
	s.box.watch.note(-1, unix.IN_Q_OVERFLOW, "", s.box.suspect)
	s.box.mu.Unlock()
	s.blocks(".envrc")
}

func TestMissing_BelongsToTheUserIfNoCommandRuns(t *testing.T) {
	s := newStage(t, nil)
	s.must("true")
	s.box.Sweep()
	s.write("ws/.claude/settings.json", "{}")
	s.must("cat .claude/settings.json")
	s.refuses("echo x > .claude/settings.json")
	s.blocks()
	s.box.Close()
	if !s.exists("ws/.claude/settings.json") {
		t.Error("a file of the user was removed")
	}
}

// The names that the configuration of git gives need not exist.
func TestNamed_IsBlockedIfItDoesNotExist(t *testing.T) {
	s := newStage(t, func(s *stage, _ *Config) {
		s.write("ws/.git/config", "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../extra/git ; a comment\n")
	})
	s.sh(true, "mkdir .githooks && echo x > .githooks/post-commit")
	s.blocks(".githooks")
	s.sh(true, "mkdir extra && echo x > extra/git")
	s.blocks("extra/git")
}

func TestNamed_IsReadFromTheUsersConfiguration(t *testing.T) {
	for variable, name := range map[string]string{"HOME": ".gitconfig", "XDG_CONFIG_HOME": "git/config", "GIT_CONFIG_GLOBAL": ""} {
		t.Run(variable, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, name)
			t.Setenv(variable, dir)
			if name == "" {
				file = filepath.Join(dir, "settings")
				t.Setenv(variable, file)
			}
			text := []byte("[core]\n\thooksPath = tools/hooks\n")
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
				t.Fatal(err)
			}
			s := newStage(t, nil)
			s.sh(true, "mkdir -p tools/hooks && echo x > tools/hooks/post-commit")
			s.blocks("tools/hooks")
		})
	}
}

func TestNamed_IncludesConditionalIncludes(t *testing.T) {
	s := newStage(t, func(s *stage, _ *Config) {
		s.write("ws/.git/config", "[includeIf \"gitdir:/\"]\n\tpath = ../extra/git\n")
	})
	s.sh(true, "mkdir extra && echo x > extra/git")
	s.blocks("extra/git")
}

func TestNewRepository_IsBlockedIfItWouldRunPrograms(t *testing.T) {
	for name, line := range map[string]string{
		"configuration": `git config -f $D/.git/config core.fsmonitor ./evil`,
		"hook":          `echo x > $D/.git/hooks/post-commit`,
		"commondir":     `echo x > $D/.git/commondir`,
		"link":          `rm -r $D/.git && ln -s $OUT $D/.git`,
		"file":          `rm -r $D/.git && echo "gitdir: $OUT" > $D/.git`,
		"transport":     `git -C $D remote add origin 'ext::sh -c evil'`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, dir := range []string{"new", "new/a/b/c/d", "sub/new"} {
				s := newStage(t, nil)
				s.sh(true, "export D="+dir+"; git init -q $D && "+line)
				s.blocks(dir + "/.git")
			}
		})
	}
}

// What was ordinary when the box looked at it may be changed in place afterwards. The box has looked at all that came
// before .envrc when that is gone.
func TestNewRepository_IsBlockedIfItIsChangedLater(t *testing.T) {
	s := newStage(t, nil)
	s.sh(true, `git init -q new && echo x > .envrc; for i in $(seq 500); do test -e .envrc || break; sleep 0.01; done
		printf '[core]\nfsmonitor = ./evil\n' >> new/.git/config`)
	if blocked := s.box.Sweep(); !slices.Contains(blocked, s.ws+"/new/.git") || !missing(s.ws+"/new/.git") {
		t.Errorf("blocked %q, want new/.git to be renamed", blocked)
	}
}

func TestNewRepository_IsKeptAndProtectedIfItIsOrdinary(t *testing.T) {
	s := newStage(t, func(s *stage, _ *Config) { os.RemoveAll(s.ws + "/.git") })
	s.must("git init -q new && git init -q . && git -c user.name=x -c user.email=x commit -q --allow-empty -m x && git clone -q . copy")
	s.blocks()
	s.must("git -C new status && git log && git -C copy log")
	for _, dir := range []string{".", "new", "copy"} {
		s.refuses("echo x >> " + dir + "/.git/config")
	}
}

// If .git is no repository any more, git looks for one in the directory itself, whose configuration could be anything.
func TestBareRepository_IsBlockedIfItWouldRunPrograms(t *testing.T) {
	const hostile = `printf '[core]\nworktree = .\nfsmonitor = ./evil\n' > `
	for name, probe := range map[string]struct{ line, path string }{
		"hollowed":   {`mv .git/HEAD .git/HEAD.x; cp .git/HEAD.x HEAD; mkdir objects refs; ` + hostile + `config`, "HEAD"},
		"moved":      {`git init -q --bare b && ` + hostile + `b/config && mv b/* .`, "HEAD"},
		"hook":       {`git init -q --bare sub/b && echo x > sub/b/hooks/post-commit`, "sub/b/HEAD"},
		"configured": {`git init -q --bare sub/b && git -C sub/b config core.worktree ..`, "sub/b/HEAD"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil)
			s.sh(true, probe.line)
			s.blocks(probe.path)
		})
	}
}

func TestBareRepository_IsProtectedIfItIsOrdinary(t *testing.T) {
	s := newStage(t, nil)
	s.must("git init -q --bare sub/b")
	s.blocks()
	s.refuses("echo x >> sub/b/config")
	s.refuses("echo x >> sub/b/hooks/post-commit")
}

func TestBlocked_KeepsWhatWasBlockedBefore(t *testing.T) {
	s := newStage(t, nil)
	for range 3 {
		s.sh(true, "echo x > .envrc")
		s.blocks(".envrc")
	}
	for _, suffix := range []string{"", "-2", "-3"} {
		if data, err := os.ReadFile(s.ws + "/.envrc" + blockedSuffix + suffix); err != nil || strings.TrimSpace(string(data)) != "x" {
			t.Errorf("%s: %q, %v", suffix, data, err)
		}
	}
}

// A command can replace a directory by a link before the box works on a path in it.
func TestPaths_LeadThroughNoLink(t *testing.T) {
	s := newStage(t, nil)
	s.write("out/dir/.envrc", "x")
	if err := os.Symlink(s.out, s.ws+"/link"); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, s.out)
	s.box.block(s.ws + "/link/dir/.envrc")
	if err := mkdir(s.ws + "/link/dir/new"); err == nil {
		t.Error("a directory was made through a link")
	}
	if c, err := copyTree(s.ws+"/link/dir", 0); err == nil {
		unix.Close(c.fd)
		t.Error("a mount was copied through a link")
	}
	if after := snapshot(t, s.out); after != before {
		t.Errorf("files have changed from\n%sto\n%s", before, after)
	}
	fd, err := openReal(s.ws + "/link")
	if err != nil {
		t.Fatalf("a link itself: %v", err)
	}
	unix.Close(fd)
}
