package local

import (
	"os"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/sandbox"
)

// stdio is a process's standard files: the child's ends and ours.
type stdio struct {
	child  [3]*os.File
	output [2]*os.File // standard output and standard error, for reading
	stdin  *os.File    // for writing
	feed   *os.File    // stdin, if it is a pipe
}

// newStdio creates the pipes or the terminal for a command. null is shared by all commands. box is nil if the command
// is unconfined.
func newStdio(c env.Command, null *os.File, box *sandbox.Box) (*stdio, error) {
	if c.PTY {
		return terminalStdio(c, box)
	}
	pl := &stdio{child: [3]*os.File{null}}
	for i := range pl.output {
		if i > 0 && c.Merge {
			pl.child[i+1] = pl.child[i]
			break
		}
		r, w, err := outputPipe()
		if err != nil {
			pl.close(null)
			return nil, err
		}
		pl.child[i+1], pl.output[i] = w, r
	}
	if c.KeepStdin || c.Stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			pl.close(null)
			return nil, err
		}
		pl.child[0], pl.stdin, pl.feed = r, w, w
	}
	return pl, nil
}

// close closes everything except null.
func (pl *stdio) close(null *os.File) {
	pl.closeChild(null)
	for _, f := range []*os.File{pl.output[0], pl.output[1], pl.feed} {
		if f != nil {
			f.Close()
		}
	}
}

// closeChild closes our copies of the child's ends.
func (pl *stdio) closeChild(null *os.File) {
	for _, f := range pl.child {
		if f != nil && f != null {
			f.Close() // a file may occur several times; closing it again is harmless
		}
	}
}
