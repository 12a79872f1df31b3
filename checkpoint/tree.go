package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// kind is the kind of an entry of a directory, as trees are written.
type kind byte

const (
	fileKind  kind = 'f' // the hash is that of the content
	largeKind kind = 'F' // a file in pieces; the hash is that of the list of their hashes
	linkKind  kind = 'l'
	dirKind   kind = 'd' // the hash is that of the directory's tree
)

// modeBits are what is recorded of a mode.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// entry is a file, link or directory in a tree.
type entry struct {
	name   string
	kind   kind
	mode   fs.FileMode // modeBits; 0 for links
	size   int64       // of files
	hash   hash        // not of links
	target string      // of links
}

func (e *entry) isDir() bool { return e != nil && e.kind == dirKind }

// sameContent reports whether two entries differ at most in name and mode.
func (e *entry) sameContent(o *entry) bool {
	return e.kind == o.kind && e.hash == o.hash && e.target == o.target
}

// fileMode is the mode with the kind in it.
func (e *entry) fileMode() fs.FileMode {
	switch e.kind {
	case dirKind:
		return e.mode | fs.ModeDir
	case linkKind:
		return fs.ModeSymlink | fs.ModePerm
	}
	return e.mode
}

// appendEntry writes an entry: kind, mode, name, and what its kind has. Entries of a tree stand in
// byte order of their names, so equal directories have equal trees.
func appendEntry(b []byte, e *entry) []byte {
	b = append(b, byte(e.kind))
	b = binary.AppendUvarint(b, uint64(e.mode))
	b = appendString(b, e.name)
	if e.kind == linkKind {
		return appendString(b, e.target)
	}
	if e.kind != dirKind {
		b = binary.AppendUvarint(b, uint64(e.size))
	}
	return append(b, e.hash[:]...)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errEncoding = errors.New("it is not encoded as it should be")

// decodeTree reads the entries of a tree. It accepts nothing that could not be in a workspace,
// since what it returns is written there.
func decodeTree(data []byte) ([]entry, error) {
	var entries []entry
	d := decoder{text: string(data)}
	for d.text != "" && d.err == nil {
		e := d.entry()
		if d.err == nil && !validName(e.name) {
			d.err = fmt.Errorf("it names a file %q", e.name)
		}
		if n := len(entries); d.err == nil && n > 0 && entries[n-1].name >= e.name {
			d.err = errEncoding
		}
		entries = append(entries, e)
	}
	return entries, d.err
}

// validName reports whether a name can be recorded and restored. Git's directory is not to be
// touched, and on some file systems any case of its name leads to it.
func validName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00") && !strings.EqualFold(name, ".git")
}

// decoder reads what the append functions write. After a fault it gives zero values.
type decoder struct {
	text string
	err  error
}

func (d *decoder) entry() entry {
	e := entry{kind: kind(d.byte()), mode: fs.FileMode(d.uint()), name: d.string()}
	if e.mode&^modeBits != 0 {
		d.err = errEncoding
	}
	switch e.kind {
	case linkKind:
		e.target = d.string()
	case fileKind, largeKind:
		if e.size = int64(d.uint()); e.size < 0 {
			d.err = errEncoding
		}
		e.hash = d.hash()
	case dirKind:
		e.hash = d.hash()
	default:
		d.err = errEncoding
	}
	return e
}

// take cuts off the next n bytes.
func (d *decoder) take(n uint64) string {
	if d.err != nil || n > uint64(len(d.text)) {
		d.err = errEncoding
		return ""
	}
	s := d.text[:n]
	d.text = d.text[n:]
	return s
}

func (d *decoder) byte() byte {
	if s := d.take(1); s != "" {
		return s[0]
	}
	return 0
}

func (d *decoder) uint() uint64 {
	var v uint64
	for shift := 0; d.err == nil; shift += 7 {
		b := d.byte()
		if shift > 63 || shift == 63 && b > 1 || shift > 0 && b == 0 {
			d.err = errEncoding
			break
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			break
		}
	}
	return v
}

func (d *decoder) string() string { return d.take(d.uint()) }

func (d *decoder) hash() (h hash) {
	copy(h[:], d.take(sha256.Size))
	return h
}
