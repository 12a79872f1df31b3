//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// tree is a copy of the mounts at a path, not attached anywhere yet.
type tree struct {
	path string
	fd   int
}

// copyTree copies the mounts at a path.
func copyTree(path string) (tree, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return tree{}, fmt.Errorf("copy the mount of %s: %w", path, err)
	}
	return tree{path, fd}, nil
}

// readOnly makes the tree read-only.
func (t tree) readOnly() error {
	return unix.MountSetattr(t.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// attach mounts the tree at its path.
func (t tree) attach() error {
	defer unix.Close(t.fd)
	if err := unix.MoveMount(t.fd, "", unix.AT_FDCWD, t.path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", t.path, err)
	}
	return nil
}

// mountAll makes everything read-only except the writable directories.
func mountAll(l layout) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	writable := make([]tree, 0, len(l.writable))
	for _, dir := range l.writable {
		t, err := copyTree(dir)
		if err != nil {
			return err
		}
		writable = append(writable, t)
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}); err != nil {
		return fmt.Errorf("make mounts read-only: %w", err)
	}
	for _, t := range writable {
		if err := t.attach(); err != nil {
			return err
		}
	}
	mountDevices()
	return mountProtected(l)
}

// mountDevices gives the sandbox terminals and shared memory of its own. Without them, those of the system
// stay read-only.
func mountDevices() {
	const flags = unix.MS_NOSUID | unix.MS_NOEXEC
	_ = unix.Mount("tmpfs", "/dev/shm", "tmpfs", flags|unix.MS_NODEV, "mode=1777")
	_ = unix.Mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=620")
}

// mountProtected mounts the protected and the pinned paths over themselves, parents first. A mount cannot be
// moved or removed.
func mountProtected(l layout) error {
	paths := slices.Concat(l.pinned, l.protected)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		t, err := copyTree(withoutLink(path))
		if err != nil {
			return err
		}
		t.path = path
		if !slices.Contains(l.pinned, path) {
			if err := t.readOnly(); err != nil {
				return fmt.Errorf("make %s read-only: %w", path, err)
			}
		}
		if err := t.attach(); err != nil {
			return err
		}
	}
	return nil
}

// withoutLink returns what to mount at a path: the path itself or, if it is a symbolic link, an empty file. A
// mount at a link hides it, so that it cannot be replaced.
func withoutLink(path string) string {
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&os.ModeSymlink != 0 {
		return os.DevNull
	}
	return path
}

// loopbackUp starts the loopback interface of a new network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

// kept are the capabilities that commands of root keep: root expects to write any file, where mounts permit it.
var kept = []uint{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID}

// dropCapabilities takes all capabilities but those in keep from this thread and the processes that it starts.
func dropCapabilities(keep []uint) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && err != unix.EINVAL {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	for c := uint(0); c < 64; c++ {
		if slices.Contains(keep, c) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		if err == unix.EINVAL {
			break // no such capability
		}
		if err == unix.EPERM && len(keep) == 0 {
			break // an ordinary user gets none of them
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	var mask [2]uint32
	for _, c := range keep {
		mask[c/32] |= 1 << (c % 32)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	for i := range data {
		both := data[i].Permitted & mask[i]
		data[i] = unix.CapUserData{Effective: both, Permitted: both}
	}
	if err := unix.Capset(&hdr, &data[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// capable reports whether this process has a capability.
func capable(c uint) bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&hdr, &data[0]) == nil && data[c/32].Effective&(1<<(c%32)) != 0
}
