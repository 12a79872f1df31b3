//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tree is a detached copy of the mounts at a path.
type tree struct {
	path string
	fd   int
}

// openReal opens a path that must have no symbolic link except as its last element. If a command replaced a directory
// with a link, the result is an error, not another directory.
func openReal(path string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	return fd, nil
}

// copyTree copies the mounts at a path, and sets attributes on the copy. Instead of a symbolic link it copies the null
// device: a mount at a link hides it, so that it cannot be replaced.
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
	return attach(t.fd, t.path)
}

// mountAll makes everything read-only except the writable directories, and hides the masked paths. It returns open
// directories that only the sandbox has: its devices, its memory and the overlays.
func mountAll(l layout) (private []int, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("make mounts private: %w", err)
	}
	trees, err := copyTrees(l)
	if err != nil {
		return nil, err
	}
	nodes := copyDevices(l)
	const restricted = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: restricted}); err != nil {
		return nil, fmt.Errorf("make mounts read-only: %w", err)
	}
	if private, err = mountDevices(l, nodes); err != nil {
		return nil, err
	}
	for _, t := range trees {
		if err := t.attach(); err != nil {
			return nil, err
		}
	}
	more, err := mountOverlays(l)
	if err != nil {
		return nil, err
	}
	return append(private, more...), mask(l.masked)
}

// mountOverlays mounts the overlays, in memory if there is no directory for their changes. It returns them.
func mountOverlays(l layout) (private []int, err error) {
	layers := l.layers
	if l.memory != "" {
		fd, err := mountMemory(l.memory, "1g")
		if err != nil {
			return nil, err
		}
		private = append(private, fd)
		layers = filepath.Join(l.memory, ".layers")
		for _, o := range l.overlays {
			if err := o.makeDirs(layers); err != nil {
				return nil, err
			}
		}
	}
	for _, o := range l.overlays {
		if fd, err := o.mount(layers); err == nil {
			private = append(private, fd)
		}
	}
	if l.memory == "" && l.layers != "" { // the overlays keep their own mounts of it
		unix.Unmount(l.layers, unix.MNT_DETACH)
	}
	return private, nil
}

// mountMemory mounts an empty file system in memory, and returns it.
func mountMemory(path, size string) (int, error) {
	return mountNew("tmpfs", path, map[string]string{"mode": "0700", "size": size}, unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOSUID)
}

