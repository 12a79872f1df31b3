package main

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCloseOnExec_KeepsInheritedFilesFromCommands(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := unix.Dup(int(f.Fd())) // without the flag, like an inherited descriptor
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	closeOnExec()
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the flags of descriptor %d are %#x, %v: commands would inherit it", fd, flags, err)
	}
}
