// Package gitdirtest creates repositories for tests without running git.
package gitdirtest

import (
	"errors"
	"os"
	"testing"
)

// Init makes dir the top of a minimal repository that git accepts.
func Init(t testing.TB, dir string) {
	t.Helper()
	err := errors.Join(
		os.MkdirAll(dir+"/.git/objects", 0o755),
		os.MkdirAll(dir+"/.git/refs", 0o755),
		os.WriteFile(dir+"/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}
