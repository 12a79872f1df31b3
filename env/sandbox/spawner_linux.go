//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/internal/exepages"
)

// spawnerName is the spawner's process name. A program that is started under it becomes a spawner instead of running
// its main function.
const spawnerName = "reins-sandbox"

// spawnerSocket is the socket descriptor in the spawner.
const spawnerSocket = 3

func init() {
	if len(os.Args) != 1 || os.Args[0] != spawnerName {
		return
	}
	runtime.LockOSThread() // only this thread is confined; it starts all commands
	s := &server{fd: spawnerSocket}
	if err := s.confine(); err != nil {
		s.send(errorReply(err))
		os.Exit(1)
	}
	s.ready()
	exepages.Drop()
	s.serve()
	os.Exit(0)
}

// A message is a list of strings, each ending in a NUL byte, after its total length in four bytes. Files come with
// its first bytes.

// sizeBytes is the size of the length field in a message.
const sizeBytes = 4

// pack encodes a message.
func pack(list ...string) []byte {
	size := sizeBytes
	for _, s := range list {
		size += len(s) + 1
	}
	b := make([]byte, sizeBytes, size)
	for _, s := range list {
		b = append(append(b, s...), 0)
	}
	binary.NativeEndian.PutUint32(b, uint32(size-sizeBytes))
	return b
}

// unpack decodes a message body.
func unpack(body []byte) []string {
	if len(body) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(body, []byte{0})), "\x00")
}

// readMessage reads a message and its files with read, which returns both lengths. The peer sends nothing else until it
// has an answer.
func readMessage(read func(buf, oob []byte) (n, oobn int, err error)) (list []string, files []int, err error) {
	buf, oob := make([]byte, 512), make([]byte, unix.CmsgSpace(3*4))
	for have, size := 0, sizeBytes; have < size; {
		n, oobn, err := read(buf[have:], oob)
		if err != nil || n == 0 {
			return nil, nil, cmp.Or(err, io.EOF)
		}
		if messages, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(messages) == 1 {
			files, _ = unix.ParseUnixRights(&messages[0])
		}
		if have += n; have >= sizeBytes {
			size = sizeBytes + int(binary.NativeEndian.Uint32(buf))
			if size < have {
				return nil, nil, unix.EPROTO
			}
			buf = append(buf[:have], make([]byte, size-have)...)
		}
	}
	return unpack(buf[sizeBytes:]), files, nil
}

// errorReply encodes an error: its number, so that callers can compare it, and its text.
func errorReply(err error) []string {
	var errno syscall.Errno
	errors.As(err, &errno)
	return []string{"error", strconv.Itoa(int(errno)), err.Error()}
}

// server is the spawner's end of the socket.
type server struct {
	fd     int
	null   int // the null device for commands
	listen int // listens for the host's proxy; 0 if it does not
}

// ready tells the host that commands can be started, and hands over the socket for the proxy.
func (s *server) ready() {
	if s.listen == 0 {
		s.send("ready")
		return
	}
	if unix.Sendmsg(s.fd, pack("ready"), unix.UnixRights(s.listen), nil, unix.MSG_NOSIGNAL) != nil {
		os.Exit(0) // the host is gone
	}
	unix.Close(s.listen)
}

func (s *server) send(list ...any) {
	var flat []string
	for _, v := range list {
		switch v := v.(type) {
		case string:
			flat = append(flat, v)
		case []string:
			flat = append(flat, v...)
		}
	}
	for b := pack(flat...); len(b) > 0; {
		n, err := unix.Write(s.fd, b)
		if err != nil {
			if err == unix.EINTR {
				continue
			}
			os.Exit(0) // the host is gone
		}
		b = b[n:]
	}
}

// receive reads a message and its files.
func (s *server) receive() (list []string, files []int, err error) {
	return readMessage(func(buf, oob []byte) (n, oobn int, err error) {
		for n, oobn, _, _, err = unix.Recvmsg(s.fd, buf, oob, unix.MSG_CMSG_CLOEXEC); err == unix.EINTR; {
			n, oobn, _, _, err = unix.Recvmsg(s.fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		}
		return n, oobn, err
	})
}

// confine reads the sandbox rules and applies them to this thread.
func (s *server) confine() error {
	// Commands must inherit neither the socket nor any file that this process inherited by accident.
	if err := unix.CloseRange(spawnerSocket, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close files: %w", err)
	}
	list, _, err := s.receive()
	if err != nil {
		return err
	}
	r := parseRules(list)
	setTimerSlack(r.slack)
	name := append([]byte(r.name), 0)
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0); err != nil {
		return fmt.Errorf("set the name: %w", err)
	}
	var private []int
	if r.namespaces {
		if private, err = mountAll(r.layout); err != nil {
			return err
		}
		if !r.network {
			if err := loopbackUp(); err != nil {
				return fmt.Errorf("start the loopback interface: %w", err)
			}
			if r.proxy {
				s.listen = listen()
			}
		}
	}
	if s.null, err = unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open the null device: %w", err)
	}
	keep := kept
	if os.Geteuid() != 0 {
		keep = nil
	}
	if err := dropCapabilities(keep); err != nil {
		return err
	}
	// Commands must not reach this process's memory, whose other threads are free.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect the memory: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	if v := landlockVersion(); v > 0 {
		if err := restrict(v, r.layout, private); err != nil {
			return err
		}
	}
	if err := setFilter(newFilter(r.sockets && (r.network || r.namespaces))); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}

