//go:build unix

package remote_test

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/session/remote"
)

// share makes a session reachable.
func share(t *testing.T, h session.Handle, state home.Dir) *remote.Owner {
	t.Helper()
	o, err := remote.Share(h, state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// places returns state directories with a short and a long path.
func places(t *testing.T) map[string]home.Dir {
	long := t.TempDir() + strings.Repeat("/long", 20) // too long even for the short directory
	must(t, os.MkdirAll(long, 0o700))
	t.Setenv("TMPDIR", long)
	return map[string]home.Dir{
		"short": home.Dir(inTmp(t)),
		"long":  home.Dir(filepath.Join(t.TempDir(), strings.Repeat("deep/", 40), "state")),
	}
}

// inTmp returns a directory with a short path.
func inTmp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "r")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestAttach_ReachesTheSessionOfAnotherProcess(t *testing.T) {
	for name, state := range places(t) {
		t.Run(name, func(t *testing.T) {
			if _, err := remote.Attach(t.Context(), state, "none"); !errors.Is(err, remote.ErrNotRunning) {
				t.Errorf("attaching to a session that does not exist failed with %v", err)
			}
			local := open(t, state, "Mine", llmtest.Say("hello"))
			if err := local.Submit(t.Context(), session.Input{Text: "hi"}); err != nil {
				t.Fatal(err)
			}
			if _, err := remote.Attach(t.Context(), state, "mine"); !errors.Is(err, remote.ErrNotRunning) {
				t.Errorf("attaching to a session that is not shared failed with %v", err)
			}
			o := share(t, local, state)
			c, err := remote.Attach(t.Context(), state, "mine")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if out, err := c.Wait(t.Context()); err != nil || out.Text != "hello" || c.ID() != "Mine" {
				t.Errorf("session %s ended with %+v, %v", c.ID(), out, err)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
			if _, err := remote.Attach(t.Context(), state, "mine"); !errors.Is(err, remote.ErrNotRunning) {
				t.Errorf("attaching to a closed session failed with %v", err)
			}
			left, _ := filepath.Glob(filepath.Join(state.Session("mine"), "owner*"))
			if len(left) > 0 {
				t.Errorf("the owner left %v", left)
			}
		})
	}
}

// socketOf returns the socket of a session, wherever it is.
func socketOf(t *testing.T, state home.Dir, id string) string {
	t.Helper()
	dir := state.Session(id)
	if b, err := os.ReadFile(filepath.Join(dir, "owner.where")); err == nil {
		dir = string(b)
	}
	return filepath.Join(dir, "owner.sock")
}

func TestShare_TheSocketIsPrivate(t *testing.T) {
	for name, state := range places(t) {
		t.Run(name, func(t *testing.T) {
			share(t, open(t, state, "s"), state)
			for path, want := range map[string]fs.FileMode{
				socketOf(t, state, "s"):               fs.ModeSocket | 0o600,
				filepath.Dir(socketOf(t, state, "s")): fs.ModeDir | 0o700,
			} {
				if info, err := os.Lstat(path); err != nil || info.Mode() != want {
					t.Errorf("%s: %v %v, want %v", path, info, err, want)
				}
			}
		})
	}
}

func TestShare_RemovesWhatAKilledOwnerLeft(t *testing.T) {
	for name, state := range places(t) {
		t.Run(name, func(t *testing.T) {
			local := open(t, state, "s")
			first := share(t, local, state)
			stale := socketOf(t, state, "s")
			named, _ := os.ReadFile(filepath.Join(state.Session("s"), "owner.where"))
			first.Close()
			// What is left looks as after a kill: a socket on which nothing listens.
			if len(named) > 0 {
				must(t, os.Mkdir(string(named), 0o700))
				must(t, os.WriteFile(filepath.Join(state.Session("s"), "owner.where"), named, 0o600))
			}
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
			must(t, err)
			l.SetUnlinkOnClose(false)
			must(t, l.Close())
			if _, err := remote.Attach(t.Context(), state, "s"); !errors.Is(err, remote.ErrNotRunning) {
				t.Errorf("attaching to a dead socket failed with %v", err)
			}
			share(t, open(t, state, "t"), state)
			share(t, &fakeID{open(t, state, "u"), "s"}, state)
			c, err := remote.Attach(t.Context(), state, "s")
			must(t, err)
			c.Close()
			if _, err := os.Lstat(stale); len(named) > 0 && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the stale socket is still there: %v", err)
			}
		})
	}
}

// TestAttach_AnOwnerThatEndedIsNotWaitedFor compares waits, because patience is 10 seconds.
func TestAttach_AnOwnerThatEndedIsNotWaitedFor(t *testing.T) {
	for name, state := range places(t) {
		t.Run(name, func(t *testing.T) {
			kill := startOwner(t, state)
			c, err := remote.Attach(t.Context(), state, "s")
			must(t, err)
			defer c.Close()
			ended := make(chan error, 1)
			go func() {
				var failed error
				for _, err := range c.Events(t.Context(), 0) {
					failed = err
				}
				ended <- failed
			}()
			kill()
			select {
			case err = <-ended:
			case <-time.After(8 * time.Second):
				t.Fatal("the client still waits for an owner that was killed")
			}
			if !errors.Is(err, remote.ErrUnreachable) || !strings.HasSuffix(err.Error(), "it has ended") {
				t.Errorf("the events ended with %v", err)
			}
			if err := c.Interrupt(t.Context()); !errors.Is(err, remote.ErrUnreachable) {
				t.Errorf("a method failed with %v", err)
			}
		})
	}
}

// ownerOf is the variable that makes the test binary share session "s" of a state directory.
const ownerOf = "REINS_TEST_OWNER_OF"

// startOwner starts a process that shares session "s", and returns a function that kills it. The process is not a
// descendant of this one, which would be reason enough not to talk to it.
func startOwner(t *testing.T, state home.Dir) (kill func()) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "/bin/sh", "-c", `"$0" &`, os.Args[0])
	shell.Env = append(os.Environ(), ownerOf+"="+string(state))
	shell.Stderr = os.Stderr
	out, err := shell.StdoutPipe()
	must(t, err)
	must(t, shell.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	must(t, err)
	kill = sync.OnceFunc(func() { must(t, syscall.Kill(pid, syscall.SIGKILL)) })
	t.Cleanup(kill)
	_, err = shell.Process.Wait()
	must(t, err)
	return kill
}

