package local_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
)

var confined = sandbox.Config{Mode: sandbox.WorkspaceWrite}

// newBoxed returns an environment with a complete sandbox.
func newBoxed(t *testing.T, c local.Config) *local.Env {
	t.Helper()
	c.Sandbox = confined
	e := newEnv(t, c)
	if s, _ := e.Sandbox(); !s.Full() {
		t.Skipf("the sandbox is not complete: %v", s.Problems)
	}
	return e
}

// TestSandbox_AsAnOrdinaryUser runs the other sandbox tests again, as a user without privileges.
func TestSandbox_AsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the other tests already run as an ordinary user")
	}
	dir, err := os.MkdirTemp("", "local-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(dir+"/tests", self, 0o755), os.Chmod(dir, 0o755), os.Mkdir(dir+"/home", 0o700), os.Chown(dir+"/home", 65534, 65534))
	}
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(dir+"/tests", "-test.run=^TestSandbox_", "-test.v="+fmt.Sprint(testing.Verbose()))
	c.Dir = dir + "/home"
	c.Env = append(os.Environ(), "HOME="+dir+"/home", "TMPDIR="+dir+"/home")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// playConfined is a host with a sandbox. It starts a command, prints "ready" after its first output, and waits to be
// killed.
func playConfined(dir, spool, line string) error {
	e, err := local.New(local.Config{Dir: dir, SpoolDir: spool, Sandbox: confined})
	if err != nil {
		return err
	}
	ready := make(chan struct{}, 1)
	_, err = e.Start(context.Background(), env.Command{Line: line, OnOutput: func(env.Stream, []byte) {
		select {
		case ready <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		return err
	}
	<-ready
	fmt.Println("ready")
	select {}
}

// startConfined starts a host with a sandbox.
func startConfined(t *testing.T, dir, spool, line string) *exec.Cmd {
	t.Helper()
	c := role(t, "confined", dir, spool, line)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || said != "ready\n" {
		t.Fatalf("the host said %q, %v", said, err)
	}
	return c
}

// playSibling starts a process with the same parent as this process, without variables and in its own session, and a
// process that hides its memory.
func playSibling() error {
	for _, dumpable := range []string{"1", "0"} {
		c := exec.Command("/proc/self/exe", dumpable)
		c.Env = []string{roleVar + "=hidden"}
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_PARENT, Setsid: true}
		if err := c.Start(); err != nil {
			return err
		}
	}
	fmt.Println("up")
	return nil
}

// hiding has commands whose descendants drop their variables, group and parent.
func hiding(t *testing.T) map[string]string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"Detached": `setsid env -i sh -c 'setsid env -i sleep 600 </dev/null >/dev/null 2>&1 & exit'; echo up`,
		"Twice":    `(setsid env -i sh -c '(setsid env -i sh -c "sleep 600 & exec sleep 600" </dev/null >/dev/null 2>&1 &)' &); sleep 0.1; echo up`,
		"Sibling":  `env -i ` + roleVar + `=sibling ` + self + `; echo up`,
		"Waiting":  `setsid env -i sh -c 'setsid env -i sleep 600 & exit'; echo up; sleep 600`,
	}
}

func TestSandbox_NobodySurvives(t *testing.T) {
	for name, line := range hiding(t) {
		t.Run(name, func(t *testing.T) {
			for end, stop := range map[string]func(*testing.T, *local.Env, env.Process, context.CancelFunc){
				"Close": func(t *testing.T, e *local.Env, _ env.Process, _ context.CancelFunc) {
					if err := e.Close(); err != nil {
						t.Error(err)
					}
				},
				"Stop":    func(t *testing.T, _ *local.Env, p env.Process, _ context.CancelFunc) { p.Stop(t.Context()) },
				"Context": func(_ *testing.T, _ *local.Env, _ env.Process, cancel context.CancelFunc) { cancel() },
			} {
				before := zombies() // from other tests
				e := newBoxed(t, local.Config{})
				ctx, cancel := context.WithCancel(t.Context())
				p := runStubborn(t, ctx, e, line)
				dir := e.Info().Dir
				// A process cannot be seen while it executes another program.
				await(t, end+": a process is left to kill", func() bool { return len(inDir(dir)) > 0 })
				stop(t, e, p, cancel)
				await(t, end+": no process is left", func() bool { return len(inDir(dir)) == 0 })
				cancel()
				e.Close()
				await(t, end+": no zombie is left", func() bool {
					return !slices.ContainsFunc(zombies(), func(z string) bool { return !slices.Contains(before, z) })
				})
			}
		})
	}
}

