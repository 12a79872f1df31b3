package checkpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// steps runs f and lists the changes to the disk, each with the number of packs and records before it.
func (w *workspace) steps(f func()) string {
	w.t.Helper()
	var list []string
	w.store.step = func(what string) error {
		packs, err := filepath.Glob(filepath.Join(w.store.packs(), "*.pack"))
		must(w.t, err)
		records, err := filepath.Glob(filepath.Join(w.store.records(), "0*"))
		must(w.t, err)
		list = append(list, fmt.Sprintf("%s %d/%d", what, len(packs), len(records)))
		return nil
	}
	f()
	w.store.step = nil
	return strings.Join(list, "\n")
}

func TestTake_IsDurableStepByStep(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "1")
	got := w.steps(func() { w.take() })
	equal(t, "steps", got, `create 0/0
write object 0/0
write object 0/0
write table 0/0
sync file 0/0
rename 0/0
sync directory 1/0
create 1/0
sync file 1/0
rename 1/0
sync directory 1/1
write index 1/1
rename index 1/1`)
}

func TestRestore_SyncsAFileBeforeItReplacesAnother(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "1")
	a := w.take()
	w.write("f", "2")
	b := w.take()
	got := w.steps(func() { w.restore(a) })
	if want := "write file 2/2\nsync file 2/2\nrename file 2/2"; !strings.HasSuffix(got, want) {
		t.Errorf("got steps\n%s\nwant at the end\n%s", got, want)
	}
	equal(t, "diff", w.diff(b, a), "~f")
}

func TestPrune_RemovesPacksAfterEverythingElseIsDurable(t *testing.T) {
	w := newWorkspace(t)
	w.write("dies", noise(1<<20))
	w.write("lives", "on")
	w.take()
	w.remove("dies")
	w.take()
	got := w.steps(func() {
		_, err := w.prune(1)
		must(t, err)
	})
	equal(t, "steps", got, `remove record 2/2
sync directory 2/1
create 2/1
write object 2/1
write table 2/1
sync file 2/1
rename 2/1
sync directory 3/1
remove pack 3/1`)
}

func TestPrune_RewritesPacksFrom1MiBOnAndMergesMoreThan32SmallOnes(t *testing.T) {
	for size, want := range map[int]int64{1<<20 - 1000: 1<<20 - 1000, 1 << 20: 0} {
		w := newWorkspace(t)
		w.write("dies", noise(size))
		w.write("lives", "on")
		w.take()
		w.remove("dies")
		w.take()
		_, err := w.prune(1)
		must(t, err)
		if got := w.storeSize(); got < want || got > want+2000 {
			t.Errorf("after %d unused bytes the packs have %d, want about %d", size, got, want)
		}
		w.verify()
	}
	w := newWorkspace(t)
	for i := range 33 {
		w.write("f", fmt.Sprint(i))
		w.take()
		_, err := w.prune(100)
		must(t, err)
		packs, err := os.ReadDir(w.store.packs())
		must(t, err)
		if want := (i+1)%33 + (i+1)/33; len(packs) != want {
			t.Errorf("%d packs after checkpoint %d, want %d", len(packs), i+1, want)
		}
	}
	w.verify()
}

// storeSize returns the total pack size.
func (w *workspace) storeSize() (size int64) {
	w.t.Helper()
	packs, err := filepath.Glob(filepath.Join(w.store.packs(), "*"))
	must(w.t, err)
	for _, p := range packs {
		info, err := os.Stat(p)
		must(w.t, err)
		size += info.Size()
	}
	return size
}

func TestOpen_DefaultLimits(t *testing.T) {
	w := newWorkspace(t)
	equal(t, "MaxBytes", w.store.maxBytes, 2_147_483_648)
	equal(t, "MaxFiles", w.store.maxFiles, 200_000)
}

func TestIdentity_SettledAfterTheTickOfTheFileSystem(t *testing.T) {
	now := time.Unix(1_700_000_000, 123_456_789)
	for _, c := range []struct {
		changed time.Time
		want    bool
	}{
		{now.Add(-49 * time.Millisecond), false},
		{now.Add(-51 * time.Millisecond), true},
		{now.Truncate(time.Millisecond).Add(-1999 * time.Millisecond), false}, // without nanoseconds
		{now.Truncate(time.Millisecond).Add(-2 * time.Second), true},
		{now.Add(time.Hour), false},
	} {
		for _, id := range []identity{{modTime: c.changed.UnixNano()}, {changeTime: c.changed.UnixNano()}} {
			if got := id.settled(now); got != c.want {
				t.Errorf("settled %v after the change: got %v, want %v", now.Sub(c.changed), got, c.want)
			}
		}
	}
}

func TestUnified_TextAbove1MiBIsOnlyNamed(t *testing.T) {
	w := newWorkspace(t)
	a := w.take()
	w.write("large", strings.Repeat("x", 1<<20+1))
	w.write("text", strings.Repeat("x", 1<<20))
	changes, err := w.store.Diff(context.Background(), a, w.take())
	must(t, err)
	for i, named := range []bool{true, false} {
		text, err := w.store.Unified(context.Background(), changes[i])
		must(t, err)
		equal(t, changes[i].Path+" is only named", strings.Contains(text, "Binary files"), named)
	}
}
