package envtest

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reins-agent/reins/env"
)

// readTests do not write through e.
var readTests = []test{
	{"Info_DescribesTheEnvironment", func(t *testing.T, e, _ env.Environment) {
		i := e.Info()
		if i.Dir == "" || i.Platform == "" || i.OSVersion == "" {
			t.Errorf("Info has empty fields: %+v", i)
		}
		if !i.Paths().IsAbs(i.Dir) || i.Paths().Clean(i.Dir) != i.Dir {
			t.Errorf("Info.Dir is %q, want an absolute, clean path", i.Dir)
		}
		if i != e.Info() {
			t.Error("Info changes")
		}
	}},
	{"Open_GivesBytesExactly", func(t *testing.T, e, w env.Environment) {
		for name, content := range contents() {
			put(t, w, name, content)
			if got := get(t, e, name); got != content {
				t.Errorf("%s: read %d bytes that differ from the %d written", name, len(got), len(content))
			}
		}
	}},
	{"Stat_SizeModeAndName", func(t *testing.T, e, w env.Environment) {
		put(t, w, "d/f.txt", "12345")
		fi, err := e.Stat(t.Context(), "d/f.txt")
		if err != nil {
			t.Fatal(err)
		}
		if fi.Name != "f.txt" || fi.Size != 5 || !fi.Mode.IsRegular() || fi.ModTime.IsZero() {
			t.Errorf("Stat of a file of 5 bytes: %+v", fi)
		}
		if fi, err := e.Lstat(t.Context(), "d"); err != nil || !fi.IsDir() || fi.Name != "d" {
			t.Errorf("Lstat of a directory: %+v, %v", fi, err)
		}
	}},
	{"Paths_RelativeAndAbsoluteAgree", func(t *testing.T, e, w env.Environment) {
		put(t, w, "d/f", "content")
		for _, p := range []string{"d/f", "./d/f", "d/../d/f", e.Info().Dir + "/d/f"} {
			if got := get(t, e, p); got != "content" {
				t.Errorf("%s: read %q", p, got)
			}
		}
	}},
	{"Errors_MissingFileIsNotExist", func(t *testing.T, e, _ env.Environment) {
		ctx := t.Context()
		_, err := e.Stat(ctx, "missing")
		wantErr(t, "Stat", err, fs.ErrNotExist)
		_, err = e.Lstat(ctx, "missing")
		wantErr(t, "Lstat", err, fs.ErrNotExist)
		_, err = e.Open(ctx, "missing/too")
		wantErr(t, "Open", err, fs.ErrNotExist)
		_, err = e.ReadDir(ctx, "missing")
		wantErr(t, "ReadDir", err, fs.ErrNotExist)
		if err == nil || !strings.Contains(err.Error(), "missing") {
			t.Errorf("the error does not name the path: %v", err)
		}
	}},
	{"Errors_EmptyPathIsInvalid", func(t *testing.T, e, _ env.Environment) {
		ctx := t.Context()
		_, err := e.Stat(ctx, "")
		wantErr(t, "Stat", err, fs.ErrInvalid)
		_, err = e.Lstat(ctx, "")
		wantErr(t, "Lstat", err, fs.ErrInvalid)
		_, err = e.RealPath(ctx, "")
		wantErr(t, "RealPath", err, fs.ErrInvalid)
		_, err = e.Open(ctx, "")
		wantErr(t, "Open", err, fs.ErrInvalid)
		_, err = e.ReadDir(ctx, "")
		wantErr(t, "ReadDir", err, fs.ErrInvalid)
	}},
	{"Paths_SeparatorAtTheEndIsIgnored", func(t *testing.T, e, w env.Environment) {
		ctx := t.Context()
		put(t, w, "d/f", "content")
		if got := get(t, e, "d/f/"); got != "content" {
			t.Errorf("d/f/: read %q", got)
		}
		if got := names(t, e, "d/"); !slices.Equal(got, []string{"f"}) {
			t.Errorf("d/ contains %q", got)
		}
		if fi, err := e.Stat(ctx, "d/"); err != nil || fi.Name != "d" {
			t.Errorf("Stat of d/: %+v, %v", fi, err)
		}
	}},
	{"RealPath_IsAbsoluteAndNeedNotExist", func(t *testing.T, e, w env.Environment) {
		put(t, w, "d/f", "")
		paths := e.Info().Paths()
		root, err := e.RealPath(t.Context(), ".")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{"d/f", "d/missing", "no/such/place"} {
			real, err := e.RealPath(t.Context(), p)
			if rel, ok := paths.Rel(root, real); err != nil || !ok || rel != p {
				t.Errorf("RealPath(%s) = %q, %v", p, real, err)
			}
		}
	}},
	{"Errors_PathThroughFileIsNotDir", func(t *testing.T, e, w env.Environment) {
		ctx := t.Context()
		put(t, w, "f", "")
		_, err := e.Stat(ctx, "f/x")
		wantErr(t, "Stat", err, env.ErrNotDir)
		_, err = e.Lstat(ctx, "f/x")
		wantErr(t, "Lstat", err, env.ErrNotDir)
		_, err = e.Open(ctx, "f/x")
		wantErr(t, "Open", err, env.ErrNotDir)
	}},
	{"Open_DirectoryIsAnError", func(t *testing.T, e, w env.Environment) {
		put(t, w, "d/f", "")
		f, err := e.Open(t.Context(), "d")
		if err == nil {
			f.Close()
		}
		wantErr(t, "Open", err, env.ErrIsDir)
	}},
	{"ReadDir_SortedByNameWithKinds", func(t *testing.T, e, w env.Environment) {
		put(t, w, "b", "bb")
		put(t, w, "c/x", "")
		put(t, w, ".hidden", "")
		put(t, w, "A", "")
		list, err := e.ReadDir(t.Context(), ".")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := names(t, e, "."), []string{".hidden", "A", "b", "c"}; !slices.Equal(got, want) {
			t.Fatalf("ReadDir returned %q, want %q", got, want)
		}
		if list[2].Size != 2 || !list[3].IsDir() {
			t.Errorf("wrong size or kind: %+v", list)
		}
	}},
	{"ReadDir_FileIsAnError", func(t *testing.T, e, w env.Environment) {
		put(t, w, "f", "")
		_, err := e.ReadDir(t.Context(), "f")
		wantErr(t, "ReadDir", err, env.ErrNotDir)
	}},
	{"ReadFile_LimitIsKept", func(t *testing.T, e, w env.Environment) {
		put(t, w, "f", "12345")
		if data, err := env.ReadFile(t.Context(), e, "f", 5); err != nil || string(data) != "12345" {
			t.Errorf("a file of 5 bytes with limit 5: %q, %v", data, err)
		}
		_, err := env.ReadFile(t.Context(), e, "f", 4)
		wantErr(t, "a file of 5 bytes with limit 4", err, env.ErrTooLarge)
	}},
	{"Cancelled_NothingIsRead", func(t *testing.T, e, w env.Environment) {
		put(t, w, "f", "")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := e.Stat(ctx, "f")
		wantErr(t, "Stat", err, context.Canceled)
		_, err = e.Open(ctx, "f")
		wantErr(t, "Open", err, context.Canceled)
	}},
}

