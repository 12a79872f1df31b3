// Package env defines where tools work: files and processes behind one small interface. A tool
// never uses the operating system directly. It uses the [Environment] it is given, so the same tool
// works on this machine, in memory, or on any other implementation.
//
// Paths are joined, cleaned and compared by the rules of the environment's system ([Paths]), which
// may differ from the system this program runs on. Errors are those of this package and of io/fs.
//
// The interface is small so that others can implement it. The rest is built on top: [Exec] runs a
// command to completion, and package search provides grep and glob for every environment.
// [ReadOnly], [Logged] and [Scoped] wrap any environment, and [NoLinks] is its view without symbolic
// links.
//
// Package envtest has the suite that every implementation must pass.
package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// Environment is where tools run. All methods may be called concurrently.
//
// Paths follow the rules of Info().Paths(): "/" separates elements on every platform, and "\" does
// so too on Windows. Relative paths are resolved against Info().Dir. An empty path is invalid. A
// trailing separator is ignored, except by WriteFile, which returns [ErrIsDir].
//
// Errors wrap fs.ErrNotExist, fs.ErrExist, fs.ErrPermission and fs.ErrInvalid where they apply, or
// one of the errors of this package. Errors of the operating system are not part of the contract.
type Environment interface {
	Info() Info

	// Stat follows symbolic links; Lstat does not.
	Stat(ctx context.Context, path string) (FileInfo, error)
	Lstat(ctx context.Context, path string) (FileInfo, error)
	// RealPath returns the absolute path with all symbolic links resolved. The last elements of
	// the path need not exist.
	RealPath(ctx context.Context, path string) (string, error)
	// Open opens a file for reading. Devices, FIFOs and sockets are refused with [ErrSpecial].
	Open(ctx context.Context, path string) (io.ReadCloser, error)
	// WriteFile replaces or creates a file atomically, creating missing parents. Readers see the
	// old content or the new, and a failure keeps the old. An existing file keeps its mode and
	// owner, and a symbolic link stays a link; perm applies to new files.
	WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error
	// Remove deletes a file or an empty directory. It deletes a symbolic link, not its target.
	Remove(ctx context.Context, path string) error
	// Rename moves a file and replaces an existing one. The parent of the new path must exist.
	Rename(ctx context.Context, from, to string) error
	// Mkdir creates a directory. Its parent must exist.
	Mkdir(ctx context.Context, path string, perm fs.FileMode) error
	// ReadDir lists a directory sorted by name.
	ReadDir(ctx context.Context, path string) ([]FileInfo, error)

	// Start starts a command in a new process group. When ctx is done, the command and all its
	// descendants are killed, even after Start has returned. Start returns [ErrTooLong] if the
	// command line exceeds the system's limit, and [ErrNoCommands] if the environment runs none.
	Start(ctx context.Context, c Command) (Process, error)

	// Close kills all processes that were started and releases all resources.
	Close() error
}

// Info describes an environment. It never changes.
type Info struct {
	Dir       string // the working directory, absolute
	Platform  string // a GOOS value: "linux", "darwin", "windows"
	OSVersion string // for prompts, such as "Debian GNU/Linux 12 (kernel 6.18)"
	Shell     string // the program that runs Command.Line, such as "/bin/bash"; "" if there are no commands
	Limits    *Limits
}

// Limits describes what commands cannot do or do not get. Nil means no limits.
type Limits struct {
	// Sandbox is the mode of the sandbox, such as "workspace-write"; "" means that there is none. It also
	// applies to changes of files.
	Sandbox  string
	Writable []string // directories that can be written in the sandbox
	Temp     string   // one of them, for temporary files
	Network  bool     // the network can be used in the sandbox
	Hosts    []string // without Network, what can be reached through the proxy that the variables name
	Masked   []string // files and directories that commands cannot read in the sandbox
	Withheld []string // names of the host's variables that commands do not get, sorted
}

// Confined is an environment with a sandbox.
type Confined interface {
	Environment
	// Allows reports whether the sandbox permits writing a real path.
	Allows(path string) bool
	// Enforced reports whether the system enforces all of the sandbox.
	Enforced() bool
	// ReadsOnly reports whether the system enforces Command.ReadOnly.
	ReadsOnly() bool
	// Outside returns a view without the sandbox. Closing it closes the environment.
	Outside() Environment
}

// Outside returns a view of an environment without its sandbox, and whether it has one.
func Outside(e Environment) (Environment, bool) {
	c, ok := e.(Confined)
	if l := e.Info().Limits; !ok || l == nil || l.Sandbox == "" {
		return e, false
	}
	return c.Outside(), true
}

// FileInfo describes a file. Name is the last element of the requested path.
type FileInfo struct {
	Name    string
	Size    int64
	Mode    fs.FileMode
	ModTime time.Time
}

// IsDir reports whether the file is a directory.
func (f FileInfo) IsDir() bool { return f.Mode.IsDir() }

