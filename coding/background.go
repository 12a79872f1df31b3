package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/tool"
)

// maxBackground is how many background processes are kept, running or ended.
const maxBackground = 64

// shell are the tools that run commands. They share the processes in the background.
type shell struct {
	config ToolConfig
	*toolState
}

// toolState is what a set of tools remembers between calls. The sets that a session has for several
// models share it.
type toolState struct {
	turn chan struct{} // full while a call changes files

	mu      sync.Mutex
	last    int // number of the last background process
	running map[string]*background
}

func newToolState() *toolState {
	return &toolState{turn: make(chan struct{}, 1), running: make(map[string]*background)}
}

// background is a process that runs on after the call that started it.
type background struct {
	env.Process
	number  int
	command string
	tty     bool
	input   chan struct{} // holds a token while nobody writes to standard input

	mu   sync.Mutex
	read int64 // how much of the output was given to the model
}

func (b *background) id() string { return strconv.Itoa(b.number) }

func (b *background) ended() bool {
	select {
	case <-b.Done():
		return true
	default:
		return false
	}
}

// start starts a process that outlives the call, but not the environment.
func (s *shell) start(ctx context.Context, c *tool.Call, in shellIn) (engine.Started, error) {
	if err := s.check(ctx, c, in); err != nil {
		return engine.Started{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.makeRoom() {
		return engine.Started{}, engine.Fail(tool.PermissionDenied, "%d background processes are running already. Stop one first; %s.", maxBackground, s.list())
	}
	cmd := env.Command{
		Line: in.Command, Dir: in.Workdir, Env: in.Env, PTY: in.TTY, KeepStdin: !in.TTY && !in.NoInput,
		Timeout: engine.Millis(in.TimeoutMS, forever),
	}
	started := time.Now()
	p, err := c.Env.Start(context.WithoutCancel(ctx), cmd)
	if err != nil {
		return engine.Started{}, startFailed(err).Error
	}
	s.last++
	b := &background{Process: p, number: s.last, command: in.Command, tty: in.TTY, input: make(chan struct{}, 1)}
	b.input <- struct{}{}
	s.running[b.id()] = b
	return engine.Started{ID: engine.ID(b.id()), PID: p.PID(), At: started.UTC()}, nil
}

// showStarted presents a process in the background as shell does.
func showStarted(in shellIn, p engine.Started) tool.Result {
	res := tool.Success("Started in the background with id %s (pid %d). Use shell_output to read its output and shell_stop to end it.", p.ID, p.PID)
	res.Fields = p.Fields()
	res.Artifacts.CommandsRun = []string{in.Command}
	return res
}

// makeRoom forgets the oldest ended process if there are too many, and reports whether one more
// can be kept.
func (s *shell) makeRoom() bool {
	if len(s.running) < maxBackground {
		return true
	}
	for _, b := range s.sorted() {
		if b.ended() {
			b.Release()
			delete(s.running, b.id())
			return true
		}
	}
	return false
}

func (s *shell) sorted() []*background {
	var all []*background
	for _, b := range s.running {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *background) int { return cmp.Compare(a.number, b.number) })
	return all
}

// list tells which processes there are.
func (s *shell) list() string {
	if len(s.running) == 0 {
		return "there are none"
	}
	var ids []string
	for _, b := range s.sorted() {
		ids = append(ids, b.id())
	}
	return "there are " + strings.Join(ids, ", ")
}

// find gives the process with an id, or a failure that lists those there are.
func (s *shell) find(id engine.ID) (*background, *tool.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.running[string(id)]; ok {
		return b, nil
	}
	return nil, &tool.Error{Code: tool.ProcessNotFound, Message: fmt.Sprintf("No background process has the id %q; %s.", string(id), s.list())}
}

// wait waits for the end of the process, but not longer than so many milliseconds.
func (b *background) wait(ctx context.Context, ms int64) {
	if ms <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, engine.Millis(ms, forever))
	defer cancel()
	select {
	case <-b.Done():
	case <-ctx.Done():
	}
}

// inputTimeout is how long a process may take to read what it is sent.
const inputTimeout = 2 * time.Second

var errNotReading = errors.New("it has not read what it was sent; it gets the rest when it does")

// send writes to standard input. A process that does not read is not waited for: writing goes on
// without the call, and the next one has its turn when it is done.
func (b *background) send(ctx context.Context, text string, end bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, inputTimeout, errNotReading)
	defer cancel()
	select {
	case <-b.input:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() {
		var err error
		if text != "" {
			_, err = b.Write([]byte(text))
		}
		if err == nil && end {
			err = b.CloseStdin()
		}
		b.input <- struct{}{}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxNews bounds what is given of the output at once; the rest comes with the next question.
const maxNews = 1 << 20

// news is what the process printed since the last time it was asked, and whether it still runs.
func (b *background) news() (engine.News, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ended := b.ended() // before reading, so that nothing comes after the last word
	n := engine.News{ID: engine.ID(b.id()), PID: b.PID(), Command: b.command, TTY: b.tty, Running: !ended}
	r := transcript(b.Process, b.read)
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxNews))
	if err != nil {
		return n, engine.Fail(tool.IOError, "The output of process %s could not be read: %v", b.id(), err)
	}
	b.read = r.Offset()
	data = append(data, r.pending...)
	more := b.read < b.Written(env.Both)
	if cut := len(data) - partialRune(data); more || !ended {
		b.read -= int64(len(data) - cut)
		data = data[:cut]
	}
	n.Text, n.More = string(data), more && ended
	if ended {
		n.Exit, _ = b.Wait(context.Background())
	}
	return n, nil
}

// partialRune is the length of the beginning of a character at the end of data whose rest is still
// to come.
func partialRune(data []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(data); back++ {
		if tail := data[len(data)-back:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return back
		}
	}
	return 0
}
