//go:build unix

package audit

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// limitFiles limits file sizes, which has the effect of a full disk.
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
