package tools

import (
	"fmt"
	"io"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/tool"
)

// outputOf returns the output of a process that has ended. If the output is small, it copies it and releases the
// process. Large output remains in the environment until it is closed.
func outputOf(p env.Process, exit env.Exit) tool.Output {
	const small = 64 << 10
	if p.Written(env.Both) > small {
		return processOutput{p, exit.Dropped}
	}
	defer p.Release()
	r := transcript(p, 0)
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		b = fmt.Appendf(b, "\n[Reading the output failed: %v]", err)
	}
	return tool.Text(b)
}

// processOutput is output that remains in the environment.
type processOutput struct {
	p       env.Process
	dropped int64
}

// Len returns the number of bytes, not counting dropped ones.
func (o processOutput) Len() int64 { return o.p.Written(env.Both) - o.dropped }

// Open returns a reader over the whole output.
func (o processOutput) Open() io.ReadCloser { return transcript(o.p, 0) }

// Close releases the output.
func (o processOutput) Close() error { return o.p.Release() }

// transcript reads the output of a process, starting at an offset. It replaces dropped output with a note.
func transcript(p env.Process, offset int64) *gapReader {
	return &gapReader{OutputReader: p.Output(env.Both, offset)}
}

type gapReader struct {
	env.OutputReader
	pending []byte // the note and the output after it
	err     error  // of the read that produced it
}

func (g *gapReader) Read(p []byte) (int, error) {
	if len(g.pending) == 0 && g.err == nil {
		before := g.Offset()
		n, err := g.OutputReader.Read(p)
		gap := g.Offset() - int64(n) - before
		if gap <= 0 {
			return n, err
		}
		g.pending = append(fmt.Appendf(nil, "\n[... %d bytes of output were dropped ...]\n", gap), p[:n]...)
		g.err = err
	}
	n := copy(p, g.pending)
	g.pending = g.pending[n:]
	if len(g.pending) > 0 {
		return n, nil
	}
	err := g.err
	g.err = nil
	return n, err
}
