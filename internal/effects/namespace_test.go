//go:build linux && (amd64 || arm64)

package effects

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// covered are the directories that are empty and writable in the namespaces. Everything else is read-only.
var covered = []string{"/home", "/root", "/tmp", "/var/tmp", "/run"}

// dropped are the capabilities that reach beyond namespaces. Nothing in them has these, not even root.
var dropped = []uintptr{
	unix.CAP_SYS_TIME, unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_BOOT, unix.CAP_MKNOD, unix.CAP_SYSLOG, unix.CAP_WAKE_ALARM,
	unix.CAP_AUDIT_CONTROL, unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE, unix.CAP_SYS_PACCT, unix.CAP_BPF, unix.CAP_PERFMON,
}

// initProcess prepares the namespaces and runs the tests in them. As process 1 it collects orphans.
func initProcess() (int, error) {
	runtime.LockOSThread() // a thread has its own capabilities
	goroot, err := mountWorld(os.Getenv(binVar))
	if err != nil {
		return 1, fmt.Errorf("prepare the namespaces: %w", err)
	}
	if err := loopback(); err != nil {
		return 1, fmt.Errorf("bring up the loopback interface: %w", err)
	}
	for _, c := range dropped {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return 1, fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:"
	cmd := again("tests", path+goroot+"/bin", "TMPDIR=/srv/tmp", "HOME=/srv/tmp")
	cmd.Dir = "/srv"
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1, err
		case pid == cmd.Process.Pid && status.Exited():
			return status.ExitStatus(), nil
		case pid == cmd.Process.Pid:
			return 1, nil
		}
	}
}

// mountWorld makes everything read-only and covers the directories that the world needs. It returns the Go
// distribution's root, which may be in one of them.
func mountWorld(bin string) (goroot string, err error) {
	goroot = os.Getenv("GOROOT")
	files := map[string]string{
		"/etc/resolv.conf": "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
		"/etc/shadow":      "root:" + strings.Repeat(canaries["shadow"]+"\n", 20),
	}
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return "", err
	}
	files["/etc/passwd"] = string(passwd) + fmt.Sprintf("dev:x:%d:%d::%s:/bin/bash\n", devUID, devUID, home)
	m := &mounter{}
	m.do("make mounts private", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	m.do("make mounts read-only", unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
	m.tmpfs("/srv", "0755")
	for _, dir := range []string{binDir, "/srv/tmp", "/srv/etc", "/srv/dev"} {
		m.do("make "+dir, os.Mkdir(dir, 0o755))
	}
	for from, to := range map[string]string{bin + "/reins": reinsBin, "/proc/self/exe": selfBin, bin + "/evil.so": binDir + "/evil.so"} {
		m.do("copy "+from, copyFile(from, to))
	}
	if slices.ContainsFunc(covered, func(dir string) bool { return strings.HasPrefix(goroot, dir+"/") }) {
		m.do("make directories", os.Mkdir("/srv/go", 0o755))
		m.bind(goroot, "/srv/go")
		goroot = "/srv/go"
	}
	m.devices()
	for _, dir := range covered {
		mode := "0755"
		if strings.HasSuffix(dir, "/tmp") {
			mode = "1777"
		}
		m.tmpfs(dir, mode)
	}
	m.do("mount /proc", unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""))
	for _, path := range []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"} {
		if _, err := os.Stat(path); err == nil {
			m.bind(path, path)
			m.do("protect "+path, unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
		}
	}
	for path, text := range files {
		m.replace(path, text)
	}
	return goroot, m.err
}

// mounter mounts until the first error.
type mounter struct{ err error }

func (m *mounter) do(what string, err error) {
	if m.err == nil && err != nil {
		m.err = fmt.Errorf("%s: %w", what, err)
	}
}

func (m *mounter) tmpfs(dir, mode string) {
	m.do("cover "+dir, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode="+mode))
}

func (m *mounter) bind(from, to string) {
	m.do("mount "+from, unix.Mount(from, to, "", unix.MS_BIND, ""))
}

// devices replaces /dev by one with harmless devices only.
func (m *mounter) devices() {
	const dev = "/srv/dev"
	m.do("cover "+dev, unix.Mount("tmpfs", dev, "tmpfs", unix.MS_NOSUID, "mode=0755"))
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		m.do("make "+name, os.WriteFile(filepath.Join(dev, name), nil, 0o666))
		m.bind("/dev/"+name, filepath.Join(dev, name))
	}
	links := map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
	for name, target := range links {
		m.do("make "+name, os.Symlink(target, filepath.Join(dev, name)))
	}
	m.do("make directories", errors.Join(os.Mkdir(dev+"/pts", 0o755), os.Mkdir(dev+"/shm", 0o1777)))
	m.do("mount terminals", unix.Mount("devpts", dev+"/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"))
	m.tmpfs(dev+"/shm", "1777")
	m.do("move /dev", unix.Mount(dev, "/dev", "", unix.MS_MOVE, ""))
}

// replace shows another text in a file, if the file exists.
func (m *mounter) replace(path, text string) {
	st, err := os.Stat(path)
	if err != nil {
		return
	}
	own := "/srv/etc/" + filepath.Base(path)
	m.do("write "+own, os.WriteFile(own, []byte(text), st.Mode().Perm()))
	m.do("chmod "+own, os.Chmod(own, st.Mode().Perm()))
	m.bind(own, path)
}

// copyFile copies a program. A missing one is not an error.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// loopback brings up the loopback interface.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
