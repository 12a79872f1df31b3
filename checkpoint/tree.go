package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// kind is an entry's kind, as stored.
type kind byte

const (
	fileKind  kind = 'f' // with the content hash
	largeKind kind = 'F' // a file in pieces, with the hash of their list
	linkKind  kind = 'l'
	dirKind   kind = 'd' // with the tree hash
)

// modeBits are the recorded mode bits.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// entry is a file, link or directory in a tree.
type entry struct {
	name   string
	kind   kind
	mode   fs.FileMode // modeBits; 0 for links
	size   int64       // file size
	hash   hash        // unset for links
	target string      // link target
}

func (e *entry) isDir() bool  { return e != nil && e.kind == dirKind }
func (e *entry) isFile() bool { return e.kind == fileKind || e.kind == largeKind }

// sameContent reports whether two entries differ at most in name and mode.
func (e *entry) sameContent(o *entry) bool {
	return e.kind == o.kind && e.hash == o.hash && e.target == o.target
}

// appendEntry encodes an entry: kind, mode, name, and then target, or size and hash. A tree is sorted
// by name, so that equal directories have equal trees.
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

var errEncoding = errors.New("invalid encoding")

// decodeTree decodes a tree's entries. It refuses names that a workspace cannot have, because entries are written to
// one.
func decodeTree(data []byte) ([]entry, error) {
	var entries []entry
	d := decoder{text: string(data)}
	for d.text != "" && d.err == nil {
		e := d.entry()
		if d.err == nil && !validName(e.name) {
			d.err = fmt.Errorf("invalid file name %q", e.name)
		}
		if n := len(entries); d.err == nil && n > 0 && entries[n-1].name >= e.name {
			d.err = errEncoding
		}
		entries = append(entries, e)
	}
	return entries, d.err
}

// validName reports whether a name can be recorded and restored. .git is refused in any case, because some file systems
// ignore it.
func validName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00") && !strings.EqualFold(name, ".git")
}

// decoder decodes what the append functions encode. After an error it returns zero values.
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

// take returns the next n bytes.
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
