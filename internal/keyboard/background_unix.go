//go:build unix

package keyboard

import (
	"errors"
	"os/signal"
	"syscall"
)

// failBackgroundReads makes reads from the terminal fail while the process is a background job. By
// default they stop the process.
func failBackgroundReads() { signal.Ignore(syscall.SIGTTIN) }

// isBackgroundRead reports whether a read failed because the process is a background job.
func isBackgroundRead(err error) bool { return errors.Is(err, syscall.EIO) }