// contents returns files that careless code would change.
func contents() map[string]string {
	return map[string]string{
		"empty":      "",
		"crlf":       "a\r\nb\r\n",
		"mixed":      "a\r\nb\nc\rd",
		"bom":        "\xef\xbb\xbftext\n",
		"utf16":      "\xff\xfea\x00\n\x00",
		"latin1":     "caf\xe9\n",
		"nul":        "a\x00b",
		"no newline": "last line",
		"ünïcode":    "ключ 値\n",
		"large":      strings.Repeat("0123456789abcdef", 1<<16),
	}
}

// writeTests change files through e.
var writeTests = []test{
	{"WriteFile_KeepsModeOfExistingFile", func(t *testing.T, e, _ env.Environment) {
		write := func(content string, perm fs.FileMode) fs.FileMode {
			if err := e.WriteFile(t.Context(), "script", []byte(content), perm); err != nil {
				t.Fatal(err)
			}
			fi, err := e.Stat(t.Context(), "script")
			if err != nil {
				t.Fatal(err)
			}
			return fi.Mode
		}
		first := write("1", 0o700)
		if e.Info().Platform != "windows" && first.Perm() != 0o700 {
			t.Errorf("a new file with 0700 has mode %v", first)
		}
		if second := write("2", 0o600); second != first {
			t.Errorf("rewriting a file changed its mode from %v to %v", first, second)
		}
		if got := get(t, e, "script"); got != "2" {
			t.Errorf("content is %q", got)
		}
	}},
	{"WriteFile_CreatesParents", func(t *testing.T, e, _ env.Environment) {
		put(t, e, "a/b/c/f", "deep")
		if got := get(t, e, "a/b/c/f"); got != "deep" {
			t.Errorf("content is %q", got)
		}
	}},
	{"WriteFile_LeavesNothingBeside", func(t *testing.T, e, _ env.Environment) {
		put(t, e, "f", "1")
		put(t, e, "f", "2")
		if got := names(t, e, "."); !slices.Equal(got, []string{"f"}) {
			t.Errorf("the directory contains %q", got)
		}
	}},
	{"WriteFile_OverDirectoryOrThroughFileFails", func(t *testing.T, e, _ env.Environment) {
		put(t, e, "d/f", "old")
		for p, kind := range map[string]error{
			"d": env.ErrIsDir, "d/": env.ErrIsDir, "new/": env.ErrIsDir, ".": env.ErrIsDir, "": fs.ErrInvalid,
			"d/f/g": env.ErrNotDir, "d/f/g/h": env.ErrNotDir,
		} {
			wantErr(t, "WriteFile "+p, e.WriteFile(t.Context(), p, []byte("x"), 0o644), kind)
		}
		if got := get(t, e, "d/f"); got != "old" {
			t.Errorf("after failed writes d/f contains %q, want \"old\"", got)
		}
		if got := names(t, e, "."); !slices.Equal(got, []string{"d"}) {
			t.Errorf("after failed writes the directory contains %q, want only d", got)
		}
	}},
	{"WriteFile_ReadersSeeOldOrNew", testAtomic},
	{"Cancelled_NothingIsWritten", func(t *testing.T, e, _ env.Environment) {
		put(t, e, "f", "old")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantErr(t, "WriteFile", e.WriteFile(ctx, "f", []byte("new"), 0o644), context.Canceled)
		wantErr(t, "WriteFile", e.WriteFile(ctx, "x/g", []byte("new"), 0o644), context.Canceled)
		wantErr(t, "Remove", e.Remove(ctx, "f"), context.Canceled)
		if got := get(t, e, "f"); got != "old" {
			t.Errorf("content is %q", got)
		}
		if got := names(t, e, "."); !slices.Equal(got, []string{"f"}) {
			t.Errorf("the directory contains %q", got)
		}
	}},
	{"Remove_FileAndEmptyDirectory", func(t *testing.T, e, _ env.Environment) {
		ctx := t.Context()
		put(t, e, "d/f", "")
		wantErr(t, "Remove of a directory with a file in it", e.Remove(ctx, "d"), env.ErrNotEmpty)
		wantErr(t, "Remove of nothing", e.Remove(ctx, ""), fs.ErrInvalid)
		for _, p := range []string{"d/f", "d"} {
			if err := e.Remove(ctx, p); err != nil {
				t.Error(err)
			}
			wantErr(t, "Remove again", e.Remove(ctx, p), fs.ErrNotExist)
		}
	}},
	{"Rename_MovesAndReplaces", func(t *testing.T, e, _ env.Environment) {
		ctx := t.Context()
		put(t, e, "a", "from")
		put(t, e, "d/b", "old")
		if err := e.Rename(ctx, "a", "d/b"); err != nil {
			t.Fatal(err)
		}
		if got := get(t, e, "d/b"); got != "from" {
			t.Errorf("the target contains %q, want \"from\"", got)
		}
		wantErr(t, "Rename again", e.Rename(ctx, "a", "d/c"), fs.ErrNotExist)
		wantErr(t, "Rename into nowhere", e.Rename(ctx, "d/b", "no/where"), fs.ErrNotExist)
		if got := get(t, e, "d/b"); got != "from" {
			t.Errorf("after a failed rename the file contains %q, want \"from\"", got)
		}
	}},
	{"Mkdir_OneLevelAndNotTwice", func(t *testing.T, e, _ env.Environment) {
		ctx := t.Context()
		if err := e.Mkdir(ctx, "d", 0o755); err != nil {
			t.Fatal(err)
		}
		if fi, err := e.Stat(ctx, "d"); err != nil || !fi.IsDir() {
			t.Errorf("Stat: %+v, %v", fi, err)
		}
		wantErr(t, "Mkdir again", e.Mkdir(ctx, "d", 0o755), fs.ErrExist)
		wantErr(t, "Mkdir without parent", e.Mkdir(ctx, "x/y", 0o755), fs.ErrNotExist)
	}},
}

