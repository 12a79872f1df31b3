package env

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// execMaxOutput is the default for Command.MaxOutput in Exec.
const execMaxOutput = 1 << 20

// ExecResult is the result of a finished command. Dropped output is replaced by a line with the number of missing
// bytes.
type ExecResult struct {
	Exit
	Stdout   string
	Stderr   string
	Combined string // both, in order of arrival
}

// Exec runs a command to completion and returns its output, up to Command.MaxOutput bytes (default 1 MiB) in each of
// Stdout, Stderr and Combined.
//
// A command that fails or times out is not an error. When ctx is done, the command is killed, and Exec returns the
// output so far together with ctx.Err().
func Exec(ctx context.Context, e Environment, c Command) (ExecResult, error) {
	if c.MaxOutput == 0 {
		c.MaxOutput = execMaxOutput
	}
	p, err := e.Start(ctx, c)
	if err != nil {
		return ExecResult{}, err
	}
	defer p.Release()
	// ctx ends the process, so waiting without it is bounded and keeps the output.
	var r ExecResult
	if r.Exit, err = p.Wait(context.WithoutCancel(ctx)); err != nil {
		return r, err
	}
	for _, f := range []struct {
		stream Stream
		text   *string
	}{{Stdout, &r.Stdout}, {Stderr, &r.Stderr}, {Both, &r.Combined}} {
		if *f.text, err = outputText(p, f.stream); err != nil {
			return r, fmt.Errorf("read command output: %w", err)
		}
	}
	return r, ctx.Err()
}

// outputText reads a whole stream and marks where bytes are missing.
func outputText(p Process, s Stream) (string, error) {
	r := p.Output(s, 0)
	defer r.Close()
	var b strings.Builder
	buf := make([]byte, min(32<<10, p.Written(s)+1))
	for {
		before := r.Offset()
		n, err := r.Read(buf)
		if gap := r.Offset() - int64(n) - before; gap > 0 {
			fmt.Fprintf(&b, "\n[... %d bytes of output dropped ...]\n", gap)
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
