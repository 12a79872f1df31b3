package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/reins-agent/reins/internal/filelock"
)

// tempPrefix starts the names of incomplete store files.
const tempPrefix = "tmp-"

// do makes one change to the disk.
func (s *Store) do(what string, change func() error) error {
	if s.step != nil {
		if err := s.step(what); err != nil {
			return err
		}
	}
	return change()
}

// createTemp creates a temporary file in a store directory.
func (s *Store) createTemp(dir string) (f *os.File, err error) {
	err = s.do("create", func() error {
		f, err = os.OpenFile(filepath.Join(dir, tempPrefix+newName()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	return f, err
}

// publish makes a temporary file durable under its final name, in this order: content, name,
// directory. If err, the result of writing the file, is not nil, it removes the file and returns err.
func (s *Store) publish(f *os.File, path string, err error) error {
	if err == nil {
		err = s.do("sync file", f.Sync)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = s.do("rename", func() error { return os.Rename(f.Name(), path) })
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return s.do("sync directory", func() error { return syncDir(filepath.Dir(path)) })
}

// newName returns a unique name.
func newName() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

var errNotRegular = errors.New("not a regular file")

// openRegular opens a regular file for reading. It fails with errNotRegular for any other kind, such as a FIFO, which
// could block forever.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readRegular(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// locked calls f while no other call, in this process or another, uses the store.
func (s *Store) locked(ctx context.Context, what string, f func() error) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return fmt.Errorf("lock checkpoint store: %w", err)
	}
	defer unlock()
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// lock waits for the store lock. The operating system releases it when the process dies.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Wait(ctx, f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
