package search

import (
	"strings"
	"testing"
)

func TestTypes_AllPatternsAreValid(t *testing.T) {
	if len(typeGlobs()) < 80 {
		t.Errorf("got %d types, want at least 80", len(typeGlobs()))
	}
	for name, patterns := range typeGlobs() {
		if _, err := typeGlob([]string{name}); err != nil || len(patterns) == 0 {
			t.Errorf("%s: %v, %d patterns", name, err, len(patterns))
		}
	}
	last := ""
	for line := range strings.Lines(typesText) {
		if line < last && !strings.HasPrefix(line, "#") {
			t.Errorf("%q is after %q", line, last)
		}
		if last, _, _ = strings.Cut(line, " "); last == "#" {
			last = ""
		}
	}
}

func TestTypes_FilesAreFoundByType(t *testing.T) {
	for _, tt := range []struct {
		kind, file string
		want       bool
	}{
		{"go", "main.go", true}, {"go", "main.god", false},
		{"make", "GNUmakefile", true}, {"make", "rules.mk", true}, {"make", "make.go", false},
		{"sh", ".bashrc", true}, {"sh", "zprofile", true}, {"sh", "run.ksh", true}, {"sh", "sh", false},
		{"c", "a.h", true}, {"c", "a.cc", false},
	} {
		g, err := typeGlob([]string{tt.kind})
		if err != nil {
			t.Fatal(err)
		}
		if got := g.match(tt.file); got != tt.want {
			t.Errorf("%s is of type %s: %v, want %v", tt.file, tt.kind, got, tt.want)
		}
	}
}
