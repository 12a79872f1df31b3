//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Who gets through without a sandbox.
const (
	everyone = iota
	onlyRoot
	varies // depends on the kernel; the test shows only the refusal
)

// callProbes must be refused. Words that begin with @ stand for something that the test creates: see targets.
var callProbes = []struct {
	probe string
	plain int
}{
	// The network, and sockets of other processes.
	{"tcp @tcp", everyone}, {"tcp @tcp6", everyone}, {"udp @udp", everyone}, {"dns @udp", everyone},
	{"unix @socket", everyone}, {"unix @abstract", everyone}, {"unix socket", everyone},
	{"datagram pair @datagram", everyone}, {"raw pair @datagram", everyone}, {"netlink", everyone},
	{"vsock", varies}, {"packet", onlyRoot}, {"raw", onlyRoot}, {"shared memory @memory", everyone},
	// Another process of the same user, this process as the host, and the spawner.
	{"ptrace @victim", everyone}, {"pidfd_getfd @victim", everyone}, {"process_vm_readv @victim", everyone},
	{"process_vm_writev @victim", everyone}, {"mem @victim", everyone}, {"environ @victim", everyone},
	{"fd @victim", everyone}, {"root @victim", everyone}, {"cwd @victim", everyone}, {"maps @victim", everyone},
	{"kill @victim", everyone}, {"tgkill @victim", everyone}, {"pidfd signal @victim", everyone},
	{"rlimit @victim", everyone}, {"priority @victim", everyone}, {"scheduler @victim", everyone},
	{"mem @host", everyone}, {"environ @host", everyone}, {"fd @host", everyone}, {"root @host", everyone},
	{"cwd @host", everyone}, {"kill @host", everyone}, {"pidfd_getfd @host", everyone},
	{"ptrace @spawner", onlyRoot}, {"mem @spawner", onlyRoot}, {"environ @spawner", onlyRoot}, {"fd @spawner", onlyRoot},
	{"root @spawner", onlyRoot}, {"cwd @spawner", onlyRoot}, {"pidfd_getfd @spawner", onlyRoot}, {"rlimit @spawner", everyone},
	{"files", everyone}, {"null mode", onlyRoot},
	// Mounts and namespaces.
	{"mount @ws", onlyRoot}, {"bind @out @ws", onlyRoot}, {"remount @mount", onlyRoot}, {"umount @mount", onlyRoot},
	{"open_tree @ws", onlyRoot}, {"fsopen", onlyRoot}, {"chroot @ws", onlyRoot}, {"unshare user", everyone},
	{"unshare net", onlyRoot}, {"clone user", everyone}, {"clone3 user", everyone}, {"setns", onlyRoot},
	// Files, past the paths.
	{"setxattr @file", everyone}, {"utimensat @file", everyone}, {"fchmodat2 @file", everyone},
	{"exchange @git @dir", everyone}, {"exchange @claude @dir", everyone}, {"exchange @file @inside", everyone},
	{"whiteout @git @new", varies}, {"mknod @new", onlyRoot}, {"handle @file", onlyRoot}, {"link race @out", everyone}, {"link race @hooks", everyone}, {"link race @claude", everyone},
	{"terminal @terminal", everyone},
	// The kernel.
	{"io_uring", everyone}, {"keyctl", everyone}, {"add_key", everyone}, {"bpf", onlyRoot}, {"perf", everyone},
	{"userfaultfd", everyone}, {"fanotify", onlyRoot}, {"tiocsti", onlyRoot}, {"cgroup @cgroup", onlyRoot},
}

func TestCalls_AreRefused(t *testing.T) {
	stray, err := unix.Dup(1) // as a descriptor that the host inherited
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(stray)
	box := newCallStage(t)
	if !box.box.Support().Full() {
		t.Fatalf("the sandbox is not complete: %v", box.box.Support().Problems)
	}
	for _, p := range callProbes {
		t.Run(p.probe, func(t *testing.T) {
			out, code := attack(newCallStage(t), p.probe, false)
			expected := p.plain == everyone || p.plain == onlyRoot && os.Getuid() == 0
			if expected && code != 0 {
				t.Fatalf("without a sandbox: exit code %d, want 0, or the test shows nothing:\n%s", code, out)
			}
			confined := *box
			confined.t = t
			out, code = attack(&confined, p.probe, true)
			if code != refusedCode {
				t.Errorf("exit code %d, want a refusal:\n%s", code, out)
			}
			t.Log(strings.TrimSpace(out))
		})
	}
}

func newCallStage(t *testing.T) *stage {
	t.Helper()
	return newStage(t, func(s *stage, _ *Config) {
		s.write("ws/dir/.git/hooks/pre-commit", "evil")
		s.write("ws/dir/.git/config", "evil")
		s.write("ws/.claude/settings.json", "{}")
	})
}

