package reins

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	linkTarget = regexp.MustCompile(`\]\(([^)#]+)`)
	identifier = regexp.MustCompile(`^([a-z]+)\.([A-Z]\w+)$`)
	fileName   = regexp.MustCompile(`^[\w.]+\.(go|md|json|txt)$`)
)

// TestContributing_NamesOnlyWhatExists checks the paths, make targets and exported names in CONTRIBUTING.md.
func TestContributing_NamesOnlyWhatExists(t *testing.T) {
	page, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	exists := func(path string) {
		if _, err := os.Stat(strings.TrimSuffix(path, "/...")); err != nil {
			t.Errorf("CONTRIBUTING.md names %s: %v", path, err)
		}
	}
	for _, m := range linkTarget.FindAllStringSubmatch(string(page), -1) {
		exists(m[1])
	}
	paths := 0
	for _, m := range codeSpan.FindAllStringSubmatch(string(page), -1) {
		words := strings.Fields(m[1])
		if words[0] == "make" && !strings.Contains(string(makefile), "\n"+words[1]+":") {
			t.Errorf("CONTRIBUTING.md names the target %q, which the Makefile does not have", words[1])
		}
		for _, w := range words {
			w = strings.TrimPrefix(w, "PKG=")
			switch id := identifier.FindStringSubmatch(w); {
			case id != nil:
				exported(t, id[1], id[2])
			case strings.HasPrefix(w, "testing/"), w == "bin/":
			case strings.Contains(w, "/"), fileName.MatchString(w):
				exists(w)
				paths++
			}
		}
	}
	if paths < 30 {
		t.Errorf("found %d paths in CONTRIBUTING.md, want at least 30", paths)
	}
}

// exported checks that a public package exports a name.
func exported(t *testing.T, pkg, name string) {
	t.Helper()
	files, err := filepath.Glob("api/*" + pkg + ".txt")
	if err != nil || len(files) == 0 {
		t.Errorf("CONTRIBUTING.md names %s.%s; there is no public package %s (%v)", pkg, name, pkg, err)
	}
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && regexp.MustCompile(`\b`+name+`\b`).Match(b) {
			return
		}
	}
	t.Errorf("CONTRIBUTING.md names %s.%s, which is not exported", pkg, name)
}
