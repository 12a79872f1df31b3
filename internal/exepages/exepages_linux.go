// Package exepages returns memory that a program needed only to start.
package exepages

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Drop unmaps the pages of the program's file, but no mapping with a changed page: the dynamic linker changes some
// before it makes them read-only. The system maps 16 pages around each page that is used, so most of a large program's
// pages are never used again after it has started. The others come back from the page cache. Drop does nothing if it
// cannot read the process's mappings.
func Drop() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	mapping := ""
	for s := bufio.NewScanner(f); s.Scan(); {
		// A mapping's line "begin-end permissions offset device inode path" is followed by lines "Name: value".
		switch line := s.Text(); {
		case strings.HasSuffix(line, " "+exe):
			mapping = line
		case strings.HasPrefix(line, "Anonymous:") && mapping != "":
			if strings.Fields(line)[1] == "0" {
				unmap(mapping)
			}
			mapping = ""
		}
	}
}

// unmap unmaps a mapping's pages unless it can be written.
func unmap(mapping string) {
	fields := strings.Fields(mapping)
	begin, end, _ := strings.Cut(fields[0], "-")
	from, err1 := strconv.ParseUint(begin, 16, 64)
	to, err2 := strconv.ParseUint(end, 16, 64)
	if err1 == nil && err2 == nil && !strings.Contains(fields[1], "w") {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(from), uintptr(to-from), unix.MADV_DONTNEED)
	}
}
