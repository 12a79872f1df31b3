package edit

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func openDraft(t *testing.T, dir string) (*DraftFile, Draft) {
	t.Helper()
	f, d, err := OpenDraft(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, d
}

func TestDraft_IsRestoredWithPastesImagesAndCaret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := New(Options{})
		for range rapid.IntRange(0, 15).Draw(t, "edits") {
			drawEdit(t, e)
		}
		again := New(Options{})
		again.Restore(e.Draft())
		if got, want := again.Message(), e.Message(); got.Text != want.Text && !strings.Contains(want.Text, "[image") ||
			len(got.Images) != len(want.Images) || again.buf.caret != e.buf.caret || len(again.buf.text) != len(e.buf.text) {
			t.Fatalf("restored %q, caret %d; want %q, caret %d", got.Text, again.buf.caret, want.Text, e.buf.caret)
		}
	})
}

func TestDraftFile_ACrashLosesAtMostTheLastSecond(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "drafts")
	synctest.Test(t, func(t *testing.T) {
		f, _, err := OpenDraft(dir)
		if err != nil {
			t.Fatal(err)
		}
		e := New(Options{})
		for _, c := range "hello" {
			e.Insert(string(c))
			if err := f.Save(e.Draft()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond) // half a second after the last key
		synctest.Wait()
		f.lock.Close() // as the system does when a program is killed
		g, d, err := OpenDraft(dir)
		if err != nil {
			t.Fatal(err)
		}
		again := New(Options{})
		again.Restore(d)
		if got := again.Message().Text; got != "hello" {
			t.Errorf("restored %q", got)
		}
		if info, err := os.Stat(g.path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("file %v, %v", info, err)
		}
		again.Clear()
		if err := g.Save(again.Draft()); err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(g.path); err == nil {
			t.Error("the empty draft is still there")
		}
	})
}

func TestDraftFile_BelongsToOneProgram(t *testing.T) {
	dir := t.TempDir()
	save := func(f *DraftFile, s string) {
		e := New(Options{})
		e.Insert(s)
		if err := f.Save(e.Draft()); err != nil {
			t.Fatal(err)
		}
	}
	one, d1 := openDraft(t, dir)
	two, d2 := openDraft(t, dir)
	if !reflect.DeepEqual(d1, Draft{}) || !reflect.DeepEqual(d2, Draft{}) || one.path == two.path {
		t.Fatalf("drafts %v and %v in %s and %s", d1, d2, one.path, two.path)
	}
	save(one, "one")
	save(two, "two")
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	three, d3 := openDraft(t, dir)
	if len(d3.Parts) != 1 || d3.Parts[0].Text != "two" || three.path != two.path {
		t.Errorf("the third program has %v", d3)
	}
	if _, d4 := openDraft(t, dir); !reflect.DeepEqual(d4, Draft{}) {
		t.Errorf("the fourth program has %v", d4)
	}
	if err := os.WriteFile(filepath.Join(dir, "draft-9.json"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	save(two, "after the end") // is not written
	two.flush()
	if three.read(); func() string { d, _ := three.read(); return d.Parts[0].Text }() != "two" {
		t.Error("a closed file was written")
	}
}

func TestDraftFile_ReportsThatADraftWasNotSaved(t *testing.T) {
	f, _ := openDraft(t, t.TempDir())
	f.path = filepath.Join(t.TempDir(), "missing", "draft.json")
	e := New(Options{})
	e.Insert("x")
	if err := f.Save(e.Draft()); err != nil {
		t.Fatal(err)
	}
	f.flush()
	if err := f.Save(e.Draft()); err == nil || !strings.HasPrefix(err.Error(), "cannot save the draft: ") {
		t.Errorf("error %v", err)
	}
}

func TestDraftFile_SaveDoesNotWaitForTheDisk(t *testing.T) {
	f, _ := openDraft(t, t.TempDir())
	entered, disk := make(chan struct{}, 2), make(chan struct{})
	var written []string
	f.save = func(_ string, data []byte, _ os.FileMode) error {
		entered <- struct{}{}
		<-disk
		written = append(written, string(data))
		return nil
	}
	save := func(s string) {
		saved := make(chan error, 1)
		go func() { saved <- f.Save(Draft{Parts: []Part{{Text: s}}}) }()
		select {
		case err := <-saved:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("saving waits for the disk")
		}
	}
	save("one")
	<-entered // the timer writes the first draft
	save("two")
	close(disk)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if len(written) != 2 || !strings.Contains(written[1], "two") {
		t.Errorf("written: %q", written)
	}
}
