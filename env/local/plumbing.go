package local

import (
	"os"

	"github.com/reins-agent/reins/env"
)

// plumbing is the standard files of a process: the ends it gets and the ends we keep.
type plumbing struct {
	child  [3]*os.File
	output [2]*os.File // what we read: standard output, standard error
	stdin  *os.File    // what we write
	feed   *os.File    // stdin, if it is a pipe of its own
}

// newPlumbing makes the pipes, or the terminal, for a command. null is shared by all commands.
func newPlumbing(c env.Command, null *os.File) (*plumbing, error) {
	if c.PTY {
		return terminalPlumbing(c)
	}
	pl := &plumbing{child: [3]*os.File{null}}
	for i := range pl.output {
		r, w, err := os.Pipe()
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

// close closes everything but null.
func (pl *plumbing) close(null *os.File) {
	pl.closeChild(null)
	for _, f := range []*os.File{pl.output[0], pl.output[1], pl.feed} {
		if f != nil {
			f.Close()
		}
	}
}

// closeChild closes the ends that the child has its own copies of.
func (pl *plumbing) closeChild(null *os.File) {
	for _, f := range pl.child {
		if f != nil && f != null {
			f.Close() // on a terminal the three are one file; closing it again does nothing
		}
	}
}
