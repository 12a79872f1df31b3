package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/reins-agent/reins/internal/filelock"
)

// Config configures a log. Zero fields mean the defaults.
type Config struct {
	MaxSize int64 // bytes per file; default 16 MiB
	Keep    int   // older files to keep; default 10
}

// Defaults for Config.
const (
	DefaultMaxSize = 16 << 20
	DefaultKeep    = 10
)

// Log appends to an audit log. It may be used concurrently, also by several processes: between calls it has no open
// files.
type Log struct {
	path   string
	config Config

	mu   sync.Mutex
	last head        // log end when this process last wrote
	was  os.FileInfo // the file at that time; nil if unknown
	size int64       // file size at that time

	// Set only while lines are written.
	lock *os.File // locked; holds the last number and hash
	file *os.File
}

// head is the end of a log.
type head struct {
	Seq     int64  `json:"seq"`
	Hash    string `json:"hash"`
	Dropped int64  `json:"dropped,omitempty"` // last line that rotation has removed
}

// maxWait limits the wait for another process that is writing a line.
const maxWait = 10 * time.Second

var errLocked = errors.New("another process has locked it")

// headName returns the path of the head file beside a log.
func headName(path string) string { return path + ".head" }

// Open opens a log, and creates it if necessary. Only the user can read it. It fails if path is a symbolic link or not
// a regular file.
func Open(path string, c Config) (*Log, error) {
	if c.MaxSize <= 0 {
		c.MaxSize = DefaultMaxSize
	}
	if c.Keep <= 0 {
		c.Keep = DefaultKeep
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, openFailed(err)
	}
	l := &Log{path: path, config: c}
	if err := l.open(); err != nil {
		return nil, openFailed(err)
	}
	return l, l.close()
}

func openFailed(err error) error { return fmt.Errorf("cannot open the audit log: %w", err) }

// openFile opens a regular file, refusing symbolic links.
func openFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|openFlags, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, f.Close(), &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")})
	}
	return f, nil
}

// open opens and locks the files.
func (l *Log) open() (err error) {
	if l.lock, err = openFile(headName(l.path), os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	if err = lock(l.lock); err == nil {
		err = l.openLog()
	}
	if err != nil {
		err = errors.Join(err, l.lock.Close())
	}
	return err
}

func (l *Log) openLog() (err error) {
	l.file, err = openFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	return err
}

// close closes and unlocks the files.
func (l *Log) close() error {
	return errors.Join(l.file.Close(), filelock.Unlock(l.lock), l.lock.Close())
}

// Sync flushes the log to disk.
func (l *Log) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return l.failed(err)
	}
	return errors.Join(l.file.Sync(), l.close())
}

// Append appends entries in order, one write each, and returns how many it has appended. A failed entry leaves at most a
// torn line, which the next Append marks.
func (l *Log) Append(entries ...Entry) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return 0, l.failed(err)
	}
	for err == nil && n < len(entries) {
		if err = l.append(entries[n]); err == nil {
			n++
			err = l.saveHead()
		}
	}
	if info, err := l.file.Stat(); err == nil {
		l.was = info
	}
	if err = errors.Join(err, l.close()); err != nil {
		return n, l.failed(err)
	}
	return n, nil
}

func (l *Log) failed(err error) error { return fmt.Errorf("cannot write the audit log: %w", err) }

// append appends one entry. The caller has locked the log.
func (l *Log) append(e Entry) error {
	torn, err := l.catchUp()
	if err != nil {
		return err
	}
	line := Line{Seq: l.last.Seq + 1, Entry: e, Torn: torn, Prev: l.last.Hash}
	b, err := line.encode()
	if err != nil {
		return err
	}
	if l.size > 0 && l.size+int64(len(b)) > l.config.MaxSize {
		if err := l.rotate(); err != nil {
			return err
		}
		line.Dropped = l.last.Dropped
		if b, err = line.encode(); err != nil {
			return err
		}
	}
	if err := l.write(b); err != nil {
		return err
	}
	l.last.Seq = line.Seq
	l.last.Hash = line.Hash
	l.size = l.size + int64(len(b))
	return nil
}

// write writes a line, and removes it again if that fails. If it cannot be removed either, the line is torn.
func (l *Log) write(b []byte) error {
	n, err := l.file.Write(b)
	if err != nil && n > 0 {
		err = errors.Join(err, l.file.Truncate(l.size))
	}
	return err
}

