//go:build unix

package checkpoint

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestStore_FIFOsDoNotBlock(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "1")
	id := w.take()
	w.write("f", "2")
	for _, path := range w.storeFiles() {
		whole, err := os.ReadFile(path)
		must(t, err)
		must(t, os.Remove(path))
		must(t, unix.Mkfifo(path, 0o600))
		faults, err := Verify(context.Background(), w.store.dir)
		must(t, err)
		if len(faults) == 0 {
			t.Errorf("%s: Verify found no damage", path)
		}
		w.store.List(context.Background())
		must(t, os.Remove(path))
		must(t, os.WriteFile(path, whole, 0o600))
	}
	index := w.store.dir + "/" + indexName
	must(t, os.Remove(index))
	must(t, unix.Mkfifo(index, 0o600))
	w.take()
	w.restore(id)
}
