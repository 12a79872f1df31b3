//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// refuses checks that a confined line fails, although it works without a sandbox afterwards.
func (s *stage) refuses(line string) {
	s.t.Helper()
	if out, code := s.sh(true, line); code == 0 {
		s.t.Errorf("%s: exit code 0, want a failure:\n%s", line, out)
	}
	if out, code := s.sh(false, line); code != 0 {
		s.t.Errorf("%s without a sandbox: exit code %d, want 0, or the test shows nothing:\n%s", line, code, out)
	}
}

func (s *stage) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(s.root, name))
	return err == nil
}

func TestPlaceholders_AreOnlyInRepositoriesAndStayUntilTheLastBoxCloses(t *testing.T) {
	s := newStage(t, nil)
	before := names(t, s.ws)
	s.must("true")
	other, err := New(s.box.config)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	first := s.box
	s.box = other
	s.must("true")
	if after := names(t, s.ws); after != before {
		t.Errorf("the box changed the files of the workspace from\n%s\nto\n%s", before, after)
	}
	first.Close()
	if !s.exists("ws/.git/modules") {
		t.Error("the first box removed a placeholder that the second one needs")
	}
	if out, code := s.sh(true, "mkdir -p .git/modules/x"); code == 0 {
		t.Errorf("after the first box was closed, the second one does not protect .git/modules:\n%s", out)
	}
	other.Close()
	for _, name := range []string{".git/modules", "sub/deep/.git/hooks"} {
		if s.exists("ws/" + name) {
			t.Errorf("%s is left after both boxes were closed", name)
		}
	}
}

// names lists all files below a directory that are not in a repository.
func names(t *testing.T, dir string) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if list = append(list, path); d != nil && d.Name() == ".git" {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

func TestProtection_SurvivesReplacementFromOutside(t *testing.T) {
	s := newStage(t, nil)
	s.must("true")
	s.write("ws/.git/config.lock", "[core]\n\tbare = false\n")
	if err := os.Rename(s.ws+"/.git/config.lock", s.ws+"/.git/config"); err != nil {
		t.Fatal(err)
	}
	s.refuses("echo x >> .git/config")
	if err := os.RemoveAll(s.ws + "/.vscode"); err != nil {
		t.Fatal(err)
	}
	s.sh(true, "mkdir -p .vscode && touch .vscode/x")
	s.blocks(".vscode")
}

func TestRepository_CreatedOutsideCanBeCommittedTo(t *testing.T) {
	s := newStage(t, func(s *stage, _ *Config) { os.RemoveAll(s.ws + "/.git") })
	s.must("true")
	s.write("ws/.git/config", "[core]\n")
	s.must("echo x > .git/HEAD")
	s.refuses("echo x >> .git/config")
}

func TestSpawner_IsContinuedWhenACommandStopsIt(t *testing.T) {
	s := newStage(t, nil)
	s.must("true")
	s.sh(true, "kill -STOP $(pgrep -x "+s.box.name+")")
	if out := s.must("echo again"); out != "again\n" {
		t.Errorf("after STOP: %q", out)
	}
	s.refuses("echo x > $OUT/new")
	if n := len(s.box.spaces); n != 1 {
		t.Errorf("%d spawners so far, want 1, or the test shows nothing", n)
	}
}

// Leftovers from a command must not be mounted again.
func TestSpawner_ThatACommandKillsIsNotReplaced(t *testing.T) {
	s := newStage(t, nil)
	s.must("true")
	s.sh(true, "kill -KILL $(pgrep -x "+s.box.name+")")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for range 2 {
		_, err := s.box.Start("/bin/true", []string{"true"}, &os.ProcAttr{Files: []*os.File{null, null, null}})
		if !errors.Is(err, ErrBroken) {
			t.Errorf("start a command: %v, want %v", err, ErrBroken)
		}
	}
}

// A command can stop the spawner before it has answered.
func TestSpawner_RunsACommandOnceThatStopsIt(t *testing.T) {
	s := newStage(t, nil)
	const runs = 20
	for range runs {
		s.sh(true, "echo x >> runs; kill -STOP $(pgrep -x "+s.box.name+")")
	}
	if got := s.must("cat runs"); got != strings.Repeat("x\n", runs) {
		t.Errorf("the command ran %d times, want %d", strings.Count(got, "x"), runs)
	}
	if n := len(s.box.spaces); n != 1 {
		t.Errorf("%d spawners, want 1", n)
	}
}

// The spawner has its own slack, which commands must not inherit: their sleeps would be late.
func TestCommands_HaveTheTimerSlackOfTheHost(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer setTimerSlack(timerSlack())
	const mine = 70 * time.Microsecond
	setTimerSlack(mine)
	s := newStage(t, nil)
	if got := s.must("cat /proc/self/timerslack_ns"); got != fmt.Sprintln(mine.Nanoseconds()) {
		t.Errorf("a command has a slack of %s ns, want %d", strings.TrimSpace(got), mine.Nanoseconds())
	}
	if got := timerSlack(); got != mine {
		t.Errorf("after a command, the host has a slack of %s, want %s", got, mine)
	}
}

func TestBox_LeaksNothing(t *testing.T) {
	s := newStage(t, nil)
	s.must("true")
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before, beforeSpawner := files(), len(s.spawnerFiles())
	for i := range 1_000 {
		if i%100 == 0 {
			null, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.box.Start("/nonexistent", []string{"x"}, &os.ProcAttr{Files: []*os.File{null, null, null}}); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("start a missing program: %v", err)
			}
			null.Close()
		}
		s.run(true, "/bin/true")
	}
	if after := files(); after != before {
		t.Errorf("%d files are open, want %d as before", after, before)
	}
	if os.Getuid() == 0 { // the spawner hides its files from ordinary users
		if after := len(s.spawnerFiles()); after != beforeSpawner {
			t.Errorf("the spawner has %d files open, want %d as before", after, beforeSpawner)
		}
	}
	for _, pid := range children() {
		if name, rest := readStat(pid); len(rest) > 0 && rest[0] == "Z" {
			t.Errorf("%s (%d) is a zombie", name, pid)
		}
	}
	if names, _ := os.ReadDir(s.tmp); len(names) > 0 {
		t.Errorf("temporary files are left: %v", names)
	}
}

