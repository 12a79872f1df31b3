package local

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// identity tells a process from a later one with the same number.
type identity struct {
	pid   int
	group int
	start uint64
}

// tableEntry is what /proc says about a process.
type tableEntry struct {
	identity
	parent  int
	session int
	zombie  bool
	hollow  bool // it has no program: it is the kernel's, or about to be gone
	bare    bool // it has no variables
}

// scan finds the processes of a quarry in /proc. Those that have exited and wait to be reaped do
// not count, nor does this process itself.
func scan(q quarry) []identity {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	buf := make([]byte, 16<<10)
	self := os.Getpid()
	table := make([]tableEntry, 0, len(names))
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
		table = append(table, t)
		if q.matches(t) || !t.hollow && q.marks.in(marker(pid, &buf)) {
			found[pid] = true
		}
	}
	return withChildren(table, found)
}

// matches reports whether a process belongs to the quarry by its numbers.
func (q quarry) matches(t tableEntry) bool {
	if q.group != 0 && (t.group == q.group || t.session == q.group) {
		return true
	}
	id, ok := q.known[t.pid]
	return ok && id.start == t.start
}

// withChildren adds the children of those found, and theirs.
func withChildren(table []tableEntry, found map[int]bool) []identity {
	for more := len(found) > 0; more; {
		more = false
		for _, t := range table {
			if found[t.parent] && !found[t.pid] {
				found[t.pid] = true
				more = true
			}
		}
	}
	var list []identity
	for _, t := range table {
		if found[t.pid] {
			list = append(list, t.identity)
		}
	}
	return list
}

func readStat(pid int, buf []byte) (tableEntry, bool) {
	n, _ := readProc(pid, "/stat", buf)
	return parseStat(pid, buf[:n])
}

// Flags of a process that has no program: it belongs to the kernel, or is about to be gone.
const kernelThread, exiting = 0x00200000, 0x4

// parseStat reads the text of /proc/PID/stat. The name in it, in parentheses, may contain anything.
func parseStat(pid int, text []byte) (tableEntry, bool) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return tableEntry{}, false
	}
	// After the name: state, parent, group, session, ... the flags as the 7th, the start time as the
	// 20th, and where the variables begin and end as the 48th and 49th, which is 0 during an exec.
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
		identity: identity{pid: pid, group: num(2), start: start},
		parent:   num(1),
		session:  num(3),
		zombie:   state == 'Z' || state == 'X',
		hollow:   num(6)&(kernelThread|exiting) != 0,
		bare:     len(fields) < 49 || num(47) != 0 && num(47) == num(48),
	}, true
}

// marker gives the value of the marker variable of a process. The buffer grows to the largest
// environment seen.
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

// awaitVars reads the variables of a process that seems to have none. While it replaces its program
// it has none for a moment, and then an empty list; it must not be taken for one without a mark.
func awaitVars(pid int, buf []byte) (n int) {
	empty := 0 // times in a row that there was nothing to come
	for tries := 1; n == 0 && tries <= 50 && empty < 5; tries++ {
		t, ok := readStat(pid, buf)
		if !ok || t.zombie || t.hollow {
			return 0
		}
		if empty++; !t.bare {
			empty = 0
		}
		time.Sleep(min(time.Duration(tries)*50*time.Microsecond, time.Millisecond))
		n, _ = readProc(pid, "/environ", buf)
	}
	return n
}

// readProc reads a file of a process into buf, as much as fits, and reports whether it opened.
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

// signal sends a signal to the very process that was found, not to one that has its number now.
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
