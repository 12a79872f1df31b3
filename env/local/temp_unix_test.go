//go:build unix

package local

import (
	"os"
	"path/filepath"
	"testing"
)

// Other users can write to the directory for temporary files, so they must be able neither to read files there nor to
// create the private directory first.
func TestAttack_TemporaryFilesArePrivateAndUnpredictable(t *testing.T) {
	shared := t.TempDir()
	seen := map[string]bool{}
	for range 2 {
		e, err := New(Config{Dir: t.TempDir(), SpoolDir: shared})
		if err != nil {
			t.Fatal(err)
		}
		f, err := e.spoolFile()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]os.FileMode{filepath.Dir(f.Name()): 0o700, f.Name(): 0o600} {
			if info, err := os.Lstat(name); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has mode %v, %v, want %v", name, info.Mode(), err, want)
			}
		}
		base := filepath.Base(filepath.Dir(f.Name()))
		if seen[base] || len(base) < len(spoolPrefix)+16 {
			t.Errorf("the name %s can be predicted", base)
		}
		seen[base] = true
		f.Close()
		e.Close()
	}
	if left, err := os.ReadDir(shared); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