// mountNew mounts a new file system at a path without links, and returns it, open.
func mountNew(kind, path string, options map[string]string, attributes int) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("mount %s: %w", path, err)
	}
	defer unix.Close(fs)
	for key, value := range options {
		if value == "" {
			err = unix.FsconfigSetFlag(fs, key)
		} else {
			err = unix.FsconfigSetString(fs, key, value)
		}
		if err != nil {
			return -1, fmt.Errorf("mount %s: %s=%s: %w", path, key, value, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("mount %s: %w", path, err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return -1, fmt.Errorf("mount %s: %w", path, err)
	}
	return fd, attach(fd, path)
}

// attach mounts a tree at a path without links.
func attach(fd int, path string) error {
	at, err := openReal(path)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if err := unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", path, err)
	}
	return nil
}

// mount shows the user's directory with the commands' changes on top. If the kernel does not support that, Dir is an
// ordinary directory. Commands can write neither the layers nor the user's directory, so these have no links by now.
func (o Overlay) mount(layers string) (int, error) {
	upper, work := o.changes(layers)
	options := map[string]string{"lowerdir": o.Lower, "upperdir": upper, "workdir": work}
	for _, path := range options {
		fd, err := openReal(path)
		if err != nil {
			return -1, err
		}
		unix.Close(fd)
		if strings.ContainsAny(path, ":\\") {
			return -1, unix.EINVAL // option separators
		}
	}
	const attributes = unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID
	options["userxattr"] = ""
	fd, err := mountNew("overlay", o.Dir, options, attributes)
	if err != nil {
		delete(options, "userxattr")
		fd, err = mountNew("overlay", o.Dir, options, attributes)
	}
	return fd, err
}

// mask hides paths: files become empty, directories too, and only root can open them.
func mask(paths []string) error {
	for _, path := range paths {
		at, err := openReal(path)
		if err != nil {
			continue // missing; the box notices if it appears
		}
		var st unix.Stat_t
		err = unix.Fstat(at, &st)
		unix.Close(at)
		if kind := st.Mode & unix.S_IFMT; err != nil || kind == unix.S_IFLNK {
			continue // its target is masked
		}
		with := emptyFile
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			with = emptyDir
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, with, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err == nil {
			err = attach(fd, path)
			unix.Close(fd)
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}

// copyTrees copies the paths that are mounted over themselves, parents first: the writable directories, the paths in
// them that must not change, and directories that must not move. A mount can be neither moved nor removed.
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
	if l.layers != "" {
		attributes[l.layers] = writable
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

// mountPoint is one entry in /proc/self/mountinfo.
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

// unescape decodes the octal escapes in a mountinfo path.
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

// kernelMounts returns the kernel file systems below writable directories, such as in a chroot.
func kernelMounts(mounted []mountPoint, l layout) (paths []string) {
	for _, m := range mounted {
		if slices.Contains(kernelTypes, m.kind) && slices.ContainsFunc(l.writable, func(dir string) bool { return within(dir, m.path) }) {
			paths = append(paths, m.path)
		}
	}
	return paths
}

// checkWritable rejects writable directories on kernel file systems such as /proc.
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

// copyDevices copies the device mounts that commands can use, and shared memory if it contains a writable directory.
func copyDevices(l layout) (nodes []tree) {
	const restricted = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	for _, path := range devices {
		if t, err := copyTree(path, restricted); err == nil && path != "/dev/ptmx" {
			nodes = append(nodes, t)
		}
	}
	if slices.ContainsFunc(l.writable, func(dir string) bool { return within(sharedMemory, dir) }) {
		if t, err := copyTree(sharedMemory, restricted|unix.MOUNT_ATTR_NODEV); err == nil {
			nodes = append(nodes, t)
		}
	}
	return nodes
}

const sharedMemory = "/dev/shm"

// Names in the sandbox's own /dev for files that are mounted over masked paths.
const (
	emptyFile = "/dev/.masked-file"
	emptyDir  = "/dev/.masked-dir"
)

// mountDevices gives the sandbox its own /dev with the given devices, its own terminals and its own shared memory. It
// returns the directories that commands can write.
func mountDevices(l layout, nodes []tree) (private []int, err error) {
	const attributes = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	dev, err := mountNew("tmpfs", "/dev", map[string]string{"mode": "0755", "size": "64k"}, attributes)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dev)
	if err := makeDevices(nodes); err != nil {
		return nil, fmt.Errorf("make devices: %w", err)
	}
	if !slices.ContainsFunc(nodes, func(t tree) bool { return t.path == sharedMemory }) {
		fd, err := mountNew("tmpfs", sharedMemory, map[string]string{"mode": "1777"}, attributes|unix.MOUNT_ATTR_NODEV)
		if err != nil {
			return nil, err
		}
		private = append(private, fd)
	}
	terminals := map[string]string{"newinstance": "", "ptmxmode": "0666", "mode": "620"}
	if fd, err := mountNew("devpts", "/dev/pts", terminals, attributes); err == nil {
		private = append(private, fd)
	}
	return private, unix.MountSetattr(dev, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// makeDevices fills the new /dev.
func makeDevices(nodes []tree) error {
	errs := []error{os.Mkdir("/dev/pts", 0o755), os.Mkdir(sharedMemory, 0o755), os.Mkdir(emptyDir, 0), os.WriteFile(emptyFile, nil, 0)}
	for name, to := range map[string]string{
		"ptmx":   "pts/ptmx",
		"fd":     "/proc/self/fd",
		"stdin":  "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2",
	} {
		errs = append(errs, os.Symlink(to, "/dev/"+name))
	}
	for _, t := range nodes {
		if t.path != sharedMemory {
			errs = append(errs, os.WriteFile(t.path, nil, 0))
		}
		errs = append(errs, t.attach())
	}
	return errors.Join(errs...)
}