// listen returns a socket that listens at [ProxyAddr], or 0. Without it, commands have no network.
func listen() int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: proxyPort})
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		unix.Close(fd)
		return 0
	}
	return fd
}

// serve starts commands until the host closes the socket.
func (s *server) serve() {
	for {
		list, files, err := s.receive()
		if err != nil {
			return
		}
		if slices.Equal(list, terminalRequest) {
			s.sendTerminal()
			continue
		}
		pid, err := start(list, s.own(files))
		for _, fd := range files {
			unix.Close(fd)
		}
		if err != nil {
			s.send(errorReply(err))
		} else {
			s.send("pid", strconv.Itoa(pid))
		}
	}
}

// terminalRequest asks for a terminal.
var terminalRequest = []string{"terminal"}

// sendTerminal sends both ends of a new terminal. It belongs to the sandbox, so commands can open it by name.
func (s *server) sendTerminal() {
	main, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		s.send(errorReply(err))
		return
	}
	defer unix.Close(main)
	err = unix.IoctlSetPointerInt(main, unix.TIOCSPTLCK, 0)
	if err != nil {
		s.send(errorReply(err))
		return
	}
	tty, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(main), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		s.send(errorReply(errno))
		return
	}
	defer unix.Close(int(tty))
	unix.Sendmsg(s.fd, pack("terminal"), unix.UnixRights(main, int(tty)), nil, unix.MSG_NOSIGNAL)
}

// own returns the files for a command. The host's null device is on a mount where root's commands could change its
// mode, so they get another.
func (s *server) own(files []int) []int {
	list := slices.Clone(files)
	for i, fd := range list {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3) {
			list[i] = s.null
		}
	}
	return list
}

// start starts the command in a request: flags, directory, program, the number of arguments, the arguments, and the
// variables. Its parent is the host.
func start(list []string, files []int) (int, error) {
	if len(list) < 4 || len(files) != 3 {
		return 0, unix.EPROTO
	}
	flags := list[0]
	dir := list[1]
	path := list[2]
	count, err := strconv.Atoi(list[3])
	if err != nil || count < 0 || count > len(list)-4 {
		return 0, unix.EPROTO
	}
	args, vars := list[4:4+count], list[4+count:]
	attr := &syscall.ProcAttr{
		Dir: dir, Env: vars, Files: []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2])},
		Sys: &syscall.SysProcAttr{
			Setsid: strings.Contains(flags, "s"), Setctty: strings.Contains(flags, "t"), Setpgid: strings.Contains(flags, "g"),
			Cloneflags: unix.CLONE_PARENT,
		},
	}
	pid, err := syscall.ForkExec(path, args, attr)
	return pid, err
}

// rules are the host's instructions to the spawner.
type rules struct {
	layout     layout
	namespaces bool
	network    bool
	proxy      bool // listen for the host's proxy
	sockets    bool // permit internet sockets
	name       string
	slack      time.Duration // timer slack for commands
}

// list encodes the rules.
func (r rules) list() []string {
	var list []string
	add := func(key string, values ...string) {
		for _, v := range values {
			list = append(list, key+v)
		}
	}
	add("w", r.layout.writable...)
	add("p", r.layout.protected...)
	add("o", r.layout.reopened...)
	add("m", r.layout.pinned...)
	add("x", r.layout.masked...)
	add("r", r.layout.readable...)
	add("d", r.layout.listed...)
	if r.layout.confined {
		add("R", "")
	}
	if r.layout.memory != "" {
		add("M", r.layout.memory)
	}
	add("l", r.layout.layers)
	for _, o := range r.layout.overlays {
		add("v", o.Dir, o.Lower)
	}
	add("c", r.name)
	add("t", strconv.FormatInt(int64(r.slack), 10))
	if r.namespaces {
		add("n", "")
	}
	if r.network {
		add("i", "")
	}
	if r.proxy {
		add("P", "")
	}
	if r.sockets {
		add("s", "")
	}
	return list
}

func parseRules(list []string) (r rules) {
	var overlaid []string
	for _, s := range list {
		if s == "" {
			continue
		}
		value := s[1:]
		switch s[0] {
		case 'w':
			r.layout.writable = append(r.layout.writable, value)
		case 'p':
			r.layout.protected = append(r.layout.protected, value)
		case 'o':
			r.layout.reopened = append(r.layout.reopened, value)
		case 'm':
			r.layout.pinned = append(r.layout.pinned, value)
		case 'x':
			r.layout.masked = append(r.layout.masked, value)
		case 'r':
			r.layout.readable = append(r.layout.readable, value)
		case 'd':
			r.layout.listed = append(r.layout.listed, value)
		case 'R':
			r.layout.confined = true
		case 'M':
			r.layout.memory = value
		case 'l':
			r.layout.layers = value
		case 'v':
			overlaid = append(overlaid, value)
		case 'c':
			r.name = value
		case 't':
			n, _ := strconv.ParseInt(value, 10, 64)
			r.slack = time.Duration(n)
		case 'n':
			r.namespaces = true
		case 'i':
			r.network = true
		case 'P':
			r.proxy = true
		case 's':
			r.sockets = true
		}
	}
	for pair := range slices.Chunk(overlaid, 2) {
		r.layout.overlays = append(r.layout.overlays, Overlay{pair[0], pair[1]})
	}
	return r
}