// attack runs a probe. It fails the test if something outside changes in the sandbox.
func attack(s *stage, probe string, confined bool) (string, int) {
	s.t.Helper()
	name, rest, _ := strings.Cut(probe, " @")
	args := []string{name}
	if rest != "" {
		for target := range strings.SplitSeq(rest, " @") {
			args = append(args, targets[target](s)...)
		}
	}
	before := snapshot(s.t, s.out)
	out, code := s.probe(confined, args...)
	if after := snapshot(s.t, s.out); confined && after != before {
		s.t.Errorf("files have changed from\n%sto\n%s", before, after)
	}
	return out, code
}

// targets create what the probes attack.
var targets = map[string]func(*stage) []string{
	"tcp":  func(s *stage) []string { return []string{s.serve("tcp", "127.0.0.1:0")} },
	"tcp6": func(s *stage) []string { return []string{s.serve("tcp", "[::1]:0")} },
	"udp": func(s *stage) []string {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { c.Close() })
		go answerPackets(c)
		return []string{c.LocalAddr().String()}
	},
	"socket": func(s *stage) []string { return []string{s.serve("unix", s.out+"/socket")} },
	"abstract": func(s *stage) []string {
		return []string{s.serve("unix", fmt.Sprintf("@reins-%d", time.Now().UnixNano()))}
	},
	"datagram": func(s *stage) []string {
		os.Remove(s.out + "/datagram")
		c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: s.out + "/datagram", Net: "unixgram"})
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { c.Close() })
		return []string{s.out + "/datagram"}
	},
	"memory": func(s *stage) []string {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
		return []string{fmt.Sprint(id)}
	},
	"victim": func(s *stage) []string { return s.victim() },
	"host":   func(s *stage) []string { return []string{fmt.Sprint(os.Getpid()), "0", "0"} },
	"spawner": func(s *stage) []string {
		s.box.Support()
		return []string{fmt.Sprint(s.box.spawner.Pid), "0", "0"}
	},
	"ws": func(s *stage) []string {
		s.t.Cleanup(func() { unix.Unmount(s.ws, unix.MNT_DETACH) }) // if the probe gets through
		return []string{s.ws}
	},
	"out":    func(s *stage) []string { return []string{s.out} },
	"file":   func(s *stage) []string { return []string{s.out + "/file"} },
	"inside": func(s *stage) []string { return []string{s.ws + "/file"} },
	"dir":    func(s *stage) []string { return []string{s.ws + "/dir"} },
	"new":    func(s *stage) []string { return []string{s.ws + "/new"} },
	"git":    func(s *stage) []string { return []string{s.ws + "/.git"} },
	"hooks":  func(s *stage) []string { return []string{s.ws + "/.git/hooks"} },
	"terminal": func(s *stage) []string {
		main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { main.Close() })
		n, err := unix.IoctlGetUint32(int(main.Fd()), unix.TIOCGPTN)
		if err == nil {
			err = unix.IoctlSetPointerInt(int(main.Fd()), unix.TIOCSPTLCK, 0)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		return []string{fmt.Sprintf("/dev/pts/%d", n)}
	},
	"claude": func(s *stage) []string { return []string{s.ws + "/.claude"} },
	"mount": func(s *stage) []string {
		if os.Getuid() == 0 {
			if err := unix.Mount(s.out, s.out, "", unix.MS_BIND, ""); err != nil {
				s.t.Fatal(err)
			}
			s.t.Cleanup(func() { unix.Unmount(s.out, unix.MNT_DETACH) })
		}
		return []string{s.out}
	},
	"cgroup": func(s *stage) []string {
		dir := fmt.Sprintf("/sys/fs/cgroup/unified/reins-test-%d", os.Getpid())
		if _, err := os.Stat("/sys/fs/cgroup/cgroup.procs"); err == nil {
			dir = strings.Replace(dir, "/unified", "", 1)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil && os.Getuid() == 0 {
			s.t.Skipf("a control group cannot be made here: %v", err)
		}
		s.t.Cleanup(func() { os.Remove(dir) })
		return []string{dir}
	},
}

// serve starts a server that answers, and returns the address.
func (s *stage) serve(network, address string) string {
	s.t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		s.t.Skipf("listen on %s: %v", address, err)
	}
	s.t.Cleanup(func() { l.Close() })
	go answer(l)
	return l.Addr().String()
}

// victim starts another process, and returns its id, a descriptor and an address. At the end it must be unharmed.
func (s *stage) victim() []string {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	c := exec.Command(self, "probe", "victim")
	in, errIn := c.StdinPipe()
	out, errOut := c.StdoutPipe()
	if errIn != nil || errOut != nil {
		s.t.Fatal(errIn, errOut)
	}
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { in.Close(); c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	return append([]string{fmt.Sprint(c.Process.Pid)}, strings.Fields(line)...)
}
