package filelock

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTry_OneHolderAtATime(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	try := func(f *os.File, want bool, when string) {
		t.Helper()
		if ok, err := Try(f); ok != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", when, ok, err, want)
		}
	}
	first, second := open(), open()
	try(first, true, "free")
	try(second, false, "held")
	if _, err := second.Write([]byte("x")); err != nil {
		t.Errorf("the file cannot be written: %v", err)
	}
	if err := Unlock(first); err != nil {
		t.Fatal(err)
	}
	try(second, true, "unlocked")
	second.Close()
	try(first, true, "closed by the other")
	first.Close()
	if ok, err := Try(first); ok || err == nil {
		t.Errorf("a closed file: %v, %v, want an error", ok, err)
	}
}
