// Package env defines where tools work: files and processes behind one small interface. A tool never uses the operating
// system directly. It uses the [Environment] it is given, so the same tool works on this machine, in memory, or on any
// other implementation.
//
// Paths are joined, cleaned and compared by the environment's own rules ([Paths]), which may differ from the rules on
// the system this program runs on. Errors come from this package and io/fs.
//
// The interface is small so that others can implement it. The rest is built on top: [Exec] runs a command to
// completion, and package search provides grep and glob for every environment. [ReadOnly], [Logged] and [Scoped] wrap
// any environment, and [NoLinks] is a view without symbolic links.
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

// Environment is where tools run.
//
// An implementation guarantees:
//
//   - All methods may be called concurrently.
//   - Paths follow Info().Paths(): "/" separates elements on every platform, and on Windows "\" does so too. Relative
//     paths are resolved against Info().Dir. An empty path is invalid. A trailing separator is ignored, except by
//     WriteFile, which returns [ErrIsDir].
//   - Errors wrap fs.ErrNotExist, fs.ErrExist, fs.ErrPermission and fs.ErrInvalid where they apply, or an error defined
//     in this package. Operating system errors are not part of the contract.
//   - A change is complete when its method returns. A failed WriteFile leaves the old file.
//   - If ctx is done, methods return its error. After Close they return [ErrClosed].
//
// An environment may confine paths and commands: it then returns [ErrOutside], [ErrReadOnly] or [ErrConfined], which
// are final. Callers must not retry in another way. Package envtest tests implementations.
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
	// WriteFile replaces or creates a file atomically, creating missing parents. Readers see either the old content or
	// the new. An existing file keeps its mode and owner, and a symbolic link stays a link; perm applies to new files.
	WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error
	// Remove deletes a file or an empty directory. It deletes a symbolic link, not its target.
	Remove(ctx context.Context, path string) error
	// Rename moves a file and replaces an existing one. The parent of the new path must exist.
	Rename(ctx context.Context, from, to string) error
	// Mkdir creates a directory. Its parent must exist.
	Mkdir(ctx context.Context, path string, perm fs.FileMode) error
	// ReadDir lists a directory sorted by name.
	ReadDir(ctx context.Context, path string) ([]FileInfo, error)

	// Start starts a command in a new process group. When ctx is done, the command and all its descendants are killed,
	// even after Start has returned. Start returns [ErrTooLong] if the command line exceeds the system limit, and
	// [ErrNoCommands] if the environment runs no commands.
	Start(ctx context.Context, c Command) (Process, error)

	// Close kills all processes that were started and releases all resources. Closing again does nothing.
	Close() error
}

// Info describes an environment. It never changes.
type Info struct {
	Dir       string // working directory, absolute
	Platform  string // a GOOS value: "linux", "darwin", "windows"
	OSVersion string // for prompts, such as "Debian GNU/Linux 12 (kernel 6.18)"
	Shell     string // program that runs Command.Line, such as "/bin/bash"; "" without commands
	Limits    *Limits
}

// Limits describes restrictions on commands. nil means no limits.
type Limits struct {
	// Sandbox is the sandbox mode, such as "workspace-write"; "" means no sandbox. It also applies to file changes.
	Sandbox  string
	Writable []string // directories that are writable in the sandbox
	Temp     string   // the writable directory for temporary files
	Network  bool     // the network can be used in the sandbox
	Hosts    []string // without Network, hosts that the proxy can reach; variables such as HTTPS_PROXY name it
	Masked   []string // files and directories that are unreadable in the sandbox
	Withheld []string // host variables that commands do not get, sorted
}

// Confined is an environment with a sandbox.
type Confined interface {
	Environment
	// Allows reports whether the sandbox permits writing a real path.
	Allows(path string) bool
	// Enforced reports whether the system enforces the whole sandbox.
	Enforced() bool
	// ReadsOnly reports whether the system enforces Command.ReadOnly.
	ReadsOnly() bool
	// Outside returns a view without the sandbox. Closing it closes the environment.
	Outside() Environment
}

