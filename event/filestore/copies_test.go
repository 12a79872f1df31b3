package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

// many is enough sessions for .list.
const many = listStep + 10

// oldStore returns a store with many old sessions.
func oldStore(t testing.TB, c Config) *Store {
	t.Helper()
	s := newStore(t, c)
	for i := range many {
		old(t, s, event.Meta{ID: fmt.Sprintf("s%03d", i), Title: fmt.Sprintf("title %03d", i), Updated: time.Unix(int64(i), 0).UTC()})
	}
	return s
}

// titles lists the titles of all sessions by their id.
func titles(t testing.TB, s *Store) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for m, err := range s.List(t.Context()) {
		must(t, err)
		all[m.ID] = m.Title
	}
	return all
}

// copied returns the content of .list, or nil.
func copied(t testing.TB, s *Store) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, listName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return b
}

// opens counts the files that are opened.
type opens struct {
	OS
	n atomic.Int64
}

func (o *opens) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	o.n.Add(1)
	return o.OS.OpenFile(name, flag, perm)
}

func TestList_OpensOneFileForManySessions(t *testing.T) {
	disk := &opens{}
	s := oldStore(t, Config{FS: disk})
	first := titles(t, s)
	if len(first) != many || first["s007"] != "title 007" {
		t.Fatalf("%d sessions are listed: %v", len(first), first)
	}
	disk.n.Store(0)
	if again := titles(t, s); !maps.Equal(first, again) {
		t.Errorf("listed again: %v, want %v", again, first)
	}
	if n := disk.n.Load(); n != 1 {
		t.Errorf("%d files were opened, want 1", n)
	}
	info, err := os.Stat(filepath.Join(s.dir, listName))
	must(t, err)
	if runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%s has mode %v, want 0600", listName, info.Mode())
	}
}

func TestList_FewSessionsNeedNoCopies(t *testing.T) {
	s := newStore(t, Config{})
	old(t, s, event.Meta{ID: "a"})
	if count(t, s, 1); copied(t, s) != nil {
		t.Errorf("%s was written for one session", listName)
	}
}

func TestList_AChangedSessionIsListedAsItIs(t *testing.T) {
	s := oldStore(t, Config{})
	want := titles(t, s)

	w := open(t, s, "s001")
	must(t, w.SetMeta(t.Context(), event.Meta{Title: "written"}))
	want["s001"] = "written"
	if got := titles(t, s); !maps.Equal(got, want) {
		t.Errorf("with a writer: %v", got)
	}
	must(t, w.Close())
	if got := titles(t, s); !maps.Equal(got, want) {
		t.Errorf("after the writer: %v", got)
	}

	log := readLogFile(t, s, "s003")
	must(t, os.WriteFile(s.path("s003", "new"), log[:len(log)-5], filePerm))
	must(t, os.Rename(s.path("s003", "new"), s.path("s003", logName)))
	age(t, s, "s003")
	x, err := s.Meta(t.Context(), "s003")
	must(t, err)
	for m, err := range s.List(t.Context()) {
		must(t, err)
		if m.ID == "s003" && (m.Last != x.Last || m.Title != x.Title) {
			t.Errorf("a log that lost its end is listed as %+v, want %+v", m, x)
		}
	}

	must(t, os.Remove(s.path("s004", logName)))
	var damage *event.CorruptError
	for m, err := range s.List(t.Context()) {
		if m.ID == "s004" && !errors.As(err, &damage) {
			t.Errorf("a session without a log: %+v, %v", m, err)
		}
	}
	if damage == nil {
		t.Error("the missing log is not reported")
	}
}

func TestList_ACopyCountsForOneSizeTimeAndInode(t *testing.T) {
	s := oldStore(t, Config{})
	count(t, s, many)
	log := s.path("s002", logName)
	before, err := os.Stat(log)
	must(t, err)
	x, _, err := s.readIndex("s002")
	must(t, err)
	shows := func(change, want string) {
		t.Helper()
		must(t, s.writeIndex(s.path("s002"), x))
		if got := titles(t, s)["s002"]; got != want {
			t.Errorf("%s: the title is %q, want %q", change, got, want)
		}
	}
	x.Meta.Title = "meta.json"
	shows("the log is the same", "title 002")
	must(t, os.Chtimes(log, time.Time{}, before.ModTime().Add(time.Microsecond)))
	shows("another time", "meta.json")
	must(t, os.Chtimes(log, time.Time{}, before.ModTime()))
	shows("the old time", "title 002")

	content := readLogFile(t, s, "s002")
	if runtime.GOOS != "windows" {
		must(t, os.Rename(log, log+".old"))
		writeLogFile(t, s, "s002", content)
		must(t, os.Chtimes(log, time.Time{}, before.ModTime()))
		shows("another inode", "meta.json")
		must(t, os.Rename(log+".old", log))
		shows("the old inode", "title 002")
	}
	more, err := appendJSON(content, description{x.Meta})
	must(t, err)
	x.Size, x.Lines = int64(len(more)), x.Lines+1
	writeLogFile(t, s, "s002", more)
	must(t, os.Chtimes(log, time.Time{}, before.ModTime()))
	shows("another size", "meta.json")
}

func TestList_AJustWrittenLogIsNotCopied(t *testing.T) {
	s := oldStore(t, Config{})
	saved(t, s, "young", 3)
	count(t, s, many+1)
	if b := copied(t, s); b == nil || bytes.Contains(b, []byte("young")) {
		t.Errorf("%s has %d bytes and must not have the session that was just written", listName, len(b))
	}
}

