package filestore

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/reins-agent/reins/internal/jsonscan"
)

const (
	listName = ".list"
	// listStep is how many copies .list must lack to be written again.
	listStep = 100
	// maxList limits the size of .list, and memory in readers.
	maxList = 64 << 20
	// settled is how old a log must be to be copied. After a younger log's change, some file systems show the same time.
	settled = 2 * time.Second
)

// copies are the lines of .list by the name of their session directory.
type copies map[string][]byte

// copyLine is a line in .list.
type copyLine struct {
	Name  string          `json:"name"`
	Time  int64           `json:"log_time"` // in nanoseconds
	Inode uint64          `json:"log_inode"`
	Index json.RawMessage `json:"index"` // content of meta.json
}

// newCopy returns a line without its checksum: the content of a session's meta.json, which covers the whole log. It
// returns nil for a log that was just written.
func newCopy(name string, log fs.FileInfo, index []byte) []byte {
	if time.Since(log.ModTime()) < settled {
		return nil
	}
	object, err := json.Marshal(copyLine{name, log.ModTime().UnixNano(), inode(log), index})
	if err != nil {
		return nil
	}
	return object
}

// openCopy reads a line for a session whose log has not changed since. It also returns the line without its checksum. It
// overwrites the line.
func openCopy(line []byte, log fs.FileInfo) (x index, object []byte, ok bool) {
	object, err := openLine(line)
	if err != nil {
		return x, nil, false
	}
	r := jsonscan.Read(object)
	r.Open("{")
	if !r.Member("name") {
		return x, nil, false
	}
	r.Skip()
	if required(&r, "log_time") != log.ModTime().UnixNano() || !r.Member("log_inode") {
		return x, nil, false
	}
	if n, err := strconv.ParseUint(string(r.Raw()), 10, 64); err != nil || n != inode(log) || !r.Member("index") {
		return x, nil, false
	}
	x, err = checkIndex(r.Last())
	return x, object, err == nil && x.Size == log.Size()
}

// readCopies reads .list. Each line is checked when it is opened.
func (s *Store) readCopies() copies {
	f, err := s.openFile(filepath.Join(s.dir, listName), os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > maxList {
		return nil
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	lines := make(copies)
	for line := range bytes.Lines(data[:n]) {
		r := jsonscan.Read(line)
		r.Open("{")
		if r.Member("name") {
			lines[r.Text()] = line
		}
	}
	return lines
}

// saveCopies writes .list if it lacks many copies, or has copies of deleted sessions. It ignores errors, because .list
// only saves time.
func (s *Store) saveCopies(names []string, list []described, saved copies) {
	size, lacks, deleted := 0, 0, len(saved)
	for i, d := range list {
		if _, ok := saved[names[i]]; ok {
			deleted--
		}
		if size += len(d.copy); d.read && d.copy != nil {
			lacks++
		}
	}
	if lacks < listStep && deleted == 0 || size > maxList {
		return
	}
	lock, err := s.files.Lock(s.lockPath(listName))
	if err != nil {
		return // another process writes it
	}
	defer lock.Close()
	if s.writeCopies(list) != nil {
		return
	}
	// A session may have been deleted meanwhile. Delete removes .list afterwards, so one of both notices.
	left, err := s.names()
	exists := make(map[string]bool, len(left))
	for _, name := range left {
		exists[name] = true
	}
	if err != nil || slices.ContainsFunc(names, func(name string) bool { return !exists[name] }) {
		s.forgetCopies()
	}
}

// writeCopies replaces .list. The file is not flushed: readers detect crash damage.
func (s *Store) writeCopies(list []described) error {
	temporary := filepath.Join(s.dir, listName+".new")
	f, err := s.openFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, readSize)
	var line []byte
	for _, d := range list {
		if d.copy == nil {
			continue
		}
		line, err = endLine(append(line[:0], d.copy...), 0)
		if err != nil {
			break
		}
		if _, err = out.Write(line); err != nil {
			break
		}
	}
	if err := errors.Join(err, out.Flush(), f.Close()); err != nil {
		return err
	}
	return s.files.Rename(temporary, filepath.Join(s.dir, listName))
}

// forgetCopies removes .list.
func (s *Store) forgetCopies() {
	_ = s.files.RemoveAll(filepath.Join(s.dir, listName))
	_ = s.files.RemoveAll(filepath.Join(s.dir, listName+".new"))
}