// catchUp finds the log end, which another process may have written or replaced. It terminates an incomplete line and
// returns its hash.
func (l *Log) catchUp() (torn string, err error) {
	mine, err := l.file.Stat()
	if err != nil {
		return "", err
	}
	if l.was != nil && os.SameFile(l.was, mine) && mine.Size() == l.size {
		return "", nil
	}
	end, torn, err := lastLine(l.file, mine.Size())
	if err != nil {
		return "", err
	}
	if torn != "" {
		if _, err := l.file.Write([]byte("\n")); err != nil {
			return "", err
		}
		if mine, err = l.file.Stat(); err != nil {
			return "", err
		}
	}
	// The chain continues from the last line that was written, so that lines removed at the end are noticed.
	saved := readHead(l.lock)
	if saved.Seq >= end.Seq {
		end = saved
	}
	end.Dropped = saved.Dropped
	l.last = end
	l.was = mine
	l.size = mine.Size()
	return torn, nil
}

// lastLine returns the last line in a file, and the hash of an incomplete line after it.
func lastLine(f *os.File, size int64) (last head, torn string, err error) {
	for chunk := int64(64 << 10); ; chunk *= 4 {
		start := max(0, size-chunk)
		b := make([]byte, size-start)
		if _, err := f.ReadAt(b, start); err != nil && err != io.EOF {
			return last, "", err
		}
		if start > 0 { // the first line may be incomplete
			if i := bytes.IndexByte(b, '\n'); i >= 0 {
				b = b[i+1:]
			} else {
				b = nil
			}
		}
		if i := bytes.LastIndexByte(b, '\n'); len(b) > 0 && i != len(b)-1 {
			torn = hashOf(b[i+1:])
			b = b[:i+1]
		}
		for len(b) > 0 {
			b = b[:len(b)-1]
			i := bytes.LastIndexByte(b, '\n') + 1
			if l, err := decode(b[i:]); err == nil {
				return head{Seq: l.Seq, Hash: l.Hash}, torn, nil
			}
			b = b[:i]
		}
		if start == 0 {
			return last, torn, nil
		}
	}
}

// rotate renames all files and begins a new one. If a file cannot be renamed, as on Windows while another process has
// it open, the log continues in it.
func (l *Log) rotate() error {
	if err := errors.Join(l.file.Sync(), l.file.Close()); err != nil {
		return err
	}
	free := 1
	for ; free < l.config.Keep; free++ {
		if _, err := os.Lstat(numbered(l.path, free)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	err := l.drop(numbered(l.path, free))
	for ; err == nil && free > 0; free-- {
		err = os.Rename(numbered(l.path, free-1), numbered(l.path, free))
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err := l.openLog(); err != nil {
		return err
	}
	if l.was, err = l.file.Stat(); err != nil {
		return err
	}
	l.size = l.was.Size()
	return nil
}

// drop records the last line number in a file that is about to be replaced, if the file exists.
func (l *Log) drop(name string) error {
	f, err := openFile(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	last, _, err := lastLine(f, info.Size())
	if err != nil {
		return err
	}
	l.last.Dropped = max(l.last.Dropped, last.Seq)
	return l.saveHead()
}

// lock waits up to maxWait for another process to unlock the file.
func lock(f *os.File) error {
	if ok, err := filelock.Try(f); ok || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), maxWait, errLocked)
	defer cancel()
	return filelock.Wait(ctx, f)
}

// numbered returns the path of an older file; 1 is the newest, and 0 is the log itself.
func numbered(path string, i int) string {
	if i == 0 {
		return path
	}
	return path + "." + strconv.Itoa(i)
}

// saveHead saves the last number and hash, so that removing the last line is noticed.
func (l *Log) saveHead() error {
	b, err := json.Marshal(l.last)
	if err != nil {
		return err
	}
	b = append(b, bytes.Repeat([]byte(" "), max(0, 120-len(b)))...)
	_, err = l.lock.WriteAt(append(b, '\n'), 0)
	return err
}

// readHead returns the saved head, or the zero head if it is missing or invalid.
func readHead(f io.ReaderAt) (h head) {
	b := make([]byte, 256)
	n, _ := f.ReadAt(b, 0)
	_ = json.Unmarshal(bytes.TrimSpace(b[:n]), &h) // invalid JSON leaves the zero head
	return h
}
