//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Box starts confined processes. It must be closed. Its methods may be called concurrently.
type Box struct {
	layout  layout // as configured
	network bool
	name    string // of the spawner, and of commands until they are executed

	mu       sync.Mutex
	closed   bool
	support  *Support // nil until it is known
	socket   *os.File // of the spawner; nil if there is none
	spawner  *os.Process
	spaces   []string // the mount namespaces of all spawners so far
	reserved []string // placeholders that this box created
}

// boxes counts the boxes of this process.
var boxes atomic.Uint32

// New returns a box. It starts no process before it is used.
func New(c Config) (*Box, error) {
	l, err := newLayout(c)
	if err == nil {
		err = checkWritable(l)
	}
	if err != nil {
		return nil, fmt.Errorf("set up the sandbox: %w", err)
	}
	return &Box{layout: l, network: c.Network, name: fmt.Sprintf("reins-%x", boxes.Add(1))}, nil
}

// Support returns what the box enforces. The first time, it starts the spawner to see what works.
func (b *Box) Support() Support {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.support == nil && !b.closed {
		if err := b.launch(); err != nil {
			return Support{Problems: []string{err.Error()}}
		}
	}
	if b.support == nil {
		return Support{}
	}
	return *b.support
}

// Writable returns the directories that commands can write.
func (b *Box) Writable() []string { return slices.Clone(b.layout.writable) }

// Allows reports whether a real path may be written.
func (b *Box) Allows(path string) bool { return b.layout.allows(path) }

// Start starts a confined process, as a child of this one. Of attr, it uses Dir, Env, the first three files, and
// Setsid, Setctty and Setpgid of Sys.
func (b *Box) Start(path string, args []string, attr *os.ProcAttr) (*os.Process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, os.ErrClosed
	}
	reply, err := b.ask(path, args, attr)
	if errors.Is(err, io.EOF) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		// The spawner was killed. Another one starts this command.
		b.drop()
		reply, err = b.ask(path, args, attr)
	}
	if err != nil {
		return nil, err
	}
	pid, err := parseReply(reply)
	if err != nil {
		b.reapFailed()
		return nil, err
	}
	return os.FindProcess(pid)
}

// ask sends a request, after starting the spawner if there is none.
func (b *Box) ask(path string, args []string, attr *os.ProcAttr) ([]string, error) {
	if b.socket == nil {
		if err := b.launch(); err != nil {
			return nil, fmt.Errorf("start the sandbox: %w", err)
		}
	}
	flags := ""
	if s := attr.Sys; s != nil {
		for flag, set := range map[string]bool{"s": s.Setsid, "t": s.Setctty, "g": s.Setpgid} {
			if set {
				flags += flag
			}
		}
	}
	list := append([]string{flags, attr.Dir, path, strconv.Itoa(len(args))}, args...)
	fds := make([]int, 0, 3)
	for _, f := range attr.Files[:3] {
		fds = append(fds, int(f.Fd()))
	}
	if err := send(b.socket, pack(append(list, attr.Env...)...), unix.UnixRights(fds...)); err != nil {
		return nil, err
	}
	return receive(b.socket)
}

// launch starts the spawner and waits until it is confined: with namespaces if possible, or else without.
func (b *Box) launch() error {
	s := Support{Landlock: landlockVersion(), Seccomp: true, Namespaces: true}
	b.reserve()
	err := b.try(rules{layout: b.mounts(), namespaces: true, network: b.network, name: b.name})
	if err != nil {
		s.Namespaces = false
		s.Problems = append(s.Problems, fmt.Sprintf("namespaces are not available (%v): protected paths below writable directories are not enforced", err))
		b.unreserve()
		if s.Landlock == 0 {
			err = fmt.Errorf("%w: %s; Landlock is not available either", ErrUnsupported, s.Problems[0])
		} else {
			err = b.try(rules{layout: b.layout, network: b.network, name: b.name})
		}
	}
	if s.Landlock < landlockSignals {
		s.Problems = append(s.Problems, fmt.Sprintf("Landlock has version %d: other processes are protected from version %d (Linux 6.12)", s.Landlock, landlockSignals))
	}
	if err == nil {
		b.support = &s
	}
	return err
}

// try starts a spawner with these rules.
func (b *Box) try(r rules) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	mine, its := os.NewFile(uintptr(fds[0]), "sandbox"), os.NewFile(uintptr(fds[1]), "sandbox")
	defer its.Close()
	p, err := startSpawner(its, r)
	if err != nil {
		mine.Close()
		return err
	}
	b.socket, b.spawner = mine, p
	err = send(mine, pack(r.list()...), nil)
	var reply []string
	if err == nil {
		reply, err = receive(mine)
	}
	if err == nil {
		if reply[0] == "ready" {
			b.enter(r)
			return nil
		}
		_, err = parseReply(reply)
	}
	b.drop()
	return err
}

// enter remembers the namespace of the spawner.
func (b *Box) enter(r rules) {
	if !r.namespaces {
		return
	}
	if id, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", b.spawner.Pid)); err == nil {
		b.spaces = append(b.spaces, id)
	}
}

