package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestComments_DirectivesAndExamplesAreNotProse(t *testing.T) {
	src := "//go:build linux\n\npackage p\n\n// F reads the name\n// of a file.\n//\n//\tf(\"of the code\")\nfunc F() {} // of its own\n\n/* A block\nof the kind */\nvar s = \"// of the string\"\n"
	var got []string
	for _, l := range comments([]byte(src)) {
		got = append(got, l.text)
	}
	want := []string{" F reads the name", " of a file.", "", " of its own", "/* A block", "of the kind */"}
	if !slices.Equal(got, want) {
		t.Errorf("comments: %q, want %q", got, want)
	}
	if c := measureText(comments([]byte(src))); c.genitives != 3 {
		t.Errorf("genitives: %d, want 3", c.genitives)
	}
}

func TestProse_CodeAndFlagTablesAreNotCounted(t *testing.T) {
	page := "# Title\n\nThe rest `of the code` [of a](of/the/link).\n\n```\nof the block\n```\n\n| `--flag` | of the flag |\n| name | of its table |\n"
	c := measureText(prose([]byte(page)))
	if c.genitives != 2 {
		t.Errorf("genitives: %d, want 2", c.genitives)
	}
	if c.words != 10 {
		t.Errorf("words: %d, want 10", c.words)
	}
}

func TestMeasure_CountsOtherPhrases(t *testing.T) {
	for text, want := range map[string]int{
		"It takes the one that fits.":      1,
		"Those of the host come first.":    1,
		"It prints what it has read.":      1,
		"There is nobody who can answer.":  1,
		"Some people say so.":              2,
		"What is this?":                    0,
		"People and ones":                  2,
		"A tool works too well to replace": 1,
	} {
		if c := measureText([]line{{1, text}}); c.others != want {
			t.Errorf("%q: %d, want %d", text, c.others, want)
		}
	}
}

func TestExceeded_ReportsTotalsAndLongFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("good.md", strings.Repeat("word ", 5000))
	write("bad.md", strings.Repeat("word ", 300)+strings.Repeat("of the ", 5))
	write("short.md", "the end of the file")
	write("a.go", "// All of the comment of a package.\npackage a\n")
	if err := os.Mkdir(filepath.Join(dir, "testdata"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("testdata/x.md", strings.Repeat("of the ", 1000))
	files, err := measure(dir)
	if err != nil {
		t.Fatal(err)
	}
	problems := exceeded(files)
	if len(problems) != 2 || !strings.HasPrefix(problems[0], "all comments: 285.7 ") || !strings.HasPrefix(problems[1], filepath.Join(dir, "bad.md")+": 16.1 ") {
		t.Errorf("problems: %q", problems)
	}
	var b strings.Builder
	for _, f := range files {
		f.list(&b)
	}
	if got := b.String(); !strings.Contains(got, "short.md:1: the end of the file\n") || strings.Contains(got, "good.md") {
		t.Errorf("list: %s", got)
	}
}

func TestList_NamesThePhraseThatContinuesOnTheNextLine(t *testing.T) {
	f := file{path: "a.go", lines: comments([]byte("// F returns the name of\n// the file.\nfunc F() {}\n"))}
	var b strings.Builder
	f.list(&b)
	if got, want := b.String(), "a.go:1: F returns the name of\n"; got != want {
		t.Errorf("list: %q, want %q", got, want)
	}
}
