package env

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// execMaxOutput bounds what Exec keeps in memory when the command names no bound of its own.
const execMaxOutput = 1 << 20

// ExecResult is what a command that ran to its end has left. Where output was not kept, a line
// with the number of missing bytes stands in its place.
type ExecResult struct {
	Exit
	Stdout   string
	Stderr   string
	Combined string // both, in the order they arrived
}

// Exec runs a command to its end and gives back its output, at most Command.MaxOutput bytes of it
// (1 MiB when zero) in each of the three fields.
//
// A command that fails or times out is a result, not an error. When ctx ends, the command is
// killed, and the output so far comes back together with the error of ctx.
func Exec(ctx context.Context, e Environment, c Command) (ExecResult, error) {
	if c.MaxOutput == 0 {
		c.MaxOutput = execMaxOutput
	}
	p, err := e.Start(ctx, c)
	if err != nil {
		return ExecResult{}, err
	}
	defer p.Release()
	// The end of ctx ends the process, so waiting without ctx is bounded, and what the command
	// printed before it was killed is not lost.
	var r ExecResult
	if r.Exit, err = p.Wait(context.WithoutCancel(ctx)); err != nil {
		return r, err
	}
	for _, f := range []struct {
		stream Stream
		text   *string
	}{{Stdout, &r.Stdout}, {Stderr, &r.Stderr}, {Both, &r.Combined}} {
		if *f.text, err = outputText(p, f.stream); err != nil {
			return r, fmt.Errorf("read the output of the command: %w", err)
		}
	}
	return r, ctx.Err()
}

// outputText reads a whole stream and marks the places where bytes are missing.
func outputText(p Process, s Stream) (string, error) {
	r := p.Output(s, 0)
	defer r.Close()
	var b strings.Builder
	buf := make([]byte, min(32<<10, p.Written(s)+1))
	for {
		before := r.Offset()
		n, err := r.Read(buf)
		if gap := r.Offset() - int64(n) - before; gap > 0 {
			fmt.Fprintf(&b, "\n[... %d bytes of output were not kept ...]\n", gap)
		}
		b.Write(buf[:n])
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
	}
}
