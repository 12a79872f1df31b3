package search

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A file may be replaced by a link after its directory was listed. The link is not followed.
func TestLocal_LinkThatReplacesAnEntryIsNotFollowed(t *testing.T) {
	ctx, outside := t.Context(), writeTree(t, "-- secret --\nfoo\n")
	dir := t.TempDir()
	for name, target := range map[string]string{"file": outside + "/secret", "dir": outside} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := localLayer{isolated(dir)}.openDir(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if data, err := d.read(ctx, "file", nil, -1); !errors.Is(err, unix.ELOOP) {
		t.Errorf("read of a link: %q, %v, want ELOOP", data, err)
	}
	if _, err := d.open(ctx, "dir"); !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
		t.Errorf("open of a link: %v, want ENOTDIR or ELOOP", err)
	}
	n := &node{abs: dir, dir: d}
	if kept := (&treeWalk{}).look(ctx, n, []entry{{name: "file", kind: fileKind}, {name: "dir", kind: linkKind}}); len(kept) != 1 || kept[0].name != "dir" {
		t.Errorf("look kept %v, want only the entry of the same kind", kept)
	}
}
