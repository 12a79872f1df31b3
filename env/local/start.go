package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
)

// Start implements [env.Environment].
func (e *Env) Start(ctx context.Context, c env.Command) (env.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := e.commandDir(c.Dir)
	if err != nil {
		return nil, err
	}
	path, args, err := e.program(c, dir)
	if err != nil {
		return nil, err
	}
	workdir, release, err := e.tree.workdir(c.Dir, dir)
	if err != nil {
		return nil, fmt.Errorf("run in %s: %w", dir, translate(err))
	}
	defer release()
	box, err := e.boxFor(c)
	if err != nil {
		return nil, err
	}
	if box != nil {
		// The sandbox has its own mounts, so it opens the directory by its name. The command stays confined even
		// if the name leads elsewhere by then.
		workdir = dir
	}
	if err := e.readyBox(box); err != nil {
		return nil, err
	}
	p, err := e.register(c)
	if err != nil {
		return nil, err
	}
	p.ctx, p.box = ctx, box
	if err := p.launch(c, path, args, workdir); err != nil {
		e.unregister(p)
		if _, gone := os.Stat(dir); gone != nil {
			return nil, fmt.Errorf("run in %s: %w", dir, translate(cause(gone)))
		}
		if errors.Is(err, errTooManyArgs) {
			err = env.ErrTooLong
		}
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return p, nil
}

// commandDir returns the full path to the directory in which a command runs.
func (e *Env) commandDir(dir string) (string, error) {
	if dir == "" {
		return e.info.Dir, nil
	}
	full, fi, err := e.tree.dir(dir)
	if err != nil {
		return "", fmt.Errorf("run in %s: %w", dir, err)
	}
	if !fi.IsDir() {
		return "", fmt.Errorf("run in %s: %w", dir, env.ErrNotDir)
	}
	return full, nil
}

// program returns the program to execute and its arguments.
func (e *Env) program(c env.Command, dir string) (path string, args []string, err error) {
	if (c.Line == "") == (len(c.Args) == 0) {
		return "", nil, errors.New("start a command: exactly one of Line and Args must be set")
	}
	if c.KeepStdin && c.Stdin != nil {
		return "", nil, errors.New("start a command: Stdin and KeepStdin cannot both be set")
	}
	if strings.ContainsRune(c.Line, 0) {
		return "", nil, errors.New("start a command: the command line contains a NUL byte")
	}
	if c.Line != "" {
		return e.info.Shell, shellArgs(e.info.Shell, c.Line), nil
	}
	name := c.Args[0]
	if filepath.Base(name) != name && !filepath.IsAbs(name) {
		return filepath.Join(dir, name), c.Args, nil
	}
	path, err = exec.LookPath(name)
	if err != nil {
		return "", nil, fmt.Errorf("start %s: %w", name, err)
	}
	return path, c.Args, nil
}

// register creates a process that is not started yet.
func (e *Env) register(c env.Command) (*process, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return nil, fmt.Errorf("start a command: %w", env.ErrClosed)
	}
	if err := e.prepare(); err != nil {
		return nil, err
	}
	limit := c.MaxOutput
	if limit <= 0 {
		limit = e.maxOutput
	}
	e.seq++
	p := &process{
		env:      e,
		mark:     mark{e.id, e.seq},
		out:      newCapture(limit, e.spoolFile),
		pty:      c.PTY,
		onOutput: c.OnOutput,
		done:     make(chan struct{}),
		gone:     make(chan struct{}),
		killed:   make(chan struct{}),
	}
	e.captures[p.out] = struct{}{}
	e.busy.Add(1)
	return p, nil
}

// unregister removes a process that could not be started.
func (e *Env) unregister(p *process) {
	e.mu.Lock()
	delete(e.captures, p.out)
	e.mu.Unlock()
	e.busy.Done()
}

// prepare opens what only commands need, not file operations. It replaces a guard that was killed or lacks a
// file. The caller holds e.mu.
func (e *Env) prepare() error {
	if e.null == nil {
		if err := e.checkSpool(); err != nil {
			return err
		}
		f, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		e.null = f
	}
	if e.guard != nil && e.guard.covers(e.held) {
		e.tellGuard()
		return nil
	}
	g, err := newGuard(e)
	if err != nil {
		return fmt.Errorf("start the watchdog for commands: %w", err)
	}
	if old := e.guard; old != nil {
		e.busy.Go(func() { old.stop() })
	}
	e.guard, e.told = g, ""
	e.tellGuard()
	return nil
}

// launch starts the process and the goroutines that follow it.
func (p *process) launch(c env.Command, path string, args []string, dir string) error {
	pl, err := newStdio(c, p.env.null, p.box)
	if err != nil {
		return err
	}
	p.group = newGroup(p)
	p.started = time.Now()
	err = p.group.start(path, args, &os.ProcAttr{
		Dir:   dir,
		Env:   p.env.environment(c, p.mark.String()),
		Files: p.env.files(pl.child),
		Sys:   p.group.attr(c.PTY),
	})
	pl.closeChild(p.env.null)
	if err != nil {
		pl.close(p.env.null)
		return err
	}
	p.follow(c, pl)
	return nil
}

// follow starts the readers, the timers and the watch of a new process.
func (p *process) follow(c env.Command, pl *stdio) {
	e := p.env
	e.mu.Lock()
	e.procs[p] = struct{}{}
	for i, f := range pl.output {
		if f == nil {
			continue
		}
		s := newStream(p, env.Stdout+env.Stream(i), f)
		p.streams = append(p.streams, s)
		e.streams[s] = struct{}{}
		e.readers.Add(1)
		go s.run()
	}
	closing := e.closed.Load()
	e.mu.Unlock()

	p.feed = pl.feed
	if c.KeepStdin || c.PTY {
		p.stdin = pl.stdin
	}
	if c.Stdin != nil {
		go p.feedStdin(pl.stdin, c.Stdin)
	}
	if c.Timeout > 0 {
		p.timer = time.AfterFunc(c.Timeout, func() { p.end(true) })
	}
	if p.ctx.Done() != nil {
		p.detach = context.AfterFunc(p.ctx, func() { p.end(false) })
	}
	if closing {
		p.end(false)
	}
	go p.watch()
}
