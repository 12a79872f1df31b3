package filestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// PutBlob saves data under its hash and returns when it is on disk.
func (w *writer) PutBlob(ctx context.Context, data io.Reader) (hash string, size int64, err error) {
	if err := context.Cause(ctx); err != nil {
		return "", 0, err
	}
	name, err := w.beginBlob()
	if err == nil {
		defer w.saving.Done()
		hash, size, err = w.store.putBlob(w.store.path(w.id), name, data)
	}
	if err != nil {
		return "", 0, fmt.Errorf("cannot save a blob of session %s: %w", w.id, err)
	}
	return hash, size, nil
}

// beginBlob returns a temporary name for a blob, and makes Close wait for it.
func (w *writer) beginBlob() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return "", fs.ErrClosed
	}
	w.saving.Add(1)
	w.blobs++
	return strconv.Itoa(w.blobs), nil
}

// putBlob writes a blob under a temporary name and renames it to its hash when it is complete.
func (s *Store) putBlob(dir, name string, data io.Reader) (hash string, size int64, err error) {
	temporary, blobs := filepath.Join(dir, tempName), filepath.Join(dir, blobsName)
	if err := errors.Join(s.files.MkdirAll(temporary, dirPerm), s.files.MkdirAll(blobs, dirPerm)); err != nil {
		return "", 0, err
	}
	temporary = filepath.Join(temporary, name)
	hash, size, err = s.writeBlob(temporary, data)
	if err == nil {
		err = s.files.Rename(temporary, filepath.Join(blobs, hash))
	}
	if err != nil {
		_ = s.files.RemoveAll(temporary) // if this fails, Open removes it
		return "", 0, err
	}
	if err := errors.Join(s.files.SyncDir(blobs), s.files.SyncDir(dir)); err != nil {
		return "", 0, err
	}
	return hash, size, nil
}

func (s *Store) writeBlob(name string, data io.Reader) (string, int64, error) {
	f, err := s.openFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return "", 0, err
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, sum), data)
	if err == nil {
		err = f.Sync()
	}
	return hex.EncodeToString(sum.Sum(nil)), size, errors.Join(err, f.Close())
}

// OpenBlob opens a blob. Reading it to the end returns an error if the content does not match the hash.
func (s *Store) OpenBlob(ctx context.Context, id, hash string) (io.ReadCloser, error) {
	if err := usable(ctx, id); err != nil {
		return nil, err
	}
	if _, err := s.status(id); err != nil {
		return nil, err
	}
	return s.openBlob(id, hash)
}

func (s *Store) openBlob(id, hash string) (*blobReader, error) {
	if !isHash(hash) {
		return nil, fmt.Errorf("session %s has no blob %q: %w", id, hash, fs.ErrNotExist)
	}
	f, err := s.openFile(s.path(id, blobsName, hash), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("session %s has no blob %s: %w", id, hash, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read a blob of session %s: %w", id, err)
	}
	return &blobReader{f, hash, sha256.New()}, nil
}

// isHash reports whether a text is a hex SHA-256.
func isHash(text string) bool {
	if len(text) != hex.EncodedLen(sha256.Size) {
		return false
	}
	for _, c := range []byte(text) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

// blobReader checks the hash at the end.
type blobReader struct {
	File
	want string
	sum  hash.Hash
}

func (b *blobReader) Read(p []byte) (int, error) {
	n, err := b.File.Read(p)
	b.sum.Write(p[:n])
	if err == io.EOF {
		if got := hex.EncodeToString(b.sum.Sum(nil)); got != b.want {
			err = fmt.Errorf("blob %s is damaged: its hash is %s", b.want, got)
		}
	}
	return n, err
}
