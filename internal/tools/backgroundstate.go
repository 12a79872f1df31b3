package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

// State implements agent.Background, with which users see and stop the background processes.
var _ agent.Background = (*State)(nil)

// Skip makes the IDs of background processes begin after n. IDs that were used before the session was resumed are not
// used again.
func (s *State) Skip(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, n)
}

// Await implements agent.Background.
func (s *State) Await(ctx context.Context, id string) (event.BackgroundEnd, bool) {
	p, err := s.find(ID(id))
	if err != nil {
		return event.BackgroundEnd{}, false
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		if !p.ended() {
			return event.BackgroundEnd{}, false
		}
	}
	exit, err := p.Wait(context.WithoutCancel(ctx))
	p.mu.Lock()
	defer p.mu.Unlock()
	return event.BackgroundEnd{
		ID:       id,
		Command:  p.command,
		ExitCode: exit.Code,
		Signal:   exit.Signal,
		TimedOut: exit.TimedOut,
		Stopped:  p.stopped,
		Duration: exit.Duration,
	}, err == nil
}

// Stop implements agent.Background.
func (s *State) Stop(ctx context.Context, id string) error {
	p, err := s.find(ID(id))
	if err != nil {
		return err
	}
	if p.ended() {
		return fmt.Errorf("process %s has already ended", id)
	}
	_, err = s.stopProcess(ctx, ID(id), event.StoppedByUser)
	return err
}

// stopProcess stops a process and everything it started.
func (s *State) stopProcess(ctx context.Context, id ID, by event.StoppedBy) (*process, error) {
	p, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if !p.ended() {
		p.mu.Lock()
		p.stopped = by
		p.mu.Unlock()
	}
	if _, err := p.Process.Stop(ctx); err != nil {
		return nil, tool.Errorf(tool.IOError, "Process %s could not be stopped: %v", id, err)
	}
	return p, nil
}

// maxRead is the maximum output that one Read returns, in bytes.
const maxRead = 64 << 10

// Read implements agent.Background.
func (s *State) Read(id string, offset int64) (agent.BackgroundOutput, error) {
	p, err := s.find(ID(id))
	if err != nil {
		return agent.BackgroundOutput{}, err
	}
	running := !p.ended() // checked first, so that no output can follow
	size := p.Written(env.Both)
	from := min(offset, size)
	if offset < 0 {
		from = max(size+max(offset, -size)-1, 0) // one byte more shows whether a line begins there
	}
	r := transcript(p.Process, from)
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxRead))
	if err != nil {
		return agent.BackgroundOutput{}, fmt.Errorf("cannot read the output of process %s: %w", id, err)
	}
	next := r.Offset()
	data = append(data, r.pending...)
	if offset < 0 && from > 0 {
		data = data[leadingPart(data):]
	}
	if back := unfinished(data, next < size, running); back > 0 {
		data, next = data[:len(data)-back], next-int64(back)
	}
	return agent.BackgroundOutput{
		Text:    strings.ToValidUTF8(string(data), "\uFFFD"),
		Next:    next,
		Size:    size,
		Running: running,
	}, nil
}

// unfinished returns how many bytes at the end of data belong to the next part: a line if more follows, so that a secret is
// not read in two parts, or an incomplete character.
func unfinished(data []byte, more, running bool) int {
	if i := bytes.LastIndexByte(data, '\n'); more && i >= 0 {
		return len(data) - i - 1
	}
	if more || running {
		return partialRune(data)
	}
	return 0
}

// leadingPart returns how many bytes at the start of data do not belong to a tail that begins after the first byte: the
// rest of a line, so that no part of a secret is read, or of a character if there is no other line.
func leadingPart(data []byte) int {
	if i := bytes.IndexByte(data, '\n'); i >= 0 && i < len(data)-1 {
		return i + 1
	}
	n := min(len(data), 1)
	for n < min(len(data), 4) && data[n]&0xC0 == 0x80 {
		n++
	}
	return n
}