// own shares a session until it is killed.
func own(state home.Dir) int {
	store, err := filestore.New(filestore.Config{Dir: state.Sessions()})
	var local *session.Local
	if err == nil {
		local, err = session.Open(context.Background(), coding.Config{
			Provider: "script",
			Model:    "model",
			Dir:      os.TempDir(),
			State:    string(state),
			Session:  agent.Config{ID: "s", Client: llmtest.Play(), Store: store},
		}, session.Options{})
	}
	if err == nil {
		_, err = remote.Share(local, state)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	os.Stdout.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	select {}
}

// fakeID is a session that is shared under another ID.
type fakeID struct {
	*session.Local
	id string
}

func (f *fakeID) ID() string { return f.id }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestShare_FollowsNoLinks(t *testing.T) {
	state := places(t)["short"]
	local := open(t, state, "s")
	dir := state.Session("s")
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("precious"), 0o600))
	for _, name := range []string{"owner.sock", "owner.where"} {
		must(t, os.Symlink(victim, filepath.Join(dir, name)))
	}
	o := share(t, local, state)
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Errorf("the file that a link names is %q, %v", b, err)
	}
	o.Close()
	other := open(t, state, "other")
	must(t, os.Rename(state.Session("other"), dir+"-moved"))
	must(t, os.Symlink(dir+"-moved", state.Session("other")))
	if o, err := remote.Share(other, state); err == nil {
		o.Close()
		t.Error("a linked session directory was used")
	}
}

func TestShare_NeedsAPrivateDirectory(t *testing.T) {
	state := places(t)["short"]
	local := open(t, state, "s")
	for _, mode := range []os.FileMode{0o755, 0o750, 0o710, 0o705} {
		must(t, os.Chmod(state.Session("s"), mode))
		if o, err := remote.Share(local, state); err == nil {
			o.Close()
			t.Errorf("a directory with mode %o was used", mode)
		}
	}
}

// connectTo is the variable that makes the test binary connect to a socket, as another user, and startedBy is the one with
// its first parent.
const (
	connectTo = "REINS_TEST_CONNECT_TO"
	startedBy = "REINS_TEST_STARTED_BY"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(connectTo); path != "" {
		os.Exit(visit(path))
	}
	if state := os.Getenv(ownerOf); state != "" {
		os.Exit(own(home.Dir(state)))
	}
	os.Exit(m.Run())
}

// visit sends a request and returns 0 if there was no answer. It waits until it is no descendant of the session, which
// would be reason enough to refuse it.
func visit(path string) int {
	for os.Getenv(startedBy) == strconv.Itoa(os.Getppid()) {
		time.Sleep(time.Millisecond)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		os.Stdout.WriteString("refused: " + err.Error())
		return 0
	}
	_, _ = conn.Write([]byte("GET /info HTTP/1.1\r\nHost: x\r\n\r\n"))
	b := make([]byte, 1024)
	n, err := conn.Read(b)
	if n > 0 {
		os.Stdout.WriteString("answered: " + string(b[:n]))
		return 1
	}
	os.Stdout.WriteString("closed: " + err.Error())
	return 0
}

// another returns a process that starts another one, which connects to a socket.
func another(t *testing.T, path string, uid uint32) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	dir := inTmp(t) // another user cannot read the directory of this binary
	must(t, os.Chmod(dir, 0o755))
	copied := filepath.Join(dir, "visitor")
	b, err := os.ReadFile(exe)
	must(t, err)
	must(t, os.WriteFile(copied, b, 0o755))
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", startedBy+`=$$ "$0" &`, copied)
	cmd.Dir, cmd.Env = "/", []string{connectTo + "=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return cmd
}

func TestShare_AnotherUserCannotConnect(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	state := places(t)["short"]
	share(t, open(t, state, "s"), state)
	path := socketOf(t, state, "s")
	const nobody = 65534
	for _, open := range []bool{false, true} { // also if the files let everyone in
		if open {
			for p := path; p != "/tmp"; p = filepath.Dir(p) {
				must(t, os.Chmod(p, 0o777))
			}
		}
		out, err := another(t, path, nobody).Output()
		if err != nil || open && !strings.HasPrefix(string(out), "closed") || !open && !strings.HasPrefix(string(out), "refused") {
			t.Errorf("with open files %v, another user got %q, %v", open, out, err)
		}
	}
}
