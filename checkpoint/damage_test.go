package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// storeFiles lists a store's packs and records.
func (w *workspace) storeFiles() []string {
	w.t.Helper()
	var files []string
	for _, dir := range []string{w.store.packs(), w.store.records()} {
		list, err := filepath.Glob(filepath.Join(dir, "*"))
		must(w.t, err)
		files = append(files, list...)
	}
	return files
}

// damaged runs f with each store file damaged in turn, at the given number of places.
func (w *workspace) damaged(places int, f func(what string)) {
	w.t.Helper()
	for _, path := range w.storeFiles() {
		whole, err := os.ReadFile(path)
		must(w.t, err)
		for at := 0; at < len(whole); at += max(1, len(whole)/places) {
			torn := append([]byte(nil), whole...)
			torn[at] ^= 0x41
			for what, data := range map[string][]byte{"truncated": whole[:at], "flipped": torn} {
				must(w.t, os.WriteFile(path, data, 0o600))
				f(what + " " + filepath.Base(path))
			}
		}
		must(w.t, os.WriteFile(path, whole, 0o600))
	}
}

func TestVerify_DetectsEveryTornOrChangedFile(t *testing.T) {
	w := newWorkspace(t)
	first, one, two := build(w)
	second := w.take()
	w.damaged(40, func(what string) {
		faults, err := Verify(context.Background(), w.store.dir)
		must(t, err)
		if len(faults) == 0 {
			// Some bits at the end of compressed data have no meaning.
			w.restore(first)
			same(t, what, w.state(), one)
			w.restore(second)
			same(t, what, w.state(), two)
		}
		for _, f := range faults {
			if !isDamage(f) {
				t.Fatalf("%s: got error %v, want a DamagedError", what, f)
			}
		}
	})
	w.verify()
}

func TestRestore_NeverWritesDamagedContent(t *testing.T) {
	w := newWorkspace(t)
	first, one, two := build(w)
	second := w.take()
	w.damaged(6, func(what string) {
		for _, id := range []ID{first, second} {
			_, err := w.store.Restore(context.Background(), id, RestoreOptions{})
			if err != nil && !isDamage(err) {
				t.Fatalf("%s: got error %v, want a DamagedError", what, err)
			}
			for p, got := range w.state() {
				if got[0] != 'd' && got != one[p] && got != two[p] {
					t.Fatalf("%s: %s became %.60q", what, p, got)
				}
			}
		}
		_, err := w.prune(100)
		if err != nil && !isDamage(err) {
			t.Fatalf("%s: prune: got error %v, want a DamagedError", what, err)
		}
	})
}

func TestRestore_ChangesNothingIfAContentIsMissing(t *testing.T) {
	w := newWorkspace(t)
	w.write("b", "one")
	w.take()
	packs, err := filepath.Glob(filepath.Join(w.store.packs(), "*"))
	must(t, err)
	w.write("a", "one too")
	id := w.take()
	w.write("a", "two")
	w.write("b", "two")
	must(t, os.Remove(packs[0])) // with b's content
	present := w.state()
	if _, err := w.store.Restore(context.Background(), id, RestoreOptions{}); !isDamage(err) {
		t.Errorf("got error %v, want a DamagedError", err)
	}
	same(t, "refused", w.state(), present)
}

func TestTake_RecordsAgainWhatADamagedPackHeld(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "content")
	w.settle()
	packs, err := filepath.Glob(filepath.Join(w.store.packs(), "*"))
	must(t, err)
	for _, p := range packs {
		must(t, os.Truncate(p, 5))
	}
	want := w.state()
	id := w.take()
	w.remove("f")
	w.restore(id)
	same(t, "restored", w.state(), want)
	if _, err := w.prune(1); !isDamage(err) {
		t.Errorf("prune a damaged store: got error %v, want a DamagedError", err)
	}
}

func TestTake_LostOrDamagedIndexCostsOnlyTime(t *testing.T) {
	w := newWorkspace(t)
	w.write("f", "content")
	id := w.settle()
	index := filepath.Join(w.store.dir, indexName)
	whole, err := os.ReadFile(index)
	must(t, err)
	for _, data := range [][]byte{nil, whole[:len(whole)/2], []byte(indexMagic), append([]byte("x"), whole...)} {
		must(t, os.WriteFile(index, data, 0o600))
		equal(t, "diff", w.diff(id, w.take()), "")
	}
}

func TestDecodeTree_RefusesNamesThatLeadElsewhere(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b", "/", ".git", ".GIT", "a\x00"} {
		data := appendEntry(nil, &entry{kind: linkKind, name: name, target: "x"})
		if _, err := decodeTree(data); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
	two := appendEntry(appendEntry(nil, &entry{kind: dirKind, name: "b"}), &entry{kind: dirKind, name: "a"})
	if _, err := decodeTree(two); !errors.Is(err, errEncoding) {
		t.Errorf("unsorted tree: got error %v, want errEncoding", err)
	}
}