// zombies returns this process's children that have not been waited for.
func zombies() (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		data, _ := os.ReadFile(f)
		if i := strings.LastIndex(string(data), ") "); i > 0 {
			if fields := strings.Fields(string(data[i+2:])); len(fields) > 1 && fields[0] == "Z" && fields[1] == fmt.Sprint(os.Getpid()) {
				list = append(list, string(data[:i]))
			}
		}
	}
	return list
}

func TestSandbox_TimeoutKillsWhatHides(t *testing.T) {
	e := newBoxed(t, local.Config{})
	r, err := env.Exec(t.Context(), e, env.Command{Line: hiding(t)["Waiting"], Timeout: 300 * time.Millisecond})
	if err != nil || !r.TimedOut {
		t.Fatalf("%+v, %v, want a timeout", r, err)
	}
	await(t, "no process is left", func() bool { return len(inDir(e.Info().Dir)) == 0 })
}

// TestSandbox_DiesWithTheHost kills the host. The watchdog must kill the commands, block what they must not create, and
// remove temporary files. Git's own files are left out.
func TestSandbox_DiesWithTheHost(t *testing.T) {
	lines := hiding(t)
	lines["Dismiss"] = `for p in /proc/[0-9]*; do grep -qs 'reins-watch[d]og' $p/cmdline && { echo bye > $p/fd/0; kill -9 ${p#/proc/}; } done; setsid sleep 600 & echo up; wait`
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			dir, spool := t.TempDir(), t.TempDir()
			host := startConfined(t, dir, spool, line)
			if len(watchdogs(spool)) != 1 || len(inDir(dir)) == 0 {
				t.Errorf("watchdogs %v, processes %v: want both", watchdogs(spool), inDir(dir))
			}
			if err := os.WriteFile(dir+"/.envrc", nil, 0o600); err != nil {
				t.Error(err)
			}
			host.Process.Kill()
			host.Wait()
			await(t, "no process is left", func() bool { return len(inDir(dir)) == 0 && len(watchdogs(spool)) == 0 })
			for d, want := range map[string]string{dir: ".envrc.reins-blocked", spool: ""} {
				left, _ := os.ReadDir(d)
				for _, e := range left {
					if e.Name() != want {
						t.Errorf("left in %s: %v", d, e)
					}
				}
			}
		})
	}
}

func TestSandbox_HostStaysOutOfReach(t *testing.T) {
	spool := t.TempDir()
	e := newBoxed(t, local.Config{SpoolDir: spool})
	if _, err := env.Exec(t.Context(), e, env.Command{Line: "true"}); err != nil { // starts the watchdog
		t.Fatal(err)
	}
	await(t, "the watchdog runs", func() bool { return len(watchdogs(spool)) > 0 })
	for name, pid := range map[string]int{"host": os.Getpid(), "watchdog": watchdogs(spool)[0]} {
		for _, line := range []string{"cat environ", "readlink fd/0", "ls cwd/", "ls root/", "cat maps", "kill -0 $PID"} {
			c := env.Command{Line: "cd /proc/$PID && " + line, Env: map[string]string{"PID": fmt.Sprint(pid)}}
			if r, err := env.Exec(t.Context(), e, c); err != nil || r.Code == 0 {
				t.Errorf("%s of the %s: %+v, %v, want a failure", line, name, r, err)
			}
			if r, err := env.Exec(t.Context(), e.Outside(), c); err != nil || r.Code != 0 {
				t.Errorf("%s of the %s outside: %+v, %v, want a success, or the test shows nothing", line, name, r, err)
			}
		}
	}
}

