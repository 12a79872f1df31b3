package local

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

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
		if q.matches(t) || q.marks.in(marker(pid, &buf)) {
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
	return parseStat(pid, buf[:readProc(pid, "/stat", buf)])
}

// parseStat reads the text of /proc/PID/stat. The name in it, in parentheses, may contain anything.
func parseStat(pid int, text []byte) (tableEntry, bool) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return tableEntry{}, false
	}
	// After the name: state, parent, group, session, ... and the start time as the 20th.
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
	}, true
}

// marker gives the value of the marker variable of a process. The buffer grows to the largest
// environment seen.
func marker(pid int, buf *[]byte) string {
	n := readProc(pid, "/environ", *buf)
	for n == len(*buf) && n < 8<<20 {
		*buf = make([]byte, 4*n)
		n = readProc(pid, "/environ", *buf)
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

// readProc reads a file of a process into buf, as much as fits.
func readProc(pid int, file string, buf []byte) int {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	sum := 0
	for sum < len(buf) {
		n, err := unix.Read(fd, buf[sum:])
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			break
		}
		sum += n
	}
	return sum
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
