package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rawDir is a directory identified by its descriptor. Entries are opened relative to it, which is
// faster than by path and safe from links that are swapped in.
type rawDir struct {
	fd   int
	file *os.File // the owner of fd, or nil
}

func (l localLayer) openDir(_ context.Context, p string) (directory, error) {
	f, err := l.openFile(p)
	if err != nil {
		return nil, err
	}
	return &rawDir{fd: int(f.Fd()), file: f}, nil
}

func (d *rawDir) close() {
	if d.file != nil {
		d.file.Close()
		return
	}
	unix.Close(d.fd)
}

const openFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY

func (d *rawDir) openat(name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(d.fd, name, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func (d *rawDir) open(_ context.Context, name string) (directory, error) {
	fd, err := d.openat(name, openFlags|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &rawDir{fd: fd}, nil
}

func (d *rawDir) read(_ context.Context, name string, buf []byte, limit int64) ([]byte, error) {
	fd, err := d.openat(name, openFlags)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	buf = buf[:cap(buf)]
	for n, room := 0, min(headSize, len(buf)); ; {
		if n == len(buf) {
			if buf, err = grow(fd, buf, limit); err != nil {
				return buf, err
			}
			room = len(buf)
		}
		m, err := unix.Read(fd, buf[n:room])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return buf, &fs.PathError{Op: "read", Path: name, Err: err}
		}
		n += m
		switch {
		case m == 0 && limit >= 0 && int64(n) > limit:
			return buf, errTooBig
		case m == 0:
			return buf[:n], nil
		case n == headSize && binaryHead(buf[:n]):
			return buf, errBinary
		case n >= headSize:
			room = len(buf)
		}
	}
}

// grow returns a buffer for the whole file, unless that is larger than limit.
func grow(fd int, buf []byte, limit int64) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return buf, err
	}
	if limit >= 0 && (st.Size > limit || int64(len(buf)) > limit) {
		return buf, errTooBig
	}
	// One extra byte, so that the read that finds the end needs no growing.
	want := max(int(st.Size)+1, 2*len(buf), 4096)
	return append(make([]byte, 0, want), buf...)[:want], nil
}

func (d *rawDir) stat(_ context.Context, name string) (entry, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return entry{}, &fs.PathError{Op: "stat", Path: name, Err: err}
		}
		d := &details{
			size:    st.Size,
			modTime: time.Unix(st.Mtim.Unix()),
			mode:    fileMode(st.Mode),
			changed: st.Ctim.Nano(),
			inode:   st.Ino,
		}
		return entry{name: name, kind: modeKind(st.Mode), details: d}, nil
	}
}

func modeKind(mode uint32) kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return fileKind
	case unix.S_IFDIR:
		return dirKind
	case unix.S_IFLNK:
		return linkKind
	}
	return otherKind
}

// fileMode converts the mode of a file, a directory or a symbolic link.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	for _, bit := range [...]struct {
		unix uint32
		mode fs.FileMode
	}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}} {
		if mode&bit.unix != 0 {
			m |= bit.mode
		}
	}
	switch modeKind(mode) {
	case fileKind:
		return m
	case dirKind:
		return m | fs.ModeDir
	case linkKind:
		return m | fs.ModeSymlink
	}
	return m | fs.ModeIrregular
}

// list returns the entries in kernel order. All names from one system call share a string.
func (d *rawDir) list(ctx context.Context, room []byte) ([]entry, error) {
	var entries []entry
	for {
		n, err := unix.ReadDirent(d.fd, room)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "readdirent", Path: ".", Err: err}
		}
		if n == 0 {
			break
		}
		entries = appendEntries(entries, string(room[:n]), room[:n])
	}
	for i := range entries {
		// Some file systems do not report the kind.
		if entries[i].kind == unknownKind {
			st, err := d.stat(ctx, entries[i].name)
			if err != nil {
				st.kind = otherKind
			}
			entries[i].kind = st.kind
		}
	}
	return entries, nil
}

const unknownKind kind = 255

// appendEntries parses linux_dirent64 records: 8 bytes of inode, 8 of offset, 2 of record length, 1 of
// type, and the name with a NUL. text is a copy of block for the names.
func appendEntries(entries []entry, text string, block []byte) []entry {
	const header, typical = 19, 32
	entries = slices.Grow(entries, len(block)/typical)
	for pos := 0; pos+header <= len(block); {
		length := int(binary.NativeEndian.Uint16(block[pos+16:]))
		if length < header || pos+length > len(block) {
			break
		}
		size := bytes.IndexByte(block[pos+header:pos+length], 0)
		if size < 0 {
			size = length - header
		}
		name := text[pos+header : pos+header+size]
		if name != "." && name != ".." {
			entries = append(entries, entry{name: name, kind: direntKind(block[pos+18])})
		}
		pos += length
	}
	return entries
}

func direntKind(t byte) kind {
	switch t {
	case unix.DT_REG:
		return fileKind
	case unix.DT_DIR:
		return dirKind
	case unix.DT_LNK:
		return linkKind
	case unix.DT_UNKNOWN:
		return unknownKind
	}
	return otherKind
}

// changeOf returns a file's change time and inode.
func changeOf(info fs.FileInfo) (changed int64, inode uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return st.Ctim.Nano(), st.Ino
}
