//go:build !linux

package local_test

// playRole does nothing: the tests that need another host run on Linux only.
func playRole() {}
