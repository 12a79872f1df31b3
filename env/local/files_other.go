//go:build !linux

package local

import "os"

// keepAttributes does nothing here: mode and owner are kept, extended attributes are not.
func keepAttributes(f, old *os.File) {}
