package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/sandbox"
)

// giveUpTime is the maximum time to wait for a killed command to exit.
const giveUpTime = time.Second

// process is a command on this machine.
type process struct {
	env     *Env
	started time.Time
	mark    mark
	group   *group
	out     *capture
	streams []*stream
	stdin   *os.File // for Write; nil if it is not open
	feed    *os.File // the pipe to standard input, closed at the end
	pty     bool
	box     *sandbox.Box // nil if unconfined
	detach  func() bool  // stops watching ctx
	ctx     context.Context
	timer   *time.Timer

	pump     sync.Mutex // held while reading output and calling onOutput
	onOutput func(env.Stream, []byte)

	done   chan struct{} // closed when exit is set
	gone   chan struct{} // closed when the command has exited
	killed chan struct{} // closed when kill has finished

	mu       sync.Mutex
	ending   bool // kill was started
	exited   bool
	timedOut bool
	exit     env.Exit
}

var _ env.Process = (*process)(nil)

// PID implements [env.Process].
func (p *process) PID() int { return p.group.pid }

// Done implements [env.Process].
func (p *process) Done() <-chan struct{} { return p.done }

// Wait implements [env.Process].
func (p *process) Wait(ctx context.Context) (env.Exit, error) {
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

// Stop implements [env.Process]. If the command has exited, Stop still ends its background descendants.
func (p *process) Stop(ctx context.Context) (env.Exit, error) {
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

// Output implements [env.Process].
func (p *process) Output(s env.Stream, offset int64) env.OutputReader {
	return p.out.reader(s, offset)
}

// Written implements [env.Process].
func (p *process) Written(s env.Stream) int64 { return p.out.written(s) }

// Write implements [env.Process]. It blocks until the command reads its input or ends.
func (p *process) Write(b []byte) (int, error) {
	if p.stdin == nil {
		return 0, fmt.Errorf("write to process %d: %w", p.PID(), env.ErrNoStdin)
	}
	n, err := p.stdin.Write(b)
	if err != nil {
		return n, fmt.Errorf("write to process %d: %w: %w", p.PID(), env.ErrNoStdin, err)
	}
	return n, nil
}

// CloseStdin implements [env.Process]. On a terminal it sends the end-of-file character.
func (p *process) CloseStdin() error {
	if p.stdin == nil {
		return fmt.Errorf("close standard input of process %d: %w", p.PID(), env.ErrNoStdin)
	}
	if p.pty {
		_, err := p.Write([]byte{4})
		return err
	}
	return p.stdin.Close()
}

// Release implements [env.Process].
func (p *process) Release() error {
	select {
	case <-p.done:
	default:
		return fmt.Errorf("release output of process %d: still running", p.PID())
	}
	p.env.mu.Lock()
	delete(p.env.captures, p.out)
	p.env.mu.Unlock()
	return p.out.release()
}

// watch waits for the process to exit and sets p.exit.
func (p *process) watch() {
	defer p.env.busy.Done()
	exited := p.group.waitExit()
	took := time.Since(p.started)
	close(p.gone)

	p.mu.Lock()
	p.exited = true
	ending := p.ending
	if ending {
		// The process id and group id are not reused until the process is reaped.
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
	var blocked, refused []string
	if p.box != nil {
		blocked, refused = p.box.Sweep(), p.box.Refused()
	}
	orphans := 0
	if !ending {
		orphans = p.group.orphans(held)
	}
	p.mu.Lock()
	p.exit = env.Exit{
		Code:     code,
		Signal:   signal,
		TimedOut: p.timedOut,
		Duration: took,
		Orphans:  orphans,
		Dropped:  p.out.missing(),
		Blocked:  blocked,
		Refused:  refused,
	}
	ending = p.ending
	p.mu.Unlock()
	if orphans == 0 && !ending {
		p.finish()
	}
	close(p.done)
}

// drain reads the remaining output, and reports whether a descendant still holds it open.
func (p *process) drain() (held bool) {
	for _, s := range p.streams {
		if !s.drain() {
			held = true
		}
	}
	return held
}

// end starts killing the process and its descendants, once.
func (p *process) end(timeout bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending || timeout && p.exited {
		return
	}
	p.ending = true
	p.timedOut = timeout
	p.env.mu.Lock()
	defer p.env.mu.Unlock()
	if _, known := p.env.procs[p]; p.env.closed.Load() && !known {
		close(p.killed) // Close has killed everything
		return
	}
	p.env.busy.Add(1)
	go p.kill()
}

// kill ends the process and its descendants, with SIGTERM first.
func (p *process) kill() {
	defer p.env.busy.Done()
	p.group.killAll(p.gone, grace)
	close(p.killed)
	select {
	case <-p.gone:
	case <-time.After(giveUpTime):
		p.group.giveUp()
	}
	<-p.done
	p.forget()
}

// finish forgets an ended process without known descendants. Hidden descendants are looked for when
// the context is done.
func (p *process) finish() {
	if p.forget() {
		p.env.leftover.add(p.ctx, p.mark.job)
	}
}

// forget removes a process, and reports whether its context is not done yet.
func (p *process) forget() bool {
	waiting := p.detach != nil && p.detach()
	p.env.mu.Lock()
	defer p.env.mu.Unlock()
	delete(p.env.procs, p)
	p.group.close()
	return waiting
}

// feedStdin copies a reader to standard input and closes it. The reader cannot be interrupted and may
// outlive the process, so nothing waits for it.
func (p *process) feedStdin(w *os.File, r io.Reader) {
	io.Copy(w, r)
	if p.pty {
		p.CloseStdin()
		return
	}
	w.Close()
}
