package reins

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	pageLink  = regexp.MustCompile(`\]\(([^)\s#]*)(#[^)\s]*)?\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	headLink  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	testName  = regexp.MustCompile("`((?:Test|Benchmark)[A-Z]\\w*_\\w+)`")
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
)

// pages returns the text of the documentation by path, without code blocks.
func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("docs/*.md")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d pages in docs (%v), want at least 30", len(files), err)
	}
	text := make(map[string]string)
	for _, file := range append(files, "README.md", "CONTRIBUTING.md") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text[file] = codeBlock.ReplaceAllString(string(b), "")
	}
	return text
}

// anchors returns the anchors that GitHub gives to the headings of a page.
func anchors(page string) map[string]bool {
	list := map[string]bool{"": true}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		text := strings.ToLower(headLink.ReplaceAllString(m[1], "$1"))
		list["#"+strings.ReplaceAll(notInSlug.ReplaceAllString(text, ""), " ", "-")] = true
	}
	return list
}

func TestDocs_LinksLeadToFilesAndHeadings(t *testing.T) {
	text := pages(t)
	links := 0
	for file, page := range text {
		for _, m := range pageLink.FindAllStringSubmatch(page, -1) {
			target := filepath.Join(filepath.Dir(file), m[1])
			if m[1] == "" {
				target = file
			}
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			}
			if of, isPage := text[target]; isPage && !anchors(of)[m[2]] {
				t.Errorf("%s links to %s%s, which has no such heading", file, m[1], m[2])
			}
		}
	}
	if links < 300 {
		t.Errorf("found %d links, want at least 300", links)
	}
}

func TestDocs_IndexListsEveryPage(t *testing.T) {
	text := pages(t)
	for file := range text {
		if name := filepath.Base(file); filepath.Dir(file) == "docs" && name != "README.md" && !strings.Contains(text["docs/README.md"], "]("+name) {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

func TestDocs_NamedTestsExist(t *testing.T) {
	var tests strings.Builder
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			b, errRead := os.ReadFile(path)
			tests.Write(b)
			return errRead
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, page := range pages(t) {
		for _, m := range testName.FindAllStringSubmatch(page, -1) {
			if !strings.Contains(tests.String(), "func "+m[1]+"(") {
				t.Errorf("%s names the test %s, which does not exist", file, m[1])
			}
		}
	}
}
