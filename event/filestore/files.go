package filestore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reins-agent/reins/internal/filelock"
)

// FS is a file system. Tests use it to simulate failing disks.
type FS interface {
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	MkdirAll(name string, perm fs.FileMode) error
	Rename(from, to string) error
	RemoveAll(name string) error
	// SyncDir flushes the names in a directory.
	SyncDir(name string) error
	// Lock locks a file, creating it if necessary. The lock ends when it is closed or the process dies. Lock
	// returns ErrHeld if the lock is already held.
	Lock(name string) (io.Closer, error)
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.WriterAt
	io.Writer
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
}

// ErrHeld means that a lock is already held.
var ErrHeld = errors.New("the lock is held")

// OS is the operating system's file system.
type OS struct{}

func (OS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not a nil *os.File in the interface
	}
	return f, nil
}

func (OS) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (OS) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (OS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (OS) Rename(from, to string) error                 { return os.Rename(from, to) }
func (OS) RemoveAll(name string) error                  { return os.RemoveAll(name) }
func (OS) SyncDir(name string) error                    { return syncDir(name) }

var errNotRegular = errors.New("not a regular file")

// openFile opens a regular file. It refuses other files, because opening or reading a FIFO could block.
func (s *Store) openFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := s.files.OpenFile(name, flag|openNonblock, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// heldLock is a locked file. Closing the file is not enough to release the lock: a child process, between fork and
// exec, has the descriptor too.
type heldLock struct{ *os.File }

func (l heldLock) Close() error { return errors.Join(filelock.Unlock(l.File), l.File.Close()) }

// lock locks an open file until its last descriptor is closed.
func lock(f *os.File) error {
	if ok, err := filelock.Try(f); ok || err != nil {
		return err
	}
	return ErrHeld
}

// Lock locks a file. Deleting a session removes its lock file, so the lock only counts if the file still has its name.
func (OS) Lock(name string) (io.Closer, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, filePerm)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.MkdirAll(filepath.Dir(name), dirPerm)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if err := lock(f); err != nil {
			f.Close()
			return nil, err
		}
		ours, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		if now, err := os.Stat(name); err == nil && os.SameFile(ours, now) {
			return heldLock{f}, nil
		}
		f.Close()
	}
}
