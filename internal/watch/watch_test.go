package watch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComments_InEverySyntax(t *testing.T) {
	const text = "// reins: one\n" +
		"x := 1 // reins: two  \r\n" +
		"# reins: three\n" +
		"-- reins: four\n" +
		"/* reins: five */\n" +
		"<!-- reins: six -->\n" +
		"  * reins: seven\n" +
		"f(); /* reins: eight */\n" +
		";; reins: nine\n" +
		"{/* reins: ten */}\n" +
		"(* reins: eleven *)\n" +
		"% reins: twelve\n" +
		"/// reins: thirteen\n"
	want := strings.Fields("one two three four five six seven eight nine ten eleven twelve thirteen")
	var got []string
	for i, c := range Comments([]byte(text)) {
		got = append(got, c.Text)
		if c.Line != i+1 {
			t.Errorf("%s is in line %d, want %d", c.Text, c.Line, i+1)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestComments_OnlyInstructions(t *testing.T) {
	for _, text := range []string{
		`fmt.Println("reins: not this")`, `reins: no comment`, `// see reins: not first`, `"// reins: in a string"`, `https://reins: x`,
		"// reins:", "// reins: ", "// reins:x", "/* reins: */", "// Reins: other case", "// reins: bad \xff", "// reins: nul \x00",
		"// reins: " + strings.Repeat("x", 3000),
	} {
		if got := Comments([]byte(text)); len(got) > 0 {
			t.Errorf("%q has %v", text, got)
		}
	}
}

func FuzzComments(f *testing.F) {
	f.Add([]byte("/* reins: x */ */"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, c := range Comments(text) {
			if c.Text == "" || c.Text != strings.TrimSpace(c.Text) || strings.Contains(c.Text, "\n") || c.Line < 1 {
				t.Errorf("%q has %+v", text, c)
			}
		}
	})
}

// write writes files of a tree.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func scan(t *testing.T, tree *Tree) State {
	t.Helper()
	s, err := tree.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScan_OnlyFilesOfTheProject(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		".gitignore": "out/\n", "a.go": "", "sub/b.go": "", "out/c.go": "", ".git/HEAD": "", ".a.go.swp": "", "a.go~": "", ".#a.go": "", "state/x": "",
	})
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	tree := &Tree{Dir: dir, Skip: func(p string) bool { return p == "state" }}
	first := scan(t, tree)
	if d := cmp.Diff([]string{".gitignore", "a.go", "sub/b.go"}, Changed(nil, first)); d != "" {
		t.Error(d)
	}
	write(t, dir, map[string]string{"a.go": "changed", "new.go": "", "out/d.go": "", ".git/index": ""})
	if err := os.Remove(filepath.Join(dir, "sub/b.go")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a.go", "new.go", "sub/b.go"}, Changed(first, scan(t, tree))); d != "" {
		t.Error(d)
	}
	tree.MaxFiles = 2
	if _, err := tree.Scan(t.Context()); !errors.Is(err, ErrTooMany) {
		t.Errorf("got %v, want %v", err, ErrTooMany)
	}
}

func TestKnown_MovedInstructionsAreNotNew(t *testing.T) {
	dir := t.TempDir()
	tree := &Tree{Dir: dir}
	write(t, dir, map[string]string{"a.go": "// reins: one\n// reins: two\n"})
	before := Known{}
	before.Update(tree, []string{"a.go"})
	write(t, dir, map[string]string{"a.go": "\n\n// reins: two\n", "b.go": "// reins: one\n// reins: three\n"})
	after := before.Clone()
	after.Update(tree, []string{"a.go", "b.go"})
	if got := after.Added(before, "a.go"); len(got) > 0 {
		t.Errorf("a.go has new ones: %v", got)
	}
	if d := cmp.Diff([]Comment{{2, "three"}}, after.Added(before, "b.go")); d != "" {
		t.Error(d)
	}
}
