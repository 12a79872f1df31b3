//go:build unix

package local

import (
	"os"
	"syscall"

	"github.com/reins-agent/reins/env"
)

// maxPipe is the most a pipe holds unless its owner is privileged.
const maxPipe = 1 << 20

// stream reads one output of a process. Bytes go from the pipe straight into the capture, with
// system calls that do not block, so that an idle stream holds no buffer and whoever sees the
// process exit can read the rest at once.
type stream struct {
	p    *Process
	kind env.Stream
	file *os.File
	raw  syscall.RawConn
	eof  bool // guarded by p.pump
}

func newStream(p *Process, kind env.Stream, f *os.File) *stream {
	raw, err := f.SyscallConn()
	if err != nil {
		panic(err) // f was just opened
	}
	return &stream{p: p, kind: kind, file: f, raw: raw}
}

// run reads until nobody holds the other end any more.
func (s *stream) run() {
	for open := true; open; {
		err := s.raw.Read(func(fd uintptr) bool {
			n, err := s.read(fd)
			open = n > 0 || err == syscall.EAGAIN
			return err != syscall.EAGAIN
		})
		open = open && err == nil
	}
	if s.p.pty {
		// The end of the output may come before that of the command, and a terminal that is closed
		// kills it.
		<-s.p.gone
	}
	e := s.p.env
	e.mu.Lock()
	delete(e.streams, s)
	e.mu.Unlock()
	s.file.Close()
	e.reading.Done()
}

// drain reads what is there now, and reports whether that was the end. It stops after what a pipe
// can hold at most: the rest comes from somebody who still writes.
func (s *stream) drain() (eof bool) {
	err := s.raw.Control(func(fd uintptr) {
		for sum := 0; sum < maxPipe; {
			n, err := s.read(fd)
			if n <= 0 {
				eof = err != syscall.EAGAIN
				return
			}
			sum += n
		}
	})
	return eof || err != nil
}

// read takes once from the pipe. The end is n == 0 without an error.
func (s *stream) read(fd uintptr) (int, error) {
	p := s.p
	p.pump.Lock()
	defer p.pump.Unlock()
	if s.eof {
		return 0, nil
	}
	data, err := p.out.fill(s.kind, func(b []byte) (int, error) {
		for {
			n, err := syscall.Read(int(fd), b)
			if err != syscall.EINTR {
				return n, err
			}
		}
	})
	if len(data) > 0 && p.onOutput != nil {
		p.onOutput(s.kind, data)
	}
	if err == syscall.EIO { // how a terminal says that it was closed
		err = nil
	}
	s.eof = len(data) == 0 && err == nil
	return len(data), err
}
