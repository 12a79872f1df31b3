//go:build amd64 || arm64

package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errSpawner means that the spawner does not answer. A command can kill it; a new spawner then starts.
var errSpawner = errors.New("the sandbox does not answer")

// patience limits the wait for the spawner before checking whether it was stopped.
const patience = 200 * time.Millisecond

// maxWakes limits how often a spawner that commands stop is continued during one request.
const maxWakes = 25

// send writes a message, with files if rights are given.
func (b *Box) send(data, rights []byte) error {
	for len(data) > 0 {
		n, err := b.wait(syscall.RawConn.Write, func(fd int) (int, error) {
			return unix.SendmsgN(fd, data, rights, nil, unix.MSG_NOSIGNAL)
		})
		if err != nil {
			return err
		}
		data, rights = data[n:], nil
	}
	return nil
}

// receive reads a reply and its files.
func (b *Box) receive() (reply []string, files []int, err error) {
	return readMessage(func(buf, oob []byte) (n, oobn int, err error) {
		n, err = b.wait(syscall.RawConn.Read, func(fd int) (n int, err error) {
			n, oobn, _, _, err = unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
			return n, err
		})
		return n, oobn, err
	})
}

// wait sends or receives without blocking a thread, and returns how much. It continues a spawner that a command has
// stopped, and gives up if the spawner is gone or is stopped again and again.
func (b *Box) wait(ready func(syscall.RawConn, func(uintptr) bool) error, do func(fd int) (int, error)) (n int, err error) {
	for wakes := 0; ; {
		// An earlier deadline is good enough: each timer change may wake another thread.
		if time.Until(b.deadline) < patience/2 {
			b.deadline = time.Now().Add(patience)
			b.socket.SetDeadline(b.deadline)
		}
		late := ready(b.conn, func(fd uintptr) bool {
			for n, err = do(int(fd)); err == unix.EINTR; {
				n, err = do(int(fd))
			}
			return err != unix.EAGAIN
		})
		if errors.Is(late, os.ErrDeadlineExceeded) && wakes < maxWakes {
			if b.stopped() {
				wakes++
				b.spawner.Signal(unix.SIGCONT)
			}
			continue
		}
		if err = errors.Join(late, err); err != nil || n == 0 {
			return 0, fmt.Errorf("%w: %w", errSpawner, cmp.Or(err, io.EOF))
		}
		return n, nil
	}
}

// unread reports whether a request failed before the spawner read it. Otherwise, the command may have been started.
func unread(err error) bool {
	return errors.Is(err, errSpawner) && (errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET))
}

// stopped reports whether a command has stopped the spawner.
func (b *Box) stopped() bool {
	_, rest := readStat(b.spawner.Pid)
	return len(rest) > 0 && (rest[0] == "T" || rest[0] == "t")
}

// readStat returns a process name and the other fields in its status.
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

// reapFailed reaps a command process that could not be executed. It is a child of this process, which does not know its
// id, but it still has the spawner's name, and is about to exit. A command could use the same name, so the wait is
// limited.
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

// children returns this process's children.
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
