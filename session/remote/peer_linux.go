package remote

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peer returns the user and process IDs at a socket's other end.
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

// jobsName is the environment variable with a mark, "SESSION.COMMAND;", for each session command that a process belongs to.
// Package env/local sets it.
const jobsName = "REINS_JOBS"

// isJob reports whether a process belongs to a session command that this process does not belong to. Such a process may
// have left its parents.
func isJob(pid int) bool {
	own := os.Getenv(jobsName)
	for i := range 1000 {
		jobs, err := variable(pid, jobsName)
		if err != nil && (i == 0 || !errors.Is(err, fs.ErrPermission)) { // parents can belong to other users
			return true
		}
		for mark := range strings.SplitSeq(jobs, ";") {
			if session, _, ok := strings.Cut(mark, "."); ok && !strings.Contains(";"+own, ";"+session+".") {
				return true
			}
		}
		if pid = parent(pid); pid <= 1 {
			return false
		}
	}
	return true
}

// variable returns a variable that a process was started with.
func variable(pid int, name string) (string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	for v := range bytes.SplitSeq(b, []byte{0}) {
		if value, ok := bytes.CutPrefix(v, []byte(name+"=")); ok {
			return string(value), nil
		}
	}
	return "", err
}

// isConfined reports whether a process runs in the sandbox of some session, or perhaps does: what an agent runs must not
// decide on other sessions' calls either. Each sandbox has a separate IPC namespace.
func isConfined(pid int) bool {
	own, err := os.Readlink("/proc/self/ns/ipc")
	theirs, failed := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/ipc")
	return err != nil || failed != nil || own != theirs
}

// parent returns a process's parent, or 0.
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