func TestSandbox_SpoolIsProtectedInsideTheWorkspace(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/tmp", 0o755); err != nil {
		t.Fatal(err)
	}
	e := newBoxed(t, local.Config{Dir: dir, SpoolDir: dir + "/tmp"})
	r, err := env.Exec(t.Context(), e, env.Command{Line: "cd tmp/reins-*/ && pwd && touch tmp/x && ! touch x && cd ../.. && ! mv tmp t && ! mv tmp/reins-* r"})
	if err != nil || r.Code != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSandbox_SpoolCannotBeReplacedByOthers replaces the private directory with a link, as a command in another session
// could that can write the parent.
func TestSandbox_SpoolCannotBeReplacedByOthers(t *testing.T) {
	parent, elsewhere := t.TempDir(), t.TempDir()
	e := newBoxed(t, local.Config{SpoolDir: parent})
	private := filepath.Dir(e.Info().Limits.Temp)
	if err := errors.Join(os.Rename(private, private+".old"), os.Symlink(elsewhere, private)); err != nil {
		t.Fatal(err)
	}
	if r, err := env.Exec(t.Context(), e.Outside(), env.Command{Line: "yes | head -c 1000000"}); err != nil || len(r.Stdout) != 1_000_000 {
		t.Errorf("%d bytes, %v", len(r.Stdout), err)
	}
	if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
		t.Errorf("the host wrote %v", left)
	}
}

func TestSandbox_TerminalWorks(t *testing.T) {
	e := newBoxed(t, local.Config{})
	r, err := env.Exec(t.Context(), e, env.Command{Line: "test -t 0 && tty && echo x > /dev/tty && echo y > /dev/stdout && echo z > /dev/stderr && stty size", PTY: true})
	if err != nil || r.Code != 0 || !strings.Contains(r.Stdout, "24 80") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTerminal_InterruptWorksIfTheHostIgnoresIt(t *testing.T) {
	for name, open := range map[string]func() *local.Env{
		"plain":   func() *local.Env { return newEnv(t, local.Config{}) },
		"sandbox": func() *local.Env { return newBoxed(t, local.Config{}) },
	} {
		signal.Ignore(os.Interrupt)
		defer signal.Reset(os.Interrupt)
		e := open()
		up := make(chan struct{}, 100)
		p, err := e.Start(t.Context(), env.Command{Line: "echo up; exec sleep 60", PTY: true, OnOutput: func(env.Stream, []byte) { up <- struct{}{} }})
		if err != nil {
			t.Fatal(err)
		}
		<-up
		if _, err := p.Write([]byte{3}); err != nil {
			t.Fatal(err)
		}
		if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != "SIGINT" {
			t.Errorf("%s: the command ended with %+v, %v, want SIGINT", name, exit, err)
		}
	}
}

// TestSandbox_StoppingACommandSparesOthers stops commands while others are being started. Those have no mark until
// their program is executed.
func TestSandbox_StoppingACommandSparesOthers(t *testing.T) {
	e := newBoxed(t, local.Config{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for range 50 {
				if r, err := env.Exec(t.Context(), e, env.Command{Args: []string{"/bin/true"}}); err != nil || r.Code != 0 {
					t.Errorf("%+v, %v, want success", r, err)
				}
			}
		})
	}
	for range 20 {
		p, err := e.Start(t.Context(), env.Command{Args: []string{"/bin/sleep", "600"}})
		if err != nil {
			t.Fatal(err)
		}
		if x, err := p.Stop(t.Context()); err != nil || x.Signal != "SIGTERM" {
			t.Errorf("%+v, %v", x, err)
		}
	}
	others.Wait()
}

// TestSandbox_FailureLeavesTheCacheToOthers makes New fail after the cache was locked.
func TestSandbox_FailureLeavesTheCacheToOthers(t *testing.T) {
	cache := t.TempDir()
	for range 20 { // more than there are caches
		c := sandbox.Config{Mode: sandbox.WorkspaceWrite, Cache: cache, Writable: []string{"missing"}}
		if e, err := local.New(local.Config{Dir: t.TempDir(), Sandbox: c}); err == nil {
			e.Close()
			t.Fatal("New accepts a writable directory that does not exist")
		}
	}
	if list, _ := filepath.Glob(cache + "/*.lock"); len(list) != 1 {
		t.Errorf("%d caches are locked, want that the first one is used again and again", len(list))
	}
}
