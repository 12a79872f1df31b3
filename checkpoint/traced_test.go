package checkpoint_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/checkpoint"
)

// desk is a workspace with a store.
type desk struct {
	t     *testing.T
	dir   string
	store *checkpoint.Store
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir()}
	var err error
	if d.store, err = checkpoint.Open(checkpoint.Config{Dir: d.dir, Store: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	return d
}

// put writes files, given as "path=content"; "path=" removes a file, and "path/" creates a directory.
func (d *desk) put(files ...string) {
	d.t.Helper()
	for _, f := range files {
		name, content, _ := strings.Cut(f, "=")
		path := filepath.Join(d.dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case content == "":
			err = os.RemoveAll(path)
		case err == nil:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *desk) take() checkpoint.ID {
	d.t.Helper()
	id, _, err := d.store.Take(d.t.Context(), "")
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

func (d *desk) view(earlier *checkpoint.View) *checkpoint.View {
	d.t.Helper()
	v, err := d.store.View(d.t.Context(), earlier)
	if err != nil {
		d.t.Fatal(err)
	}
	return v
}

// by calls f as the caller, and returns what it wrote.
func (d *desk) by(f func()) map[string]checkpoint.Write {
	d.t.Helper()
	before := d.view(nil)
	f()
	wrote := map[string]checkpoint.Write{}
	for _, w := range before.Writes(d.view(before)) {
		wrote[w.Path] = w
	}
	return wrote
}

// files lists the workspace, directories with a slash.
func (d *desk) files() string {
	d.t.Helper()
	var list []string
	err := filepath.WalkDir(d.dir, func(path string, e os.DirEntry, err error) error {
		rel, _ := filepath.Rel(d.dir, path)
		switch {
		case err != nil || rel == ".":
			return err
		case e.IsDir():
			list = append(list, filepath.ToSlash(rel)+"/")
			return nil
		}
		b, err := os.ReadFile(path)
		list = append(list, filepath.ToSlash(rel)+"="+string(b))
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestRestore_TakesBackOnlyWhatTheCallerWrote(t *testing.T) {
	d := newDesk(t)
	d.put("changed=1", "deleted=1", "theirs=1", "both=1", "dir/x=1")
	before := d.take()
	d.put("both=theirs")
	wrote := d.by(func() { d.put("changed=2", "deleted=", "both=2", "new/a/f=2", "new/b/f=2", "dir=", "dir=2", "hollow/") })
	d.put("theirs=2", "more=2", "new/a/theirs=2", "empty/")
	o := checkpoint.RestoreOptions{Traced: true, Wrote: wrote, Later: checkpoint.Refuse}
	after := d.files()
	_, err := d.store.Restore(t.Context(), before, o)
	var later *checkpoint.LaterError
	if !errors.As(err, &later) || len(later.Changes) != 1 || later.Changes[0].Path != "both" || len(later.Unsure) > 0 {
		t.Fatalf("%v", err)
	}
	if got := d.files(); got != after {
		t.Errorf("a refused restore left %s, want %s", got, after)
	}
	o.Later = checkpoint.Keep
	res, err := d.store.Restore(t.Context(), before, o)
	if err != nil {
		t.Fatal(err)
	}
	want := "both=2 changed=1 deleted=1 dir/ dir/x=1 empty/ more=2 new/ new/a/ new/a/theirs=2 theirs=2"
	if got := d.files(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := fmt.Sprint(names(res.Kept)); got != "[both more new/a/theirs theirs]" {
		t.Errorf("kept %s", got)
	}
	// Back again, without files that were kept or have since been changed by others.
	d.put("theirs=3", "both=3")
	o = checkpoint.RestoreOptions{Traced: true, Touched: names(res.Changes), Left: []checkpoint.ID{before}, Later: checkpoint.Refuse}
	d.put("changed=3")
	if _, err := d.store.Restore(t.Context(), res.Before, o); !errors.As(err, &later) || fmt.Sprint(names(later.Changes)) != "[changed]" {
		t.Errorf("the way back over a change by others: %v", err)
	}
	d.put("changed=1")
	if _, err := d.store.Restore(t.Context(), res.Before, o); err != nil {
		t.Fatal(err)
	}
	want = "both=3 changed=2 dir=2 empty/ hollow/ more=2 new/ new/a/ new/a/f=2 new/a/theirs=2 new/b/ new/b/f=2 theirs=3"
	if got := d.files(); got != want {
		t.Errorf("after the way back: got %s, want %s", got, want)
	}
}

func TestRestore_AsksAboutWhatIsUnsureSharedOrInTheWay(t *testing.T) {
	d := newDesk(t)
	d.put("unsure=1", "shared=1", "gone/f=1", "way/f=1", "swap=1", "theirs=1")
	before := d.take()
	wrote := d.by(func() { d.put("unsure=2", "shared=2", "gone=", "file=2", "way/f=", "swap=", "swap/f=2") })
	for path, set := range map[string]checkpoint.Write{"unsure": {Unsure: true}, "shared": {Shared: true}} {
		w := wrote[path]
		w.Unsure, w.Shared = set.Unsure, set.Shared
		wrote[path] = w
	}
	d.put("theirs=2", "gone=a file in the way", "way=", "way=another", "swap/theirs=2", "file=", "file/theirs=2")
	asks := func(o checkpoint.RestoreOptions, want string) {
		t.Helper()
		o.Traced, o.Wrote, o.Later = true, wrote, checkpoint.Refuse
		_, err := d.store.Restore(t.Context(), before, o)
		var later *checkpoint.LaterError
		if !errors.As(err, &later) {
			t.Fatal(err)
		}
		if got := fmt.Sprint(names(later.Changes), later.Unsure); got != want {
			t.Errorf("asks about %s, want %s", got, want)
		}
	}
	asks(checkpoint.RestoreOptions{}, "[gone shared swap/theirs unsure way] [unsure]")
	asks(checkpoint.RestoreOptions{Ask: true}, "[file/theirs gone shared swap/theirs theirs unsure way] [file/theirs theirs unsure]")
	asks(checkpoint.RestoreOptions{Allowed: []string{"unsure", "gone", "way", "swap/theirs"}}, "[shared] []")
}

func TestIdentify_AgreesWithViews(t *testing.T) {
	d := newDesk(t)
	d.put("f=1", "dir/g=1")
	if err := os.Symlink("f", filepath.Join(d.dir, "link")); err != nil {
		t.Skip(err)
	}
	empty := newDesk(t).view(nil)
	for _, w := range empty.Writes(d.view(nil)) {
		got, err := d.store.Identify(t.Context(), filepath.Join(d.store.Dir(), w.Path))
		if err != nil || got[w.Path] != w.After || w.After == "" {
			t.Errorf("%s: %q, %v, want %q", w.Path, got[w.Path], err, w.After)
		}
	}
	v := d.view(nil)
	if err := os.Chmod(filepath.Join(d.dir, "f"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list := v.Writes(d.view(v)); len(list) != 1 || list[0].Before == list[0].After {
		t.Errorf("after chmod: %v", list)
	}
	got, err := d.store.Identify(t.Context(), "missing", "f/below", "../outside")
	if err != nil || fmt.Sprint(got) != "map[f/below: missing:]" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestView_SeesAChangeRightAfterTheOneBefore covers changes that leave size and times unchanged.
func TestView_SeesAChangeRightAfterTheOneBefore(t *testing.T) {
	d := newDesk(t)
	for i := range 50 {
		d.put("f=1")
		v := d.view(nil)
		d.put("f=2")
		if got := v.Writes(d.view(v)); len(got) != 1 || got[0].Path != "f" {
			t.Fatalf("after %d: %v", i, got)
		}
	}
}

func names(changes []checkpoint.Change) (list []string) {
	for _, c := range changes {
		list = append(list, c.Path)
	}
	return list
}