func TestList_ADamagedCopyIsNotUsed(t *testing.T) {
	s := oldStore(t, Config{})
	want := titles(t, s)
	good := copied(t, s)
	end := bytes.IndexByte(good, '\n')
	for i := 0; i < end; i += 11 {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		must(t, os.WriteFile(filepath.Join(s.dir, listName), bad, filePerm))
		if got := titles(t, s); !maps.Equal(got, want) {
			t.Fatalf("byte %d is damaged: %v", i, got)
		}
	}
	for _, bad := range []string{"", "\n\n", string(good[:len(good)/2]), string(good[end/2:]), "{", strings.Repeat("x", 1000)} {
		must(t, os.WriteFile(filepath.Join(s.dir, listName), []byte(bad), filePerm))
		if got := titles(t, s); !maps.Equal(got, want) {
			t.Errorf("%.20q: %v", bad, got)
		}
	}
	if !bytes.Equal(copied(t, s), good) {
		t.Errorf("%s was not written again", listName)
	}
}

func TestList_AnInterruptedWriteIsRepeated(t *testing.T) {
	s := oldStore(t, Config{})
	must(t, os.WriteFile(filepath.Join(s.dir, listName+".new"), []byte("{\"name\":"), filePerm))
	must(t, os.MkdirAll(filepath.Join(s.dir, locksName), dirPerm))
	must(t, os.WriteFile(s.lockPath(listName), nil, filePerm))
	count(t, s, many)
	if len(bytes.Split(bytes.TrimSpace(copied(t, s)), []byte("\n"))) != many {
		t.Errorf("%s is incomplete", listName)
	}
}

func TestList_WorksWhereItCannotWrite(t *testing.T) {
	disk := &faulty{}
	s := oldStore(t, Config{FS: disk})
	disk.set(func() { disk.names = syscall.EROFS })
	count(t, s, many)
	disk.set(func() { disk.names, disk.writes, disk.space = nil, syscall.ENOSPC, 1000 })
	if count(t, s, many); copied(t, s) != nil {
		t.Errorf("an incomplete %s was put in place", listName)
	}
}

func TestDelete_LeavesNoCopy(t *testing.T) {
	s := oldStore(t, Config{})
	count(t, s, many)
	must(t, s.Delete(t.Context(), "s005"))
	if b := copied(t, s); bytes.Contains(b, []byte("title 005")) {
		t.Errorf("%s still has the deleted session", listName)
	}
	count(t, s, many-1)
	must(t, os.RemoveAll(s.path("s006"))) // as when Delete is killed
	if count(t, s, many-2); bytes.Contains(copied(t, s), []byte("title 006")) {
		t.Errorf("%s still has the removed session", listName)
	}
}

// deleting is a disk on which another process deletes a session while .list is written.
type deleting struct {
	OS
	store                *Store
	first, before, after string // sessions to delete before it is written, and before and after it has its name
}

func (d *deleting) Lock(name string) (io.Closer, error) {
	l, err := d.OS.Lock(name)
	if filepath.Base(name) == listName {
		err = errors.Join(err, d.delete(&d.first))
	}
	return l, err
}

func (d *deleting) Rename(from, to string) error {
	if filepath.Base(to) != listName {
		return d.OS.Rename(from, to)
	}
	return errors.Join(d.delete(&d.before), d.OS.Rename(from, to), d.delete(&d.after))
}

func (d *deleting) delete(id *string) error {
	session := *id
	if *id = ""; session == "" {
		return nil
	}
	return d.store.remove(session)
}

func TestDelete_LeavesNoCopyThatIsBeingWritten(t *testing.T) {
	for _, disk := range []*deleting{{first: "s007"}, {before: "s007"}, {after: "s007"}} {
		s := oldStore(t, Config{FS: disk})
		disk.store = newStore(t, Config{Dir: s.dir})
		count(t, s, many)
		if disk.first+disk.before+disk.after != "" {
			t.Fatal("the session was not deleted meanwhile")
		}
		if b := copied(t, s); bytes.Contains(b, []byte("title 007")) {
			t.Errorf("%s still has the deleted session", listName)
		}
	}
}

func TestList_ManyProcessesListWriteAndDelete(t *testing.T) {
	dir := oldStore(t, Config{}).dir
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			s := newStore(t, Config{Dir: dir})
			for j := range 6 {
				id := fmt.Sprintf("s%03d", i*10+j)
				w, err := s.Open(t.Context(), id)
				if err == nil {
					err = errors.Join(w.SetMeta(t.Context(), event.Meta{Title: "new " + id}), w.Close())
				}
				if j%2 == 0 && err == nil {
					err = s.Delete(t.Context(), id)
				}
				if err != nil {
					t.Error(err)
				}
				for m, err := range s.List(t.Context()) {
					if err != nil || m.ID == id && (j%2 == 0 || m.Title != "new "+id) {
						t.Errorf("%s is listed as %+v, %v", id, m, err)
					}
				}
			}
		})
	}
	wg.Wait()
	s := newStore(t, Config{Dir: dir})
	for range 2 {
		for id, title := range titles(t, s) {
			if m, err := s.Meta(t.Context(), id); err != nil || m.Title != title {
				t.Errorf("%s is listed with title %q, its log has %q: %v", id, title, m.Title, err)
			}
		}
	}
}
