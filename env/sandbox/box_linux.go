//go:build amd64 || arm64

package sandbox

import (
	"cmp"
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
	"time"

	"golang.org/x/sys/unix"
)

// Box starts confined processes. It must be closed. Its methods may be called concurrently.
type Box struct {
	config Config
	roots  []string
	name   string // of the spawner, and of commands until they are executed

	mu       sync.Mutex
	closed   bool
	layout   layout
	support  *Support // nil until it is known
	socket   *os.File // of the spawner; nil if there is none
	spawner  *os.Process
	mounted  map[string]fileID // what the spawner has mounted over itself
	spaces   []space           // the mount namespaces of all spawners so far
	reserved []placeholder
}

// space is a mount namespace. Its id is not used again while the file is open.
type space struct {
	id   string
	file *os.File
}

// boxes counts the boxes of this process.
var boxes atomic.Uint32

// New returns a box. It starts no process before it is used.
func New(c Config) (*Box, error) {
	roots, err := c.roots()
	b := &Box{config: c, roots: roots, name: fmt.Sprintf("reins-%x", boxes.Add(1))}
	if err == nil {
		b.layout = c.layout(roots)
		err = checkWritable(b.layout)
	}
	if err != nil {
		return nil, fmt.Errorf("set up the sandbox: %w", err)
	}
	return b, nil
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
func (b *Box) Writable() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.layout.writable)
}

// Allows reports whether a real path may be written.
func (b *Box) Allows(path string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.layout.allows(path)
}

// Start starts a confined process, as a child of this one. Of attr, it uses Dir, Env, the first three files, and
// Setsid, Setctty and Setpgid of Sys. The files should be pipes, terminals or the null device: what is open is not
// confined.
func (b *Box) Start(path string, args []string, attr *os.ProcAttr) (*os.Process, error) {
	request, err := newRequest(path, args, attr)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, os.ErrClosed
	}
	if b.socket != nil && b.stale() {
		b.drop()
	}
	reply, err := b.ask(request, attr.Files[:3])
	if errors.Is(err, errSpawner) {
		b.drop()
		reply, err = b.ask(request, attr.Files[:3])
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

// newRequest encodes a command.
func newRequest(path string, args []string, attr *os.ProcAttr) ([]byte, error) {
	flags := ""
	if s := attr.Sys; s != nil {
		for flag, set := range map[string]bool{"s": s.Setsid, "t": s.Setctty, "g": s.Setpgid} {
			if set {
				flags += flag
			}
		}
	}
	list := append([]string{flags, attr.Dir, path, strconv.Itoa(len(args))}, args...)
	list = append(list, attr.Env...)
	for _, s := range list {
		if strings.ContainsRune(s, 0) {
			return nil, unix.EINVAL
		}
	}
	return pack(list...), nil
}

// ask sends a request, after starting the spawner if there is none.
func (b *Box) ask(request []byte, files []*os.File) ([]string, error) {
	if b.socket == nil {
		if err := b.launch(); err != nil {
			return nil, fmt.Errorf("start the sandbox: %w", err)
		}
	}
	fds := make([]int, 0, len(files))
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	if err := b.send(request, unix.UnixRights(fds...)); err != nil {
		return nil, err
	}
	reply, _, err := b.receive()
	return reply, err
}

// Terminal opens a terminal for a command: its end for the host, and the one to start the command with. Other
// terminals work too, but commands cannot open them again by their names.
func (b *Box) Terminal() (host, tty *os.File, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.socket == nil || b.support == nil || !b.support.Namespaces {
		return nil, nil, ErrUnsupported
	}
	err = b.send(pack(terminalRequest...), nil)
	var files []int
	if err == nil {
		_, files, err = b.receive()
	}
	if err == nil && len(files) != 2 {
		err = ErrUnsupported
	}
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(files[0]), "/dev/ptmx"), os.NewFile(uintptr(files[1]), "/dev/tty"), nil
}

