package env

import "errors"

// Errors that environments wrap, beside those of io/fs.
var (
	ErrOutside    = errors.New("path is outside the allowed directories")
	ErrReadOnly   = errors.New("environment is read-only")
	ErrClosed     = errors.New("environment is closed")
	ErrIsDir      = errors.New("is a directory")
	ErrNotDir     = errors.New("not a directory")
	ErrNotEmpty   = errors.New("directory not empty")
	ErrSpecial    = errors.New("not a regular file")
	ErrTooLarge   = errors.New("file is too large")
	ErrTooLong    = errors.New("command line is too long")
	ErrNoCommands = errors.New("environment runs no commands")
	ErrNoStdin    = errors.New("standard input is not open")
)
