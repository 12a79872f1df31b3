// Package local is the environment that is this machine: its files and its processes.
//
// # Processes
//
// A command runs in a process group of its own, without a terminal unless it asks for one, with an
// empty standard input unless it is given one, and with no other file of the host. It ends when it
// exits; children that it leaves in the background, even those that hold its output open, do not
// keep it. At a timeout, a cancel or Close, it and all its descendants get SIGTERM, two seconds,
// and SIGKILL.
//
// Descendants are found by a variable in their environment that names the command, by their
// process group or session while the command's own process id is still reserved, and by their
// parents. So a process that left the group with setsid or a double fork is found all the same.
// One escapes: a process that threw away its environment, left its group and lost its parent, all
// three. Nothing short of a subreaper or a control group could follow it, and a library must
// not make its host into either.
//
// A watchdog, one small shell per environment, started with the first command, waits for the end
// of a pipe whose other end only this process holds. When this process dies, however it dies, the
// watchdog kills what it left behind. With [Env.Hold] others can tell when it has. On macOS, which hides the variables of its own programs, the
// watchdog knows the process groups as well. On Windows job objects do all of this.
//
// # Output
//
// Up to 64 KiB of a command's output are kept in memory, the rest in a spool file in a private
// directory that goes away with the environment, up to a limit.
//
// # Files
//
// Writes go to a temporary file beside the target, which then replaces it. The file is flushed to
// the disk before that, and the directory after it. A file with several
// hard links therefore parts from the others: they keep the old content. With Config.Roots set,
// every path is resolved through os.Root handles, and neither "..", nor a symbolic link, nor one
// that is swapped in at the wrong moment leads out of them. A file inside that is hard-linked to
// one outside can be read, for it is inside; writing it leaves the one outside as it is.
package local

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/reins-agent/reins/env"
)

// grace is the time between asking a process to end and killing it.
const grace = 2 * time.Second

// spoolPrefix begins the names of private directories.
const spoolPrefix = "reins-"

// defaultMaxOutput is what is kept of a command's output when nobody says otherwise.
const defaultMaxOutput = 64 << 20

// Config says what an environment is like. The zero value works in the current directory, without
// confinement.
type Config struct {
	// Dir is the working directory; "" is that of the host process.
	Dir string

	// Roots are the directories that file operations, and the directories of commands, are
	// confined to; relative ones start at Dir. Empty means no confinement. What a command does
	// once it runs is not confined by this.
	Roots []string

	// Shell runs Command.Line; "" is bash where there is one, else sh, and cmd.exe on Windows.
	Shell string

	// Inherit and Vars make the variables that commands see. Vars are set in any case, over
	// everything inherited.
	Inherit Inherit
	Vars    map[string]string

	// MaxOutput is used for commands that set none; zero is 64 MiB. SpoolDir is where the private
	// directory for long output is made; "" is the system's temporary directory.
	MaxOutput int64
	SpoolDir  string
}

// Env is this machine as an [env.Environment]. It must be closed.
type Env struct {
	info      env.Info
	maxOutput int64
	spoolRoot string   // where the private directory is made
	id        string   // random; the marks of all commands begin with it
	outerMark string   // the marks of this process itself, if it runs inside such an environment
	vars      []string // of every command, sorted
	tree      tree
	lastStray int  // descriptors up to this one are closed in children
	terminal  bool // the host has a terminal

	mu       sync.Mutex
	closed   bool
	seq      int
	procs    map[*Process]struct{} // running, or with descendants that do
	captures map[*capture]struct{} // not released
	null     *os.File              // what commands without input read
	guard    *guard
	held     []*os.File           // what the guard is to keep open
	spoolDir string               // the private directory; "" until it is needed
	streams  map[*stream]struct{} // still open
	leftover leftovers
	busy     sync.WaitGroup // processes and the killing of them
	reading  sync.WaitGroup // the readers of streams
}

var _ env.Environment = (*Env)(nil)

