package tools

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// maxBackground is the maximum number of background processes, running or ended.
const maxBackground = 64

// forever is longer than any process runs.
const forever = time.Duration(math.MaxInt64)

// process is a background process.
type process struct {
	env.Process
	number  int
	command string
	dir     string        // where it was started
	box     policy.Box    // where it runs; "" if nothing confines it
	shell   *typed        // if it is a shell whose input can be judged
	input   chan struct{} // contains a token unless a write to standard input is in progress

	mu       sync.Mutex
	stopped  event.StoppedBy
	read     int64 // how many bytes of the output were read
	reported bool  // its end was reported, after all output
}

func (p *process) id() string { return strconv.Itoa(p.number) }

func (p *process) ended() bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// start starts a process that outlives the call, but not the environment.
func (s *shell) start(ctx context.Context, c *tool.Call, in Command) (Started, error) {
	if err := s.check(ctx, c, in); err != nil {
		return Started{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.makeRoom() {
		return Started{}, tool.Errorf(
			tool.PermissionDenied,
			"%d background processes are already running. Stop one first; %s.", maxBackground, s.list(),
		)
	}
	cmd := env.Command{
		Line:      in.Command,
		Dir:       in.Workdir,
		Env:       in.Env,
		PTY:       in.TTY,
		Merge:     true,
		KeepStdin: !in.TTY && !in.NoInput,

		Timeout:  millis(in.TimeoutMS, forever),
		OnOutput: func(env.Stream, []byte) { s.wake() },
	}
	started := time.Now()
	running, err := c.Env.Start(context.WithoutCancel(ctx), cmd)
	if err != nil {
		return Started{}, startFailed(err)
	}
	s.last++
	p := &process{
		Process: running,
		number:  s.last,
		command: in.Command,
		dir:     touches(ctx, c, policy.Exec, OrHere(in.Workdir)).Target,

		box:   boxOf(c),
		shell: newTyped(c, in),
		input: make(chan struct{}, 1),
	}
	p.input <- struct{}{}
	s.running[p.id()] = p
	return Started{ID: ID(p.id()), PID: p.PID(), At: started.UTC()}, nil
}

// boxOf returns where the commands of a call run.
func boxOf(c *tool.Call) policy.Box {
	switch limits := c.Env.Info().Limits; {
	case limits == nil || limits.Sandbox == "":
		return ""
	case limits.Sandbox == tool.ReadSandbox:
		return policy.BoxRead
	}
	return policy.BoxWorkspace
}

// makeRoom drops the oldest ended process if there are too many, and reports whether there is room for
// another one.
func (s *shell) makeRoom() bool {
	if len(s.running) < maxBackground {
		return true
	}
	for _, p := range s.sorted() {
		if p.ended() {
			p.Release()
			delete(s.running, p.id())
			return true
		}
	}
	return false
}

func (s *State) sorted() []*process {
	var all []*process
	for _, p := range s.running {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *process) int { return cmp.Compare(a.number, b.number) })
	return all
}

// list returns a clause that names the processes.
func (s *State) list() string {
	if len(s.running) == 0 {
		return "there are none"
	}
	var ids []string
	for _, p := range s.sorted() {
		ids = append(ids, p.id())
	}
	return "the ids are " + strings.Join(ids, ", ")
}

// find returns the process with an id. The error lists the existing ids.
func (s *State) find(id ID) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.running[string(id)]; ok {
		return p, nil
	}
	return nil, tool.Errorf(tool.ProcessNotFound, "No background process has the id %q; %s.", string(id), s.list())
}

// wait waits for the process to exit, at most ms milliseconds.
func (p *process) wait(ctx context.Context, ms int64) {
	if ms <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, millis(ms, forever))
	defer cancel()
	select {
	case <-p.Done():
	case <-ctx.Done():
	}
}

// inputTimeout is how long a process may take to read its input.
const inputTimeout = 2 * time.Second

var errNotReading = errors.New("it has not read its input yet; it gets the rest when it does")

// send writes to standard input. If the process does not read in time, the write continues without the
// call, and the next write waits for it.
func (p *process) send(ctx context.Context, text string, end bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, inputTimeout, errNotReading)
	defer cancel()
	select {
	case <-p.input:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.shell.sent(text)
	done := make(chan error, 1)
	go func() {
		var err error
		if text != "" {
			_, err = p.Write([]byte(text))
		}
		if err == nil && end {
			err = p.CloseStdin()
		}
		p.input <- struct{}{}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxNews is the maximum output that one read returns, in bytes.
const maxNews = 1 << 20

// news returns the output since the last read.
func (p *process) news() (News, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.ended() // checked first, so that no output can follow
	n := News{ID: ID(p.id()), PID: p.PID(), Command: p.command, Running: !ended}
	r := transcript(p.Process, p.read)
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxNews))
	if err != nil {
		return n, tool.Errorf(tool.IOError, "Cannot read the output of process %s: %v", p.id(), err)
	}
	p.read = r.Offset()
	data = append(data, r.pending...)
	more := p.read < p.Written(env.Both)
	if cut := len(data) - partialRune(data); more || !ended {
		p.read -= int64(len(data) - cut)
		data = data[:cut]
	}
	n.Text, n.More = string(data), more && ended
	p.reported = ended && !more
	if ended {
		n.Exit, _ = p.Wait(context.Background())
	}
	return n, nil
}

// partialRune returns the length of an incomplete character at the end of data.
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