// Outside returns a view without the sandbox, and whether there is one.
func Outside(e Environment) (Environment, bool) {
	c, ok := e.(Confined)
	if l := e.Info().Limits; !ok || l == nil || l.Sandbox == "" {
		return e, false
	}
	return c.Outside(), true
}

// FileInfo describes a file. Name is the last element in the requested path.
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
	Line string   // a command line for Info.Shell
	Args []string // a program and its arguments, run without a shell

	Dir   string            // default: the environment's working directory
	Env   map[string]string // set in addition to the environment's variables
	Stdin io.Reader         // nil means empty input

	// KeepStdin keeps standard input open for Process.Write; Stdin must then be nil. PTY runs the command on a terminal
	// of Rows by Cols (default 24 by 80), with all output on Stdout.
	KeepStdin  bool
	PTY        bool
	Rows, Cols int

	// Merge writes standard error to Stdout, like 2>&1 in a shell. Otherwise the order in which both streams appear in
	// Both is not exact.
	Merge bool

	// ReadOnly runs the command where it can change nothing, has no network and no sockets, and can read only the
	// workspace, system files and tools; see [Confined]. An environment without a sandbox ignores it. Repository lets the
	// command read the whole repository around the workspace. Reveal lists files and directories in Limits.Masked that
	// the command may read.
	ReadOnly   bool
	Repository bool
	Reveal     []string

	// Timeout ends the command with SIGTERM to its group and, two seconds later, SIGKILL. Zero
	// means no timeout.
	Timeout time.Duration

	// MaxOutput limits the output bytes to keep; zero means the environment's default (64 MiB). If the output is
	// longer, its head and tail are kept.
	MaxOutput int64

	// OnOutput, if set, is called with output as it arrives, one call at a time. p is only valid during the call.
	// OnOutput must not block for long or wait for the process.
	OnOutput func(stream Stream, p []byte)
}

// Stream selects process output.
type Stream int

// Output streams.
const (
	Both Stream = iota // both, interleaved in order of arrival
	Stdout
	Stderr
)

// Process is a started command.
type Process interface {
	// PID returns the process id inside the environment.
	PID() int
	// Wait waits until the command has exited or was killed, and returns how. It does not wait for background children,
	// even if they hold the output open. When ctx is done, only the waiting ends.
	Wait(ctx context.Context) (Exit, error)
	// Done returns a channel that is closed when the command has ended.
	Done() <-chan struct{}
	// Output returns a reader for the output so far, starting at a byte offset in the stream.
	Output(s Stream, offset int64) OutputReader
	// Written returns how many bytes were printed so far, including dropped bytes.
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

// OutputReader reads process output. It skips dropped bytes, and Offset jumps over them.
type OutputReader interface {
	io.ReadCloser
	// Offset returns the stream position of the next byte. After io.EOF, the next Output continues there.
	Offset() int64
}

// Exit describes how a process ended.
type Exit struct {
	Code     int           // 128 + signal number if a signal ended the process
	Signal   string        // such as "SIGKILL"; "" if the process exited
	TimedOut bool          // Command.Timeout ended the process
	Duration time.Duration // from start to exit
	// Orphans counts descendants still running in the background. It may miss processes that closed the output and left
	// the process group. Stop, Close and the end of Start's context kill all of them.
	Orphans int
	// Dropped counts output bytes dropped because of Command.MaxOutput.
	Dropped int64
	// Blocked are paths that the command created and the sandbox renamed or removed, because they decide what runs
	// outside it.
	Blocked []string
	// Refused are hosts that the command tried to reach and the sandbox refused. Each is written as the entries that
	// would permit it in Limits.Hosts, separated by commas.
	Refused []string
}

// Errors that environments wrap, in addition to io/fs errors.
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
