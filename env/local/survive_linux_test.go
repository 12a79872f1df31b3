package local_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/thorough"
)

// stubborn has commands with descendants that are hard to kill. Each prints "up" when they are running.
var stubborn = map[string]string{
	"Background":       `sleep 600 & echo up`,
	"Setsid":           `setsid sleep 600 & echo up`,
	"Daemon":           `setsid sleep 600 </dev/null >/dev/null 2>&1 & echo up`,
	"DoubleFork":       `( ( sleep 600 & ) & ) ; echo up`,
	"DoubleForkSetsid": `setsid sh -c 'setsid sleep 600 </dev/null >/dev/null 2>&1 & exit' ; echo up`,
	"Nohup":            `nohup sleep 600 >/dev/null 2>&1 & disown -a; echo up`,
	"NoEnvironment":    `env -i sleep 600 & echo up; wait`,
	"IgnoresTerm":      `trap '' TERM HUP INT; echo up; while :; do sleep 1; done`,
	"RespawnsOnTerm":   `trap 'setsid sleep 600 & sleep 600' TERM; echo up; while :; do sleep 1; done`,
	"Pipeline":         `yes | tee /dev/null`,
	"Tree":             `for i in 1 2 3; do (for j in 1 2 3; do sleep 600 & done; wait) & done; echo up; wait`,
}

// runStubborn starts a command and waits for its first output.
func runStubborn(t *testing.T, ctx context.Context, e *local.Env, line string) env.Process {
	t.Helper()
	p, err := e.Start(ctx, env.Command{Line: line, MaxOutput: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "first output", func() bool { return p.Written(env.Stdout) > 0 })
	return p
}

func nobodyLeft(t *testing.T, dir string) {
	t.Helper()
	if left := inDir(dir); len(left) > 0 {
		t.Errorf("still running:\n%s", strings.Join(left, "\n"))
	}
}

func TestClose_NobodySurvives(t *testing.T) {
	for name, line := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spool := t.TempDir()
			e := newEnv(t, local.Config{SpoolDir: spool})
			runStubborn(t, t.Context(), e, line)
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			nobodyLeft(t, e.Info().Dir)
			if pids := watchdogs(spool); len(pids) > 0 {
				t.Errorf("the watchdog is left: %v", pids)
			}
			if left, _ := os.ReadDir(spool); len(left) > 0 {
				t.Errorf("the spool directory contains %v", left)
			}
		})
	}
}

func TestStop_LeavesTimeToCleanUp(t *testing.T) {
	e := newEnv(t, local.Config{})
	for tries := 5; ; tries-- { // a busy machine may need longer for the cleanup than the two seconds that there are
		p := runStubborn(t, t.Context(), e, `trap 'sleep 0.3; echo cleaned; exit' TERM; echo up; while :; do sleep 0.01; done`)
		x, err := p.Stop(t.Context())
		got := text(t, p, env.Stdout)
		if err == nil && x.Code == 0 && got == "up\ncleaned\n" {
			return
		}
		if tries == 0 {
			t.Fatalf("exit %+v, %v and the output %q, want code 0 and the output of the cleanup too", x, err, got)
		}
	}
}

func TestStop_NobodySurvives(t *testing.T) {
	for name, line := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, local.Config{})
			p := runStubborn(t, t.Context(), e, line)
			if _, err := p.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			nobodyLeft(t, e.Info().Dir)
		})
	}
}

func TestCancel_NobodySurvives(t *testing.T) {
	for name, line := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, local.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := runStubborn(t, ctx, e, line)
			cancel()
			wait(t, p)
			await(t, "no process is left", func() bool { return len(inDir(e.Info().Dir)) == 0 })
		})
	}
}

func TestTimeout_NobodySurvives(t *testing.T) {
	for name, line := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, local.Config{})
			for limit := 500 * time.Millisecond; limit < time.Minute; limit *= 10 { // a busy machine may need more to start it
				p, err := e.Start(t.Context(), env.Command{Line: line + "; sleep 600", Timeout: limit, MaxOutput: 1 << 20})
				if err != nil {
					t.Fatal(err)
				}
				if x := wait(t, p); !x.TimedOut {
					t.Errorf("exit: %+v", x)
				}
				nobodyLeft(t, e.Info().Dir)
				if p.Written(env.Stdout) > 0 {
					return
				}
			}
			t.Error("the output before the timeout is lost")
		})
	}
}

func TestKilledHost_NobodySurvives(t *testing.T) {
	for name, line := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, spool := t.TempDir(), t.TempDir()
			host := startVictim(t, dir, spool, line)
			var dogs []int
			await(t, "one watchdog, deaf to signals", func() bool {
				dogs = watchdogs(spool)
				return len(dogs) == 1 && ignores(dogs[0], syscall.SIGTERM)
			})
			// Signals from a terminal or a script must not stop it.
			for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGQUIT} {
				if err := syscall.Kill(dogs[0], sig); err != nil {
					t.Fatal(err)
				}
			}
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			host.Wait()
			await(t, "no process is left", func() bool { return len(inDir(dir)) == 0 && len(watchdogs(spool)) == 0 })
			if left, _ := os.ReadDir(spool); len(left) > 0 {
				t.Errorf("the spool directory contains %v", left)
			}
		})
	}
}

