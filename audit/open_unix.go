//go:build unix

package audit

import "golang.org/x/sys/unix"

// openFlags refuse a symbolic link, and keep a FIFO from blocking.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK
