//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// age makes a directory look as if nothing had changed in it for a while.
func age(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if err := os.Chtimes(dir, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMasks_NoticeFilesThatAppearDisappearOrAreReplaced(t *testing.T) {
	for name, change := range map[string]func(home string) error{
		"appears":           func(home string) error { return os.WriteFile(home+"/.netrc", nil, 0o600) },
		"appears below":     func(home string) error { return os.MkdirAll(home+"/.config/gh", 0o700) },
		"disappears":        func(home string) error { return os.Remove(home + "/.aws/credentials") },
		"its parent is new": func(home string) error { return os.Rename(home+"/.aws.new", home+"/.aws") },
		"is replaced": func(home string) error {
			return os.Rename(home+"/.pgpass.new", home+"/.pgpass")
		},
	} {
		for _, settled := range []bool{true, false} {
			home := t.TempDir()
			for _, file := range []string{".aws/credentials", ".aws.new/credentials", ".pgpass", ".pgpass.new"} {
				path := filepath.Join(home, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if name == "its parent is new" {
				if err := os.Rename(home+"/.aws", home+"/.aws.old"); err != nil {
					t.Fatal(err)
				}
			}
			if settled {
				age(t, home, home+"/.aws.new")
			}
			var paths []string
			for _, file := range []string{".netrc", ".config/gh", ".aws/credentials", ".pgpass"} {
				paths = append(paths, filepath.Join(home, file))
			}
			m := newMasks(paths)
			if first, second := m.changed(), m.changed(); first || second {
				t.Errorf("%s, settled %v: noticed a change before there was one", name, settled)
			}
			if err := change(home); err != nil {
				t.Fatal(err)
			}
			if !m.changed() {
				t.Errorf("%s, settled %v: not noticed", name, settled)
			}
		}
	}
}

func TestMasks_OtherFilesDoNotMatter(t *testing.T) {
	home := t.TempDir()
	age(t, home)
	m := newMasks([]string{home + "/.ssh"})
	if err := os.WriteFile(home+"/notes.txt", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if m.changed() {
		t.Error("another file counts as a change")
	}
}
