package local_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
)

// roleVar makes the test binary act as another program: a host that can be killed, measured or limited
// without affecting the tests.
const roleVar = "REINS_LOCAL_TEST_ROLE"

// playRole plays the role in roleVar, if any, and exits.
func playRole() {
	var err error
	switch os.Getenv(roleVar) {
	case "":
		return
	case "victim":
		err = playVictim(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]...)
	case "hog":
		err = playHog(os.Args[1])
	case "terminal":
		err = playTerminal(os.Args[1])
	case "full":
		err = playFull(os.Args[1])
	case "reexec":
		err = syscall.Exec("/bin/sh", []string{"sh", "-c", ":"}, nil)
	case "confined":
		err = playConfined(os.Args[1], os.Args[2], os.Args[3])
	case "hidden":
		unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(os.Args[1][0]-48), 0, 0, 0)
		time.Sleep(10 * time.Minute)
	case "sibling":
		err = playSibling()
	case "nobody":
		err = playNobody(os.Args[1])
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// role returns a command that runs the test binary in a role.
func role(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), roleVar+"="+name)
	return c
}

// playVictim starts a command, prints "ready" after its first output, and waits to be killed. Meanwhile it keeps files
// locked.
func playVictim(dir, spool, line string, locks ...string) error {
	e, err := local.New(local.Config{Dir: dir, SpoolDir: spool})
	if err != nil {
		return err
	}
	for _, name := range locks {
		f, err := os.Create(name)
		if err == nil {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		}
		if err != nil {
			return err
		}
		e.Hold(f)
		// A running watchdog is replaced by a watchdog that has the file.
		if _, err := env.Exec(context.Background(), e, env.Command{Line: "true"}); err != nil {
			return err
		}
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

// startVictim starts a host with a command, and returns when the command is running.
func startVictim(t *testing.T, dir, spool, line string, locks ...string) *exec.Cmd {
	t.Helper()
	c := role(t, "victim", append([]string{dir, spool, line}, locks...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || said != "ready\n" {
		t.Fatalf("the host said %q, %v", said, err)
	}
	return c
}

// inDir lists the processes whose working directory is dir, independently of marks and groups.
func inDir(dir string) []string {
	var list []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && at == dir {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			if len(cmdline) == 0 {
				continue // exiting: its memory is gone
			}
			list = append(list, strings.TrimPrefix(filepath.Dir(link), "/proc/")+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return list
}

// watchdogs returns the watchdogs of environments with a spool directory.
func watchdogs(spool string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		cmdline, _ := os.ReadFile(f)
		if strings.Contains(string(cmdline), "\x00reins-watchdog\x00") && strings.Contains(string(cmdline), spool) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// ignores reports whether a process ignores a signal.
func ignores(pid int, sig syscall.Signal) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(text), "SigIgn:")
	if f := strings.Fields(after); len(f) > 0 {
		mask, _ := strconv.ParseUint(f[0], 16, 64)
		return mask&(1<<(sig-1)) != 0
	}
	return false
}

// playHog runs a command that prints a gigabyte, and prints how much memory that took.
func playHog(dir string) error {
	e, err := local.New(local.Config{Dir: dir, SpoolDir: dir})
	if err != nil {
		return err
	}
	defer e.Close()
	if _, err := env.Exec(context.Background(), e, env.Command{Line: "echo warm"}); err != nil {
		return err
	}
	before := resident("VmRSS:")
	p, err := e.Start(context.Background(), env.Command{Line: "yes | head -c 1000000000"})
	if err != nil {
		return err
	}
	x, err := p.Wait(context.Background())
	if err != nil {
		return err
	}
	grown := resident("VmHWM:") - before
	kept, err := io.Copy(yes{}, p.Output(env.Stdout, 0))
	fmt.Printf("%d %d %d %d %d\n", x.Code, p.Written(env.Stdout), kept, x.Dropped, grown)
	return err
}

// yes is a writer that accepts only output from yes(1).
type yes struct{}

func (yes) Write(b []byte) (int, error) {
	for i := range b {
		if b[i] != 'y' && b[i] != '\n' || i > 0 && b[i] == b[i-1] {
			return i, fmt.Errorf("the output is damaged at byte %d", i)
		}
	}
	return len(b), nil
}

// resident returns a value from /proc/self/status in KiB.
func resident(key string) int {
	text, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(text), key)
	n, _ := strconv.Atoi(strings.Fields(after)[0])
	return n
}

// playFull writes files with a size limit. The kernel enforces it like a full disk: in the middle of a write.
func playFull(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 8 << 10, Max: 8 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer e.Close()
	for _, path := range []string{"old", "new", "a/b/new"} {
		err := e.WriteFile(context.Background(), path, make([]byte, 1<<20), 0o644)
		if err == nil {
			return fmt.Errorf("%s was written over the limit", path)
		}
	}
	return nil
}

// playTerminal runs a command that prompts on its host's terminal.
func playTerminal(dir string) error {
	e, err := local.New(local.Config{Dir: dir, SpoolDir: dir})
	if err != nil {
		return err
	}
	defer e.Close()
	r, err := env.Exec(context.Background(), e, env.Command{Line: "read -r x </dev/tty || echo refused"})
	fmt.Printf("said %q\n", r.Stdout)
	return err
}