// Command describes what to run. Exactly one of Line and Args must be set.
type Command struct {
	Line string   // a command line for the environment's shell
	Args []string // a program and its arguments, run without a shell

	Dir   string            // default: the environment's working directory
	Env   map[string]string // variables to set in addition to the environment's
	Stdin io.Reader         // nil means empty input

	// KeepStdin keeps standard input open for Process.Write; Stdin must then be nil. PTY runs the
	// command on a terminal of Rows by Cols (default 24 by 80), with all output on Stdout.
	KeepStdin  bool
	PTY        bool
	Rows, Cols int

	// Merge puts standard error on Stdout, as 2>&1 does in a shell. Otherwise the order of the two streams in Both is
	// not exact.
	Merge bool

	// ReadOnly runs the command where it can change nothing, has no network and no sockets, and can read only the
	// workspace, system files and tools; see [Confined]. An environment without a sandbox ignores it. Repository lets the
	// command read all of the repository that the workspace is a part of. Reveal lists files and directories of
	// Limits.Masked that the command may read.
	ReadOnly   bool
	Repository bool
	Reveal     []string

	// Timeout ends the command with SIGTERM to its group and, two seconds later, SIGKILL. Zero
	// means no timeout.
	Timeout time.Duration

	// MaxOutput is the maximum number of output bytes to keep; zero means the environment's
	// default (64 MiB). Of longer output the head and the tail are kept.
	MaxOutput int64

	// OnOutput, if set, is called with output as it arrives, one call at a time. The slice is only
	// valid during the call. It must not block for long or wait for the process.
	OnOutput func(stream Stream, p []byte)
}

// Stream identifies an output stream of a process.
type Stream int

// The streams of a process.
const (
	Both Stream = iota // both, interleaved in order of arrival
	Stdout
	Stderr
)

// Process is a started command.
type Process interface {
	// PID returns the process id inside the environment.
	PID() int
	// Wait waits until the command has exited or was killed. It does not wait for background
	// children, even if they hold its output open. When ctx is done, only the waiting ends.
	Wait(ctx context.Context) (Exit, error)
	// Done returns a channel that is closed when the command has ended.
	Done() <-chan struct{}
	// Output returns a reader of the output so far, from a byte offset of the stream.
	Output(s Stream, offset int64) OutputReader
	// Written returns the number of bytes printed so far, including dropped ones.
	Written(s Stream) int64
	// Write writes to standard input and CloseStdin closes it. Both return [ErrNoStdin] unless
	// Command.KeepStdin or PTY was set.
	Write(p []byte) (int, error)
	CloseStdin() error
	// Stop ends the process group as a timeout does, and waits for it.
	Stop(ctx context.Context) (Exit, error)
	// Release frees the stored output. The process must have ended.
	Release() error
}

// OutputReader reads the output of a process. It skips dropped bytes, and Offset jumps over them.
type OutputReader interface {
	io.ReadCloser
	// Offset returns the position in the stream of the next byte. After io.EOF it is the offset
	// at which the next Output continues.
	Offset() int64
}

// Exit describes how a process ended.
type Exit struct {
	Code     int           // 128 + the signal number if a signal ended the process
	Signal   string        // such as "SIGKILL"; "" if the process exited
	TimedOut bool          // Command.Timeout ended the process
	Duration time.Duration // from start to exit
	// Orphans counts descendants still running in the background. Those that closed the output
	// and left the process group may be missing. All of them are killed by Stop, by Close, and
	// when the context of Start is done.
	Orphans int
	// Dropped counts the output bytes dropped because of Command.MaxOutput.
	Dropped int64
	// Blocked are paths that the command created and the sandbox renamed or removed, because they decide what runs
	// outside of it.
	Blocked []string
	// Refused are hosts that the sandbox did not let the command reach: each as what Limits.Hosts lacks, separated by
	// commas.
	Refused []string
}

// Errors that environments wrap, in addition to those of io/fs.
var (
	ErrOutside    = errors.New("path is outside the allowed directories")
	ErrLink       = errors.New("path contains a symbolic link") // see [NoLinks]
	ErrReadOnly   = errors.New("environment is read-only")
	ErrConfined   = fmt.Errorf("the sandbox does not permit this: %w", fs.ErrPermission)
	ErrClosed     = errors.New("environment is closed")
	ErrIsDir      = errors.New("is a directory")
	ErrNotDir     = errors.New("not a directory")
	ErrNotEmpty   = errors.New("directory not empty")
	ErrSpecial    = errors.New("not a regular file")
	ErrTooLarge   = errors.New("file is too large")
	ErrTooLong    = errors.New("command line is too long")
	ErrNoCommands = errors.New("environment does not run commands")
	ErrNoStdin    = errors.New("standard input is not open")
)

// ReadFile reads a whole file. If limit is positive and the file is larger, it returns an error
// that wraps [ErrTooLarge].
func ReadFile(ctx context.Context, e Environment, path string, limit int64) ([]byte, error) {
	f, err := e.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if limit <= 0 {
		return io.ReadAll(f)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes: %w", path, limit, ErrTooLarge)
	}
	return data, nil
}
