//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// probes are attacks that this program runs as a command. nil means that the attack got through.
var probes = map[string]func(args []string) error{
	"tcp":               func(a []string) error { return exchange("tcp", a[0]) },
	"udp":               func(a []string) error { return exchange("udp", a[0]) },
	"unix":              func(a []string) error { return exchange("unix", a[0]) },
	"dns":               lookUp,
	"old kernel":        withoutLandlock,
	"datagram pair":     func(a []string) error { return sendFromPair(unix.SOCK_DGRAM, a[0]) },
	"raw pair":          func(a []string) error { return sendFromPair(unix.SOCK_RAW, a[0]) },
	"netlink":           func([]string) error { return openSocket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) },
	"vsock":             func([]string) error { return openSocket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"packet":            func([]string) error { return openSocket(unix.AF_PACKET, unix.SOCK_RAW, 0) },
	"raw":               func([]string) error { return openSocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"unix socket":       func([]string) error { return openSocket(unix.AF_UNIX, unix.SOCK_STREAM, 0) },
	"ptrace":            func(a []string) error { return unix.PtraceSeize(number(a[0])) },
	"pidfd_getfd":       stealFile,
	"process_vm_readv":  func(a []string) error { return otherMemory(unix.ProcessVMReadv, a) },
	"process_vm_writev": func(a []string) error { return otherMemory(unix.ProcessVMWritev, a) },
	"mem":               func(a []string) error { return canOpen("/proc/"+a[0]+"/mem", unix.O_RDONLY) },
	"environ":           func(a []string) error { return canRead("/proc/" + a[0] + "/environ") },
	"fd":                func(a []string) error { return canOpen("/proc/"+a[0]+"/fd/"+a[1], unix.O_PATH) },
	"root":              func(a []string) error { return canOpen("/proc/"+a[0]+"/root/etc", unix.O_PATH) },
	"cwd":               func(a []string) error { return canOpen("/proc/"+a[0]+"/cwd/", unix.O_PATH) },
	"maps":              func(a []string) error { return canRead("/proc/" + a[0] + "/maps") },
	"kill":              func(a []string) error { return unix.Kill(number(a[0]), 0) },
	"tgkill":            func(a []string) error { return unix.Tgkill(number(a[0]), number(a[0]), 0) },
	"pidfd signal":      signalByDescriptor,
	"rlimit":            limitOther,
	"priority":          func(a []string) error { return unix.Setpriority(unix.PRIO_PROCESS, number(a[0]), 10) },
	"scheduler":         demoteOther,
	"mount":             func(a []string) error { return unix.Mount("tmpfs", a[0], "tmpfs", 0, "") },
	"bind":              func(a []string) error { return unix.Mount(a[0], a[1], "", unix.MS_BIND, "") },
	"remount":           func(a []string) error { return unix.Mount("", a[0], "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"umount":            func(a []string) error { return unix.Unmount(a[0], unix.MNT_DETACH) },
	"open_tree":         cloneTree,
	"fsopen":            func([]string) error { _, err := unix.Fsopen("tmpfs", 0); return err },
	"chroot":            func(a []string) error { return unix.Chroot(a[0]) },
	"unshare user":      unshareUser,
	"unshare net":       func([]string) error { return unix.Unshare(unix.CLONE_NEWNET) },
	"clone user":        cloneUser,
	"clone3 user":       clone3User,
	"setns":             enterSpace,
	"setxattr":          func(a []string) error { return unix.Setxattr(a[0], "user.x", []byte("x"), 0) },
	"utimensat":         func(a []string) error { return unix.Utimes(a[0], make([]unix.Timeval, 2)) },
	"fchmodat2":         changeMode,
	"exchange": func(a []string) error {
		return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
	},
	"whiteout": func(a []string) error {
		return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_WHITEOUT)
	},
	"mknod":    func(a []string) error { return unix.Mknod(a[0], unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) },
	"handle":   openByHandle,
	"io_uring": setUpRing,
	"keyctl":   func([]string) error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err },
	"add_key": func([]string) error {
		_, err := unix.AddKey("user", "reins-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	},
	"bpf":           createMap,
	"perf":          openCounter,
	"userfaultfd":   func([]string) error { return descriptor(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1, 0, 0) },
	"fanotify":      func([]string) error { _, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF, 0); return err },
	"tiocsti":       injectInput,
	"cgroup":        func(a []string) error { return os.WriteFile(a[0]+"/cgroup.procs", []byte("0"), 0) },
	"null mode":     func([]string) error { return unix.Fchmod(0, 0o666) },
	"files":         inherited,
	"terminal":      func(a []string) error { return canOpen(a[0], unix.O_WRONLY|unix.O_NOCTTY) },
	"link race":     raceLink,
	"shared memory": attachMemory,
	"victim":        playVictim,
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// exchange sends a byte to a test server and waits for an answer.
func exchange(network, address string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

// lookUp resolves a name using the server at an address.
func lookUp(args []string) error {
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", args[0])
	}}
	_, err := r.LookupIPAddr(context.Background(), "canary.example.com.")
	return err
}

// sendFromPair sends to the socket at a path from one end of a socket pair.
func sendFromPair(kind int, path string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: path})
}

func openSocket(domain, kind, protocol int) error {
	_, err := unix.Socket(domain, kind, protocol)
	return err
}

func canOpen(path string, flags int) error {
	_, err := unix.Open(path, flags, 0)
	return err
}

func canRead(path string) error {
	data, err := os.ReadFile(path)
	if err == nil && len(data) == 0 {
		err = io.EOF
	}
	return err
}

