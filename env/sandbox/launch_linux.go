//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// launch starts the spawner and waits until it is confined: with namespaces if possible, or else without.
func (b *Box) launch() error {
	b.hidden = b.config.hidden()
	b.layout, b.outdated = b.config.layout(b.roots), false
	s := Support{Landlock: landlockVersion(), Seccomp: true, Namespaces: true}
	err := errNoNamespaces
	if useNamespaces {
		err = b.try(rules{
			namespaces: true,
			network:    b.config.Network,
			proxy:      b.config.proxied(),
			sockets:    !b.config.NoSockets,
			name:       b.name,
		}, b.makeMountPoints)
	}
	if err != nil && (b.support != nil && b.support.Namespaces || useNamespaces && b.available()) {
		return err // an error about these paths, which commands may have chosen: less protection would be their success
	}
	if err != nil {
		s.Namespaces = false
		s.Problems = append(
			s.Problems,
			fmt.Sprintf(
				"namespaces are not available (%v): protected paths below writable directories and unreadable files are not enforced",
				err,
			),
		)
		b.unreserve()
		b.layout.writable = slices.DeleteFunc(slices.Clone(b.layout.writable), func(dir string) bool {
			return slices.Contains(b.layout.around, dir)
		})
		if s.Landlock == 0 {
			err = fmt.Errorf("%w: %s; Landlock is not available either", ErrUnsupported, s.Problems[0])
		} else {
			err = b.try(rules{network: b.config.Network, sockets: !b.config.NoSockets, name: b.name}, func() layout { return b.layout })
		}
	}
	if s.Landlock < landlockSignals {
		s.Problems = append(
			s.Problems,
			fmt.Sprintf("Landlock has version %d: other processes are protected from version %d (Linux 6.12)", s.Landlock, landlockSignals),
		)
	}
	if err == nil && b.config.proxied() && b.unproxy == nil {
		s.Problems = append(s.Problems, "the proxy for the permitted hosts does not work here, so commands have no network")
	}
	if err == nil {
		b.support = &s
	}
	return err
}

// available reports whether namespaces work without any paths.
func (b *Box) available() bool {
	defer b.drop()
	return b.try(rules{namespaces: true, name: b.name}, func() layout { return layout{} }) == nil
}

// makeMountPoints creates the directories that are mounted over, and returns what to mount.
func (b *Box) makeMountPoints() layout {
	b.watchAll()
	b.reserve()
	if layers := b.layout.layers; layers != "" {
		if os.MkdirAll(layers, 0o700) != nil {
			b.layout.layers, b.layout.overlays = "", nil
		}
		b.layout.overlays = slices.DeleteFunc(slices.Clone(b.layout.overlays), func(o Overlay) bool { return o.makeDirs(layers) != nil })
	}
	return b.present()
}

// useNamespaces is false in tests without namespaces.
var useNamespaces = true

var errNoNamespaces = errors.New("switched off")

// try starts a spawner with these rules. It computes the layout while the spawner starts.
func (b *Box) try(r rules, layout func() layout) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	err = unix.SetNonblock(fds[0], true) // before NewFile, which then waits for the socket without a thread
	mine, its := os.NewFile(uintptr(fds[0]), "sandbox"), os.NewFile(uintptr(fds[1]), "sandbox")
	defer its.Close()
	conn, connErr := mine.SyscallConn()
	if err := errors.Join(err, connErr); err != nil {
		mine.Close()
		return err
	}
	r.slack = timerSlack()
	p, err := startSpawner(its, r)
	if err != nil {
		mine.Close()
		return err
	}
	b.socket = mine
	b.conn = conn
	b.spawner = p
	b.deadline = time.Time{}
	r.layout = layout()
	err = b.send(pack(r.list()...), nil)
	var reply []string
	var files []int
	if err == nil {
		reply, files, err = b.receive()
	}
	if err == nil && reply[0] != "ready" {
		_, err = parseReply(reply)
	}
	b.unproxy = nil
	if err == nil && r.proxy && len(files) == 1 {
		b.unproxy = b.serve(files[0])
	}
	if err == nil {
		err = b.enter(r)
	}
	if err != nil {
		b.drop()
		if b.unproxy != nil {
			b.unproxy()
			b.unproxy = nil
		}
	}
	return err
}

// serve starts the proxy at the spawner's socket, which is in the commands' network. stop ends the proxy, and is nil if
// the proxy does not work.
func (b *Box) serve(socket int) (stop func()) {
	stop, err := b.config.Proxy.ServeFile(os.NewFile(uintptr(socket), "sandbox-proxy"))
	if err != nil {
		return nil
	}
	return stop
}

// enter remembers the spawner's namespace and what is mounted in it.
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
	b.spaces = append(b.spaces, space{id, file, b.unproxy})
	for _, path := range slices.Concat(r.layout.protected, r.layout.pinned) {
		b.mounted[path] = identify(path)
	}
	b.masks = newMasks(b.layout.masked)
	b.listed = make(map[string]int64)
	for _, dir := range b.layout.listed {
		b.listed[dir] = changed(dir)
	}
	return nil
}

// maxSpaces is the number of namespaces above which empty namespaces are forgotten.
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
			s.close()
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
			sys.AmbientCaps = []uintptr{
				unix.CAP_SYS_ADMIN,
				unix.CAP_NET_ADMIN,
				unix.CAP_SETPCAP,
				unix.CAP_DAC_OVERRIDE,
			} // the last one is for overlays
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	if r.slack > 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		setTimerSlack(spawnerSlack)
		defer setTimerSlack(r.slack)
	}
	return os.StartProcess("/proc/self/exe", []string{spawnerName}, &os.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1"}, Files: []*os.File{null, null, null, socket}, Sys: sys,
	})
}

// spawnerSlack is how late the spawner's timers may be, so that its Go runtime wakes up less often. The thread that
// starts commands has the host's slack, because they inherit it.
const spawnerSlack = 10 * time.Millisecond

// timerSlack returns how late this thread's timers may be, or 0 if that is unknown.
func timerSlack() time.Duration {
	slack, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	return time.Duration(max(slack, 0))
}

// setTimerSlack sets how late timers may be, for this thread and the processes that it starts.
func setTimerSlack(d time.Duration) { unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(d), 0, 0, 0) }

// drop ends the spawner.
func (b *Box) drop() {
	if b.socket == nil {
		return
	}
	b.socket.Close()
	b.spawner.Kill()
	go b.spawner.Wait() // ending its namespaces takes milliseconds
	b.socket = nil
	b.conn = nil
	b.spawner = nil
}
