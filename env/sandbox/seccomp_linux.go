//go:build amd64 || arm64

package sandbox

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data. Arguments have 64 bits; little-endian systems have the low half first.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// refused are system calls that commands cannot make, with the errno that they get.
var refused = map[uintptr]unix.Errno{
	// Other processes, and the kernel itself.
	unix.SYS_PTRACE: unix.EPERM, unix.SYS_PROCESS_VM_READV: unix.EPERM, unix.SYS_PROCESS_VM_WRITEV: unix.EPERM,
	unix.SYS_PIDFD_GETFD: unix.EPERM, unix.SYS_KCMP: unix.EPERM, unix.SYS_PROCESS_MADVISE: unix.EPERM,
	unix.SYS_BPF: unix.EPERM, unix.SYS_PERF_EVENT_OPEN: unix.EPERM, unix.SYS_USERFAULTFD: unix.EPERM,
	unix.SYS_INIT_MODULE: unix.EPERM, unix.SYS_FINIT_MODULE: unix.EPERM, unix.SYS_DELETE_MODULE: unix.EPERM,
	unix.SYS_KEXEC_LOAD: unix.EPERM, unix.SYS_KEXEC_FILE_LOAD: unix.EPERM, unix.SYS_REBOOT: unix.EPERM,
	unix.SYS_SWAPON: unix.EPERM, unix.SYS_SWAPOFF: unix.EPERM, unix.SYS_ACCT: unix.EPERM, unix.SYS_SYSLOG: unix.EPERM,
	unix.SYS_QUOTACTL: unix.EPERM, unix.SYS_QUOTACTL_FD: unix.EPERM, unix.SYS_VHANGUP: unix.EPERM,
	unix.SYS_SETHOSTNAME: unix.EPERM, unix.SYS_SETDOMAINNAME: unix.EPERM, unix.SYS_SETTIMEOFDAY: unix.EPERM,
	unix.SYS_CLOCK_SETTIME: unix.EPERM, unix.SYS_CLOCK_ADJTIME: unix.EPERM, unix.SYS_ADJTIMEX: unix.EPERM,
	// Keys belong to the user, not to the sandbox.
	unix.SYS_KEYCTL: unix.EPERM, unix.SYS_ADD_KEY: unix.EPERM, unix.SYS_REQUEST_KEY: unix.EPERM,
	// Mounts and namespaces.
	unix.SYS_MOUNT: unix.EPERM, unix.SYS_UMOUNT2: unix.EPERM, unix.SYS_PIVOT_ROOT: unix.EPERM, unix.SYS_CHROOT: unix.EPERM,
	unix.SYS_MOVE_MOUNT: unix.EPERM, unix.SYS_OPEN_TREE: unix.EPERM, unix.SYS_FSOPEN: unix.EPERM, unix.SYS_FSCONFIG: unix.EPERM,
	unix.SYS_FSMOUNT: unix.EPERM, unix.SYS_FSPICK: unix.EPERM, unix.SYS_MOUNT_SETATTR: unix.EPERM, unix.SYS_OPEN_TREE_ATTR: unix.EPERM,
	unix.SYS_UNSHARE: unix.EPERM, unix.SYS_SETNS: unix.EPERM,
	// Ways around the path rules and around this filter.
	unix.SYS_OPEN_BY_HANDLE_AT: unix.EPERM, unix.SYS_FANOTIFY_INIT: unix.EPERM,
	unix.SYS_IO_URING_SETUP: unix.ENOSYS, unix.SYS_IO_URING_ENTER: unix.ENOSYS, unix.SYS_IO_URING_REGISTER: unix.ENOSYS,
	// Programs fall back to clone, whose flags the filter can see.
	unix.SYS_CLONE3: unix.ENOSYS,
}

// onlySelf are system calls that change limits or priorities, and the argument that selects the process. Commands can
// change only their own, with 0: a limit could end the user's other processes.
var onlySelf = map[uintptr]uint32{
	unix.SYS_PRLIMIT64: 0, unix.SYS_SETPRIORITY: 1, unix.SYS_IOPRIO_SET: 1,
	unix.SYS_SCHED_SETSCHEDULER: 0, unix.SYS_SCHED_SETPARAM: 0, unix.SYS_SCHED_SETATTR: 0,
}

