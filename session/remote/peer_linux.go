package remote

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// peer returns the user and the process at the other end of a socket.
func peer(fd int) (uid uint32, pid int, err error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return c.Uid, int(c.Pid), nil
}

// isBelow reports whether a process was started by another, directly or not. What an agent runs must not decide on the
// agent's calls.
func isBelow(pid, above int) bool {
	for range 1000 {
		if pid = parent(pid); pid == above {
			return true
		} else if pid <= 1 {
			return false
		}
	}
	return true
}

// isConfined reports whether a process runs in the sandbox of some session, or perhaps does: what an agent runs must not
// decide on calls of other sessions either. Sandboxes have an IPC namespace of their own.
func isConfined(pid int) bool {
	own, err := os.Readlink("/proc/self/ns/ipc")
	theirs, failed := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/ipc")
	return err != nil || failed != nil || own != theirs
}

// parent returns the parent of a process, or 0.
func parent(pid int) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // the name before may have spaces
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(string(fields[1]))
	return n
}
