package patch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/internal/corpus"
)

// loadTree reads a directory; a missing one is empty.
func loadTree(t *testing.T, dir string) tree {
	t.Helper()
	files := tree{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

func TestPatch_CorpusCases(t *testing.T) {
	dir := corpus.Path(t, "apply_patch")
	var cases []struct{ Name, Expect string }
	corpus.JSON(t, &cases, "apply_patch", "manifest.json")
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			input := loadTree(t, filepath.Join(dir, c.Name, "input"))
			want := loadTree(t, filepath.Join(dir, c.Name, "expected"))
			text, err := os.ReadFile(filepath.Join(dir, c.Name, "patch.txt"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := run(input, string(text), Options{Classic: true})
			if accepted := err == nil; accepted != (c.Expect == "accept") {
				t.Fatalf("got error %v, want %s", err, c.Expect)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("classic: files differ (-want +got):\n%s", diff)
			}
			if err != nil {
				want = input
			}
			got, _ = run(input, string(text), Options{})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("all or none: files differ (-want +got):\n%s", diff)
			}
		})
	}
}
