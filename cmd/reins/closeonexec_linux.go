package main

import (
	"math"

	"golang.org/x/sys/unix"
)

// closeOnExec marks all inherited file descriptors as close-on-exec with one system call. Otherwise env/local has to close
// every possible descriptor before each command: 250 system calls if the highest one is 252.
func closeOnExec() { _ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) }
