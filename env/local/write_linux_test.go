package local_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/env/local"
)

const nobody = 65534

// TestWriteFile_WithoutPermissionLeavesOldFile runs as an unprivileged user, even if the tests run as
// root.
func TestWriteFile_WithoutPermissionLeavesOldFile(t *testing.T) {
	root := os.Getuid() == 0
	dir, err := os.MkdirTemp("", "reins-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	files := map[string]fs.FileMode{"open/locked": 0o444, "closed/f": 0o644}
	if root {
		files["open/foreign"] = 0o666
	}
	for name, mode := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if root && name != "open/foreign" {
			if err := os.Chown(path, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, mode := range map[string]fs.FileMode{".": 0o755, "open": 0o777, "closed": 0o555} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}

	c := role(t, "nobody", dir)
	if root {
		// Only root can reach the binary, so pass it as an open file.
		self, err := os.Open(c.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer self.Close()
		c.Path, c.ExtraFiles = "/proc/self/fd/3", []*os.File{self}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name := range files {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != "old" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for _, name := range []string{"open", "closed"} {
		left, _ := filepath.Glob(filepath.Join(dir, name, ".*"))
		if len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// playNobody tries to write without permission.
func playNobody(dir string) error {
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer e.Close()
	paths := []string{"open/locked", "closed/f", "closed/new", "closed/a/b"}
	if _, err := os.Stat(filepath.Join(dir, "open/foreign")); err == nil {
		paths = append(paths, "open/foreign")
	}
	for _, path := range paths {
		if err := e.WriteFile(context.Background(), path, []byte("new"), 0o644); !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("writing %s: %v, want a permission error", path, err)
		}
	}
	return nil
}

func TestWriteFile_KeepsExtendedAttributes(t *testing.T) {
	e := newEnv(t, local.Config{})
	file := filepath.Join(e.Info().Dir, "f")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), unix.Setxattr(file, "user.reins", []byte("kept"), 0)); err != nil {
		if errors.Is(err, unix.ENOTSUP) {
			return // unsupported by this file system
		}
		t.Fatal(err)
	}
	if err := e.WriteFile(t.Context(), "f", []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 10)
	if n, err := unix.Getxattr(file, "user.reins", value); err != nil || string(value[:n]) != "kept" {
		t.Errorf("the attribute is %q, %v, want \"kept\"", value[:max(n, 0)], err)
	}
}
