// Package filelock locks files against other processes, on every system.
package filelock

import "os"

// Try locks a file exclusively until it is unlocked or closed, and reports whether it did. It does not wait for
// another holder. The file can still be read.
func Try(f *os.File) (bool, error) { return try(f) }

// Unlock releases the lock of a file.
func Unlock(f *os.File) error { return unlock(f) }
