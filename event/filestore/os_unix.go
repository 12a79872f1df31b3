//go:build unix

package filestore

import (
	"os"

	"golang.org/x/sys/unix"
)

// openNonblock prevents opening a FIFO or a device from blocking.
const openNonblock = unix.O_NONBLOCK | unix.O_NOCTTY

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	d.Close()
	return err
}
