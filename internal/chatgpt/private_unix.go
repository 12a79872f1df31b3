//go:build unix

package chatgpt

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// private reports a file that someone else can read, replace or owns.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := owned(f.Name(), info, 0o077); err != nil {
		return err
	}
	dir := filepath.Dir(f.Name())
	if info, err = os.Stat(dir); err != nil {
		return err
	}
	return owned(dir, info, 0o022)
}

// owned reports a file with permissions in the mask, or of another user.
func owned(name string, info os.FileInfo, mask os.FileMode) error {
	if got := info.Mode().Perm(); got&mask != 0 {
		return fmt.Errorf(
			"%s has the permissions %04o, so that other users can reach the ChatGPT sign-in; run `chmod go= %s`, and %s if "+
				"they may have read it",
			name,
			got,
			name,
			again,
		)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (uid %d); delete it and %s", name, s.Uid, again)
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s is not a regular file; delete it and %s", name, again)
	}
	return nil
}
