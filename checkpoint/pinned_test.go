package checkpoint

import (
	"context"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestPrune_TheNewestAlwaysStays(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "1")
	w.take()
	w.write("f", "2")
	newest := w.take()
	removed, err := w.store.prune(context.Background(), 0, nil)
	must(t, err)
	equal(t, "removed", len(removed), 1)
	w.write("f", "3")
	w.restore(newest)
	equal(t, "status", w.status(newest), "")
}

// A file that was written within a checkpoint's clock tick may change again without a change to its times. It counts as
// settled when the tick is over.
func TestIdentity_SettlesAfterATick(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC)
	for name, c := range map[string]struct {
		written time.Time
		want    bool
	}{
		"just now":                        {now, false},
		"40 ms ago":                       {now.Add(-40 * time.Millisecond), false},
		"60 ms ago":                       {now.Add(-60 * time.Millisecond), true},
		"1 s ago, times in whole seconds": {now.Truncate(time.Second).Add(-time.Second), false},
		"3 s ago, times in whole seconds": {now.Truncate(time.Second).Add(-3 * time.Second), true},
	} {
		id := identity{modTime: c.written.UnixNano(), changeTime: c.written.UnixNano()}
		if got := id.settled(now); got != c.want {
			t.Errorf("written %s: settled %v, want %v", name, got, c.want)
		}
	}
}

func TestStore_NobodyElseCanReadIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // Windows has no such bits
	}
	w := newWorkspace(t)
	w.write("f", "1")
	w.take()
	files := 0
	must(t, filepath.WalkDir(w.store.dir, func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		info, err := e.Info()
		must(t, err)
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		} else {
			files++
		}
		equal(t, "mode of "+path, info.Mode().Perm(), want)
		return nil
	}))
	if files < 3 {
		t.Errorf("%d files, want a pack, a record and a lock", files)
	}
}

func TestTake_FlushesContentBeforeAndNamesAfterTheRename(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "1")
	var steps []string
	w.store.step = func(what string) error {
		steps = append(steps, what)
		return nil
	}
	w.take()
	renames := 0
	for i, what := range steps {
		if what != "rename" {
			continue
		}
		renames++
		equal(t, "step before a rename", steps[i-1], "sync file")
		equal(t, "step after a rename", steps[i+1], "sync directory")
	}
	equal(t, "renames, of a pack and a record", renames, 2)
}
