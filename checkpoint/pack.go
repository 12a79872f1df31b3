package checkpoint

import (
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// A pack contains objects, a table with their positions, and a footer:
//
//	table   for each object: hash (32), offset (8), stored length (4), length (4)
//	footer  table offset (8), hash over table and offset (32), magic (8)
//
// Numbers are big-endian. An object whose stored length is less than its length is compressed with DEFLATE.
const (
	packMagic   = "reinspk1"
	tableRow    = sha256.Size + 8 + 4 + 4
	footerSize  = 8 + sha256.Size + 8
	packSuffix  = ".pack"
	minDeflated = 512 // smaller objects are not compressed
)

// hash is the SHA-256 of an object's content, which identifies the object.
type hash [sha256.Size]byte

func (h hash) String() string { return hex.EncodeToString(h[:]) }

// span is an object's position in its pack.
type span struct {
	offset       int64
	stored, size uint32
}

// packWriter writes new objects to a pack, which is created with the first object. Objects may be added concurrently.
type packWriter struct {
	store *Store
	have  func(hash) bool // reports objects that need not be written

	deflaters sync.Pool

	mu     sync.Mutex
	added  map[hash]span
	order  []hash
	file   *os.File
	out    *bufio.Writer
	offset int64
	err    error // first failure, after which the pack is useless
}

func newPackWriter(s *Store, have func(hash) bool) *packWriter {
	return &packWriter{store: s, have: have, added: map[hash]span{}}
}

// add writes an object unless it exists.
func (p *packWriter) add(data []byte) (hash, error) {
	if len(data) > maxObject {
		return hash{}, errors.New("a directory has too many files")
	}
	h := sha256.Sum256(data)
	if p.have(h) {
		return h, nil
	}
	p.mu.Lock()
	_, dup := p.added[h]
	if !dup {
		p.added[h] = span{}
	}
	p.mu.Unlock()
	if dup {
		return h, nil
	}
	stored := p.deflate(data)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = p.write(h, stored, len(data))
	}
	return h, p.err
}

func (p *packWriter) write(h hash, stored []byte, size int) (err error) {
	if p.file == nil {
		if p.file, err = p.store.createTemp(p.store.packs()); err != nil {
			return err
		}
		p.out = bufio.NewWriterSize(p.file, 256<<10)
	}
	err = p.store.do("write object", func() error {
		_, err := p.out.Write(stored)
		return err
	})
	p.added[h] = span{p.offset, uint32(len(stored)), uint32(size)}
	p.order = append(p.order, h)
	p.offset += int64(len(stored))
	return err
}

// failure returns the error that made the pack useless, if any.
func (p *packWriter) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// deflate compresses data, or returns it unchanged if that saves less than an eighth.
func (p *packWriter) deflate(data []byte) []byte {
	if len(data) < minDeflated {
		return data
	}
	d, _ := p.deflaters.Get().(*deflater)
	if d == nil {
		d = new(deflater)
		d.w, _ = flate.NewWriter(&d.buf, flate.BestSpeed) // fails only for an invalid level
	}
	defer p.deflaters.Put(d)
	// Try the beginning first: compressing everything may be wasted effort.
	const head = 64 << 10
	if len(data) > 2*head && !d.pays(data[:head]) || !d.pays(data) {
		return data
	}
	return bytes.Clone(d.buf.Bytes())
}

type deflater struct {
	buf bytes.Buffer
	w   *flate.Writer
}

// pays compresses data into buf and reports whether that saves enough.
func (d *deflater) pays(data []byte) bool {
	d.buf.Reset()
	d.w.Reset(&d.buf)
	d.w.Write(data)
	d.w.Close()
	return d.buf.Len() <= len(data)-len(data)/8
}

// finish makes the pack durable. It does nothing if no object was added.
func (p *packWriter) finish() error {
	if p.err != nil || p.file == nil {
		return p.err
	}
	f := p.file
	p.file = nil
	if err := p.store.publish(f, filepath.Join(p.store.packs(), newName()+packSuffix), p.seal()); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	return nil
}

// seal writes table and footer.
func (p *packWriter) seal() error {
	tail := make([]byte, 0, len(p.order)*tableRow+footerSize)
	for _, h := range p.order {
		at := p.added[h]
		tail = append(tail, h[:]...)
		tail = binary.BigEndian.AppendUint64(tail, uint64(at.offset))
		tail = binary.BigEndian.AppendUint32(tail, at.stored)
		tail = binary.BigEndian.AppendUint32(tail, at.size)
	}
	tail = binary.BigEndian.AppendUint64(tail, uint64(p.offset))
	sum := sha256.Sum256(tail)
	tail = append(append(tail, sum[:]...), packMagic...)
	return p.store.do("write table", func() error {
		if _, err := p.out.Write(tail); err != nil {
			return err
		}
		return p.out.Flush()
	})
}

// abort removes the file. After finish it does nothing.
func (p *packWriter) abort() {
	if p.file != nil {
		p.file.Close()
		os.Remove(p.file.Name())
		p.file = nil
	}
}

// row is a row in a pack table.
type row struct {
	hash
	span
}

// readTable reads a pack table.
func readTable(f *os.File, size int64) ([]row, error) {
	var footer [footerSize]byte
	if _, err := f.ReadAt(footer[:], max(0, size-footerSize)); err != nil {
		return nil, damage(f, err, "truncated file")
	}
	if string(footer[footerSize-len(packMagic):]) != packMagic {
		return nil, damage(f, nil, "not a pack, or truncated")
	}
	start, end := int64(binary.BigEndian.Uint64(footer[:])), size-footerSize
	if start < 0 || start > end || (end-start)%tableRow != 0 {
		return nil, damage(f, nil, "invalid footer")
	}
	table := make([]byte, end-start+8)
	if _, err := f.ReadAt(table, start); err != nil {
		return nil, damage(f, err, "truncated table")
	}
	if sum := sha256.Sum256(table); !bytes.Equal(sum[:], footer[8:8+sha256.Size]) {
		return nil, damage(f, nil, "wrong checksum of the table")
	}
	rows := make([]row, 0, len(table)/tableRow)
	for b := table[:end-start]; len(b) > 0; b = b[tableRow:] {
		at := span{int64(binary.BigEndian.Uint64(b[32:])), binary.BigEndian.Uint32(b[40:]), binary.BigEndian.Uint32(b[44:])}
		if at.offset < 0 || at.offset+int64(at.stored) > start || at.stored > at.size || at.size > maxObject {
			return nil, damage(f, nil, "invalid table")
		}
		rows = append(rows, row{hash(b), at})
	}
	return rows, nil
}

// damage returns a DamagedError, unless err is a failure to read the file rather than its end.
func damage(f *os.File, err error, reason string) error {
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return &DamagedError{filepath.Base(f.Name()), reason}
}
