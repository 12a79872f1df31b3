package local

import (
	"io"
	"sort"

	"github.com/reins-agent/reins/env"
)

// reader reads one stream in a capture, up to the end at the time it was created. It skips dropped output.
type reader struct {
	c      *capture
	stream env.Stream
	next   int64  // offset of the next byte
	end    int64  // offset at which this reader stops
	buf    []byte // loaded and not read yet
	block  []byte // reused for the next block
}

func (c *capture) reader(s env.Stream, offset int64) *reader {
	return &reader{c: c, stream: s, next: max(0, offset), end: c.written(s)}
}

// Offset implements [env.OutputReader].
func (r *reader) Offset() int64 { return r.next }

// Close implements [io.Closer].
func (r *reader) Close() error {
	r.buf = nil
	r.block = nil
	r.end = r.next
	return nil
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.buf) == 0 {
		if err := r.load(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	r.next += int64(n)
	return n, nil
}

// load fills buf from the first block with bytes at or after the offset.
func (r *reader) load() error {
	if r.next >= r.end {
		return io.EOF
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	b := r.c.find(r.stream, r.next)
	if b == nil || b.base[r.stream] >= r.end {
		r.next = r.end
		return io.EOF
	}
	spooled := b.slot >= 0
	data, runs, err := r.c.load(b, r.block)
	if err != nil {
		return err
	}
	if spooled {
		r.block = data
	}
	data = pick(data, runs, r.stream, b.slot < 0)
	r.next = max(r.next, b.base[r.stream])
	data = data[r.next-b.base[r.stream]:]
	r.buf = data[:min(int64(len(data)), r.end-r.next)]
	return nil
}

// find returns the first block with bytes from stream s at or after the offset.
func (c *capture) find(s env.Stream, offset int64) *block {
	for _, list := range [][]block{c.head, c.tail} {
		i := sort.Search(len(list), func(i int) bool { return list[i].base[s]+list[i].size[s] > offset })
		if i < len(list) {
			return &list[i]
		}
	}
	if c.open.base[s]+c.open.size[s] > offset {
		return &c.open
	}
	return nil
}

// pick returns one stream's bytes in a block. It copies them if the data is shared.
func pick(data []byte, runs []run, s env.Stream, shared bool) []byte {
	if s == env.Both && !shared {
		return data
	}
	out := make([]byte, 0, len(data))
	for _, r := range runs {
		if s == env.Both || r.stream() == s {
			out = append(out, data[:r.len()]...)
		}
		data = data[r.len():]
	}
	return out
}
