package local

import (
	"os"
	"path/filepath"
	"testing"
)

// Commands may leave read-only directories, such as a module cache. Root may remove them anyway.
func TestRemoveTree_RemovesWhatNobodyMayChange(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private")
	if err := os.MkdirAll(filepath.Join(dir, "tmp/mod/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tmp/mod/sub/f"), nil, 0o400); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tmp/mod/sub", "tmp/mod"} {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeTree(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Error("the directory is still there")
	}
}