func (s *stage) spawnerFiles() []os.DirEntry {
	list, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(s.box.spawner.Pid), "fd"))
	return list
}

func TestStart_RefusesNUL(t *testing.T) {
	s := newStage(t, nil)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, args := range [][]string{{"a\x00b"}, {"a", "\x00"}} {
		if p, err := s.box.Start("/bin/true", args, &os.ProcAttr{Files: []*os.File{null, null, null}}); !errors.Is(err, unix.EINVAL) {
			t.Errorf("arguments %q: %v, %v, want an invalid argument", args, p, err)
		}
	}
}

func TestWithoutNamespaces_WritesAndNetworkAreRefused(t *testing.T) {
	useNamespaces = false
	defer func() { useNamespaces = true }()
	s := newStage(t, nil)
	support := s.box.Support()
	if support.Full() || !support.Any() || len(support.Problems) == 0 || !strings.Contains(support.Problems[0], "namespaces") {
		t.Errorf("support is %+v, want an incomplete one that says why", support)
	}
	s.refuses("echo x > $OUT/new")
	s.refuses("rm $OUT/file")
	s.must("echo x > new")
	for _, probe := range []string{"tcp @tcp", "udp @udp", "unix @socket", "netlink", "environ @host", "kill @victim", "mem @spawner", "clone user", "files"} {
		if out, code := attack(s, probe, true); code != refusedCode {
			t.Errorf("%s: exit code %d, want a refusal:\n%s", probe, code, out)
		}
	}
	if s.exists("ws/.claude") {
		t.Error("placeholders are left, although there are no mounts")
	}
}