// startSpawner starts this program as a spawner, in new namespaces if the rules need them.
func startSpawner(socket *os.File, r rules) (*os.Process, error) {
	sys := &syscall.SysProcAttr{Setsid: true}
	if r.namespaces {
		sys.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWIPC
		if !r.network {
			sys.Cloneflags |= unix.CLONE_NEWNET
		}
		if !capable(unix.CAP_SYS_ADMIN) {
			sys.Cloneflags |= unix.CLONE_NEWUSER
			sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
			sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
			sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return os.StartProcess("/proc/self/exe", []string{spawnerName}, &os.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1"}, Files: []*os.File{null, null, null, socket}, Sys: sys,
	})
}

// drop ends the spawner.
func (b *Box) drop() {
	if b.socket == nil {
		return
	}
	b.socket.Close()
	b.spawner.Kill()
	b.spawner.Wait()
	b.socket, b.spawner = nil, nil
}

// Close ends the spawner and removes the placeholders. Commands that are running go on, confined.
func (b *Box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.drop()
	b.unreserve()
	return nil
}

// unreserve removes the placeholders that are still empty.
func (b *Box) unreserve() {
	for _, path := range slices.Backward(b.reserved) {
		os.Remove(path)
	}
	b.reserved = nil
}

// Contains reports whether a process is confined by this box. Processes cannot leave it.
func (b *Box) Contains(pid int) bool {
	b.mu.Lock()
	spaces, own := b.spaces, b.spawner != nil && b.spawner.Pid == pid
	b.mu.Unlock()
	if len(spaces) == 0 || own {
		return false
	}
	id, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns/mnt"))
	return err == nil && slices.Contains(spaces, id)
}

// Traces returns what to clean up if this process is killed: the mount namespaces whose processes are confined,
// the empty directories that hold the place of protected paths, and the files that Sweep removes.
func (b *Box) Traces() (spaces, reserved, forbidden []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.spaces), slices.Clone(b.reserved), slices.Clone(b.layout.forbidden)
}

// Sweep removes what commands must not create and mounts cannot prevent. It returns the paths.
func (b *Box) Sweep() (removed []string) {
	for _, path := range b.layout.forbidden {
		if os.Remove(path) == nil {
			removed = append(removed, path)
		}
	}
	return removed
}

// reserve creates empty directories for protected paths that do not exist. Git ignores them.
func (b *Box) reserve() {
	for _, path := range b.layout.protected {
		if missing(path) && !missing(filepath.Dir(path)) && os.Mkdir(path, 0o755) == nil {
			b.reserved = append(b.reserved, path)
		}
	}
}

// mounts returns the layout without protected paths that do not exist although they were reserved: their parents
// are missing, or cannot be written.
func (b *Box) mounts() layout {
	l := b.layout
	l.protected = slices.DeleteFunc(slices.Clone(l.protected), missing)
	l.pinned = slices.DeleteFunc(slices.Clone(l.pinned), missing)
	return l
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// send writes a message, with files if rights are given.
func send(f *os.File, data, rights []byte) error {
	fd := int(f.Fd())
	n, err := unix.SendmsgN(fd, data[:4], rights, nil, unix.MSG_NOSIGNAL)
	for err == unix.EINTR {
		n, err = unix.SendmsgN(fd, data[:4], rights, nil, unix.MSG_NOSIGNAL)
	}
	if err == nil && n == 4 {
		_, err = f.Write(data[4:])
	}
	return err
}

// receive reads a reply.
func receive(f *os.File) ([]string, error) {
	var size [4]byte
	if _, err := io.ReadFull(f, size[:]); err != nil {
		return nil, io.EOF
	}
	body := make([]byte, binary.NativeEndian.Uint32(size[:]))
	if _, err := io.ReadFull(f, body); err != nil {
		return nil, io.EOF
	}
	return unpack(body), nil
}

// parseReply returns the process id or the error in a reply.
func parseReply(reply []string) (int, error) {
	switch {
	case len(reply) == 2 && reply[0] == "pid":
		return strconv.Atoi(reply[1])
	case len(reply) == 3 && reply[0] == "error":
		if n, _ := strconv.Atoi(reply[1]); n != 0 && reply[2] == syscall.Errno(n).Error() {
			return 0, syscall.Errno(n)
		}
		return 0, errors.New(reply[2])
	}
	return 0, fmt.Errorf("unexpected reply of the sandbox: %q", reply)
}

// reapFailed reaps the process of a command that could not be executed. It is a child of this process, which
// does not know its id, but it still has the name of the spawner.
func (b *Box) reapFailed() {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	me := strconv.Itoa(os.Getpid())
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == b.spawner.Pid {
			continue
		}
		data, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		comm, rest, ok := strings.Cut(string(data), ") ")
		if fields := strings.Fields(rest); ok && len(fields) > 1 && fields[1] == me && strings.HasSuffix(comm, "("+b.name) {
			var status unix.WaitStatus
			unix.Wait4(pid, &status, 0, nil)
		}
	}
}

// Probe returns what this system can enforce. It starts a process.
func Probe() Support {
	dir, err := os.MkdirTemp("", "reins-probe-")
	if err != nil {
		return Support{Problems: []string{err.Error()}}
	}
	defer os.RemoveAll(dir)
	b, err := New(Config{Mode: ReadOnly, Temp: dir})
	if err != nil {
		return Support{Problems: []string{err.Error()}}
	}
	defer b.Close()
	return b.Support()
}