// testAtomic reads a file while it is being rewritten.
func testAtomic(t *testing.T, e, _ env.Environment) {
	const size = 1 << 16
	version := func(c string) []byte { return []byte(strings.Repeat(c, size)) }
	put(t, e, "f", string(version("0")))
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for _, c := range []string{"1", "2"} {
		writers.Go(func() {
			for ctx.Err() == nil {
				if err := e.WriteFile(ctx, "f", version(c), 0o644); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		got := get(t, e, "f")
		if len(got) != size || strings.Count(got, got[:1]) != size {
			t.Errorf("a reader saw a torn file of %d bytes", len(got))
			break
		}
	}
	cancel()
	writers.Wait()
}

// readOnlyTests are for environments that refuse writes.
var readOnlyTests = []test{
	{"ReadOnly_RefusesEveryChange", func(t *testing.T, e, w env.Environment) {
		ctx := t.Context()
		put(t, w, "f", "old")
		wantErr(t, "WriteFile", e.WriteFile(ctx, "f", []byte("new"), 0o644), env.ErrReadOnly)
		wantErr(t, "Remove", e.Remove(ctx, "f"), env.ErrReadOnly)
		wantErr(t, "Rename", e.Rename(ctx, "f", "g"), env.ErrReadOnly)
		wantErr(t, "Mkdir", e.Mkdir(ctx, "d", 0o755), env.ErrReadOnly)
		_, err := e.Start(ctx, env.Command{Line: "echo new > f"})
		wantErr(t, "Start", err, env.ErrReadOnly)
		if got := get(t, e, "f"); got != "old" {
			t.Errorf("content is %q", got)
		}
		if got := names(t, e, "."); !slices.Equal(got, []string{"f"}) {
			t.Errorf("the directory contains %q", got)
		}
	}},
}
