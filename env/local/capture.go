package local

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/reins-agent/reins/env"
)

const (
	// blockSize is the block size, and the maximum kept in memory.
	blockSize = 64 << 10
	// maxRuns limits the runs in a block.
	maxRuns = 4096
	// slotSize is the space for a block in the spool file: its bytes, then its runs.
	slotSize = blockSize + 4*maxRuns
)

// run is a sequence of bytes from one stream in a block. It holds the length, and in the lowest bit whether the stream
// is standard error.
type run uint32

func newRun(s env.Stream, n int) run {
	r := run(n) << 1
	if s == env.Stderr {
		r |= 1
	}
	return r
}

func (r run) len() int { return int(r >> 1) }

func (r run) stream() env.Stream {
	if r&1 != 0 {
		return env.Stderr
	}
	return env.Stdout
}

// block is a section of the interleaved output. The open block, and all blocks in a capture that stays in memory, have
// data and runs; the others are in the spool file.
type block struct {
	base [3]int64 // start offset, by stream
	size [3]int64 // bytes, by stream
	data []byte
	runs []run
	slot int64 // index in the spool file, or -1 in memory
	nrun int
}

// capture stores process output: both streams in one sequence of blocks, so each can be read alone or both interleaved,
// and every byte is stored once. Full blocks go to the spool file. Above the limit, the first half stays, and the
// second half becomes a window on the newest output that moves by whole blocks. With a limit of one block or less there
// is no file: the head is one block, and the open block is the window, which moves by bytes.
//
// Calls to fill must not overlap (process.pump ensures that). Reading is safe at any time.
type capture struct {
	limit   int64
	headMax int64
	spool   func() (*os.File, error) // creates the spool file when it is first needed

	mu       sync.Mutex
	open     block
	buf      []byte // open.data lies in it
	head     []block
	tail     []block // oldest first
	kept     [2]int64
	total    [3]int64
	dropped  int64
	file     *os.File
	slots    int64   // slots in the file
	free     []int64 // slots to reuse
	released bool
}

func newCapture(limit int64, spool func() (*os.File, error)) *capture {
	c := &capture{limit: limit, headMax: limit / 2, spool: spool}
	c.open.slot = -1
	return c
}

// spools reports whether full blocks go to the spool file.
func (c *capture) spools() bool { return c.limit > blockSize }

// unit returns the full block size. It is smaller for low limits, because the window moves by it.
func (c *capture) unit() int64 {
	if !c.spools() {
		return blockSize
	}
	return min(blockSize, c.limit/8)
}

// fill calls read with free space in the open block and returns the bytes it read. They are valid until the next fill.
func (c *capture) fill(s env.Stream, read func(p []byte) (int, error)) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := c.room()
	if room == 0 || c.spools() && len(c.open.runs) >= maxRuns {
		c.closeBlock()
		room = c.room()
	}
	c.grow(room)
	from := len(c.open.data)
	space := c.open.data[from : from+min(room, cap(c.open.data)-from)]
	n, err := read(space)
	if n <= 0 {
		return nil, err
	}
	c.open.data = c.open.data[:from+n]
	c.note(s, n)
	if c.released {
		c.slide(len(c.open.data))
	}
	return space[:n], err
}

// room returns the space left in the open block.
func (c *capture) room() int {
	switch left := c.headMax - c.kept[0] - int64(len(c.open.data)); {
	case c.filling() && left < c.unit():
		return int(max(0, min(left, c.unit()-int64(len(c.open.data))))) // the head ends at a block boundary
	case !c.spools():
		return blockSize
	default:
		return int(c.unit()) - len(c.open.data)
	}
}

// filling reports whether the open block is still in the head.
func (c *capture) filling() bool {
	return len(c.tail) == 0 && c.dropped == 0 && c.kept[0] < c.headMax && len(c.head) < c.maxBlocks()
}

// grow makes space in the open block: little for a command that prints little.
func (c *capture) grow(room int) {
	data := c.open.data
	if cap(data)-len(data) >= min(room, 1024) {
		return
	}
	if len(c.buf)-len(data) < min(room, blockSize/2) {
		want := max(4096, 4*len(data))
		if c.dropped > 0 {
			want = blockSize // it has already printed a lot
		}
		c.buf = make([]byte, len(data)+min(room, want))
	}
	c.open.data = c.buf[:copy(c.buf, data)]
}

// note records n new bytes from stream s in the open block.
func (c *capture) note(s env.Stream, n int) {
	b := &c.open
	if k := len(b.runs); k > 0 && b.runs[k-1].stream() == s {
		b.runs[k-1] += run(n) << 1
	} else {
		b.runs = append(b.runs, newRun(s, n))
	}
	b.size[env.Both] += int64(n)
	b.size[s] += int64(n)
	c.total[env.Both] += int64(n)
	c.total[s] += int64(n)
	c.trim()
}

