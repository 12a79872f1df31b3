package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/tool"
)

// maxSleep is the maximum time that one call waits. Prompt caches of providers expire after about that time.
const maxSleep = 10 * time.Minute

// maxWatched is the maximum number of bytes of a line that monitor matches.
const maxWatched = 64 << 10

// waiting returns the tools that wait for background processes.
func (s *shell) waiting() []tool.Tool {
	monitor := waitSpec(
		"monitor",
		"Wait until a background process prints a matching line or ends, and read the new output.",
		"matched string",
		"ended array",
	)
	monitor.Input = json.RawMessage(
		`{"type":"object","properties":{"ids":{"type":"array","items":{"type":["string","integer"]},` +
			`"description":"ids of background processes (default: all)"},` +
			`"pattern":{"type":"string","description":"RE2 expression for a line (default: wait for the end of a process)"},` +
			`"timeout_seconds":{"type":"number","description":"how long to wait (default 60, at most 600)"}},"additionalProperties":false}`,
	)
	return []tool.Tool{
		tool.New(
			waitSpec("sleep", "Wait. Ends early when a background process ends or the user sends a message.", "seconds number"),
			tool.Nothing[sleepIn],
			s.sleep,
		),
		tool.New(monitor, tool.Nothing[monitorIn], s.monitor),
	}
}

func waitSpec(name, description string, fields ...string) tool.Spec {
	return tool.Spec{
		Name:        name,
		Version:     "1.0.0",
		Description: description,

		Permissions: []tool.Permission{tool.ProcExec},
		ReadOnly:    true,
		Limit:       shellLimit(),
		Output:      payload(append(fields, "reason string")...),
	}
}

// wake wakes all waiting calls.
func (s *State) wake() {
	s.wakes.Lock()
	defer s.wakes.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// next returns a channel that is closed by the next wake.
func (s *State) next() <-chan struct{} {
	s.wakes.Lock()
	defer s.wakes.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Why a call stopped waiting.
const (
	timePassed = "time passed"
	endedEarly = "a process ended"
	printed    = "a process printed output"
	matched    = "a line matched"
	steered    = "a message arrived"
)

// await waits until ready returns a reason, a message for the agent arrives or the time has passed. It calls ready
// again whenever a process prints something or one of the given processes ends.
func (s *State) await(
	ctx context.Context,
	c *tool.Call,
	limit time.Duration,
	processes []*process,
	ready func() (string, error),
) (string, error) {
	over := make(chan struct{})
	defer close(over)
	for _, p := range processes {
		go func() {
			select {
			case <-p.Done():
				s.wake()
			case <-over:
			}
		}()
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		next := s.next() // before ready is called, so that no change is missed
		if why, err := ready(); why != "" || err != nil {
			return why, err
		}
		select {
		case <-next:
		case <-c.Steered:
			return steered, nil
		case <-timer.C:
			return timePassed, nil
		case <-ctx.Done():
			return "", failed(ctx.Err(), "")
		}
	}
}

// limitOf converts seconds to a duration of at most maxSleep.
func limitOf(seconds float64) (time.Duration, error) {
	if !(seconds > 0) {
		return 0, tool.Errorf(tool.ValidationError, "The number of seconds must be positive.")
	}
	return time.Duration(min(seconds, maxSleep.Seconds()) * float64(time.Second)), nil
}

type sleepIn struct {
	Seconds float64 `json:"seconds" jsonschema:"how long to wait (at most 600)"`
	Output  bool    `json:"until_output,omitempty" jsonschema:"also end when a background process prints something"`
}

func (s *shell) sleep(ctx context.Context, c *tool.Call, in sleepIn) (tool.Result, error) {
	limit, err := limitOf(in.Seconds)
	if err != nil {
		return tool.Result{}, err
	}
	open := s.unfinished()
	start := time.Now()
	why, err := s.await(ctx, c, limit, open, func() (string, error) {
		for _, p := range open {
			switch {
			case p.ended():
				return endedEarly, nil
			case in.Output && p.unread() < p.Written(env.Both):
				return printed, nil
			}
		}
		return "", nil
	})
	if err != nil {
		return tool.Result{}, err
	}
	slept := time.Since(start)
	res := tool.Success("Waited %s: %s.", inSeconds(slept), why)
	res.Fields = map[string]any{"seconds": slept.Seconds(), "reason": why}
	return res, nil
}

// inSeconds returns a duration in whole seconds, so that quick calls give the same text every time.
func inSeconds(d time.Duration) string {
	if d < time.Second {
		return "under 1 s"
	}
	return fmt.Sprintf("%d s", int(d/time.Second))
}

type monitorIn struct {
	IDs     []ID    `json:"ids"`
	Pattern string  `json:"pattern"`
	Timeout float64 `json:"timeout_seconds"`
}

func (s *shell) monitor(ctx context.Context, c *tool.Call, in monitorIn) (tool.Result, error) {
	if in.Timeout == 0 {
		in.Timeout = 60
	}
	limit, err := limitOf(in.Timeout)
	if err != nil {
		return tool.Result{}, err
	}
	watched, err := s.watched(in)
	if err != nil {
		return tool.Result{}, err
	}
	processes := make([]*process, len(watched))
	for i, w := range watched {
		processes[i] = w.process
	}
	var line string
	why, err := s.await(ctx, c, limit, processes, func() (string, error) {
		for _, w := range watched {
			ended := w.ended() // checked first, so that no output can follow
			if found, ok, err := w.scan(ended); err != nil || ok {
				line = found
				return matched, err
			}
			if ended {
				return endedEarly, nil
			}
		}
		return "", nil
	})
	if err != nil {
		return tool.Result{}, err
	}
	return report(watched, why, line)
}

// watched returns the processes to wait for: those in in.IDs, or all unfinished ones if there are none.
func (s *shell) watched(in monitorIn) ([]*watch, error) {
	var pattern *regexp.Regexp
	if in.Pattern != "" {
		var err error
		if pattern, err = regexp.Compile(in.Pattern); err != nil {
			return nil, tool.Errorf(tool.InvalidPattern, "The pattern is not a valid RE2 expression: %v.", err)
		}
	}
	var list []*watch
	add := func(p *process) {
		if !slices.ContainsFunc(list, func(w *watch) bool { return w.process == p }) {
			list = append(list, &watch{process: p, pattern: pattern, at: p.unread()})
		}
	}
	for _, id := range in.IDs {
		p, err := s.find(id)
		if err != nil {
			return nil, err
		}
		add(p)
	}
	if len(in.IDs) > 0 {
		return list, nil
	}
	for _, p := range s.unfinished() {
		add(p)
	}
	if len(list) == 0 {
		return nil, tool.Errorf(tool.ProcessNotFound, "No background process is running, and all output of ended processes has been read.")
	}
	return list, nil
}

// unfinished returns the background processes whose end has not been reported yet, in order. It includes ended ones, so
// that a process that ends just before a call is not missed.
func (s *shell) unfinished() []*process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(s.sorted(), func(p *process) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.reported
	})
}

