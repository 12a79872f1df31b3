package realpath

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree returns a directory with real/sub, real/file, the link to real, and the dangling link gone.
func tree(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "real", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "real", "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "real", "gone": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links:", err)
		}
	}
	return dir
}

func TestResolve(t *testing.T) {
	dir := tree(t)
	for path, want := range map[string]string{
		"":                "",
		"real":            "real",
		"link":            "real",
		"link/sub":        "real/sub",
		"link/sub/../sub": "real/sub",
		"link/new":        "real/new",
		"link/new/deeper": "real/new/deeper",
		"new/deeper":      "new/deeper",
		"link/file/below": "real/file/below",
		"gone":            "gone",
		"gone/below":      "gone/below",
	} {
		got := Resolve(filepath.Join(dir, filepath.FromSlash(path)))
		if want := filepath.Join(dir, filepath.FromSlash(want)); got != want {
			t.Errorf("Resolve(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestDir(t *testing.T) {
	dir := tree(t)
	got, err := Dir(filepath.Join(dir, "link", "sub"))
	if want := filepath.Join(dir, "real", "sub"); err != nil || got != want {
		t.Errorf("Dir of a link = %q, %v, want %q", got, err, want)
	}
	for path, want := range map[string]string{"real/file": "is not a directory", "new": "new", "gone": "nowhere"} {
		if got, err := Dir(filepath.Join(dir, path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Dir(%q) = %q, %v, want an error with %q", path, got, err, want)
		}
	}
}

func TestCache_ResolvesAsEvalSymlinksDoes(t *testing.T) {
	dir := tree(t)
	var c Cache
	for _, path := range strings.Fields(`. real link link/sub link/sub/../sub link/new link/new/deeper new/deeper link/file/below gone gone/below
		link/file link/a link/b link/c link/sub link/file real/sub real/d real/file/x REAL link/SUB`) {
		full := filepath.Join(dir, filepath.FromSlash(path))
		want, err := filepath.EvalSymlinks(full)
		got, ok := c.Resolve(full)
		if ok != (err == nil) || ok && got != want {
			t.Errorf("Resolve(%q) = %q, %v, want %q, %v", path, got, ok, want, err)
		}
		if want := Resolve(full); !ok && got != want {
			t.Errorf("Resolve(%q) = %q, want %q as far as it exists", path, got, want)
		}
	}
}
