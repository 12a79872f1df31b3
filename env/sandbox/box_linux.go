//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
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
	name   string // name of the spawner, and of commands until they are executed

	mu       sync.Mutex
	closed   bool
	layout   layout
	support  *Support        // nil until it is known
	socket   *os.File        // to the spawner; nil if there is none
	conn     syscall.RawConn // socket, for the poller
	deadline time.Time       // current deadline of socket
	spawner  *os.Process
	mounted  map[string]fileID // what the spawner has mounted over itself
	masks    masks
	spaces   []space // mount namespaces of all spawners so far
	unproxy  func()  // ends the proxy in the present spawner's network; nil if there is none
	reserved []placeholder
	watch    *watcher         // nil if nothing is watched
	fresh    []string         // repositories that commands have created since the spawner started
	blocked  []string         // since the last Sweep
	outdated bool             // there is something new to protect
	hidden   []string         // last result from Config.Hidden
	listed   map[string]int64 // change times of the listed directories in the layout
	empty    bool             // no command process was running at the last check
	settling bool             // a check is scheduled
	started  int              // commands started so far
	since    time.Time        // start of the current period without a pause between commands
	broken   error            // set when a command has ended the spawner
}

// space is a mount namespace. Its id is not used again while the file is open.
type space struct {
	id      string
	file    *os.File
	unproxy func() // ends the proxy in the matching network namespace; may be nil
}

func (s space) close() {
	s.file.Close()
	if s.unproxy != nil {
		s.unproxy()
	}
}

// boxes counts the boxes in this process.
var boxes atomic.Uint32

// New returns a box. It starts no process before it is used.
func New(c Config) (*Box, error) {
	roots, err := c.roots()
	b := &Box{config: c, roots: roots, empty: true, name: fmt.Sprintf("reins-%x", boxes.Add(1))}
	if err == nil {
		b.layout = c.layout(roots)
		err = checkWritable(b.layout)
	}
	if err == nil && c.proxied() && c.Proxy == nil {
		err = errors.New("a list of hosts needs a proxy")
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

// Start starts a confined process, as a child of this process. From attr it uses Dir, Env, the first three files, and
// Setsid, Setctty and Setpgid in Sys. The files should be pipes, terminals or the null device: open files are not
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
	if b.broken != nil {
		return nil, b.broken
	}
	if b.socket != nil && b.stale() {
		b.drop()
	}
	if b.empty {
		b.since = time.Now()
	}
	b.empty, b.started = false, b.started+1
	reply, err := b.ask(request, attr.Files[:3])
	if errors.Is(err, errSpawner) {
		b.drop()
		b.broken = ErrBroken
		if unread(err) {
			return nil, b.broken
		}
		return nil, fmt.Errorf("%w; the command may have been started", b.broken)
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

// Terminal opens a terminal for a command: host is the end to read and write, tty the end to start the command with.
// Other terminals can be used, but commands cannot open them again by name.
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

// Close ends the spawner and removes the placeholders. Running commands continue and stay confined.
func (b *Box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.drop()
	b.sweep()
	if b.watch != nil {
		b.watch.file.Close()
	}
	b.unreserve()
	for _, s := range b.spaces {
		s.close()
	}
	b.spaces = nil
	return nil
}

// Refused returns the hosts that commands have tried to reach in vain since the last call. Each is written as the
// entries that would permit it in Config.Hosts, separated by commas.
func (b *Box) Refused() []string {
	if !b.config.proxied() {
		return nil
	}
	return b.config.Proxy.Refused()
}

// Contains reports whether a process is confined by this box. Processes cannot leave it.
func (b *Box) Contains(pid int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.contains(pid)
}

func (b *Box) contains(pid int) bool {
	if len(b.spaces) == 0 || b.spawner != nil && b.spawner.Pid == pid {
		return false
	}
	id, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns/mnt"))
	return err == nil && slices.ContainsFunc(b.spaces, func(s space) bool { return s.id == id })
}

// Traces returns paths to clean up if this process is killed: empty directories that stand in for protected paths in
// repositories, and paths that Sweep blocks.
func (b *Box) Traces() (reserved, forbidden []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.reserved {
		reserved = append(reserved, p.path)
	}
	return reserved, slices.Clone(b.layout.forbidden)
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
