package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/reins-agent/reins/env"
)

// giveUpTime is how long the exit of a command may take after it was killed.
const giveUpTime = 200 * time.Millisecond

// Process is a command that was started on this machine.
type Process struct {
	env     *Env
	command string
	started time.Time
	mark    mark
	group   *group
	out     *capture
	streams []*stream
	stdin   *os.File // what Write writes to; nil when it is not open
	feed    *os.File // the pipe to standard input, to be closed at the end
	pty     bool
	detach  func() bool // takes the process off its context
	ctx     context.Context
	timer   *time.Timer

	pump     sync.Mutex // held while output is read and onOutput runs
	onOutput func(env.Stream, []byte)

	done   chan struct{} // closed when exit is set
	gone   chan struct{} // closed when the command itself has exited
	killed chan struct{} // closed when the killing, once begun, is over

	mu       sync.Mutex
	ending   bool // the killing has begun
	exited   bool
	timedOut bool
	exit     env.Exit
}

var _ env.Process = (*Process)(nil)

// PID is the process id.
func (p *Process) PID() int { return p.group.pid }

// Done is closed when Wait would return at once.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the command. The end of ctx ends the waiting only.
func (p *Process) Wait(ctx context.Context) (env.Exit, error) {
	select {
	case <-p.done:
		return p.exit, nil
	default:
	}
	select {
	case <-p.done:
		return p.exit, nil
	case <-ctx.Done():
		return env.Exit{}, ctx.Err()
	}
}

// Stop ends the command and its descendants, also those it left in the background.
func (p *Process) Stop(ctx context.Context) (env.Exit, error) {
	p.end(false)
	for _, ch := range []chan struct{}{p.killed, p.done} {
		select {
		case <-ch:
		case <-ctx.Done():
			return env.Exit{}, ctx.Err()
		}
	}
	return p.exit, nil
}

// Output gives back what was printed on a stream, from an offset on.
func (p *Process) Output(s env.Stream, offset int64) env.OutputReader {
	return p.out.reader(s, offset)
}

// Written is the number of bytes printed on a stream so far.
func (p *Process) Written(s env.Stream) int64 { return p.out.written(s) }

// Write sends to standard input. It blocks while the command does not read, until it ends.
func (p *Process) Write(b []byte) (int, error) {
	if p.stdin == nil {
		return 0, fmt.Errorf("write to process %d: %w", p.PID(), env.ErrNoStdin)
	}
	n, err := p.stdin.Write(b)
	if err != nil {
		return n, fmt.Errorf("write to process %d: %w: %w", p.PID(), env.ErrNoStdin, err)
	}
	return n, nil
}

// CloseStdin ends standard input. On a terminal it types the end-of-file character.
func (p *Process) CloseStdin() error {
	if p.stdin == nil {
		return fmt.Errorf("close the standard input of process %d: %w", p.PID(), env.ErrNoStdin)
	}
	if p.pty {
		_, err := p.Write([]byte{4})
		return err
	}
	return p.stdin.Close()
}

// Release frees what is kept of the output.
func (p *Process) Release() error {
	select {
	case <-p.done:
	default:
		return fmt.Errorf("release the output of process %d: it is still running", p.PID())
	}
	p.env.mu.Lock()
	delete(p.env.captures, p.out)
	p.env.mu.Unlock()
	return p.out.release()
}

// watch follows the process to its end. It is the one place where the exit is decided.
func (p *Process) watch() {
	defer p.env.busy.Done()
	exited := p.group.waitExit()
	took := time.Since(p.started)
	close(p.gone)

	p.mu.Lock()
	p.exited = true
	ending := p.ending
	if ending {
		// Until the process is reaped its id, and that of its group, cannot be used again.
		p.mu.Unlock()
		<-p.killed
		p.mu.Lock()
	}
	code, signal := p.group.reap(exited)
	p.mu.Unlock()

	if p.timer != nil {
		p.timer.Stop()
	}
	if p.feed != nil {
		p.feed.Close()
	}
	held := p.drain()
	orphans := 0
	if !ending {
		orphans = p.group.orphans(held)
	}
	p.mu.Lock()
	p.exit = env.Exit{Code: code, Signal: signal, TimedOut: p.timedOut, Duration: took, Orphans: orphans, Dropped: p.out.missing()}
	ending = p.ending
	p.mu.Unlock()
	if orphans == 0 && !ending {
		p.letGo()
	}
	close(p.done)
}

// drain reads what the command has written before it exited, and reports whether somebody still
// holds its output open.
func (p *Process) drain() (held bool) {
	for _, s := range p.streams {
		if !s.drain() {
			held = true
		}
	}
	return held
}

// end begins to end the process and all its descendants, once.
func (p *Process) end(timeout bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending || timeout && p.exited {
		return
	}
	p.ending = true
	p.timedOut = timeout
	p.env.mu.Lock()
	defer p.env.mu.Unlock()
	if _, known := p.env.procs[p]; p.env.closed && !known {
		close(p.killed) // Close has seen to everything
		return
	}
	p.env.busy.Add(1)
	go p.kill()
}

// kill ends the process and all its descendants, politely first.
func (p *Process) kill() {
	defer p.env.busy.Done()
	p.group.extinguish(p.gone, grace)
	close(p.killed)
	select {
	case <-p.gone:
	case <-time.After(giveUpTime):
		p.group.giveUp()
	}
	<-p.done
	p.forget()
}

// letGo takes an ended process without known descendants off the books. What escaped without a
// trace is looked for when the context ends.
func (p *Process) letGo() {
	if p.forget() {
		p.env.leftover.add(p.ctx, p.mark.job)
	}
}

// forget takes a process off the books, and reports whether its context may yet end.
func (p *Process) forget() bool {
	waiting := p.detach != nil && p.detach()
	p.env.mu.Lock()
	defer p.env.mu.Unlock()
	delete(p.env.procs, p)
	p.group.close()
	return waiting
}

// pour copies a reader to standard input and ends it. The reader may outlive the process: nobody
// can interrupt it, so nobody waits for it.
func (p *Process) pour(w *os.File, r io.Reader) {
	io.Copy(w, r)
	if p.pty {
		p.CloseStdin()
		return
	}
	w.Close()
}