// newNamespace are the clone flags that create a namespace.
const newNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

// lastSyscall is the newest system call that was considered. Later ones do not exist for commands.
const lastSyscall = unix.SYS_OPEN_TREE_ATTR

// program is a filter under construction.
type program []unix.SockFilter

func (p *program) add(code uint16, k uint32) { *p = append(*p, unix.SockFilter{Code: code, K: k}) }

func (p *program) load(offset uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }

func (p *program) loadArg(n uint32) { p.load(offsetArgs + 8*n) }

// skip adds a jump over the next n instructions unless the condition holds.
func (p *program) skip(n uint8, condition uint16, k uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | condition | unix.BPF_K, Jf: n, K: k})
}

func (p *program) fail(errno unix.Errno) {
	p.add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(errno))
}

func (p *program) allow() { p.add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW) }

// failIf adds "if the condition holds, fail".
func (p *program) failIf(condition uint16, k uint32, errno unix.Errno) {
	p.skip(1, condition, k)
	p.fail(errno)
}

// failUnless adds "unless the condition holds, fail".
func (p *program) failUnless(condition uint16, k uint32, errno unix.Errno) {
	p.skip(1, condition, k)
	p.add(unix.BPF_JMP|unix.BPF_JA, 1)
	p.fail(errno)
}

// call adds the rules for one system call. They end with a return, and start with the number loaded.
func (p *program) call(number uintptr, rules func(*program)) {
	var body program
	rules(&body)
	body.allow()
	p.skip(uint8(len(body)), unix.BPF_JEQ, uint32(number))
	*p = append(*p, body...)
}

// newFilter returns the filter for commands. Without inet, they cannot create internet sockets.
func newFilter(inet bool) []unix.SockFilter {
	var p program
	p.load(offsetArch)
	p.failUnless(unix.BPF_JEQ, auditArch, unix.ENOSYS)
	p.load(offsetNumber)
	p.failIf(unix.BPF_JGT, lastSyscall, unix.ENOSYS) // includes the x32 calls on amd64
	p.call(unix.SYS_SOCKET, func(p *program) {
		p.loadArg(0)
		if inet {
			p.skip(1, unix.BPF_JEQ, unix.AF_INET)
			p.allow()
			p.skip(1, unix.BPF_JEQ, unix.AF_INET6)
			p.allow()
		}
		p.fail(unix.EACCES)
	})
	// Other types of pairs could send to any path: AF_UNIX also turns SOCK_RAW into a datagram socket.
	p.call(unix.SYS_SOCKETPAIR, func(p *program) {
		p.loadArg(0)
		p.failUnless(unix.BPF_JEQ, unix.AF_UNIX, unix.EACCES)
		p.loadArg(1)
		p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf)
		p.skip(1, unix.BPF_JEQ, unix.SOCK_STREAM)
		p.allow()
		p.failUnless(unix.BPF_JEQ, unix.SOCK_SEQPACKET, unix.EACCES)
	})
	p.call(unix.SYS_CLONE, func(p *program) {
		p.loadArg(0)
		p.failIf(unix.BPF_JSET, newNamespace, unix.EPERM)
	})
	p.call(unix.SYS_IOCTL, func(p *program) {
		p.loadArg(1)
		p.failIf(unix.BPF_JEQ, unix.TIOCSTI, unix.EPERM)
		p.failIf(unix.BPF_JEQ, unix.TIOCLINUX, unix.EPERM)
		p.failIf(unix.BPF_JEQ, unix.TIOCCONS, unix.EPERM)
	})
	for number, arg := range onlySelf {
		p.call(number, func(p *program) {
			p.loadArg(arg)
			p.failUnless(unix.BPF_JEQ, 0, unix.EPERM)
		})
	}
	for number, errno := range refused {
		p.failIf(unix.BPF_JEQ, uint32(number), errno)
	}
	for _, number := range refusedHere {
		p.failIf(unix.BPF_JEQ, uint32(number), unix.EPERM)
	}
	p.allow()
	return p
}

// setFilter applies a filter to this thread and the processes that it starts.
func setFilter(p []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(p)
	if errno != 0 {
		return errno
	}
	return nil
}