// launch starts the spawner and waits until it is confined: with namespaces if possible, or else without.
func (b *Box) launch() error {
	b.layout = b.config.layout(b.roots)
	s := Support{Landlock: landlockVersion(), Seccomp: true, Namespaces: true}
	err := errNoNamespaces
	if useNamespaces {
		err = b.try(rules{namespaces: true, network: b.config.Network, name: b.name}, b.makeMountPoints)
	}
	if err != nil {
		s.Namespaces = false
		s.Problems = append(s.Problems, fmt.Sprintf("namespaces are not available (%v): protected paths below writable directories are not enforced", err))
		b.unreserve()
		if s.Landlock == 0 {
			err = fmt.Errorf("%w: %s; Landlock is not available either", ErrUnsupported, s.Problems[0])
		} else {
			err = b.try(rules{network: b.config.Network, name: b.name}, func() layout { return b.layout })
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

// makeMountPoints creates the directories that are mounted over, and returns what to mount.
func (b *Box) makeMountPoints() layout {
	b.reserve()
	b.layout.overlays = slices.DeleteFunc(slices.Clone(b.layout.overlays), func(o Overlay) bool { return o.makeDirs() != nil })
	return b.present()
}

// useNamespaces is false in tests of what happens without them.
var useNamespaces = true

var errNoNamespaces = errors.New("switched off")

// try starts a spawner with these rules. It gets the layout while the spawner starts.
func (b *Box) try(r rules, layout func() layout) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	mine, its := os.NewFile(uintptr(fds[0]), "sandbox"), os.NewFile(uintptr(fds[1]), "sandbox")
	defer its.Close()
	limit := unix.Timeval{Usec: 200_000}
	err = errors.Join(unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit))
	if err != nil {
		mine.Close()
		return os.NewSyscallError("setsockopt", err)
	}
	p, err := startSpawner(its, r)
	if err != nil {
		mine.Close()
		return err
	}
	b.socket, b.spawner = mine, p
	r.layout = layout()
	err = b.send(pack(r.list()...), nil)
	var reply []string
	if err == nil {
		reply, _, err = b.receive()
	}
	if err == nil && reply[0] != "ready" {
		_, err = parseReply(reply)
	}
	if err == nil {
		err = b.enter(r)
	}
	if err != nil {
		b.drop()
	}
	return err
}

// enter remembers the namespace of the spawner and what is mounted in it.
func (b *Box) enter(r rules) error {
	b.mounted = make(map[string]fileID)
	if !r.namespaces {
		return nil
	}
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", b.spawner.Pid))
	if err != nil {
		return err
	}
	id, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	if err != nil {
		file.Close()
		return err
	}
	b.prune()
	b.spaces = append(b.spaces, space{id, file})
	for _, path := range slices.Concat(r.layout.protected, r.layout.pinned) {
		b.mounted[path], _ = identify(path)
	}
	return nil
}

// maxSpaces is the number of namespaces above which those without processes are forgotten.
const maxSpaces = 8

// prune forgets namespaces without processes if there are many.
func (b *Box) prune() {
	if len(b.spaces) < maxSpaces {
		return
	}
	used := make(map[string]bool)
	links, _ := filepath.Glob("/proc/[0-9]*/ns/mnt")
	for _, link := range links {
		id, _ := os.Readlink(link)
		used[id] = true
	}
	b.spaces = slices.DeleteFunc(slices.Clone(b.spaces), func(s space) bool {
		if !used[s.id] {
			s.file.Close()
		}
		return !used[s.id]
	})
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
	go b.spawner.Wait() // the end of its namespaces takes milliseconds
	b.socket, b.spawner = nil, nil
}

// Close ends the spawner and removes the placeholders. Commands that are running go on, confined.
func (b *Box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.drop()
	b.sweep()
	b.unreserve()
	for _, s := range b.spaces {
		s.file.Close()
	}
	b.spaces = nil
	return nil
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
	return err == nil && slices.ContainsFunc(spaces, func(s space) bool { return s.id == id })
}

// Traces returns what to clean up if this process is killed: the empty directories that hold the place of protected
// paths, and the files that Sweep removes.
func (b *Box) Traces() (reserved, forbidden []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.reserved {
		reserved = append(reserved, p.path)
	}
	return reserved, slices.Clone(b.layout.forbidden)
}

// Sweep removes what commands must not create and mounts cannot prevent. It returns the paths.
func (b *Box) Sweep() (removed []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sweep()
}

func (b *Box) sweep() (removed []string) {
	for _, path := range b.layout.forbidden {
		if os.Remove(path) == nil {
			removed = append(removed, path)
		}
	}
	return removed
}

// errSpawner means that the spawner does not answer. A command can kill or stop it; another one then starts.
var errSpawner = errors.New("the sandbox does not answer")

// send writes a message, with files if rights are given.
func (b *Box) send(data, rights []byte) error {
	fd := int(b.socket.Fd())
	for len(data) > 0 {
		n, err := unix.SendmsgN(fd, data, rights, nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR || err == unix.EAGAIN && !b.stopped() {
			continue
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errSpawner, err)
		}
		data, rights = data[n:], nil
	}
	return nil
}

// receive reads a reply and its files.
func (b *Box) receive() (reply []string, files []int, err error) {
	var size [4]byte
	oob := make([]byte, unix.CmsgSpace(2*4))
	n, oobn := 0, 0
	err = b.retry(func(fd int) (int, error) {
		n, oobn, _, _, err = unix.Recvmsg(fd, size[:], oob, unix.MSG_CMSG_CLOEXEC)
		return n, err
	})
	if err != nil {
		return nil, nil, err
	}
	if messages, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(messages) == 1 {
		files, _ = unix.ParseUnixRights(&messages[0])
	}
	if err := b.read(size[n:]); err != nil {
		return nil, nil, err
	}
	body := make([]byte, binary.NativeEndian.Uint32(size[:]))
	if err := b.read(body); err != nil {
		return nil, nil, err
	}
	return unpack(body), files, nil
}

// read fills a buffer from the socket.
func (b *Box) read(buf []byte) error {
	for len(buf) > 0 {
		n := 0
		err := b.retry(func(fd int) (_ int, err error) {
			n, err = unix.Read(fd, buf)
			return n, err
		})
		if err != nil {
			return err
		}
		buf = buf[n:]
	}
	return nil
}

// retry reads from the socket until something arrives. It gives up if the spawner is gone or stopped.
func (b *Box) retry(read func(fd int) (int, error)) error {
	for {
		n, err := read(int(b.socket.Fd()))
		if err == unix.EINTR || err == unix.EAGAIN && !b.stopped() {
			continue
		}
		if err != nil || n == 0 {
			return fmt.Errorf("%w: %w", errSpawner, cmp.Or(err, io.EOF))
		}
		return nil
	}
}

// stopped reports whether a command has stopped the spawner.
func (b *Box) stopped() bool {
	_, rest := readStat(b.spawner.Pid)
	return len(rest) > 0 && (rest[0] == "T" || rest[0] == "t")
}

// readStat returns the name of a process and the other fields of its status.
func readStat(pid int) (name string, rest []string) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := strings.LastIndexByte(string(data), ')')
	if err != nil || end < 0 {
		return "", nil
	}
	_, name, _ = strings.Cut(string(data[:end]), "(")
	return name, strings.Fields(string(data[end+1:]))
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
// does not know its id, but it still has the name of the spawner, and is about to exit. A command could use the
// same name, so this does not wait for ever.
func (b *Box) reapFailed() {
	for range 100 {
		for _, pid := range children() {
			name, rest := readStat(pid)
			if name != b.name || len(rest) == 0 || rest[0] != "Z" {
				continue
			}
			if n, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err == nil && n == pid {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// children returns the children of this process.
func children() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	me := strconv.Itoa(os.Getpid())
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if _, rest := readStat(pid); len(rest) > 1 && rest[1] == me {
			pids = append(pids, pid)
		}
	}
	return pids
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
