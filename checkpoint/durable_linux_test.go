package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe and /proc cannot be synced, so the error shows that syncing was tried.
func TestPublish_SyncsTheFileAndTheDirectory(t *testing.T) {
	w := newWorkspace(t)
	r, pipe, err := os.Pipe()
	must(t, err)
	defer r.Close()
	if err := w.store.publish(pipe, filepath.Join(w.store.packs(), "x"), nil); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("publish a pipe: got error %v, want EINVAL", err)
	}
	if err := syncDir("/proc"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("syncDir(/proc): got error %v, want EINVAL", err)
	}
}

func TestStore_FilesAreForTheirOwnerOnly(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	w := newWorkspace(t)
	w.write("f", "1")
	w.take()
	must(t, filepath.WalkDir(w.store.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", p, info.Mode().Perm(), want)
		}
		return err
	}))
}
