package local

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/reins-agent/reins/env"
)

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// drainTime is the maximum time to drain output after the exit, while children may still write.
const drainTime = 200 * time.Millisecond

// stream reads one process output. Reads block here, so they go into a buffer.
type stream struct {
	p    *process
	kind env.Stream
	file *os.File
	busy atomic.Bool // bytes were read that are not in the capture yet
	eof  chan struct{}
}

func newStream(p *process, kind env.Stream, f *os.File) *stream {
	return &stream{p: p, kind: kind, file: f, eof: make(chan struct{})}
}

// run reads until the other end is closed.
func (s *stream) run() {
	buf := make([]byte, 32<<10)
	for {
		n, err := s.file.Read(buf)
		s.busy.Store(true)
		s.keep(buf[:max(n, 0)])
		s.busy.Store(false)
		if err != nil {
			break
		}
	}
	close(s.eof)
	e := s.p.env
	e.mu.Lock()
	delete(e.streams, s)
	e.mu.Unlock()
	s.file.Close()
	e.readers.Done()
}

// keep appends to the capture, a block at a time.
func (s *stream) keep(b []byte) {
	p := s.p
	p.pump.Lock()
	defer p.pump.Unlock()
	for len(b) > 0 {
		data, _ := p.out.fill(s.kind, func(space []byte) (int, error) { return copy(space, b), nil })
		if p.onOutput != nil {
			p.onOutput(s.kind, data)
		}
		b = b[len(data):]
	}
}

// drain waits until the pipe is empty, and reports whether that was the end.
func (s *stream) drain() (eof bool) {
	limit := time.After(drainTime)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for quiet := 0; quiet < 3; {
		if s.pending() || s.busy.Load() {
			quiet = 0
		} else {
			quiet++
		}
		select {
		case <-s.eof:
			return true
		case <-limit:
			return false
		case <-tick.C:
		}
	}
	return false
}

// pending reports whether the pipe is not empty.
func (s *stream) pending() bool {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return false
	}
	var avail uint32
	raw.Control(func(fd uintptr) {
		syscall.SyscallN(peekNamedPipe.Addr(), fd, 0, 0, 0, uintptr(unsafe.Pointer(&avail)), 0)
	})
	return avail > 0
}
