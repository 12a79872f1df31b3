//go:build unix

package local

import (
	"os"
	"syscall"

	"github.com/reins-agent/reins/env"
)

// maxPipe is the maximum pipe capacity for an unprivileged user.
const maxPipe = 1 << 20

// stream reads one process output. Nonblocking reads go directly into the capture, so an idle stream needs no buffer,
// and the rest can be read as soon as the process has exited.
type stream struct {
	p    *process
	kind env.Stream
	file *os.File
	raw  syscall.RawConn
	eof  bool // guarded by p.pump
}

func newStream(p *process, kind env.Stream, f *os.File) *stream {
	raw, err := f.SyscallConn()
	if err != nil {
		panic(err) // f was just opened
	}
	return &stream{p: p, kind: kind, file: f, raw: raw}
}

// run reads until the other end is closed.
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
		// The output may end before the command, and closing the terminal would kill it.
		<-s.p.gone
	}
	e := s.p.env
	e.mu.Lock()
	delete(e.streams, s)
	e.mu.Unlock()
	s.file.Close()
	e.readers.Done()
}

// drain reads what is available now, and reports whether that was the end. It stops after one pipe capacity: anything
// beyond comes from a descendant that is still writing.
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

// read reads once from the pipe. It returns 0, nil at the end.
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
	if err == syscall.EIO { // the terminal was closed
		err = nil
	}
	s.eof = len(data) == 0 && err == nil
	return len(data), err
}
