package gitrisk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Modes of entries in an index.
const (
	modeType = 0o170000
	modeDir  = 0o040000 // a directory in a sparse index
	modeRepo = 0o160000 // a nested repository
)

var errIndex = errors.New("the index cannot be parsed")

// index is a parsed index file of git.
type index struct {
	data    []byte
	version uint32
	count   uint32          // of entries
	hash    int             // bytes per object name
	paths   map[string]bool // nested repositories, and directories with unknown content
}

// nested returns the paths in an index that are nested repositories (true), and directories whose content the
// index does not list (false).
func nested(data []byte, hash int) (map[string]bool, error) {
	x := &index{data: data, hash: hash, paths: map[string]bool{}}
	if len(data) < 12+hash || string(data[:4]) != "DIRC" {
		return nil, errIndex
	}
	x.version = binary.BigEndian.Uint32(data[4:])
	if x.version < 2 || x.version > 4 {
		return nil, fmt.Errorf("the index has version %d", x.version)
	}
	x.data = data[:len(data)-hash]
	x.count = binary.BigEndian.Uint32(data[8:])
	end, ok := x.entries(12, x.count)
	if !ok || !x.offsetAgrees(end) {
		return nil, errIndex
	}
	return x.paths, x.extensions(end)
}

// entries reads n entries from a position and returns the position after them.
func (x *index) entries(pos int, n uint32) (end int, ok bool) {
	var name []byte
	for ; n > 0; n-- {
		head := pos + 40 + x.hash + 2
		if pos < 12 || head+2 > len(x.data) {
			return 0, false
		}
		mode := binary.BigEndian.Uint32(x.data[pos+24:])
		flags := binary.BigEndian.Uint16(x.data[head-2:])
		if flags&0x4000 != 0 { // more flags
			head += 2
		}
		if name, end = x.name(name, head); end < 0 {
			return 0, false
		}
		if length := int(flags & 0xfff); length != min(len(name), 0xfff) {
			return 0, false
		}
		if x.version < 4 { // padded with 1 to 8 NUL bytes
			end = pos + (end-pos+8)&^7
		} else {
			end++
		}
		if t := mode & modeType; t == modeRepo || t == modeDir {
			x.paths[string(name)] = t == modeRepo
		}
		pos = end
	}
	return pos, pos <= len(x.data)
}

// name returns an entry's name and the position of the NUL byte after it. Version 4 replaces the end of the previous
// name.
func (x *index) name(previous []byte, pos int) (name []byte, end int) {
	if x.version == 4 {
		strip, ok := 0, false
		if strip, pos, ok = x.varint(pos); !ok {
			return nil, -1
		}
		name = previous[:max(len(previous)-strip, 0)]
	}
	if pos > len(x.data) {
		return nil, -1
	}
	n := bytes.IndexByte(x.data[pos:], 0)
	if n < 0 {
		return nil, -1
	}
	if x.version < 4 {
		return x.data[pos : pos+n], pos + n
	}
	return append(name, x.data[pos:pos+n]...), pos + n
}

// varint reads a number in the encoding of pack offsets.
func (x *index) varint(pos int) (n, end int, ok bool) {
	for i := 0; pos < len(x.data) && i < 4; i++ {
		c := x.data[pos]
		pos++
		n += int(c & 0x7f)
		if c&0x80 == 0 {
			return n, pos, true
		}
		n = (n + 1) << 7
	}
	return 0, 0, false
}

// offsetAgrees reports whether the extensions start after the entries also for git, which finds them by an offset in
// the file's last bytes.
func (x *index) offsetAgrees(end int) bool {
	at := len(x.data) - (4 + 4 + 4 + x.hash)
	return at < 12 || string(x.data[at:at+4]) != "EOIE" || binary.BigEndian.Uint32(x.data[at+8:]) == uint32(end)
}

// extensions reads the extensions that change the meaning of entries.
func (x *index) extensions(pos int) error {
	for pos+8 <= len(x.data) {
		size := int(binary.BigEndian.Uint32(x.data[pos+4:]))
		body := x.data[pos+8:]
		if size > len(body) {
			return errIndex
		}
		body = body[:size]
		switch string(x.data[pos : pos+4]) {
		case "link":
			return errors.New("the index is split") // most entries are in another file
		case "IEOT": // git may read blocks of entries in parallel
			if !x.blocks(body[min(4, size):]) {
				return errIndex
			}
		}
		pos += 8 + size
	}
	return nil
}

// blocks reads the entries in an offset table.
func (x *index) blocks(table []byte) bool {
	left := x.count
	for block := range slices.Chunk(table, 8) {
		if len(block) < 8 {
			return false
		}
		n := binary.BigEndian.Uint32(block[4:])
		if n > left {
			return false
		}
		left -= n
		if _, ok := x.entries(int(binary.BigEndian.Uint32(block)), n); !ok {
			return false
		}
	}
	return true
}
