//go:build !linux

package local_test

// playRole does nothing: the tests that need a host of their own are for Linux.
func playRole() {}
