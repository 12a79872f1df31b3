//go:build !darwin && (!linux || (!amd64 && !arm64))

package sandbox

import "os"

// Box starts confined processes, which this system cannot do.
type Box struct{}

// New returns [ErrUnsupported].
func New(Config) (*Box, error) { return nil, ErrUnsupported }

func (*Box) Support() Support                                          { return Probe() }
func (*Box) Writable() []string                                        { return nil }
func (*Box) Allows(string) bool                                        { return false }
func (*Box) Terminal() (host, tty *os.File, err error)                 { return nil, nil, ErrUnsupported }
func (*Box) Contains(int) bool                                         { return false }
func (*Box) Sweep() []string                                           { return nil }
func (*Box) Refused() []string                                         { return nil }
func (*Box) Expect(string)                                             {}
func (*Box) Close() error                                              { return nil }
func (*Box) Traces() (reserved, forbidden []string)                    { return nil, nil }
func (*Box) Start(string, []string, *os.ProcAttr) (*os.Process, error) { return nil, ErrUnsupported }

// Probe returns what this system can enforce: nothing.
func Probe() Support { return Support{Problems: []string{"there is no sandbox for this system"}} }

// landlockVersion returns 0: only Linux has it.
func landlockVersion() int { return 0 }