// New makes an environment. It starts nothing until the first command.
func New(c Config) (*Env, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	if fi, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("use %s as the working directory: %w", dir, err)
	} else if !fi.IsDir() {
		return nil, fmt.Errorf("use %s as the working directory: it is not a directory", dir)
	}
	shell, err := findShell(c.Shell)
	if err != nil {
		return nil, err
	}
	e := &Env{
		info:      env.Info{Dir: dir, Platform: runtime.GOOS, OSVersion: osVersion(), Shell: shell},
		maxOutput: c.MaxOutput,
		id:        newID(),
		outerMark: os.Getenv(markerName),
		procs:     make(map[*Process]struct{}),
		captures:  make(map[*capture]struct{}),
		streams:   make(map[*stream]struct{}),
	}
	if e.spoolRoot, err = filepath.Abs(cmp.Or(c.SpoolDir, os.TempDir())); err != nil {
		return nil, fmt.Errorf("find a place for the output of commands: %w", err)
	}
	if e.maxOutput <= 0 {
		e.maxOutput = defaultMaxOutput
	}
	host := os.Environ()
	e.vars = varList(baseVars(c, host), host)
	e.lastStray = strays()
	e.terminal = hasTerminal()
	e.leftover.env = e.id
	if e.tree, err = newTree(dir, c.Roots); err != nil {
		return nil, err
	}
	return e, nil
}

// Info describes the environment.
func (e *Env) Info() env.Info { return e.info }

// Close ends every process that was started here, with all descendants, as a timeout would, and
// releases what the environment holds. When it returns, nothing is left. Closing again does nothing.
func (e *Env) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	started := e.seq > 0
	procs := make([]*Process, 0, len(e.procs))
	for p := range e.procs {
		procs = append(procs, p)
	}
	e.mu.Unlock()

	e.leftover.stop()
	for _, p := range procs {
		p.end(false)
	}
	e.busy.Wait()
	if started {
		endMarked(marks{env: e.id}, 0)
	}
	e.closeStreams()
	return e.releaseAll()
}

// releaseAll gives up what is not a process.
func (e *Env) releaseAll() error {
	errs := []error{e.tree.close()}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.null != nil {
		errs = append(errs, e.null.Close())
	}
	for c := range e.captures {
		errs = append(errs, c.closeSpool())
	}
	clear(e.captures)
	if e.guard != nil {
		errs = append(errs, e.guard.dismiss())
	}
	if e.spoolDir != "" {
		errs = append(errs, os.RemoveAll(e.spoolDir))
	}
	return errors.Join(errs...)
}

// closeStreams gives up the output of processes that could not be killed, or were never ours.
func (e *Env) closeStreams() {
	e.mu.Lock()
	for s := range e.streams {
		s.file.Close()
	}
	e.mu.Unlock()
	e.reading.Wait()
}

// files gives the descriptors of a child: those named, and no other.
func (e *Env) files(std [3]*os.File) []*os.File {
	list := make([]*os.File, e.lastStray+1)
	copy(list, std[:])
	return list
}

// newMark gives the next command its mark. The caller holds e.mu.
func (e *Env) newMark() mark {
	e.seq++
	return mark{e.id, e.seq}
}

// spoolFile makes a file for the output of one process. The private directory for such files is made
// for the first. The watchdog, which removes it if this process is killed, is told of it before: by
// the pipe, since arguments can be read by other users, who must not make it first.
func (e *Env) spoolFile() (*os.File, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.spoolDir == "" {
		name := spoolPrefix + newID()
		if e.guard != nil {
			e.guard.spools(name)
		}
		dir := filepath.Join(e.spoolRoot, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		e.spoolDir = dir
	}
	return os.CreateTemp(e.spoolDir, "output-")
}

// checkSpool checks that there is a place for the private directory, while it can still be said.
func (e *Env) checkSpool() error {
	info, err := os.Stat(e.spoolRoot)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", e.spoolRoot)
	}
	if err != nil {
		return fmt.Errorf("find a place for the output of commands: %w", err)
	}
	return nil
}

// Hold gives a file to the watchdog: for as long as this process lives and, if it is killed, until
// every process that it started since has been ended. The processes themselves do not get it. So a
// lock on the file tells others when nothing of a killed host is left. It must not be closed before
// release. Where there is no watchdog, Hold does nothing.
func (e *Env) Hold(f *os.File) (release func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held = append(e.held, f)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.held = slices.DeleteFunc(e.held, func(h *os.File) bool { return h == f })
	}
}

func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// markerName is the variable by which the descendants of a command are found. Its value is a list
// of marks, one for each environment around the process, the outermost first.
const markerName = "REINS_JOBS"

// mark names one command of one environment. In text it is "ENV.JOB;".
type mark struct {
	env string // the random id of the environment
	job int    // the number of the command in it
}

func (m mark) String() string { return m.env + "." + strconv.Itoa(m.job) + ";" }

// marks is a set of commands of one environment; no jobs means all of them.
type marks struct {
	env  string
	jobs map[int]bool
}
