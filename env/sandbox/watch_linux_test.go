//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// blocks checks that Sweep reports a workspace path, which is gone, and no other.
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
	s.must(`echo x > .envrc; for i in $(seq 5000); do test -e .envrc || exit 0; sleep 0.01; done; exit 1`)
	s.blocks(".envrc")
}

func TestMissing_BelongsToTheUserIfNoCommandRuns(t *testing.T) {
	s := newStage(t, nil)
	s.must("true")
	s.box.Sweep()
	s.settled()
	s.write("ws/.claude/settings.json", "{}")
	s.must("cat .claude/settings.json")
	s.refuses("echo x > .claude/settings.json")
	s.blocks()
	s.box.Close()
	if !s.exists("ws/.claude/settings.json") {
		t.Error("a file of the user was removed")
	}
}

// settled waits until the box has seen that all processes are gone.
func (s *stage) settled() {
	s.t.Helper()
	for end := time.Now().Add(2 * maxSettleTime); time.Now().Before(end); {
		s.box.mu.Lock()
		empty := s.box.empty
		s.box.mu.Unlock()
		if empty {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatal("the box is not empty")
}

// The user's events must be read, or the watcher would be told about them for ever.
func TestWatcher_ReadsEventsWhileNoCommandRuns(t *testing.T) {
	s := newStage(t, nil)
	s.must("true")
	s.box.Sweep()
	s.settled()
	if err := os.Mkdir(s.ws+"/mine", 0o755); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(maxSettleTime); time.Now().Before(end); {
		n := 1
		s.box.watch.control(func(fd int) { n, _ = unix.IoctlGetInt(fd, unix.TIOCINQ) })
		if n == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("nobody reads the events")
}

// A process that a command leaves behind may create something later and exit at once.
func TestMissing_IsBlockedAfterTheCommand(t *testing.T) {
	for range 5 {
		s := newStage(t, nil)
		s.must(`(setsid sh -c 'sleep 0.1; mkdir .idea' >/dev/null 2>&1 &)`)
		s.box.Sweep()
		s.settled()
		s.must("true")
		s.box.Sweep()
		if s.exists("ws/.idea") || !s.exists("ws/.idea"+blockedSuffix) {
			t.Error(".idea was not blocked")
		}
	}
}

// A command must not be able to reduce the protection for the next command.
func TestLayout_ThatACommandSpoilsStaysProtected(t *testing.T) {
	for name, c := range map[string]struct{ config, line string }{
		"file":  {"[core]\n\thooksPath = hk/a/b\n", "touch hk; git init -q new"},
		"loop":  {"[include]\n\tpath = ../inc/x\n", "ln -s inc inc; git init -q new"},
		"modes": {"[core]\n\thooksPath = hk/a/b\n", "mkdir -p hk/a; chmod 000 hk; git init -q new"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(s *stage, _ *Config) { s.write("ws/.git/config", c.config) })
			s.sh(true, c.line)
			s.box.Sweep()
			s.sh(true, "echo x > .git/hooks/pre-commit; echo x >> .git/config; chmod 755 hk; mkdir -p hk/a/b; touch hk/a/b/post-commit")
			s.box.Sweep()
			if data, _ := os.ReadFile(s.ws + "/.git/hooks/pre-commit"); string(data) != "#!/bin/sh\n" {
				t.Errorf("the hook was replaced by %q", data)
			}
			if strings.Contains(c.config, "hk") && s.exists("ws/hk/a/b/post-commit") {
				t.Error("a hook was planted")
			}
			os.Chmod(s.ws+"/hk", 0o755)
		})
	}
}

func TestLayout_WithoutCachesIsComplete(t *testing.T) {
	s := newStage(t, func(s *stage, c *Config) {
		if err := os.Mkdir(s.root+"/cache", 0o700); err != nil {
			t.Fatal(err)
		}
		c.Cache, c.Layers = s.root+"/cache", s.root+"/layers"
	})
	if !s.box.Support().Full() {
		t.Errorf("%+v", s.box.Support())
	}
}

func TestNewRepository_IsSeenThroughACommonDirectory(t *testing.T) {
	s := newStage(t, nil)
	s.sh(true, `mkdir -p h/refs hc/objects hc/refs; cp .git/HEAD h; echo ../hc > h/commondir; printf '[core]\npager = ./evil\n' > hc/config`)
	s.blocks("h/HEAD")
}

func TestNewRepository_IsSeenAmongManyDirectories(t *testing.T) {
	s := newStage(t, nil)
	s.sh(true, `mkdir d$(seq -s ' d' 1 4000); git init -q d4000/p; echo x > d4000/p/.git/hooks/post-commit`)
	s.blocks("d4000/p/.git")
}

func TestNewRepository_HasNoHooksOfAllRepositories(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.WriteFile(home+"/.gitconfig", []byte("[core]\n\thooksPath = githooks\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStage(t, nil)
	s.sh(true, "git init -q n; mkdir n/githooks; touch n/githooks/pre-commit")
	s.blocks("n/githooks")
	s.sh(true, "mkdir n/githooks; touch n/githooks/pre-commit")
	s.blocks("n/githooks")
}

// An empty directory in place of an included file would be an error for git.
func TestPlaceholders_DoNotBreakGit(t *testing.T) {
	s := newStage(t, func(s *stage, _ *Config) {
		os.RemoveAll(s.ws + "/.git")
		if out, code := s.sh(false, "git init -q && git config include.path missing"); code != 0 {
			t.Fatal(out)
		}
	})
	s.must("git status")
	if out, code := s.sh(false, "git status"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	s.sh(true, "printf '[core]\\nfsmonitor = ./evil\\n' > .git/missing")
	s.blocks(".git/missing")
}

// The names in the git configuration need not exist.
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
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.WriteFile(home+"/.gitconfig", []byte("[core]\n\thooksPath = tools/hooks\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStage(t, nil)
	s.sh(true, "mkdir -p tools/hooks && echo x > tools/hooks/post-commit")
	s.blocks("tools/hooks")
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

func TestNewRepository_IsKeptAndProtectedIfItIsOrdinary(t *testing.T) {
	s := newStage(t, func(s *stage, _ *Config) { os.RemoveAll(s.ws + "/.git") })
	s.must("git init -q new && git init -q . && git -c user.name=x -c user.email=x commit -q --allow-empty -m x && git clone -q . copy")
	s.blocks()
	s.must("git -C new status && git log && git -C copy log")
	for _, dir := range []string{".", "new", "copy"} {
		s.refuses("echo x >> " + dir + "/.git/config")
	}
}

// If .git is no longer a repository, git looks for one in the directory itself, whose configuration could be anything.
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

// In the directory with an overlay's changes, a command could make the next mount something else.
func TestOverlays_CannotBeRedirected(t *testing.T) {
	s := newStage(t, func(s *stage, c *Config) {
		s.write("lower/a", "user\n")
		for _, dir := range []string{"cache", "layers"} {
			if err := os.Mkdir(s.root+"/"+dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		c.Cache, c.Layers = s.root+"/cache", s.root+"/layers"
		c.Overlays = []Overlay{{Dir: c.Cache + "/go-build", Lower: s.root + "/lower"}}
	})
	cache := s.root + "/cache"
	if out := s.must("cat " + cache + "/go-build/a && echo own > " + cache + "/go-build/a && cat " + cache + "/go-build/a"); out != "user\nown\n" {
		t.Errorf("%q", out)
	}
	for _, line := range []string{
		"touch " + s.root + "/layers/x", "rm -r " + s.root + "/layers/go-build.changes", "mv " + cache + "/go-build " + cache + "/g",
		"rmdir " + cache + "/go-build", "ls " + s.root + "/layers/go-build.changes/a && echo x > " + s.root + "/layers/go-build.changes/a",
	} {
		if out, code := s.sh(true, line); code == 0 {
			t.Errorf("%s: exit code 0, want a failure:\n%s", line, out)
		}
	}
	// Even if that happens, no link is followed.
	s.box.drop()
	if out, code := s.sh(false, "mv "+cache+"/go-build "+cache+"/g && ln -s $OUT "+cache+"/go-build"); code != 0 {
		t.Fatal(out)
	}
	if out, code := s.sh(true, "echo x > "+cache+"/go-build/new"); code == 0 || s.exists("out/new") {
		t.Errorf("exit code %d, want a failure:\n%s", code, out)
	}
}

func TestDevices_AreFew(t *testing.T) {
	s := newStage(t, nil)
	got := strings.Join(strings.Fields(s.must("ls /dev")), " ")
	if want := "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero"; got != want {
		t.Errorf("/dev has %s, want %s", got, want)
	}
	s.must("echo x > /dev/null && test $(head -c 3 /dev/zero | wc -c) = 3 && ! echo x > /dev/full && ! chmod 777 /dev/null && ! rm /dev/null && echo x > /dev/shm/y")
	if os.Getuid() == 0 { // a device file
		if err := unix.Mknod(s.ws+"/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
			t.Fatal(err)
		}
		s.refuses("echo x > null")
	}
}

// An old kernel has no Landlock, and a container may have neither.
func TestSupport_ReadingNeedsLandlockAndNamespaces(t *testing.T) {
	s := newStage(t, nil)
	if !s.box.Support().Reads() {
		t.Errorf("reading is not enforced here: %+v", s.box.Support())
	}
	out, code := s.probe(false, "old kernel", s.ws, s.tmp)
	if code != 0 {
		t.Errorf("without Landlock: exit code %d:\n%s", code, out)
	}
}

// withoutLandlock runs a box as on a kernel without Landlock.
func withoutLandlock(args []string) error {
	runtime.LockOSThread()
	var p program
	p.load(offsetNumber)
	p.failIf(unix.BPF_JEQ, unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS)
	p.allow()
	if err := errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), setFilter(p)); err != nil {
		return err
	}
	b, err := New(Config{Mode: WorkspaceWrite, Dir: args[0], Temp: args[1]})
	if err != nil {
		return err
	}
	defer b.Close()
	switch s := b.Support(); {
	case s.Landlock != 0:
		return fmt.Errorf("the test shows nothing: %+v", s)
	case !s.Namespaces || s.Reads() || s.Full():
		return fmt.Errorf("%+v, want namespaces and no confined reading", s)
	}
	return nil
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

func TestNamed_IncludesConditionalIncludes(t *testing.T) {
	s := newStage(t, func(s *stage, _ *Config) {
		s.write("ws/.git/config", "[includeIf \"gitdir:/\"]\n\tpath = ../extra/git\n")
	})
	s.sh(true, "mkdir extra && echo x > extra/git")
	s.blocks("extra/git")
}

// A repository that was ordinary when the box examined it may be changed in place afterwards. When .envrc is gone, the
// box has examined everything before it.
func TestNewRepository_IsBlockedIfItIsChangedLater(t *testing.T) {
	s := newStage(t, nil)
	s.sh(true, `git init -q new && echo x > .envrc; for i in $(seq 500); do test -e .envrc || break; sleep 0.01; done
		printf '[core]\nfsmonitor = ./evil\n' >> new/.git/config`)
	if blocked := s.box.Sweep(); !slices.Contains(blocked, s.ws+"/new/.git") || !missing(s.ws+"/new/.git") {
		t.Errorf("blocked %q, want new/.git to be renamed", blocked)
	}
}

// A command can replace a directory with a link before the box works on a path in it.
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