func TestRoots_AreProtectedWhereverTheyAre(t *testing.T) {
	t.Run("the workspace is a link", func(t *testing.T) {
		s := newStage(t, func(s *stage, c *Config) {
			if err := os.Symlink(s.ws, s.root+"/link"); err != nil {
				t.Fatal(err)
			}
			c.Dir = s.root + "/link"
		})
		s.must("echo x > new")
		s.refuses("echo x >> .git/config")
	})
	t.Run("another root above the workspace", func(t *testing.T) {
		s := newStage(t, func(s *stage, c *Config) { c.Writable = []string{s.root} })
		s.must("echo x > new && echo x > $OUT/new")
		s.refuses("echo x >> .git/config")
		s.sh(true, "mkdir -p ../.claude && touch ../.claude/x")
		s.blocks("../.claude")
	})
	t.Run("another root inside", func(t *testing.T) {
		s := newStage(t, func(s *stage, c *Config) {
			s.write("ws/a/etc/file", "")
			s.write("out/etc/file", "")
			c.Writable = []string{"a/etc"}
		})
		s.must("echo x > a/etc/new")
		if out, code := s.sh(true, "mv a b && ln -s $OUT a"); code == 0 {
			t.Errorf("the parent of a root was replaced by a link:\n%s", out)
		}
		// Even from outside, this must not make another directory writable.
		if out, code := s.sh(false, "mv a b && ln -s $OUT a"); code != 0 {
			t.Fatal(out)
		}
		s.box.drop()
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		if _, err := s.box.Start("/bin/true", []string{"true"}, &os.ProcAttr{Files: []*os.File{null, null, null}}); err == nil {
			t.Error("a root with a link in its path was accepted")
		}
	})
	t.Run("a protected directory as a root", func(t *testing.T) {
		s := newStage(t, func(_ *stage, c *Config) { c.Writable = []string{".vscode"} })
		s.must("echo x > .vscode/tasks.json")
		if !s.box.Allows(s.ws+"/.vscode/x") || s.box.Allows(s.ws+"/.claude/x") {
			t.Error("Allows does not agree with the configuration")
		}
	})
	t.Run("the temporary directory in the workspace", func(t *testing.T) {
		s := newStage(t, func(s *stage, c *Config) {
			s.tmp = s.ws + "/t/private/tmp"
			if err := os.MkdirAll(s.tmp, 0o700); err != nil {
				t.Fatal(err)
			}
			c.Temp, c.Protected = s.tmp, []string{s.ws + "/t/private"}
		})
		s.must("echo x > $TMPDIR/new && echo x > t/new")
		s.refuses("echo x > t/private/new")
		if out, code := s.sh(true, "mv t/private p || mv t u"); code == 0 {
			t.Errorf("the private directory was moved:\n%s", out)
		}
	})
	t.Run("the home directory", func(t *testing.T) {
		s := newStage(t, func(s *stage, _ *Config) {
			s.write("ws/.profile", "")
			s.write("ws/projects/file", "")
			t.Setenv("HOME", s.ws)
		})
		s.must("echo x > projects/new && cat .profile")
		for _, line := range []string{"echo x >> .profile", "echo x > .bash_profile", "mkdir -p .ssh && touch .ssh/rc", "mv projects p"} {
			s.refuses(line)
		}
	})
	t.Run("shared memory", func(t *testing.T) {
		dir, err := os.MkdirTemp("/dev/shm", "reins-test-")
		if err != nil {
			t.Skip(err)
		}
		defer os.RemoveAll(dir)
		s := newStage(t, func(_ *stage, c *Config) { c.Writable = []string{dir} })
		s.must("echo x > " + dir + "/new")
		s.refuses("echo x > " + dir + ".new; test -e " + dir + ".new && rm " + dir + ".new")
	})
	t.Run("file systems of the kernel", func(t *testing.T) {
		for _, dir := range []string{"/proc", "/sys", "/dev", "/dev/pts", "/"} {
			if _, err := New(Config{Mode: WorkspaceWrite, Dir: t.TempDir(), Writable: []string{dir}}); err == nil {
				t.Errorf("%s was made writable", dir)
			}
		}
		if os.Getuid() != 0 {
			return // an ordinary user cannot mount one
		}
		s := newStage(t, func(s *stage, _ *Config) {
			for _, kind := range []string{"proc", "devpts"} {
				dir := s.ws + "/root/" + kind
				if err := errors.Join(os.MkdirAll(dir, 0o755), unix.Mount(kind, dir, kind, 0, "")); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
			}
		})
		s.refuses("echo 500 > root/proc/self/oom_score_adj")
		s.refuses("chmod 0 root/devpts/ptmx")
	})
}

