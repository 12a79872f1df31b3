//go:build unix

package cli

import (
	"errors"
	"os/signal"
	"syscall"
)

// surviveBackground keeps a run that is put into the background from being stopped because it reads
// from the terminal: reading fails instead.
func surviveBackground() { signal.Ignore(syscall.SIGTTIN) }

// inBackground reports whether reading failed because the run is in the background.
func inBackground(err error) bool { return errors.Is(err, syscall.EIO) }
