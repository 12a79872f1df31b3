package coding

import (
	"fmt"
	"io"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/tool"
)

// outputOf is the output of a process that has ended. Small output is taken over and the process
// released; large output stays where the environment keeps it, until it is closed.
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
		b = fmt.Appendf(b, "\n[The output could not be read back: %v]", err)
	}
	return tool.Text(b)
}

// processOutput is output that the environment keeps.
type processOutput struct {
	p       env.Process
	dropped int64
}

// Len is the number of bytes that were kept.
func (o processOutput) Len() int64 { return o.p.Written(env.Both) - o.dropped }

// Open reads the output from its start.
func (o processOutput) Open() io.ReadCloser { return transcript(o.p, 0) }

// Close frees the output.
func (o processOutput) Close() error { return o.p.Release() }

// transcript reads what a process printed from an offset on, with a line in the place of what was
// not kept.
func transcript(p env.Process, offset int64) *gapReader {
	return &gapReader{OutputReader: p.Output(env.Both, offset)}
}

type gapReader struct {
	env.OutputReader
	pending []byte // the line, and what was read behind it
	err     error  // what came with it
}

func (g *gapReader) Read(p []byte) (int, error) {
	if len(g.pending) == 0 && g.err == nil {
		before := g.Offset()
		n, err := g.OutputReader.Read(p)
		gap := g.Offset() - int64(n) - before
		if gap <= 0 {
			return n, err
		}
		g.pending = append(fmt.Appendf(nil, "\n[... %d bytes of output were not kept ...]\n", gap), p[:n]...)
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
