package atomicfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWrite_CreatesAndReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, want := range []string{"old and long", "new"} {
		if err := Write(path, []byte(want), 0o640); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("got %v, %v, want mode 0640", info.Mode(), err)
	}
}

func TestWrite_LeavesNothingIfItFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "full")
	if err := os.MkdirAll(filepath.Join(path, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("x"), 0o600); err == nil {
		t.Error("a directory with files was replaced")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("got %v, %v, want only the directory", files, err)
	}
	if err := Write(filepath.Join(dir, "missing", "file"), nil, 0o600); err == nil {
		t.Error("a file was written to a directory that does not exist")
	}
}
