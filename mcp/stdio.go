package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/env"
)

const (
	// maxMessage limits the message size. A larger message closes the connection.
	maxMessage = 16 << 20
	// maxBacklog limits the messages that wait to be handled. Above it, no more output is read.
	maxBacklog = 64 << 10
	// maxStray limits consecutive lines that are not messages.
	maxStray = 1000
	// exitTime is how long a server may take to exit once its input is closed.
	exitTime = 300 * time.Millisecond
	// stopTime is how long killing it may take.
	stopTime = 10 * time.Second
)

// stdio is the connection to a process. It implements sdk.Transport and sdk.Connection.
type stdio struct {
	proc env.Process
	log  *tail
	rate *rate
	// ended is called when all lines have been read.
	ended func(error)

	out   chan []byte     // messages for the process
	open  context.Context // done once Close is called
	close context.CancelFunc
	gone  chan struct{}      // closed when the process has ended
	free  context.CancelFunc // releases the context of the process
	once  sync.Once

	mu      sync.Mutex
	changed sync.Cond // something below has changed
	part    []byte    // the incomplete last line
	lines   [][]byte
	backlog int
	stray   int
	err     error // why there are no further lines
}

// startStdio starts a server's command before limit is done. The process runs until the connection is closed.
func startStdio(limit context.Context, e env.Environment, s Server, log *tail, ended func(error)) (*stdio, error) {
	if e == nil {
		return nil, errors.New("there is no environment to run a command in")
	}
	if s.Unconfined {
		e, _ = env.Outside(e)
	}
	c := &stdio{
		log:   log,
		ended: ended,
		rate:  newRate(),
		out:   make(chan []byte, 16),
		gone:  make(chan struct{}),
	}
	c.changed.L = &c.mu
	log.reset()
	c.open, c.close = context.WithCancel(context.Background())
	ctx, free := context.WithCancel(context.WithoutCancel(limit))
	c.free = free
	stop := context.AfterFunc(limit, free)
	defer stop()
	proc, err := e.Start(ctx, env.Command{
		Args: append([]string{s.Command}, s.Args...),
		Dir:  s.Dir,
		Env:  s.Env,

		KeepStdin: true,
		MaxOutput: 1,
		OnOutput:  c.receive,
	})
	if err != nil {
		c.free()
		c.close()
		return nil, err
	}
	c.proc = proc
	go c.send()
	go c.watch()
	return c, nil
}

