//go:build unix

package filestore

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLock_IsReleasedWhileAChildProcessStarts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	held, err := OS{}.Lock(name)
	must(t, err)
	// Until it calls exec, a child has all its parent's files.
	child, err := unix.Dup(int(held.(interface{ Fd() uintptr }).Fd()))
	must(t, err)
	defer os.NewFile(uintptr(child), "child").Close()
	must(t, held.Close())
	again, err := OS{}.Lock(name)
	must(t, err)
	must(t, again.Close())
}