func TestLinkedWorktree_CanCommitAndNothingElse(t *testing.T) {
	worktree := func(known bool) *stage {
		return newStage(t, func(s *stage, _ *Config) {
			os.RemoveAll(s.ws + "/.git")
			s.write("ws/.git", "gitdir: "+s.out+"/.git/worktrees/w\n")
			for _, name := range []string{"objects/x", "refs/x", "logs/x", "hooks/x", "worktrees/w/HEAD"} {
				s.write("out/.git/"+name, "")
			}
			s.write("out/.git/config", "[core]\n")
			s.write("out/.git/worktrees/w/commondir", "../..\n")
			back := s.ws + "/.git\n"
			if !known {
				back = s.root + "/elsewhere/.git\n"
			}
			s.write("out/.git/worktrees/w/gitdir", back)
		})
	}
	s := worktree(true)
	s.must("touch $OUT/.git/worktrees/w/index $OUT/.git/objects/y $OUT/.git/refs/y $OUT/.git/logs/y")
	for _, path := range []string{"config", "hooks/y", "worktrees/v", "worktrees/w/commondir", "worktrees/w/gitdir", "HEAD"} {
		s.refuses("echo x >> $OUT/.git/" + path)
	}
	s.refuses("touch $OUT/.git/worktrees/w/config.worktree")
	s.refuses("echo x > .git")
	forged := worktree(false)
	forged.refuses("touch $OUT/.git/worktrees/w/index")
	forged.refuses("touch $OUT/.git/objects/y")
}

func TestRedirectingRepository_IsReadOnly(t *testing.T) {
	for name, change := range map[string]func(s *stage){
		"commondir":  func(s *stage) { s.write("ws/.git/commondir", "x") },
		"worktree":   func(s *stage) { s.write("ws/.git/config", "[extensions]\n\tworktreeConfig = true\n") },
		"no config":  func(s *stage) { os.Remove(s.ws + "/.git/config") },
		"link hooks": func(s *stage) { os.RemoveAll(s.ws + "/.git/hooks"); os.Symlink(s.ws+"/sub", s.ws+"/.git/hooks") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(s *stage, _ *Config) { change(s) })
			s.refuses("echo x > .git/HEAD")
		})
	}
}

func TestHooksPath_IsProtected(t *testing.T) {
	s := newStage(t, func(s *stage, _ *Config) {
		s.write("ws/.git/config", "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../.gitinclude\n")
		s.write("ws/.githooks/pre-commit", "")
		s.write("ws/.gitinclude", "")
	})
	s.refuses("echo x > .githooks/pre-commit")
	s.refuses("echo x > .gitinclude")
}

func TestAllows_AgreesWithTheKernel(t *testing.T) {
	s := newStage(t, nil)
	for name, want := range map[string]bool{
		"ws/file": true, "ws/new/x": true, "ws/.git/HEAD": true, "tmp/x": true,
		"ws": false, "ws2/x": false, "out/file": false, "ws/.git": false, "ws/.git/config": false, "ws/.GIT/Config": false, "ws/.git/hooks/x": false,
		"ws/.git/commondir": false, "ws/sub": false, "ws/sub/deep": false, "ws/.claude": false, "ws/.Claude/x": false, "ws/.mcp.json": false,
	} {
		if got := s.box.Allows(s.root + "/" + name); got != want {
			t.Errorf("Allows(%s) = %v, want %v", name, got, want)
		}
	}
	if w := s.box.Writable(); !slices.Contains(w, s.ws) || !slices.Contains(w, s.tmp) {
		t.Errorf("Writable() = %q", w)
	}
}
