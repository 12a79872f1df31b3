//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// landlockVersion returns the Landlock ABI version; 0 means that there is none.
func landlockVersion() int {
	n, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// Accesses that Landlock controls here. Reading is restricted if the layout says so.
const (
	readFile  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	readAll   = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	changeDir = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

// controlled returns the accesses that a Landlock version can control.
func controlled(version int) uint64 {
	access := uint64(writeFile | changeDir)
	if version >= 2 {
		access |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		access |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 5 {
		access |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return access
}

// devices are files that commands can write everywhere.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}

// restrict applies Landlock to this thread and the processes that it starts. Below the private directories, which are
// open, everything is permitted.
func restrict(version int, l layout, private []int) error {
	all, read := controlled(version), uint64(0)
	if l.confined {
		read = readAll
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: all | read}
	if version >= landlockSignals {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("create a Landlock ruleset: %w", errno)
	}
	ruleset := int(fd)
	defer unix.Close(ruleset)
	for _, dir := range l.writable {
		if err := permit(ruleset, dir, all&^unix.LANDLOCK_ACCESS_FS_IOCTL_DEV|read, unix.RESOLVE_NO_SYMLINKS); err != nil {
			return err
		}
	}
	file := all & (writeFile | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	for _, dev := range devices {
		if err := permit(ruleset, dev, file|read&readFile, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	for _, path := range l.readable {
		if err := permit(ruleset, path, read, unix.RESOLVE_NO_SYMLINKS); err != nil && !errors.Is(err, unix.ENOENT) &&
			!errors.Is(err, unix.ELOOP) {
			return err
		}
	}
	for _, dir := range l.listed {
		if err := permit(ruleset, dir, read&unix.LANDLOCK_ACCESS_FS_READ_DIR, unix.RESOLVE_NO_SYMLINKS); err != nil {
			return err
		}
	}
	for _, dir := range private {
		if err := permitOpen(ruleset, dir, all|read); err != nil {
			return err
		}
		unix.Close(dir)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("apply the Landlock ruleset: %w", errno)
	}
	return nil
}

// permit adds a rule for a path and everything below it.
func permit(ruleset int, path string, access, resolve uint64) error {
	if access == 0 {
		return nil
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve})
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= readFile | writeFile | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if err := permitOpen(ruleset, fd, access); err != nil {
		return fmt.Errorf("permit the use of %s: %w", path, err)
	}
	return nil
}

// permitOpen adds a rule for an open file and everything below it.
func permitOpen(ruleset, fd int, access uint64) error {
	// The kernel reads 12 bytes, so struct padding does not matter.
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(
		unix.SYS_LANDLOCK_ADD_RULE,
		uintptr(ruleset),
		unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)),
		0,
		0,
		0,
	)
	if errno != 0 {
		return errno
	}
	return nil
}
