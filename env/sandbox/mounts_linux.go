//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tree is a copy of the mounts at a path, not attached anywhere yet.
type tree struct {
	path string
	fd   int
}

// openReal opens a path that must have no symbolic link in it, except that it may be one itself. Commands that
// replaced a directory by a link get an error, not another directory.
func openReal(path string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	return fd, nil
}

// copyTree copies the mounts at a path, and sets attributes of the copy. Instead of a symbolic link it copies the
// null device: a mount at a link hides it, so that it cannot be replaced.
func copyTree(path string, attributes uint64) (tree, error) {
	fd, err := openReal(path)
	if err != nil {
		return tree{}, err
	}
	defer func() { unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
		unix.Close(fd)
		if fd, err = openReal(os.DevNull); err != nil {
			return tree{}, err
		}
	}
	t := tree{path: path}
	t.fd, err = unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return tree{}, fmt.Errorf("copy the mount of %s: %w", path, err)
	}
	if err := unix.MountSetattr(t.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return tree{}, fmt.Errorf("restrict the mount of %s: %w", path, err)
	}
	return t, nil
}

// attach mounts the tree at its path.
func (t tree) attach() error {
	defer unix.Close(t.fd)
	at, err := openReal(t.path)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if err := unix.MoveMount(t.fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", t.path, err)
	}
	return nil
}

// mountAll makes everything read-only except the writable directories. It returns the directories that only the
// sandbox has: those of its devices, and the overlays.
func mountAll(l layout) (private []string, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("make mounts private: %w", err)
	}
	trees, err := copyTrees(l)
	if err != nil {
		return nil, err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}); err != nil {
		return nil, fmt.Errorf("make mounts read-only: %w", err)
	}
	private = mountDevices(l)
	for _, t := range trees {
		if err := t.attach(); err != nil {
			return nil, err
		}
	}
	for _, o := range l.overlays {
		if o.mount() == nil {
			private = append(private, o.Dir)
		}
	}
	return private, nil
}

// mount shows the directory of the user, with the changes of commands over it. Without support for that, Dir is an
// ordinary directory.
func (o Overlay) mount() error {
	upper, work := o.changes()
	if strings.ContainsAny(o.Lower+upper, ",:\\") {
		return unix.EINVAL // separators of the options
	}
	options := "lowerdir=" + o.Lower + ",upperdir=" + upper + ",workdir=" + work
	err := unix.Mount("overlay", o.Dir, "overlay", unix.MS_NODEV|unix.MS_NOSUID, options+",userxattr")
	if err != nil {
		err = unix.Mount("overlay", o.Dir, "overlay", unix.MS_NODEV|unix.MS_NOSUID, options)
	}
	return err
}

// copyTrees copies what is mounted over itself, parents first: the writable directories, the paths in them that
// must not change, and those that must not move. A mount can be neither moved nor removed.
func copyTrees(l layout) ([]tree, error) {
	mounted, err := mountTypes()
	if err != nil {
		return nil, err
	}
	const writable = unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID
	attributes := make(map[string]uint64)
	for _, path := range slices.Concat(l.pinned, l.writable) {
		attributes[path] = writable
	}
	for _, path := range slices.Concat(l.protected, kernelMounts(mounted, l)) {
		attributes[path] = writable | unix.MOUNT_ATTR_RDONLY
	}
	for _, path := range l.reopened {
		attributes[path] = writable
	}
	trees := make([]tree, 0, len(attributes))
	for _, path := range slices.Sorted(maps.Keys(attributes)) {
		t, err := copyTree(path, attributes[path])
		if err != nil {
			return nil, err
		}
		trees = append(trees, t)
	}
	return trees, nil
}

// kernelTypes are the file systems through which the kernel and its devices are controlled.
var kernelTypes = []string{
	"proc", "sysfs", "cgroup", "cgroup2", "devtmpfs", "devpts", "debugfs", "tracefs", "securityfs", "configfs", "bpf",
	"pstore", "efivarfs", "binfmt_misc", "fusectl", "mqueue", "selinuxfs", "nsfs", "rpc_pipefs", "nfsd",
}

// mountPoint is a line of the list of mounts.
type mountPoint struct{ path, kind string }

// mountTypes returns all mounts.
func mountTypes() (list []mountPoint, err error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		kind, _, _ := strings.Cut(after, " ")
		if len(fields) > 4 {
			list = append(list, mountPoint{unescape(fields[4]), kind})
		}
	}
	return list, nil
}

// unescape decodes the octal escapes of a path in the list of mounts.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// kernelMounts returns the file systems of the kernel below writable directories, such as those of a chroot.
func kernelMounts(mounted []mountPoint, l layout) (paths []string) {
	for _, m := range mounted {
		if slices.Contains(kernelTypes, m.kind) && slices.ContainsFunc(l.writable, func(dir string) bool { return within(dir, m.path) }) {
			paths = append(paths, m.path)
		}
	}
	return paths
}

// checkWritable refuses writable directories on a file system of the kernel.
func checkWritable(l layout) error {
	mounted, err := mountTypes()
	if err != nil {
		return err
	}
	for _, dir := range l.writable {
		var on mountPoint
		for _, m := range mounted {
			if within(m.path, dir) && len(m.path) >= len(on.path) {
				on = m
			}
		}
		if slices.Contains(kernelTypes, on.kind) {
			return fmt.Errorf("make %s writable: it is on a file system of the kernel (%s)", dir, on.kind)
		}
	}
	return nil
}

// mountDevices gives the sandbox its own terminals and shared memory, and returns their directories. Those of the
// system stay read-only.
func mountDevices(l layout) (private []string) {
	const flags = unix.MS_NOSUID | unix.MS_NOEXEC
	used := slices.ContainsFunc(l.writable, func(dir string) bool { return within("/dev/shm", dir) })
	if !used && unix.Mount("tmpfs", "/dev/shm", "tmpfs", flags|unix.MS_NODEV, "mode=1777") == nil {
		private = append(private, "/dev/shm")
	}
	if unix.Mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=620") == nil {
		private = append(private, "/dev/pts")
	}
	return private
}
