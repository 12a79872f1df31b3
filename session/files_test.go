package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
)

// tree is an environment with many directories of many files, and a directory that is ignored.
type tree struct {
	env.Environment
	dirs, files int
	gate        chan struct{} // reading the last directory waits for it; nil: it does not

	mu    sync.Mutex
	added []string // more files in the working directory
}

func (e *tree) Info() env.Info { return env.Info{Dir: "/work", Platform: "linux"} }

func (e *tree) Stat(_ context.Context, path string) (env.FileInfo, error) {
	if path == "/work" {
		return env.FileInfo{Name: "work", Mode: fs.ModeDir | 0o755}, nil
	}
	return env.FileInfo{}, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
}

func (e *tree) Lstat(ctx context.Context, path string) (env.FileInfo, error) {
	return e.Stat(ctx, path)
}

func (e *tree) Open(_ context.Context, path string) (io.ReadCloser, error) {
	if path == "/work/.ignore" {
		return io.NopCloser(strings.NewReader("ignored/\n")), nil
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

func (e *tree) ReadDir(_ context.Context, path string) (list []env.FileInfo, err error) {
	if path == "/work" {
		list = append(list, env.FileInfo{Name: ".ignore"}, env.FileInfo{Name: "ignored", Mode: fs.ModeDir})
		for i := range e.dirs {
			list = append(list, env.FileInfo{Name: fmt.Sprintf("part%02d", i), Mode: fs.ModeDir})
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, name := range e.added {
			list = append(list, env.FileInfo{Name: name})
		}
		return list, nil
	}
	dir := strings.TrimPrefix(path, "/work/")
	if e.gate != nil && dir == fmt.Sprintf("part%02d", e.dirs-1) {
		<-e.gate
	}
	for i := range e.files {
		list = append(list, env.FileInfo{Name: fmt.Sprintf("%s_file%04d.go", dir, i)})
	}
	return list, nil
}

// until repeats a search until its files are all listed.
func until(t *testing.T, f *files, e env.Environment, text string) []string {
	t.Helper()
	for {
		list, err := f.find(t.Context(), t.Context(), e, text, 5)
		if lacks, ok := errors.AsType[*PartialError](err); ok && lacks.Listing {
			continue // find has waited
		}
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
}

func TestFiles_AnyOf60000FilesIsFoundUnlessIgnored(t *testing.T) {
	e, f := &tree{dirs: 60, files: 1000}, &files{}
	defer f.close()
	for _, name := range []string{"part00_file0000.go", "part50_file0001.go", "part59_file0999.go"} {
		if got, want := until(t, f, e, name), name[:6]+"/"+name; len(got) == 0 || got[0] != want {
			t.Errorf("%s: found %q, want %s first", name, got, want)
		}
	}
	if got := until(t, f, e, "ignored_file"); len(got) > 0 {
		t.Errorf("found ignored files: %q", got)
	}
	if got := until(t, f, e, "part07/"); len(got) == 0 || got[0] != "part07/" {
		t.Errorf("found %q for a directory", got)
	}
}

func TestFiles_TellsThatTheRestIsNotSearched(t *testing.T) {
	e, f := &tree{dirs: 3, files: 10}, &files{limit: 15}
	defer f.close()
	for {
		list, err := f.find(t.Context(), t.Context(), e, "part00_file0009", 5)
		lacks, ok := errors.AsType[*PartialError](err)
		if !ok || len(list) == 0 && !lacks.Listing {
			t.Fatalf("found %q, %v", list, err)
		}
		if lacks.Listing {
			continue
		}
		if lacks.Files != 15 || err.Error() != "more than 15 files: the rest is not searched" {
			t.Errorf("got %v", err)
		}
		return
	}
}

func TestFiles_AreFoundWhileTheOthersAreListed(t *testing.T) {
	e, f := &tree{dirs: 3, files: 10, gate: make(chan struct{})}, &files{}
	open := sync.OnceFunc(func() { close(e.gate) })
	defer f.close()
	defer open()
	for {
		list, err := f.find(t.Context(), t.Context(), e, "part00_file0003", 5)
		if lacks, ok := errors.AsType[*PartialError](err); !ok || !lacks.Listing {
			t.Fatalf("found %q, %v, before all files are listed", list, err)
		}
		if len(list) > 0 && list[0] == "part00/part00_file0003.go" {
			break
		}
	}
	open()
	if got := until(t, f, e, "part02_file0003"); len(got) == 0 || got[0] != "part02/part02_file0003.go" {
		t.Errorf("found %q", got)
	}
}

func TestFiles_AreListedAgainWhenTheIndexIsOld(t *testing.T) {
	e, f := &tree{dirs: 1, files: 1}, &files{}
	defer f.close()
	if got := until(t, f, e, "new.go"); len(got) > 0 {
		t.Errorf("found %q", got)
	}
	e.mu.Lock()
	e.added = []string{"new.go"}
	e.mu.Unlock()
	f.mu.Lock()
	f.built = time.Now().Add(-time.Minute)
	f.mu.Unlock()
	for len(until(t, f, e, "new.go")) == 0 { // the old index, until the new one is complete
	}
}

// moved is a tree that is the working directory after the session moved.
type moved struct{ *tree }

func (moved) Info() env.Info { return env.Info{Dir: "/work/part01", Platform: "linux"} }

func (e moved) Stat(ctx context.Context, path string) (env.FileInfo, error) {
	if path == "/work/part01" {
		return env.FileInfo{Name: "part01", Mode: fs.ModeDir | 0o755}, nil
	}
	return e.tree.Stat(ctx, path)
}

func (e moved) Lstat(ctx context.Context, path string) (env.FileInfo, error) {
	return e.Stat(ctx, path)
}

func TestFiles_AreListedAgainWhenTheSessionMoves(t *testing.T) {
	e, f := &tree{dirs: 2, files: 10}, &files{}
	defer f.close()
	if got := until(t, f, e, "file0003"); len(got) != 2 {
		t.Fatalf("found %q", got)
	}
	if got := until(t, f, moved{e}, "file0003"); len(got) != 1 || got[0] != "part01_file0003.go" {
		t.Errorf("found %q in the directory that the session moved to", got)
	}
}

func TestFiles_OfTheDirectoryBeforeAreNotFoundWhileTheyAreListed(t *testing.T) {
	e, f := &tree{dirs: 2, files: 10, gate: make(chan struct{})}, &files{}
	defer f.close()
	open := sync.OnceFunc(func() { close(e.gate) })
	defer open()
	if _, err := f.find(t.Context(), t.Context(), e, "part00_file0003", 5); err == nil {
		t.Fatal("the files are complete before they are listed")
	}
	list, err := f.find(t.Context(), t.Context(), moved{e}, "part00_file0003", 5)
	if lacks, ok := errors.AsType[*PartialError](err); !ok || !lacks.Listing || len(list) > 0 {
		t.Errorf("found %q, %v", list, err)
	}
	open()
	if got := until(t, f, moved{e}, "file0003"); len(got) != 1 || got[0] != "part01_file0003.go" {
		t.Errorf("found %q in the directory that the session moved to", got)
	}
}

func TestFiles_ListingEndsWithTheSession(t *testing.T) {
	e, f := &tree{dirs: 60, files: 1000, gate: make(chan struct{})}, &files{}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := f.find(t.Context(), ctx, e, "x", 5); err == nil {
		t.Error("the files are complete before they are listed")
	}
	cancel()
	close(e.gate)
	f.close()
	if _, err := (&files{}).find(t.Context(), ctx, e, "x", 5); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed session lists files: %v", err)
	}
}
