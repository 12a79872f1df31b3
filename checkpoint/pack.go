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
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// A pack is the objects one after the other, a table that says where each is, and a footer:
//
//	table   per object: hash (32), offset (8), stored length (4), length (4)
//	footer  offset of the table (8), hash of table and offset (32), magic (8)
//
// Numbers are big-endian. An object whose stored length is below its length is deflated.
const (
	packMagic   = "reinspk1"
	tableRow    = sha256.Size + 8 + 4 + 4
	footerSize  = 8 + sha256.Size + 8
	packSuffix  = ".pack"
	tempPrefix  = "tmp-"
	minDeflated = 512 // below this, compressing does not pay
)

// hash is the name of an object: the SHA-256 of its content.
type hash [sha256.Size]byte

func (h hash) String() string { return hex.EncodeToString(h[:]) }

// span is where an object is in its pack.
type span struct {
	offset       int64
	stored, size uint32
}

// packWriter collects new objects. Its file is made when there is a first one. Objects may be
// added concurrently.
type packWriter struct {
	dir  string
	have func(hash) bool // objects that need not be written
	step func(string) error

	deflaters sync.Pool

	mu     sync.Mutex
	added  map[hash]span
	order  []hash
	file   *os.File
	out    *bufio.Writer
	offset int64
	err    error // the first failure, after which the pack is worthless
}

func newPackWriter(dir string, have func(hash) bool, step func(string) error) *packWriter {
	return &packWriter{dir: dir, have: have, step: step, added: map[hash]span{}}
}

// add writes an object unless it is already there.
func (p *packWriter) add(data []byte) (hash, error) {
	if len(data) > maxObject {
		return hash{}, errors.New("a directory holds too many files")
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
	return h, p.write(h, stored, len(data))
}

func (p *packWriter) write(h hash, stored []byte, size int) error {
	if p.err == nil && p.file == nil {
		p.err = p.create()
	}
	if p.err == nil {
		p.err = p.step("write object")
	}
	if p.err == nil {
		_, p.err = p.out.Write(stored)
	}
	if p.err != nil {
		return p.err
	}
	p.added[h] = span{p.offset, uint32(len(stored)), uint32(size)}
	p.order = append(p.order, h)
	p.offset += int64(len(stored))
	return nil
}

func (p *packWriter) create() (err error) {
	if err := p.step("create pack"); err != nil {
		return err
	}
	p.file, err = os.OpenFile(filepath.Join(p.dir, tempPrefix+newName()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		p.out = bufio.NewWriterSize(p.file, 256<<10)
	}
	return err
}

// deflate compresses what becomes at least an eighth smaller, and returns the rest as it is.
func (p *packWriter) deflate(data []byte) []byte {
	if len(data) < minDeflated {
		return data
	}
	d, _ := p.deflaters.Get().(*deflater)
	if d == nil {
		d = newDeflater()
	}
	defer p.deflaters.Put(d)
	// The head tells whether the rest is worth the effort.
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

func newDeflater() *deflater {
	d := new(deflater)
	d.w, _ = flate.NewWriter(&d.buf, flate.BestSpeed) // fails only for a level that does not exist
	return d
}

// pays compresses data into buf and reports whether that was worth it.
func (d *deflater) pays(data []byte) bool {
	d.buf.Reset()
	d.w.Reset(&d.buf)
	d.w.Write(data)
	d.w.Close()
	return d.buf.Len() <= len(data)-len(data)/8
}

// finish makes the pack durable. There is none if nothing was added.
func (p *packWriter) finish() error {
	if p.err != nil || p.file == nil {
		p.abort()
		return p.err
	}
	temp := p.file.Name()
	err := p.seal()
	if cerr := p.file.Close(); err == nil {
		err = cerr
	}
	p.file = nil
	if err == nil {
		err = p.step("rename pack")
	}
	if err == nil {
		err = os.Rename(temp, filepath.Join(p.dir, newName()+packSuffix))
	}
	if err != nil {
		os.Remove(temp)
		return fmt.Errorf("write a pack of the checkpoint store: %w", err)
	}
	if err := p.step("sync packs"); err != nil {
		return err
	}
	return syncDir(p.dir)
}

// seal writes table and footer and brings all of it to the disk.
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
	if err := p.step("write table"); err != nil {
		return err
	}
	if _, err := p.out.Write(tail); err != nil {
		return err
	}
	if err := p.out.Flush(); err != nil {
		return err
	}
	if err := p.step("sync pack"); err != nil {
		return err
	}
	return p.file.Sync()
}

// abort removes what was written. After finish it does nothing.
func (p *packWriter) abort() {
	if p.file != nil {
		p.file.Close()
		os.Remove(p.file.Name())
		p.file = nil
	}
}

// row is an object of a pack and where it is.
type row struct {
	hash
	span
}

// readTable reads where the objects of a pack are.
func readTable(f *os.File) ([]row, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var footer [footerSize]byte
	if _, err := f.ReadAt(footer[:], max(0, info.Size()-footerSize)); err != nil {
		return nil, damage(f, err, "the file is cut off")
	}
	if string(footer[footerSize-len(packMagic):]) != packMagic {
		return nil, damage(f, nil, "the file does not end as a pack does")
	}
	start, end := int64(binary.BigEndian.Uint64(footer[:])), info.Size()-footerSize
	if start < 0 || start > end || (end-start)%tableRow != 0 {
		return nil, damage(f, nil, "its footer is wrong")
	}
	table := make([]byte, end-start+8)
	if _, err := f.ReadAt(table, start); err != nil {
		return nil, damage(f, err, "its table is cut off")
	}
	if sum := sha256.Sum256(table); !bytes.Equal(sum[:], footer[8:8+sha256.Size]) {
		return nil, damage(f, nil, "the checksum of its table is wrong")
	}
	rows := make([]row, 0, len(table)/tableRow)
	for b := table[:end-start]; len(b) > 0; b = b[tableRow:] {
		at := span{int64(binary.BigEndian.Uint64(b[32:])), binary.BigEndian.Uint32(b[40:]), binary.BigEndian.Uint32(b[44:])}
		if at.offset < 0 || at.offset+int64(at.stored) > start || at.stored > at.size || at.size > maxObject {
			return nil, damage(f, nil, "its table is wrong")
		}
		rows = append(rows, row{hash(b), at})
	}
	return rows, nil
}

// damage describes a fault of a file, unless the file could not be read for another reason.
func damage(f *os.File, err error, reason string) error {
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return &DamagedError{filepath.Base(f.Name()), reason}
}
