package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
)

// The index caches content hashes. It contains a snapshot's settled files:
//
//	magic, then for each folder: path, number of files, and for each file: entry, size, times, inode;
//	at the end the SHA-256 of everything before
const (
	indexName  = "index"
	indexMagic = "reinsix1"
)

// loadIndex reads the index. A missing or damaged index is empty, so all files are read again.
func (s *Store) loadIndex() *snapshot {
	data, err := readRegular(filepath.Join(s.dir, indexName))
	if err == nil {
		if snap, err := decodeIndex(data); err == nil {
			return snap
		}
	}
	return newSnapshot()
}

// saveIndex replaces the index. It need not survive a crash, so it is not synced, and errors only make
// the next checkpoint slower.
func (s *Store) saveIndex(snap *snapshot) {
	temp := filepath.Join(s.dir, tempPrefix+indexName)
	err := s.do("write index", func() error { return os.WriteFile(temp, encodeIndex(snap), 0o600) })
	if err == nil {
		s.do("rename index", func() error { return os.Rename(temp, filepath.Join(s.dir, indexName)) })
	}
}

func encodeIndex(snap *snapshot) []byte {
	b := make([]byte, 0, len(snap.folders)*64+snap.files*128)
	b = append(b, indexMagic...)
	for _, f := range snap.folders {
		count := 0
		for i := range f.nodes {
			if f.nodes[i].indexed() {
				count++
			}
		}
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

func (n *node) indexed() bool { return n.settled && n.isFile() }

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
