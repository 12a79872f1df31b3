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

// background starts a process that outlives the call, but not the environment.
func (s *shell) background(ctx context.Context, c *tool.Call, in shellIn) tool.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.makeRoom() {
		return tool.Failure(tool.PermissionDenied, "There are %d background processes running already. End one with shell_stop first; %s.", maxBackground, s.list())
	}
	cmd := env.Command{Line: in.Command, Dir: in.Workdir, PTY: in.TTY, KeepStdin: !in.TTY, Timeout: millis(in.TimeoutMS, forever)}
	started := time.Now()
	p, err := c.Env.Start(context.WithoutCancel(ctx), cmd)
	if err != nil {
		return startFailed(err)
	}
	s.last++
	b := &background{Process: p, number: s.last, command: in.Command, input: make(chan struct{}, 1)}
	b.input <- struct{}{}
	s.running[b.id()] = b
	res := tool.Success("Started in the background with id %s (pid %d). Use shell_output to read its output and shell_stop to end it.", b.id(), p.PID())
	res.Fields = map[string]any{"id": b.id(), "pid": p.PID(), "started": started.UTC().Format(time.RFC3339)}
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
func (s *shell) find(id processID) (*background, *tool.Error) {
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
	ctx, cancel := context.WithTimeout(ctx, millis(ms, time.Minute))
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
func (b *background) news() tool.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	ended := b.ended() // before reading, so that nothing comes after the last word
	r := transcript(b.Process, b.read)
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxNews))
	if err != nil {
		return tool.Failure(tool.IOError, "The output of process %s could not be read: %v", b.id(), err)
	}
	b.read = r.Offset()
	data = append(data, r.pending...)
	more := b.read < b.Written(env.Both)
	if cut := len(data) - partialRune(data); more || !ended {
		b.read -= int64(len(data) - cut)
		data = data[:cut]
	}
	text := string(data)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if more && ended {
		text += "[there is more output; read again]\n"
	}
	fields := map[string]any{"id": b.id(), "pid": b.PID(), "command": b.command, "running": !ended}
	if !ended {
		return tool.Result{Output: tool.Text(text + "[still running]"), Fields: fields}
	}
	exit, _ := b.Wait(context.Background())
	for k, v := range exitFields(exit) {
		fields[k] = v
	}
	state := fmt.Sprintf("[exited with code %d]", exit.Code)
	if exit.TimedOut {
		state = "[ended by its timeout]"
	}
	return tool.Result{Output: tool.Text(text + state), Fields: fields}
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