// stealFile copies another process's descriptor.
func stealFile(args []string) error {
	pidfd, err := unix.PidfdOpen(number(args[0]), 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(pidfd, number(args[1]), 0)
	return err
}

// otherMemory reads or writes a byte in another process.
func otherMemory(call func(int, []unix.Iovec, []unix.RemoteIovec, uint) (int, error), args []string) error {
	b := []byte("x")
	address, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	_, err = call(number(args[0]), []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: uintptr(address), Len: 1}}, 0)
	return err
}

func signalByDescriptor(args []string) error {
	pidfd, err := unix.PidfdOpen(number(args[0]), 0)
	if err != nil {
		return err
	}
	return unix.PidfdSendSignal(pidfd, 0, nil, 0)
}

func limitOther(args []string) error {
	var old unix.Rlimit
	if err := unix.Prlimit(number(args[0]), unix.RLIMIT_CORE, nil, &old); err != nil {
		return err
	}
	return unix.Prlimit(number(args[0]), unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
}

func demoteOther(args []string) error {
	return unix.SchedSetAttr(number(args[0]), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Nice: 19}, 0)
}

// errnoOf returns the error from a raw system call.
func errnoOf(errno unix.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

func descriptor(number, a, b, c uintptr) error {
	_, _, errno := unix.RawSyscall(number, a, b, c)
	return errnoOf(errno)
}

func cloneTree(args []string) error {
	_, err := unix.OpenTree(unix.AT_FDCWD, args[0], unix.OPEN_TREE_CLONE)
	return err
}

// unshareUser starts a process that enters a new user namespace: a process with several threads, like this one, cannot.
func unshareUser([]string) error {
	c := exec.Command("/bin/true")
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWUSER}
	return c.Run()
}

// cloneUser starts a process in a new user namespace.
func cloneUser([]string) error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return errnoOf(errno)
}

func clone3User([]string) error {
	args := [11]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)}
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno == 0 && pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return errnoOf(errno)
}

// enterSpace enters its own network namespace again, which needs the same permissions as entering another.
func enterSpace([]string) error {
	fd, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return unix.Setns(fd, unix.CLONE_NEWNET)
}

func changeMode(args []string) error {
	path, _ := unix.BytePtrFromString(args[0])
	at := unix.AT_FDCWD
	_, _, errno := unix.RawSyscall6(unix.SYS_FCHMODAT2, uintptr(at), uintptr(unsafe.Pointer(path)), 0o777, 0, 0, 0)
	return errnoOf(errno)
}

// openByHandle opens a file for writing, without its path.
func openByHandle(args []string) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, args[0], 0)
	if err != nil {
		return err
	}
	dir, err := unix.Open(".", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(dir, handle, unix.O_WRONLY)
	return err
}

func setUpRing([]string) error {
	var params [120]byte
	return descriptor(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
}

func createMap([]string) error {
	attr := struct{ kind, key, value, entries uint32 }{2, 4, 4, 1}
	return descriptor(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
}

func openCounter([]string) error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_PAGE_FAULTS, Bits: unix.PerfBitExcludeKernel}
	_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
	return err
}

// injectInput types into a new terminal, and then controls it to type into it the other way.
func injectInput([]string) error {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil // the test needs a terminal
	}
	b := byte('x')
	err = descriptor(unix.SYS_IOCTL, uintptr(master), unix.TIOCSTI, uintptr(unsafe.Pointer(&b)))
	high := uintptr(unix.TIOCSTI) | 1<<32 // the kernel ignores the upper half
	return errors.Join(err, descriptor(unix.SYS_IOCTL, uintptr(master), high, uintptr(unsafe.Pointer(&b))))
}

// inherited fails if this process has no files other than the standard files.
func inherited([]string) error {
	for fd := 3; fd < 4096; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			return nil
		}
	}
	return errors.New("only standard files")
}

// raceLink writes a file below a name that another thread keeps switching between a directory and a link to the target.
func raceLink(args []string) error {
	base, err := os.MkdirTemp(".", "race-")
	if err != nil {
		return err
	}
	dir, link := base+"/d", base+"/l"
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Symlink(args[0], link)); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	}()
	for range 1_000 {
		os.WriteFile(dir+"/race", nil, 0o644)
		unix.Unlink(base + "/hard")
		unix.Link(dir+"/config", base+"/hard")
		os.WriteFile(base+"/hard", nil, 0o644)
	}
	_, err = os.Stat(args[0] + "/race")
	return err
}

// attachMemory attaches a shared memory segment created by the test.
func attachMemory(args []string) error {
	_, err := unix.SysvShmAttach(number(args[0]), 0, 0)
	return err
}

// playVictim is another process of the same user, which permits tracing. It prints a descriptor and a variable's
// address, and waits for its input to end.
func playVictim([]string) error {
	unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	target := bytes.Repeat([]byte("v"), 64)
	fmt.Printf("%d %d\n", 0, uintptr(unsafe.Pointer(&target[0])))
	io.Copy(io.Discard, os.Stdin)
	if target[0] != 'v' {
		return errors.New("changed")
	}
	return nil
}

// answer serves a byte for each byte, once per connection.
func answer(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		c.SetDeadline(time.Now().Add(time.Minute))
		io.CopyN(c, c, 1)
		c.Close()
	}
}

// answerPackets returns every packet. To a DNS question it adds an address.
func answerPackets(c net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		reply := bytes.Clone(buf[:n])
		if end := bytes.IndexByte(reply[min(n, 12):], 0); n > 12 && end > 0 {
			kind := reply[12+end+2]
			reply = append(reply[:12+end+5], 0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 60)
			if size := map[byte]byte{1: 4, 28: 16}[kind]; size > 0 {
				reply = append(append(reply, 0, size), make([]byte, size)...)
			}
			reply[2], reply[3], reply[7], reply[9], reply[11] = 0x81, 0x80, 1, 0, 0
		}
		c.WriteTo(reply, from)
	}
}