func FuzzDecodeTree(f *testing.F) {
	f.Add(appendEntry(appendEntry(nil, &entry{kind: fileKind, name: "a", mode: 0o644, size: 3}), &entry{kind: linkKind, name: "b", target: "t"}))
	f.Add([]byte("f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := decodeTree(data)
		if err != nil {
			return
		}
		var again []byte
		for i := range entries {
			again = appendEntry(again, &entries[i])
		}
		if string(again) != string(data) {
			t.Errorf("%x was read as %x", data, again)
		}
	})
}

func FuzzDecodeIndex(f *testing.F) {
	s := newSnapshot()
	s.folders[0].nodes = []node{{entry: entry{kind: fileKind, name: "a"}, settled: true}}
	f.Add(encodeIndex(s))
	f.Add([]byte(indexMagic))
	f.Fuzz(func(t *testing.T, data []byte) { decodeIndex(data) })
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(encodeRecord(Checkpoint{ID: "0000000001-00000000", Label: "x"}))
	f.Fuzz(func(t *testing.T, data []byte) { decodeRecord(data) })
}

func FuzzReadTable(f *testing.F) {
	s := newWorkspace(f).store
	w := newPackWriter(s, func(hash) bool { return false })
	_, err := w.add([]byte("an object"))
	must(f, err)
	must(f, w.finish())
	packs, err := filepath.Glob(filepath.Join(s.packs(), "*"))
	must(f, err)
	data, err := os.ReadFile(packs[0])
	must(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		p := filepath.Join(t.TempDir(), "p"+packSuffix)
		must(t, os.WriteFile(p, data, 0o600))
		o, err := openObjects(filepath.Dir(p))
		must(t, err)
		defer o.close()
		for h := range o.where {
			o.read(h)
		}
	})
}

func TestOpenObjects_RefusesATableThatPointsElsewhere(t *testing.T) {
	for _, bad := range []span{{offset: -1, stored: 9, size: 9}, {offset: 1, stored: 9, size: 9}, {stored: 9, size: 8}, {stored: 9, size: 1<<30 + 1}} {
		s := newWorkspace(t).store
		w := newPackWriter(s, func(hash) bool { return false })
		h, err := w.add([]byte("an object"))
		must(t, err)
		w.added[h] = bad
		must(t, w.finish())
		o, err := openObjects(s.packs())
		must(t, err)
		if len(o.damaged) != 1 || o.has(h) {
			t.Errorf("%+v: got %d damaged packs, want 1", bad, len(o.damaged))
		}
	}
}

func TestStore_WorksWithADamagedRecord(t *testing.T) {
	w := newWorkspace(t)
	var ids []ID
	for _, text := range []string{"1", "2", "3"} {
		w.write("f", text)
		ids = append(ids, w.take())
	}
	must(t, os.Truncate(filepath.Join(w.store.records(), string(ids[1])), 20))
	list, err := w.store.List(context.Background())
	if len(list) != 2 || !isDamage(err) {
		t.Errorf("got %d checkpoints and error %v, want 2 and a DamagedError", len(list), err)
	}
	faults, err := Verify(context.Background(), w.store.dir)
	must(t, err)
	if len(faults) != 1 || !isDamage(faults[0]) {
		t.Errorf("Verify: got %v, want one DamagedError", faults)
	}
	w.write("f", "4")
	ids = append(ids, w.take())
	w.restore(ids[2])
	w.restore(ids[0])
	// The damaged checkpoint is removed in its turn, and then unused objects are too.
	if removed, err := w.prune(4); !isDamage(err) || len(removed) != 1 || removed[0] != ids[0] {
		t.Errorf("pruned %v, want %v; error %v, want a DamagedError", removed, ids[:1], err)
	}
	removed, err := w.prune(3)
	must(t, err)
	if len(removed) != 1 || removed[0] != ids[1] {
		t.Errorf("pruned %v, want %v", removed, ids[1:2])
	}
	w.verify()
}

func TestTake_KeepsNoMoreThanTheLimit(t *testing.T) {
	w := newWorkspace(t)
	w.store.keep = 8
	for i := range 30 {
		w.write("f", string(rune('a'+i)))
		id := w.take()
		list, err := w.store.List(context.Background())
		must(t, err)
		if len(list) > 8 || i >= 8 && len(list) < 7 || list[len(list)-1].ID != id {
			t.Fatalf("got %d checkpoints after %d, want 7 or 8 with the newest last", len(list), i+1)
		}
	}
	list, err := w.store.List(context.Background())
	must(t, err)
	want := list[0].ID
	w.restore(want)
	w.restore(want)
	if list, err = w.store.List(context.Background()); err != nil || len(list) > 9 {
		t.Errorf("got %d checkpoints and error %v, want at most 9", len(list), err)
	}
	w.verify()
}
