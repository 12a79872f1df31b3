package search_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/search"
)

func TestTree_GivesFilesLinksAndDirectoriesThatAreNotIgnored(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".gitignore": "*.log\nskip/\n", "a.log": "", "b": "12345", "d/.gitignore": "!x.log\n", "d/x.log": "", "d/y.log": "",
		"skip/f": "", ".git/HEAD": "", ".hidden/f": "", "left/out": "",
	} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("d", filepath.Join(dir, "link")), os.Mkdir(filepath.Join(dir, "empty"), 0o755)); err != nil {
		t.Fatal(err)
	}
	var got []string
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	local := &search.Local{Dir: dir}
	q := search.TreeQuery{SkipDir: func(p string) bool { return p == "left" }}
	err := local.Tree(context.Background(), q, func(e *search.TreeEntry) error {
		p := path.Join(e.Dir, e.Name)
		info, err := os.Lstat(filepath.Join(dir, p))
		if err != nil || search.TreeStatOf(info) != e.Stat {
			t.Errorf("%s: %+v, %v", p, e.Stat, err)
		}
		got = append(got, e.Stat.Mode.Type().String()[:1]+p)
		return nil
	})
	want := "-.gitignore d.hidden -.hidden/f -b dd -d/.gitignore -d/x.log dempty Llink"
	if joined := strings.Join(got, " "); err != nil || joined != want {
		t.Errorf("got %s, %v\nwant %s", joined, err, want)
	}
	stop := errors.New("enough")
	if err := local.Tree(context.Background(), q, func(*search.TreeEntry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of visit gave %v", err)
	}
	local.Dir = filepath.Join(dir, "missing")
	if err := local.Tree(context.Background(), q, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing root gave %v", err)
	}
}