// TestSweep_RemovesWhatAHostLeftThatWasKilledWithItsWatchdog also checks that a directory in use stays.
func TestSweep_RemovesWhatAHostLeftThatWasKilledWithItsWatchdog(t *testing.T) {
	spool := t.TempDir()
	const much = `head -c 200000 /dev/zero; while echo x; do sleep 0.05; done` // ends with its host
	dead, alive := startVictim(t, t.TempDir(), spool, much), startVictim(t, t.TempDir(), spool, much)
	var lists [2][]string
	await(t, "two private directories", func() bool {
		lists[0], _ = filepath.Glob(filepath.Join(spool, "*"))
		return len(lists[0]) == 2
	})
	other := filepath.Join(spool, "reins-"+strings.Repeat("x", 16)) // not one of ours
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(spool, "reins-"+strings.Repeat("a", 16), "mine") // nor is this
	if err := errors.Join(os.Mkdir(filepath.Dir(mine), 0o700), os.WriteFile(mine, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, pid := range watchdogs(spool) { // of both hosts
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if err := dead.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	dead.Wait()
	startVictim(t, t.TempDir(), spool, much)
	await(t, "the directory of the dead host is removed", func() bool {
		lists[1] = slices.DeleteFunc(slices.Clone(lists[0]), func(dir string) bool {
			_, err := os.Stat(dir)
			return err != nil
		})
		return len(lists[1]) < 2
	})
	if _, err := os.Stat(mine); err != nil {
		t.Error("a directory of the user is gone:", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a directory of someone else is gone: %v", err)
	}
	if err := alive.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error(err)
	}
	if len(lists[1]) != 1 {
		t.Errorf("of %v, %v are left: that of a running host was removed", lists[0], lists[1])
	}
}

// TestKilledHost_AtAnyMomentOfItsStartLeavesNothing kills hosts with a sandbox while they start their first command.
func TestKilledHost_AtAnyMomentOfItsStartLeavesNothing(t *testing.T) {
	spool := t.TempDir()
	for range thorough.Of(500, 40) {
		c := role(t, "confined", t.TempDir(), spool, "true")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// The host is killed as soon as there is a private directory, or a random number of looks later.
		end := time.Now().Add(2 * time.Minute)
		for later := rand.IntN(200) * rand.IntN(2); later >= 0; {
			if list, err := os.ReadDir(spool); err != nil || time.Now().After(end) {
				_ = c.Process.Kill()
				t.Fatalf("the host has made no private directory: %v", err)
			} else if len(list) > 0 {
				later--
			}
		}
		c.Process.Kill()
		c.Wait()
		await(t, "an empty directory for temporary files", func() bool {
			list, err := os.ReadDir(spool)
			return err == nil && len(list) == 0
		})
	}
}

func TestWatchdog_IsStartedOnceAndReplacedWhenKilled(t *testing.T) {
	spool := t.TempDir()
	e := newEnv(t, local.Config{SpoolDir: spool})
	if dogs := watchdogs(spool); len(dogs) != 0 {
		t.Fatalf("there are %d watchdogs before the first command", len(dogs))
	}
	run(t, e, "true")
	run(t, e, "true")
	var dogs []int
	await(t, "one watchdog", func() bool {
		dogs = watchdogs(spool)
		return len(dogs) == 1 && ignores(dogs[0], syscall.SIGTERM)
	})
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", dogs[0]))
	if err != nil || len(fds) > 4 { // a shell may keep one to itself
		t.Errorf("the watchdog holds %d files, %v", len(fds), err)
		for _, fd := range fds {
			at, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", dogs[0], fd.Name()))
			t.Log(fd.Name(), at)
		}
	}
	if err := syscall.Kill(dogs[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "a new watchdog", func() bool {
		run(t, e, "true")
		now := watchdogs(spool)
		return len(now) == 1 && now[0] != dogs[0]
	})
}

// TestNested_OuterEnvironmentEndsWhatTheInnerStarted runs a host as another host's command.
func TestNested_OuterEnvironmentEndsWhatTheInnerStarted(t *testing.T) {
	outer := newEnv(t, local.Config{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, spool := t.TempDir(), t.TempDir()
	p, err := outer.Start(t.Context(), env.Command{
		Args: []string{self, dir, spool, "setsid sleep 600 & echo up; sleep 600"},
		Env:  map[string]string{roleVar: "victim"},
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "first output", func() bool { return p.Written(env.Stdout) > 0 })
	if err := outer.Close(); err != nil {
		t.Fatal(err)
	}
	nobodyLeft(t, dir)
	if pids := watchdogs(spool); len(pids) > 0 {
		t.Errorf("the inner watchdog is left: %v", pids)
	}
}

func TestStart_ThousandShortCommandsAtOnce(t *testing.T) {
	e := newEnv(t, local.Config{})
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			r, err := env.Exec(t.Context(), e, env.Command{Line: fmt.Sprintf("echo %d", i), Timeout: 2 * time.Minute})
			if want := fmt.Sprintf("%d\n", i); err != nil || r.Stdout != want || r.Code != 0 {
				t.Errorf("command %d: %+v, %v", i, r, err)
			}
		})
	}
	wg.Wait()
	nobodyLeft(t, e.Info().Dir)
}

func TestOutput_GigabyteKeepsMemorySmall(t *testing.T) {
	out, err := role(t, "hog", t.TempDir()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var code, written, kept, dropped, grown int
	if _, err := fmt.Sscan(string(out), &code, &written, &kept, &dropped, &grown); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const printed, limit = 1_000_000_000, 64 << 20
	if code != 0 || written != printed || kept+dropped != printed {
		t.Errorf("exit %d, written %d, kept %d, dropped %d", code, written, kept, dropped)
	}
	if kept > limit || kept < limit-128<<10 {
		t.Errorf("%d bytes are kept, the limit is %d", kept, limit)
	}
	if grown > 16<<10 {
		t.Errorf("memory grew by %d KiB", grown)
	}
	t.Logf("memory grew by %d KiB", grown)
}

// TestTerminal_OfTheHostIsOutOfReach runs a command that prompts on its host's terminal.
func TestTerminal_OfTheHostIsOutOfReach(t *testing.T) {
	c := role(t, "terminal", t.TempDir())
	master, err := pty.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	said, _ := bufio.NewReader(master).ReadString('\n')
	if err := c.Wait(); err != nil || !strings.Contains(said, `said "refused\n"`) {
		t.Errorf("the host said %q, %v", said, err)
	}
}

// TestSession_OfTheHostIsSpared kills a host whose session has lost its leader. The watchdog must not touch other
// processes in that session.
func TestSession_OfTheHostIsSpared(t *testing.T) {
	dir, spool := t.TempDir(), t.TempDir()
	host := role(t, "victim", dir, spool, "env -i sleep 600 & echo up; wait")
	// The shell that leads the session exits; a bystander and the host stay in it.
	sh := exec.Command("sh", "-c", `sleep 600 & echo $!; "$@" & echo $!`, "sh", host.Path, dir, spool, host.Args[3])
	sh.Env = host.Env
	sh.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := sh.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	var bystander, pid int
	var ready string
	if _, err := fmt.Fscan(out, &bystander, &pid, &ready); err != nil || ready != "ready" {
		t.Fatalf("%q, %v", ready, err)
	}
	defer syscall.Kill(bystander, syscall.SIGKILL)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "no process is left", func() bool { return len(inDir(dir)) == 0 && len(watchdogs(spool)) == 0 })
	if err := syscall.Kill(bystander, 0); err != nil {
		t.Errorf("the bystander: %v", err)
	}
	syscall.Kill(bystander, syscall.SIGKILL)
	sh.Wait()
}

// gitRepo creates a repository with two commits and an uncommitted file.
func gitRepo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "N"}, {"config", "user.email", "n@example.com"},
		{"commit", "-q", "--allow-empty", "-m", "one"},
		{"commit", "-q", "--allow-empty", "-m", "two"},
	} {
		c := exec.Command("git", args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCommands_ThatWaitForAPersonReturn runs them with and without a terminal.
func TestCommands_ThatWaitForAPersonReturn(t *testing.T) {
	for _, tt := range []struct {
		line string
		fail bool
		want string
	}{
		{line: "git add f && git commit", fail: true, want: "empty commit message"},
		{line: "git rebase -i HEAD~1", fail: true, want: "editor"},
		{line: "git commit --amend --allow-empty", want: "two"},
		{line: "git log", want: "one"},
		{line: "git diff --no-index /dev/null f", fail: true, want: "dev/null"},
		{line: "GIT_PROTOCOL=x git ls-remote https://user@127.0.0.1:1/x", fail: true},
		{line: "man cat 2>&1 || echo none"},
	} {
		for _, pty := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/pty=%v", tt.line, pty), func(t *testing.T) {
				t.Parallel()
				e := newEnv(t, local.Config{Dir: gitRepo(t)})
				r, err := env.Exec(t.Context(), e, env.Command{Line: tt.line, PTY: pty, Timeout: time.Minute})
				if err != nil || r.TimedOut {
					t.Fatalf("%+v, %v", r, err)
				}
				if (r.Code != 0) != tt.fail || !strings.Contains(r.Combined, tt.want) {
					t.Errorf("exit %d, output %q", r.Code, r.Combined)
				}
				log := run(t, e, "git log --format=%s")
				if log.Stdout != "two\none\n" {
					t.Errorf("the history is now %q", log.Stdout)
				}
			})
		}
	}
}

func TestWriteFile_FullDiskLeavesOldFileAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if out, err := role(t, "full", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list, _ := os.ReadDir(dir)
	data, _ := os.ReadFile(filepath.Join(dir, "old"))
	if len(list) != 1 || string(data) != "old" {
		t.Errorf("the directory contains %v, the old file %q", list, data)
	}
}
