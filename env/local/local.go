// Package local implements [env.Environment] on this machine.
//
// # Processes
//
// A command runs in its own process group. It has no terminal unless Command.PTY is set, inherits no open files from
// the host, and its standard input is empty unless Command.Stdin is set. It ends when its process exits, even if
// background children hold the output open. On a timeout, a canceled context or Close, the command and all its
// descendants get SIGTERM and, two seconds later, SIGKILL.
//
// Descendants are found by an environment variable that identifies the command, by their process group or session while
// the command's process id is reserved, and by their parents. A process that left the group with setsid or a double
// fork is found too. Only a process that dropped its environment, left its group and lost its parent escapes, and only
// without a sandbox: on Linux, the sandbox namespaces identify it.
//
// Each environment has a watchdog, a small shell script that is started with the first command. It waits for the end of
// a socket whose other end only this process holds. When this process dies, the watchdog kills all commands. [Env.Hold]
// lets other processes wait until it has finished. macOS hides the variables of system programs, so the watchdog also
// tracks process groups there. On Windows, job objects take over all these tasks.
//
// # Output
//
// Up to 64 KiB of command output stay in memory. The rest goes to a spool file in a private directory, which Close
// removes. If this process is killed, the watchdog removes the directory, and if that is killed too, the same user's
// next environment does.
//
// # Files
//
// A write goes to a temporary file beside the target, which is flushed to disk and then renamed. The directory is
// flushed after that. If the target has other hard links, they keep the old content.
//
// With Config.Roots, every path is resolved through os.Root. Neither "..", nor a symbolic link, nor a link swapped in
// at the wrong moment leads out of the roots. A file that is hard-linked to a file outside can be read; writing it
// leaves the outside file unchanged.
package local

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/sandbox"
)

// grace is the time between SIGTERM and SIGKILL.
const grace = 2 * time.Second

// defaultMaxOutput is the default for Config.MaxOutput.
const defaultMaxOutput = 64 << 20

// Config configures an environment. The zero value works in the current directory without confinement.
type Config struct {
	// Dir is the working directory. The default is the current directory of this process.
	Dir string

	// Roots confine file operations, and the working directories of commands, to these directories. Relative roots are
	// resolved against Dir. Empty means no confinement. Running commands are not confined; see Sandbox.
	Roots []string

	// Shell runs Command.Line. The default is bash or else sh, and cmd.exe on Windows.
	Shell string

	// Inherit selects the host variables that commands inherit, and Pass lists further variables for InheritListed;
	// AWS_* stands for all that begin with AWS_. Vars are set in addition and override inherited variables.
	Inherit Inherit
	Pass    []string
	Vars    map[string]string

	// Sandbox confines commands and file changes; New sets its Dir and Temp. The zero value confines nothing. Without a
	// Cache, confined commands have temporary caches. Files with credentials are masked unless Readable contains them.
	// Commands with ReadOnly can read the workspace, the system, tools, and Readable.
	Sandbox sandbox.Config
	// Incomplete, if set, is called once, when the first command starts the sandbox, if the system cannot enforce all
	// of it. The command waits for the call.
	Incomplete func(sandbox.Support)

	// MaxOutput is the default for Command.MaxOutput; zero means 64 MiB.
	MaxOutput int64
	// SpoolDir is the parent for the private directory with long output. The default is the system's temporary
	// directory.
	SpoolDir string
}

// Env is this machine as an [env.Environment]. It must be closed.
type Env struct {
	*state  // shared with views
	tree    tree
	outside bool // ignores the sandbox
}

type state struct {
	info       env.Info
	maxOutput  int64
	spoolRoot  string         // parent for the private directory
	spoolName  string         // private directory name
	config     sandbox.Config // for box
	box        *sandbox.Box   // nil if commands are unconfined
	named      []string       // made readable by the configuration
	repository []string       // what git reads in the workspace, as it was before the first command
	around     []string       // repository around the workspace, or nil
	ignores    []string       // files in it that searches read
	report     sync.Once      // calls incomplete
	incomplete func(sandbox.Support)
	id         string   // random; every command's mark begins with it
	outerMark  string   // this process's own marks, if it runs inside such an environment
	vars       []string // for all commands, sorted
	outer      []string // for commands outside the sandbox
	readVars   []string // for commands that only read
	lastStray  int      // descriptors up to this one are closed in children
	terminal   bool     // the host has a terminal

	making     sync.Mutex     // held while a sandbox is made on demand; taken before mu
	readConfig sandbox.Config // for readBox; guarded by making
	narrow     []string       // readable for commands that need only the workspace; nil if that is no less; guarded by making

	mu        sync.Mutex
	closed    atomic.Bool  // set with mu held
	readBox   *sandbox.Box // for commands that only read; nil until there was one
	seq       int
	procs     map[*process]struct{} // running, or with running descendants
	captures  map[*capture]struct{} // not released
	null      *os.File              // standard input for commands without input
	guard     *guard
	cacheLock *os.File
	cache     string                  // cache parent for confined commands; "" means the temporary directory
	hasTemp   bool                    // the directory for temporary files exists
	told      string                  // what the guard knows about the sandbox
	revealed  map[string]*sandbox.Box // by what commands can read in addition
	held      []*os.File              // files that the guard keeps open
	spoolDir  string                  // private directory; "" until it is needed
	spool     *os.Root                // the same, open
	spoolLock *os.File                // the same, locked against sweepSpools
	streams   map[*stream]struct{}    // still open
	leftover  leftovers
	busy      sync.WaitGroup // watching and killing processes
	readers   sync.WaitGroup // stream readers
}