// unread returns the offset at which the unread output starts.
func (p *process) unread() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read
}

// watch searches the output of a process for a line. The output still counts as unread for shell_output.
type watch struct {
	*process
	pattern *regexp.Regexp
	at      int64  // where the next scan begins
	rest    []byte // an incomplete line
}

// scan searches the output since the last scan. If the process has ended, it includes an incomplete last line.
func (w *watch) scan(ended bool) (string, bool, error) {
	if w.pattern == nil {
		return "", false, nil
	}
	r := w.Process.Output(env.Both, w.at)
	defer r.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		w.at = r.Offset()
		for part := range bytes.Lines(buf[:n]) {
			w.rest = append(w.rest, part[:min(len(part), maxWatched-min(len(w.rest), maxWatched))]...)
			if part[len(part)-1] != '\n' {
				break
			}
			if line, ok := w.line(); ok {
				return line, true, nil
			}
		}
		switch {
		case err == io.EOF && ended && len(w.rest) > 0:
			line, ok := w.line()
			return line, ok, nil
		case err == io.EOF:
			return "", false, nil
		case err != nil:
			return "", false, tool.Errorf(tool.IOError, "Cannot read the output of process %s: %v", w.id(), err)
		}
	}
}

// line returns and clears the collected line, and reports whether it matches.
func (w *watch) line() (string, bool) {
	line := strings.TrimRight(string(w.rest), "\r\n")
	w.rest = w.rest[:0]
	return line, w.pattern.MatchString(line)
}

// report returns why the wait ended, and the new output of each process.
func report(watched []*watch, why, line string) (tool.Result, error) {
	text, ended := fmt.Sprintf("[%s]\n", why), []string{}
	if why == matched {
		text = fmt.Sprintf("[%s: %s]\n", why, brief(line))
	}
	for _, w := range watched {
		n, err := w.news()
		if err != nil {
			return tool.Result{}, err
		}
		if !n.Running {
			ended = append(ended, w.id())
		}
		text += fmt.Sprintf("--- process %s\n%s\n", w.id(), tool.String(showNews(struct{}{}, n).Output))
	}
	return tool.Result{Output: tool.Text(text), Fields: map[string]any{"reason": why, "matched": line, "ended": ended}}, nil
}
