package tools_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/corpus"
	"github.com/reins-agent/reins/internal/tools"
)

// regular returns the regular files below a directory, by relative path.
func regular(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

func TestApplyPatch_CorpusCasesOnDisk(t *testing.T) {
	var cases []struct{ Name, Expect string }
	corpus.JSON(t, &cases, "apply_patch", "manifest.json")
	dir := corpus.Path(t, "apply_patch")
	for _, c := range cases {
		for _, classic := range []bool{false, true} {
			r := newRig(t, tools.Config{ClassicPatch: classic})
			input, want := regular(t, filepath.Join(dir, c.Name, "input")), regular(t, filepath.Join(dir, c.Name, "expected"))
			for name, content := range input {
				r.write(name, content)
			}
			text, err := os.ReadFile(filepath.Join(dir, c.Name, "patch.txt"))
			if err != nil {
				t.Fatal(err)
			}
			out := r.run("apply_patch", args{"patch": string(text)})
			if out.OK() != (c.Expect == "accept") {
				t.Errorf("%s: %+v, want %s", c.Name, out.Result.Error, c.Expect)
			}
			if !out.OK() && !classic {
				want = input
			}
			if got := regular(t, r.dir); !maps.Equal(got, want) {
				t.Errorf("%s (classic %v): the files are %q, want %q", c.Name, classic, got, want)
			}
		}
	}
}

func TestEditFile_CorpusCasesOnDisk(t *testing.T) {
	var cases []struct {
		ID, Class string
		Content   *string
		Old       string `json:"old_string"`
		New       string `json:"new_string"`
		All       bool   `json:"replace_all"`
		Expect    struct {
			OK       bool
			Content  *string
			Contains string
		}
	}
	corpus.JSON(t, &cases, "edit", "cases.json")
	for _, c := range cases {
		if c.Class == "fuzzy-typo" {
			continue // a typo is refused on purpose
		}
		r := newRig(t, tools.Config{})
		if c.Content != nil {
			r.write("f", *c.Content)
		}
		out := r.run("edit_file", args{"file_path": "f", "old_string": c.Old, "new_string": c.New, "replace_all": c.All})
		if out.OK() != c.Expect.OK {
			t.Errorf("%s: %+v, want success %v", c.ID, out.Result.Error, c.Expect.OK)
			continue
		}
		got, existed := regular(t, r.dir)["f"]
		switch {
		case !out.OK() && (existed != (c.Content != nil) || existed && got != *c.Content):
			t.Errorf("%s: a failed edit changed the file to %q", c.ID, got)
		case out.OK() && c.Expect.Content != nil && got != *c.Expect.Content, out.OK() && !strings.Contains(got, c.Expect.Contains):
			t.Errorf("%s: the file is %q", c.ID, got)
		}
	}
}
