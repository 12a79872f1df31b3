package env

import "errors"

// Errors that environments wrap, beside those of io/fs.
var (
	ErrOutside    = errors.New("path is outside the allowed directories")
	ErrReadOnly   = errors.New("environment is read-only")
	ErrClosed     = errors.New("environment is closed")
	ErrSpecial    = errors.New("not a regular file")
	ErrNoStdin    = errors.New("standard input is not open")
	ErrNotAllowed = errors.New("not allowed here")
	ErrTooLarge   = errors.New("file is too large")
)