// receive handles process output.
func (c *stdio) receive(stream env.Stream, p []byte) {
	if stream == env.Stderr {
		c.log.Write(p)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	for len(p) > 0 && c.err == nil {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		c.part = append(c.part, line...)
		p = rest
		if len(c.part) > maxMessage {
			c.end(fmt.Errorf("the server sent a message larger than %d MiB", maxMessage>>20))
		} else if whole {
			c.line()
		}
	}
}

// line handles a complete line; c.mu is held.
func (c *stdio) line() {
	text := bytes.TrimSpace(c.part)
	switch {
	case len(text) == 0:
		c.part = c.part[:0]
		return
	case text[0] != '{' && text[0] != '[': // some servers print other text by mistake
		c.log.Write(append(text, '\n'))
		c.part = c.part[:0]
		if c.stray++; c.stray > maxStray {
			c.end(errors.New("the server writes lines that are not messages to its standard output"))
		}
		return
	}
	c.stray = 0
	c.lines = append(c.lines, text)
	c.backlog += len(text)
	c.part = nil
	c.changed.Broadcast()
	for c.backlog > maxBacklog && len(c.lines) > 1 && c.err == nil {
		c.changed.Wait()
	}
}

// end records why there are no further lines; c.mu is held.
func (c *stdio) end(err error) {
	if c.err == nil {
		c.err = err
	}
	c.part = nil
	c.changed.Broadcast()
}

// watch waits for the process to exit.
func (c *stdio) watch() {
	<-c.proc.Done()
	exit, _ := c.proc.Wait(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(exitError(exit))
	c.proc.Release()
}

func exitError(e env.Exit) error {
	if e.Signal != "" {
		return fmt.Errorf("the server was terminated by %s", e.Signal)
	}
	return fmt.Errorf("the server exited with code %d", e.Code)
}

// send writes messages to the process, so that callers do not wait for a process that does not read.
func (c *stdio) send() {
	for {
		select {
		case <-c.open.Done():
			return
		case b := <-c.out:
			if _, err := c.proc.Write(b); err != nil {
				return // the process has exited or was closed
			}
		}
	}
}

func (c *stdio) Connect(context.Context) (sdk.Connection, error) { return c, nil }

func (c *stdio) SessionID() string { return "" }

func (c *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := c.next()
		if err != nil {
			return nil, err
		}
		m, err := jsonrpc.DecodeMessage(new(shallow).cut(line))
		if err != nil {
			c.log.Write(append(line[:min(len(line), 1000)], '\n'))
			continue
		}
		if _, answer := m.(*jsonrpc.Response); answer || c.rate.allow(c.open) {
			return m, nil
		}
	}
}

// next waits for the next line.
func (c *stdio) next() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.lines) == 0 && c.err == nil {
		c.changed.Wait()
	}
	if c.open.Err() != nil || len(c.lines) == 0 {
		c.ended(c.err)
		return nil, c.err
	}
	line := c.lines[0]
	c.lines[0] = nil
	c.lines = c.lines[1:]
	c.backlog -= len(line)
	c.changed.Broadcast()
	return line, nil
}

func (c *stdio) Write(ctx context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(realMethod(m))
	if err != nil {
		return err
	}
	select {
	case c.out <- append(b, '\n'):
		return nil
	case <-c.open.Done():
		return io.ErrClosedPipe
	case <-c.proc.Done():
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close starts to stop the process: it closes its input, and the process is killed if it does not exit. Close does not
// wait for that, because the SDK holds a lock meanwhile; [stdio.wait] does.
func (c *stdio) Close() error {
	c.once.Do(func() {
		c.close()
		c.mu.Lock()
		c.end(io.EOF)
		c.mu.Unlock()
		go c.stop()
	})
	return nil
}

func (c *stdio) stop() {
	defer close(c.gone)
	c.proc.CloseStdin()
	timer := time.NewTimer(exitTime)
	defer timer.Stop()
	select {
	case <-c.proc.Done():
	case <-timer.C:
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	c.proc.Stop(ctx) // and its children
	c.free()
}

// wait waits until the process and its children have exited.
func (c *stdio) wait() { <-c.gone }

// tail stores the end of what is written to it, and passes complete lines to a function.
type tail struct {
	line func([]byte)
	mu   sync.Mutex
	kept []byte
	part []byte
	sent int // bytes that were passed on since the server started
}

const (
	maxTail = 8 << 10
	maxLine = 4 << 10 // longer lines are split
	maxLog  = 8 << 20 // further lines are not passed on
)

// pass passes on a line; t.mu is held.
func (t *tail) pass(line []byte) {
	if t.line == nil || t.sent > maxLog {
		return
	}
	if t.sent += len(line) + 1; t.sent > maxLog {
		line = []byte("[the server wrote too much; the rest is not logged]")
	}
	t.line(line)
}

// reset resets the limit on logged output for a new process.
func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = 0
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - maxTail; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		room := maxLine - len(t.part)
		if len(line) > room {
			line = rest[:room]
			after = rest[room:]
			whole = true
		}
		t.part, rest = append(t.part, line...), after
		if whole {
			t.pass(t.part)
			t.part = t.part[:0]
		}
	}
	return len(p), nil
}

// String returns the stored text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.kept), "\uFFFD")
}

// last returns the last line, without control characters.
func (t *tail) last() string {
	text := strings.TrimSpace(t.String())
	return clip(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text[strings.LastIndexByte(text, '\n')+1:]))
}
