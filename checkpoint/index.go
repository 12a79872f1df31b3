package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
)

// The index remembers which content a file had when it was last read. It is a snapshot without
// its directories and without the files whose identity does not vouch for their content:
//
//	magic, then per folder: path, number of nodes, and per node: entry, size, times, inode;
//	at the end the hash of all before it
const (
	indexName  = "index"
	indexMagic = "reinsix1"
)

// loadIndex reads the index. A missing or damaged one is empty: all files are then read.
func (s *Store) loadIndex() *snapshot {
	data, err := readRegular(filepath.Join(s.dir, indexName))
	if err == nil {
		if snap, err := decodeIndex(data); err == nil {
			return snap
		}
	}
	return newSnapshot()
}

// saveIndex replaces the index. It need not survive a crash, only not be half written.
func (s *Store) saveIndex(snap *snapshot) error {
	temp := filepath.Join(s.dir, tempPrefix+indexName)
	if err := s.step("write index"); err != nil {
		return err
	}
	if err := os.WriteFile(temp, encodeIndex(snap), 0o600); err != nil {
		os.Remove(temp)
		return err
	}
	if err := s.step("rename index"); err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(s.dir, indexName))
}

func (n *node) indexed() bool { return n.settled && (n.kind == fileKind || n.kind == largeKind) }

// settled counts the nodes that the index has room for.
func (s *snapshot) settled() int {
	count := 0
	for _, f := range s.folders {
		count += f.settled()
	}
	return count
}

func (f *folder) settled() int {
	count := 0
	for i := range f.nodes {
		if f.nodes[i].indexed() {
			count++
		}
	}
	return count
}

func encodeIndex(snap *snapshot) []byte {
	b := make([]byte, 0, len(snap.folders)*64+snap.files*128)
	b = append(b, indexMagic...)
	for _, f := range snap.folders {
		count := f.settled()
		if count == 0 {
			continue
		}
		b = binary.AppendUvarint(appendString(b, f.path), uint64(count))
		for i := range f.nodes {
			if n := &f.nodes[i]; n.indexed() {
				b = appendEntry(b, &n.entry)
				b = binary.AppendUvarint(b, uint64(n.id.size))
				b = binary.BigEndian.AppendUint64(b, uint64(n.id.modTime))
				b = binary.BigEndian.AppendUint64(b, uint64(n.id.changeTime))
				b = binary.AppendUvarint(b, n.id.inode)
			}
		}
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func decodeIndex(data []byte) (*snapshot, error) {
	end := len(data) - sha256.Size
	if end < len(indexMagic) || string(data[:len(indexMagic)]) != indexMagic {
		return nil, errEncoding
	}
	if sum := sha256.Sum256(data[:end]); hash(data[end:]) != sum {
		return nil, errEncoding
	}
	snap := newSnapshot()
	d := decoder{text: string(data[len(indexMagic):end])}
	for d.text != "" && d.err == nil {
		path := d.string()
		f := snap.byPath[path]
		if f == nil {
			f = snap.add(path)
		}
		count := d.uint()
		if count > uint64(len(d.text)) {
			return nil, errEncoding
		}
		f.nodes = make([]node, count)
		snap.files += int(count)
		for i := range f.nodes {
			f.nodes[i] = node{entry: d.entry(), id: d.identity(), settled: true}
		}
	}
	return snap, d.err
}

func (d *decoder) identity() identity {
	return identity{size: int64(d.uint()), modTime: d.int64(), changeTime: d.int64(), inode: d.uint()}
}

func (d *decoder) int64() int64 {
	s := d.take(8)
	if s == "" {
		return 0
	}
	return int64(binary.BigEndian.Uint64([]byte(s)))
}
