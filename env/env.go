// Package env is the place where tools do their work: files and processes behind one small
// interface. A tool never touches the operating system itself; it asks the [Environment] it was
// given, so the same tool works on this machine, in memory, or wherever else one is implemented.
//
// An environment has paths and errors of its own. Paths are joined, cleaned and compared by the rules
// of its system ([Paths]), which need not be the system that this program runs on, and its errors are
// those of this package and of io/fs.
//
// The interface is kept small so that a consumer can implement it. What can be built on top of it
// is built on top of it: [Exec] runs a command to its end over Start, and package search answers
// grep and glob for every environment that does not do so itself. [ReadOnly], [Logged] and [Scoped]
// wrap any environment.
//
// Package envtest is the suite that every implementation must pass.
package env

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// Environment is where tools run. All methods may be called concurrently.
//
// Paths follow the rules of the environment's own system, which Info().Paths() gives: slashes
// separate on every platform but Windows, where backslashes do so too. A relative path is resolved
// against Info().Dir. The empty path is invalid in every method. A separator at the end of a path
// is ignored, except by WriteFile, which takes the path for that of a directory and refuses it.
//
// Errors wrap the sentinels of io/fs where they apply: fs.ErrNotExist, fs.ErrExist,
// fs.ErrPermission, and fs.ErrInvalid for a path that cannot be used, such as the empty one.
// Beside them there are [ErrIsDir] where a file is needed, [ErrNotDir] where a directory is, also
// on the way to a file, [ErrNotEmpty], [ErrSpecial] for devices and their like, [ErrOutside] where a
// path leaves the environment's roots, [ErrReadOnly] where writing is off, and [ErrClosed] after
// Close. What the errors of the operating system are is not part of the contract.
type Environment interface {
	Info() Info

	// Stat follows symbolic links; Lstat does not.
	Stat(ctx context.Context, path string) (FileInfo, error)
	Lstat(ctx context.Context, path string) (FileInfo, error)
	// RealPath is the absolute path of what a path leads to, with every symbolic link resolved.
	// The end of the path need not exist.
	RealPath(ctx context.Context, path string) (string, error)
	// Open reads a file from its start. Devices, FIFOs and sockets are refused.
	Open(ctx context.Context, path string) (io.ReadCloser, error)
	// WriteFile replaces the file's content or creates the file, and its parents, atomically:
	// a reader sees the old content or the new, and a failure leaves the old. An existing file
	// keeps its mode, owner and, if it is a symbolic link, its link; perm is for new files.
	WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error
	// Remove deletes one file or one empty directory. Of a symbolic link it deletes the link.
	Remove(ctx context.Context, path string) error
	// Rename moves a file; it replaces an existing file at the new place, whose parent must exist.
	Rename(ctx context.Context, from, to string) error
	// Mkdir makes one directory. Its parent must exist, and it must not.
	Mkdir(ctx context.Context, path string, perm fs.FileMode) error
	// ReadDir lists a directory sorted by name.
	ReadDir(ctx context.Context, path string) ([]FileInfo, error)

	// Start begins a command in a new process group. Cancelling ctx kills the command and all its
	// descendants, also after Start has returned. A command line or arguments beyond what the system
	// takes give [ErrTooLong]. An environment that runs no commands, such as one in memory, gives
	// [ErrNoCommands].
	Start(ctx context.Context, c Command) (Process, error)

	// Close kills every process that was started and releases what the environment holds.
	Close() error
}

// Info describes an environment. It does not change during the environment's life.
type Info struct {
	Dir       string // the working directory, absolute
	Platform  string // "linux", "darwin", "windows", as GOOS says it
	OSVersion string // for the model to read, such as "Debian GNU/Linux 12 (kernel 6.18)"
	Shell     string // the program that runs Command.Line, such as "/bin/bash"; "" where no commands run
}

// FileInfo describes a file. Name is the last element of the path that was asked for.
type FileInfo struct {
	Name    string
	Size    int64
	Mode    fs.FileMode
	ModTime time.Time
}

// IsDir reports whether the file is a directory.
func (f FileInfo) IsDir() bool { return f.Mode.IsDir() }

// Command says what to run. Exactly one of Line and Args is set.
type Command struct {
	Line string   // a command line for the environment's shell
	Args []string // or a program and its arguments, run without a shell

	Dir   string            // "" is the environment's working directory
	Env   map[string]string // added to what the environment lets through, and winning over it
	Stdin io.Reader         // nil: standard input is empty, and reading it gives end of file

	// KeepStdin leaves standard input open for Process.Write, and excludes Stdin. PTY gives the command a terminal of
	// Rows by Cols (24 by 80 when zero); its output then arrives on one stream.
	KeepStdin  bool
	PTY        bool
	Rows, Cols int

	// Timeout ends the command: a polite signal to its group, two seconds of grace, then a kill.
	// Zero means no limit of its own.
	Timeout time.Duration

	// MaxOutput bounds what is kept of the output, in bytes, on disk; zero is the environment's
	// default (64 MiB). Past it, the head and the tail are kept and the gap is counted.
	MaxOutput int64

	// OnOutput, if set, is called with output as it arrives, one call at a time. The slice is only
	// valid during the call. It must not block for long, nor wait for the process.
	OnOutput func(stream Stream, p []byte)
}

// Stream names an output stream of a process.
type Stream int

// The streams of a process. Both is the two interleaved, in the order they arrived.
const (
	Both Stream = iota
	Stdout
	Stderr
)

// Process is a command that was started.
type Process interface {
	// PID is the process id inside the environment.
	PID() int
	// Wait returns when the command has exited or was killed. It does not wait for children that
	// the command left in the background, even if they hold its output open.
	Wait(ctx context.Context) (Exit, error)
	// Done is closed when Wait would return at once.
	Done() <-chan struct{}
	// Output gives back what the process has printed so far, whole up to Command.MaxOutput. The
	// reader starts at the given byte offset of that stream and ends at what is there now.
	Output(s Stream, offset int64) OutputReader
	// Written is the number of bytes printed so far on that stream, kept or not.
	Written(s Stream) int64
	// Write sends to standard input; CloseStdin ends it. Both need Command.KeepStdin or PTY.
	Write(p []byte) (int, error)
	CloseStdin() error
	// Stop ends the process group as a timeout does, and waits for the end.
	Stop(ctx context.Context) (Exit, error)
	// Release frees what is kept of the output. The process must have ended.
	Release() error
}

// OutputReader reads the output of a process. Bytes that were not kept are passed over: Offset
// jumps, nothing is put in their place.
type OutputReader interface {
	io.ReadCloser
	// Offset is the place in the stream of the next byte to read. At the end of the reader it is
	// where the next Output goes on.
	Offset() int64
}

// Exit says how a process ended.
type Exit struct {
	Code     int           // the exit code; 128 + signal number if a signal ended it
	Signal   string        // the signal's name, such as "SIGKILL", if one ended it
	TimedOut bool          // Command.Timeout passed
	Duration time.Duration // from start to exit
	// Orphans counts descendants that outlived the command and run on in its background, as far as
	// they show: one that also let go of its output and its process group need not be counted. All
	// are killed when the environment closes, when the context of Start ends, or by Stop.
	Orphans int
	// Dropped counts the bytes of output that were not kept because of Command.MaxOutput.
	Dropped int64
}