// closeBlock moves the open block to the head or the tail and opens a new one.
func (c *capture) closeBlock() {
	head := c.filling()
	b := c.open
	b.nrun = len(b.runs)
	c.open = block{base: c.total, slot: -1}
	if c.spools() {
		c.open.data, c.open.runs = b.data[:0], b.runs[:0]
		if err := c.store(&b); err != nil {
			c.dropped += b.size[env.Both]
			return
		}
		b.data, b.runs = nil, nil
	} else {
		c.buf = nil // it belongs to b now
	}
	if head {
		c.head = append(c.head, b)
		c.kept[0] += b.size[env.Both]
		return
	}
	c.tail = append(c.tail, b)
	c.kept[1] += b.size[env.Both]
	c.trim()
}

// maxBlocks limits each half, because blocks close early when the streams alternate.
func (c *capture) maxBlocks() int { return int(c.limit/c.unit())/2 + 2 }

// trim drops output above the limit: the oldest blocks in the tail or, without a tail, the oldest bytes in the open
// block.
func (c *capture) trim() {
	for len(c.tail) > 0 && (c.kept[0]+c.kept[1]+int64(len(c.open.data)) > c.limit || len(c.tail) > c.maxBlocks()) {
		b := c.tail[0]
		if c.tail = c.tail[1:]; len(c.tail) == 0 {
			c.tail = nil
		}
		c.kept[1] -= b.size[env.Both]
		c.dropped += b.size[env.Both]
		if b.slot >= 0 {
			c.free = append(c.free, b.slot)
		}
	}
	if over := c.kept[0] + int64(len(c.open.data)) - c.limit; !c.spools() && over > 0 {
		c.slide(int(over))
	}
}

// slide drops the first n bytes in the open block. They stay valid until the next fill.
func (c *capture) slide(n int) {
	b := &c.open
	b.data = b.data[n:]
	c.dropped += int64(n)
	for n > 0 {
		s, k := b.runs[0].stream(), min(n, b.runs[0].len())
		for _, at := range []env.Stream{env.Both, s} {
			b.base[at] += int64(k)
			b.size[at] -= int64(k)
		}
		if b.runs[0] -= run(k) << 1; b.runs[0].len() == 0 {
			b.runs = b.runs[1:]
		}
		n -= k
	}
}

// store writes a block to the spool file, with its runs if it has more than one.
func (c *capture) store(b *block) error {
	if c.file == nil {
		f, err := c.spool()
		if err != nil {
			return err
		}
		c.file = f
	}
	slot := c.slots
	if n := len(c.free); n > 0 {
		slot = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		c.slots++
	}
	_, err := c.file.WriteAt(b.data, slot*slotSize)
	if err == nil && b.nrun > 1 {
		index := make([]byte, 0, 4*b.nrun)
		for _, r := range b.runs {
			index = binary.LittleEndian.AppendUint32(index, uint32(r))
		}
		_, err = c.file.WriteAt(index, slot*slotSize+blockSize)
	}
	if err != nil {
		c.free = append(c.free, slot)
		return err
	}
	b.slot = slot
	return nil
}

// load returns a block's bytes and runs. It reads them from the spool file, into buf if that is large enough, unless
// they are in memory.
func (c *capture) load(b *block, buf []byte) ([]byte, []run, error) {
	if b.slot < 0 {
		return b.data, b.runs, nil
	}
	data := slices.Grow(buf[:0], int(b.size[env.Both]))[:b.size[env.Both]]
	if _, err := c.file.ReadAt(data, b.slot*slotSize); err != nil {
		return nil, nil, err
	}
	if b.nrun == 1 {
		s := env.Stdout
		if b.size[env.Stderr] > 0 {
			s = env.Stderr
		}
		return data, []run{newRun(s, len(data))}, nil
	}
	index := make([]byte, 4*b.nrun)
	if _, err := c.file.ReadAt(index, b.slot*slotSize+blockSize); err != nil {
		return nil, nil, err
	}
	runs := make([]run, b.nrun)
	for i := range runs {
		runs[i] = run(binary.LittleEndian.Uint32(index[4*i:]))
	}
	return data, runs, nil
}

func (c *capture) written(s env.Stream) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total[s]
}

func (c *capture) missing() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}

// release frees the spool file and the memory. Later output is counted and dropped.
func (c *capture) release() error {
	err := c.closeSpool()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released = true
	c.head = nil
	c.tail = nil
	c.buf = nil
	c.open = block{base: c.total, slot: -1}
	return err
}

// closeSpool removes the spool file. Output in memory stays.
func (c *capture) closeSpool() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spool = func() (*os.File, error) { return nil, os.ErrClosed }
	if c.file == nil {
		return nil
	}
	f := c.file
	c.file = nil
	c.head = nil
	c.tail = nil
	c.free = nil
	return errors.Join(f.Close(), removeFile(f.Name()))
}

// removeFile removes a file that may not exist.
func removeFile(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
