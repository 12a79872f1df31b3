package local

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tableEntry describes a process in /proc.
type tableEntry struct {
	identity
	session   int
	zombie    bool
	noProgram bool // a kernel thread, or exiting
	noVars    bool
	starting  bool // has not executed a program since it was forked
}

// scan returns the targets in /proc. Zombies and this process are excluded.
func scan(q targets) []identity {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	buf := make([]byte, 16<<10)
	self := os.Getpid()
	table := make([]identity, 0, len(names))
	found := make(map[int]bool)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self {
			continue
		}
		t, ok := readStat(pid, buf)
		if !ok || t.zombie {
			continue
		}
		table = append(table, t.identity)
		if q.matches(t) || !t.noProgram && q.marks.in(marker(pid, &buf)) {
			found[pid] = true
		}
	}
	if q.strays != nil {
		for _, id := range table {
			if !found[id.pid] && q.strays(id) {
				found[id.pid] = true
			}
		}
	}
	return withChildren(table, found)
}

// strays returns a function that finds unmarked sandbox processes that belong to no running command. except's command
// counts as ended. nil means that all commands have ended; then marks do not matter.
func (e *Env) strays(except *group) func(identity) bool {
	if e.box == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	live := make(map[int]bool)
	for p := range e.procs {
		if p.group != except && except != nil {
			live[p.group.pid] = true
		}
	}
	buf := make([]byte, 16<<10)
	return func(id identity) bool {
		if !e.confines(id.pid) {
			return false
		}
		for at := id; at.pid > 1; {
			t, ok := readStat(at.pid, buf)
			if !ok || live[t.pid] || live[t.group] || live[t.session] {
				return false
			}
			if except != nil && t.starting && t.parent == os.Getpid() {
				return false // a starting command has no mark yet
			}
			if at.pid = t.parent; at.pid == os.Getpid() {
				break
			}
		}
		return except == nil || !marks{env: e.id}.in(marker(id.pid, &buf))
	}
}

// adopted returns a function that finds sandbox processes that are children of this process although they are not
// commands: a process can give its children its own parent.
func (e *Env) adopted() func(identity) bool {
	if e.box == nil {
		return nil
	}
	return func(id identity) bool {
		if id.parent != os.Getpid() || !e.confines(id.pid) {
			return false
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		for p := range e.procs {
			if p.group.pid == id.pid {
				return false
			}
		}
		t, ok := readStat(id.pid, make([]byte, 4096))
		return ok && (!t.starting || e.closed.Load())
	}
}

// matches reports whether a process is selected by its ids.
func (q targets) matches(t tableEntry) bool {
	if q.group != 0 && (t.group == q.group || t.session == q.group) {
		return true
	}
	id, ok := q.known[t.pid]
	return ok && id.start == t.start
}

func readStat(pid int, buf []byte) (tableEntry, bool) {
	n, _ := readProc(pid, "/stat", buf)
	return parseStat(pid, buf[:n])
}

// Flags for a process without a program, and for a process that still runs its parent's program.
const kernelThread, exiting, forked = 0x00200000, 0x4, 0x40

// parseStat parses /proc/PID/stat. The name in parentheses may contain anything.
func parseStat(pid int, text []byte) (tableEntry, bool) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return tableEntry{}, false
	}
	// After the name: state, parent, group, session; flags are the 7th field, the start time is the 20th, and the
	// variable bounds are the 48th and 49th, which are 0 during an exec.
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 20 {
		return tableEntry{}, false
	}
	num := func(i int) int {
		v, _ := strconv.Atoi(string(fields[i]))
		return v
	}
	start, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	state := fields[0][0]
	return tableEntry{
		identity:  identity{pid: pid, parent: num(1), group: num(2), start: start},
		session:   num(3),
		zombie:    state == 'Z' || state == 'X',
		noProgram: num(6)&(kernelThread|exiting) != 0,
		starting:  num(6)&forked != 0,
		noVars:    len(fields) < 49 || num(47) != 0 && num(47) == num(48),
	}, true
}

// marker returns a process's marker variable. The buffer grows as needed.
func marker(pid int, buf *[]byte) string {
	n, readable := readProc(pid, "/environ", *buf)
	if n == 0 && readable {
		n = awaitVars(pid, *buf)
	}
	for n == len(*buf) && n < 8<<20 {
		*buf = make([]byte, 4*n)
		n, _ = readProc(pid, "/environ", *buf)
	}
	vars := (*buf)[:n]
	const key = markerName + "="
	if !bytes.HasPrefix(vars, []byte(key)) {
		_, vars, _ = bytes.Cut(vars, []byte("\x00"+key))
	} else {
		vars = vars[len(key):]
	}
	value, _, _ := bytes.Cut(vars, []byte{0})
	return string(value)
}

// awaitVars reads the variables of a process that seems to have none. During an exec a process has none for a moment,
// and must not be mistaken for a process without a mark.
func awaitVars(pid int, buf []byte) (n int) {
	empty := 0 // consecutive reads without variables
	for tries := 1; n == 0 && tries <= 50 && empty < 5; tries++ {
		t, ok := readStat(pid, buf)
		if !ok || t.zombie || t.noProgram {
			return 0
		}
		if empty++; !t.noVars {
			empty = 0
		}
		time.Sleep(min(time.Duration(tries)*50*time.Microsecond, time.Millisecond))
		n, _ = readProc(pid, "/environ", buf)
	}
	return n
}

// readProc reads a process file, as much as fits into buf, and reports whether it could open it.
func readProc(pid int, file string, buf []byte) (n int, opened bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	for n < len(buf) {
		more, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if more <= 0 {
			break
		}
		n += more
	}
	return n, true
}

// signal sends a signal to the process, but not to a later process with the same id.
func (id identity) signal(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(id.pid, 0)
	if err == unix.ENOSYS {
		syscall.Kill(id.pid, sig)
		return
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if t, ok := readStat(id.pid, make([]byte, 4096)); ok && t.start == id.start {
		unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}
