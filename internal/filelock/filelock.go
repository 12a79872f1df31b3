// Package filelock locks files against other processes, on every system.
package filelock

import (
	"context"
	"os"
	"time"
)

// Try locks a file exclusively until it is unlocked or closed, and reports whether it did. It does not wait for
// another holder. The file can still be read.
func Try(f *os.File) (bool, error) { return try(f) }

// Wait locks a file like Try, and waits for another holder until ctx ends.
func Wait(ctx context.Context, f *os.File) error {
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 25*time.Millisecond) {
		if ok, err := try(f); ok || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Unlock releases a file's lock.
func Unlock(f *os.File) error { return unlock(f) }
