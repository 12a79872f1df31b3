//go:build unix

package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// listenUnix opens a socket that only the user can connect to.
func listenUnix(path string) (*net.UnixListener, error) {
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// On Linux, the file gets the socket's mode. Elsewhere, the directory keeps others out until the next step.
		return c.Control(func(fd uintptr) { _ = unix.Fchmod(int(fd), 0o600) })
	}}
	l, err := private.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket && info.Mode().Perm() != 0o600 {
		_ = os.Chmod(path, 0o600)
	}
	return l.(*net.UnixListener), nil
}

// checkPrivate returns an error unless path is the user's directory and other users cannot access it.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ok || int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a private directory: it must belong to you, with mode 0700", dir)
	}
	return nil
}

// openPrivate opens the user's file without following a link.
func openPrivate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isRefused reports whether nothing listens on a socket.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// checkPeer returns an error unless the process at the other end belongs to the same user. Root counts as another user.
func checkPeer(conn net.Conn) error {
	uid, pid, err := peerOf(conn)
	switch {
	case err != nil:
		return err
	case int(uid) != os.Geteuid():
		return fmt.Errorf("the process at the other end of the socket belongs to user %d: %w", uid, fs.ErrPermission)
	case pid > 0 && isBelow(pid, os.Getpid()):
		return fmt.Errorf("process %d was started by the session: %w", pid, fs.ErrPermission)
	case pid > 0 && isConfined(pid):
		return fmt.Errorf("process %d runs in a sandbox: %w", pid, fs.ErrPermission)
	}
	return nil
}

// checkClient returns an error unless the peer process may use the session: processes that an agent started may not.
func checkClient(conn net.Conn) error {
	if err := checkPeer(conn); err != nil {
		return err
	}
	if _, pid, err := peerOf(conn); err != nil || pid > 0 && isJob(pid) {
		return errors.Join(fmt.Errorf("process %d was started by an agent: %w", pid, fs.ErrPermission), err)
	}
	return nil
}

// peerOf returns the user and process IDs at a socket's other end. The process is 0 if the system does not report it.
func peerOf(conn net.Conn) (uid uint32, pid int, err error) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	failed := raw.Control(func(fd uintptr) { uid, pid, err = peer(int(fd)) })
	return uid, pid, errors.Join(failed, err)
}