var _ env.Environment = (*Env)(nil)

// New returns an environment. It starts no process before the first command.
func New(c Config) (*Env, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	if fi, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("use %s as the working directory: %w", dir, err)
	} else if !fi.IsDir() {
		return nil, fmt.Errorf("use %s as the working directory: not a directory", dir)
	}
	shell, err := findShell(c.Shell)
	if err != nil {
		return nil, err
	}
	e := &Env{state: &state{
		info: env.Info{
			Dir:       dir,
			Platform:  runtime.GOOS,
			OSVersion: osVersion(),
			Shell:     shell,
			Limits:    &env.Limits{},
		},
		maxOutput: c.MaxOutput,
		id:        newID(),
		outerMark: os.Getenv(markerName),
		procs:     make(map[*process]struct{}),
		captures:  make(map[*capture]struct{}),
		streams:   make(map[*stream]struct{}),
	}}
	if e.spoolRoot, err = filepath.Abs(cmp.Or(c.SpoolDir, os.TempDir())); err != nil {
		return nil, fmt.Errorf("find a directory for command output: %w", err)
	}
	if e.maxOutput <= 0 {
		e.maxOutput = defaultMaxOutput
	}
	if e.tree, err = newTree(dir, c.Roots); err != nil {
		return nil, err
	}
	e.incomplete = c.Incomplete
	if err := e.newBox(c.Sandbox); err != nil {
		return nil, errors.Join(err, e.releaseAll())
	}
	host := os.Environ()
	vars, withheld := baseVars(c, host)
	e.info.Limits.Withheld = withheld
	e.outer = varList(vars, host)
	if e.vars = e.outer; e.box != nil {
		temp := e.info.Limits.Temp
		confineVars(vars, temp, e.cache)
		e.vars = varList(vars, host)
		if len(e.info.Limits.Hosts) > 0 {
			own := maps.Clone(vars)
			proxyVars(own)
			e.vars = varList(own, host)
		}
		confineVars(vars, filepath.Join(filepath.Dir(temp), readName), "")
		vars["GIT_OPTIONAL_LOCKS"] = "0"
		e.readVars = varList(vars, host)
	}
	e.lastStray = strays()
	e.terminal = hasTerminal()
	catchInterrupts()
	e.leftover.env = e
	return e, nil
}

// catchInterrupts makes ^C work in command terminals if this program ignores it, as a program started in the background
// by a script does. Commands inherit ignored signals, but not caught signals. The channel is never read, so the signals
// still do nothing here.
func catchInterrupts() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// Info implements [env.Environment].
func (e *Env) Info() env.Info {
	info := e.info
	if e.outside {
		info.Limits = &env.Limits{Withheld: e.info.Limits.Withheld}
	}
	return info
}

// Close ends all processes and their descendants as a timeout does, and releases all resources. Closing again does
// nothing.
func (e *Env) Close() error {
	e.mu.Lock()
	if e.closed.Load() {
		e.mu.Unlock()
		return nil
	}
	e.closed.Store(true)
	started := e.seq > 0
	procs := make([]*process, 0, len(e.procs))
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
		e.endMarked(marks{env: e.id}, 0)
	}
	e.closeStreams()
	return e.releaseAll()
}

// releaseAll closes everything that is not a process.
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
	for _, box := range e.boxes() {
		errs = append(errs, box.Close())
	}
	if e.cacheLock != nil {
		errs = append(errs, e.cacheLock.Close())
	}
	// The guard ends last, because it removes what is left if this process is killed.
	errs = append(errs, e.removeSpool())
	if e.guard != nil {
		errs = append(errs, e.guard.stop())
	}
	return errors.Join(errs...)
}

// closeStreams closes output streams whose processes could not be killed.
func (e *Env) closeStreams() {
	e.mu.Lock()
	for s := range e.streams {
		s.file.Close()
	}
	e.mu.Unlock()
	e.readers.Wait()
}

// files returns a child's descriptors: the standard files and no others.
func (e *Env) files(std [3]*os.File) []*os.File {
	list := make([]*os.File, e.lastStray+1)
	copy(list, std[:])
	return list
}

// Hold keeps a file open in the watchdog. If this process is killed, the file stays open until all commands started
// since have been killed, so other processes can wait for that with a lock on it. Commands do not inherit the file. It
// must not be closed before release.
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

// markerName is the variable that identifies a command's descendants. Its value is a list of marks, one for each
// enclosing environment, outermost first.
const markerName = "REINS_JOBS"

// mark identifies one command in one environment. Its text form is "ENV.JOB;".
type mark struct {
	env string // the environment's random id
	job int    // command number in it
}

func (m mark) String() string { return m.env + "." + strconv.Itoa(m.job) + ";" }

// marks is a set of commands in one environment. nil jobs means all of them.
type marks struct {
	env  string
	jobs map[int]bool
}
