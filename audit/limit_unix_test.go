//go:build unix

package audit

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// limitFiles limits the size of files, as a full disk does.
func limitFiles() {
	limit, err := strconv.ParseUint(os.Getenv("AUDIT_TEST_LIMIT"), 10, 64)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		panic(err)
	}
}
