package search

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
)

func TestGlobMatch(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no string // paths, separated by spaces
	}{
		{"*.go", "a.go .go", "a/b.go a.goo"},
		{"**/*.go", "a.go a/b.go a/b/c.go", "a.txt"},
		{"a/**", "a a/b a/b/c", "b ab/c"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "a/xb ab"},
		{"**", "a a/b", ""},
		{"a**b", "ab axb", "a/b"},
		{"?", "x é", "xy /"},
		{"[a-c]x", "ax cx", "dx"},
		{"[!a-c]x", "dx éx", "ax"},
		{"[a-]", "a -", "b"},
		{`[\]]`, "]", `\`},
		{`\*\?\{`, "*?{", "abc"},
		{"*.{go,py}", "a.go a.py", "a.js"},
		{"{a,b/c}/*", "a/x b/c/x", "b/x"},
		{"x{,y{1,2}}", "x xy1 xy2", "xy"},
		{"{**/a,b}", "a x/a b", "x/b"},
		{"[{]", "{", "["},
	} {
		g, err := compileGlob(c.pattern, false)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for p := range strings.FieldsSeq(c.yes) {
			if !g.match(p) {
				t.Errorf("%s does not match %s", c.pattern, p)
			}
		}
		for p := range strings.FieldsSeq(c.no) {
			if g.match(p) {
				t.Errorf("%s matches %s", c.pattern, p)
			}
		}
	}
}

func TestGlobMatch_HostilePatternsAreCheap(t *testing.T) {
	for _, pattern := range []string{strings.Repeat("*a", 40) + "b", strings.Repeat("**/a/", 40) + "b"} {
		g, err := compileGlob(pattern, false)
		if err != nil {
			t.Fatal(err)
		}
		if g.match(strings.Repeat("a", 5000)) || g.match(strings.Repeat("a/", 2000)) {
			t.Errorf("%s matches", pattern)
		}
	}
	nested := func(n int) string { return strings.Repeat("{", n) + strings.Repeat("}", n) }
	for pattern, ok := range map[string]bool{
		strings.Repeat("{a,b}", 10): true, strings.Repeat("{a,b}", 11): false, strings.Repeat("{a,b}", 40): false,
		nested(16): true, nested(17): false, nested(5000): false,
	} {
		if _, err := compileGlob(pattern, false); (err == nil) != ok {
			t.Errorf("compileGlob(%.60s): %v, want success: %v", pattern, err, ok)
		}
	}
}

// globPaths returns the paths that a query finds.
func globPaths(t *testing.T, s Searcher, q GlobQuery) (string, Summary) {
	t.Helper()
	res, err := s.Glob(t.Context(), q)
	if err != nil {
		t.Fatalf("Glob(%+v): %v", q, err)
	}
	var names []string
	for _, f := range res.Files {
		names = append(names, f.Path)
	}
	return strings.Join(names, " "), res.Summary
}

const globTree = `
-- main.go --
-- Upper.GO --
-- src/a.go --
-- src/deep/b.go --
-- src/deep/c_test.go --
-- .github/ci.yml --
-- src/.env --
-- vendor/x/v.go --
-- .ignore --
vendor
`

func TestGlob_FindsFiles(t *testing.T) {
	dir := writeTree(t, globTree)
	stamp := time.Unix(1_700_000_000, 0)
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(p, stamp, stamp))
	})
	if err != nil {
		t.Fatal(err)
	}
	bothLayers(t, dir, func(t *testing.T, s Searcher) {
		for _, c := range []struct {
			q    GlobQuery
			want string
		}{
			{GlobQuery{Pattern: "**/*.go"}, "main.go src/a.go src/deep/b.go src/deep/c_test.go"},
			{GlobQuery{Pattern: "*.go", IgnoreCase: true}, "Upper.GO main.go"},
			{GlobQuery{Pattern: "*.go", Path: "src"}, "src/a.go"},
			{GlobQuery{Pattern: "src/**/*_test.go"}, "src/deep/c_test.go"},
			{GlobQuery{Pattern: "./src/*.go"}, "src/a.go"},
			{GlobQuery{Pattern: "../src/*.go", Path: "src"}, "src/a.go"},
			{GlobQuery{Pattern: "src/a.go"}, "src/a.go"},
			{GlobQuery{Pattern: "{main,src/a}.go"}, "main.go src/a.go"},
			{GlobQuery{Pattern: ".github/*.yml"}, ".github/ci.yml"},
			{GlobQuery{Pattern: "**/.github/*"}, ".github/ci.yml"},
			{GlobQuery{Pattern: "**/.env"}, "src/.env"},
			{GlobQuery{Pattern: "**/*.yml"}, ""},
			{GlobQuery{Pattern: "**/*.yml", Hidden: true}, ".github/ci.yml"},
			{GlobQuery{Pattern: "vendor/**/*.go"}, "vendor/x/v.go"},
			{GlobQuery{Pattern: "**/v.go"}, ""},
			{GlobQuery{Pattern: "**/v.go", NoIgnore: true}, "vendor/x/v.go"},
			{GlobQuery{Pattern: "nowhere/*.go"}, ""},
			{GlobQuery{Pattern: filepath.ToSlash(dir) + "/src/*.go"}, filepath.ToSlash(dir) + "/src/a.go"},
		} {
			if got, sum := globPaths(t, s, c.q); got != c.want || sum.Partial {
				t.Errorf("%+v: %q (%+v), want %q", c.q, got, sum, c.want)
			}
			var visited []string
			c.q.Visit = func(path string) bool {
				visited = append(visited, path)
				return true
			}
			if res, err := s.Glob(t.Context(), c.q); err != nil || len(res.Files) > 0 || strings.Join(visited, " ") != c.want {
				t.Errorf("%+v: visited %q, %v, want %q", c.q, visited, err, c.want)
			}
		}
	})
}

func TestGlob_NewestFirstThenByPath(t *testing.T) {
	dir := t.TempDir()
	start := time.Unix(1_700_000_000, 0)
	for name, age := range map[string]int{"old": 9, "b": 5, "a": 5, "new": 1} {
		writeFile(t, filepath.Join(dir, name), "", false)
		when := start.Add(-time.Duration(age) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	bothLayers(t, dir, func(t *testing.T, s Searcher) {
		if got, sum := globPaths(t, s, GlobQuery{Pattern: "*"}); got != "new a b old" || sum.Partial {
			t.Errorf("got %q, %+v", got, sum)
		}
		got, sum := globPaths(t, s, GlobQuery{Pattern: "*", Limit: 2})
		if got != "new a" || !sum.Partial || sum.Reason != LimitReached || sum.Files != 2 {
			t.Errorf("with a limit: %q, %+v", got, sum)
		}
		if _, sum := globPaths(t, s, GlobQuery{Pattern: "*", Limit: 4}); sum.Partial {
			t.Errorf("a limit that nothing exceeds: %+v", sum)
		}
	})
}

func TestGlob_TimeoutGivesPartialResult(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"a", "b", "c"} {
		writeFile(t, filepath.Join(dir, d, "x"), "", false)
	}
	res, err := isolated(dir).Glob(t.Context(), GlobQuery{Pattern: "**", Timeout: time.Nanosecond})
	if err != nil || !res.Summary.Partial || res.Summary.Reason != TimedOut {
		t.Errorf("summary %+v, error %v", res.Summary, err)
	}
}

// closedDirEnv refuses to list one directory.
type closedDirEnv struct{ diskEnv }

func (e closedDirEnv) ReadDir(ctx context.Context, path string) ([]env.FileInfo, error) {
	if filepath.Base(path) == "deep" {
		return nil, fs.ErrPermission
	}
	return e.diskEnv.ReadDir(ctx, path)
}

func TestGlob_UnreadableDirectoryMakesResultPartial(t *testing.T) {
	res, err := Glob(t.Context(), closedDirEnv{diskEnv{dir: writeTree(t, globTree)}}, GlobQuery{Pattern: "src/**/*.go"})
	if err != nil || len(res.Files) != 1 || res.Summary.Reason != Unreadable || res.Summary.Failed != 1 {
		t.Errorf("found %v, %+v, %v, want one file and Unreadable", res.Files, res.Summary, err)
	}
}

func TestGlob_Errors(t *testing.T) {
	bothLayers(t, writeTree(t, globTree), func(t *testing.T, s Searcher) {
		_, err := s.Glob(t.Context(), GlobQuery{Pattern: "src/x{a"})
		if want := `invalid glob "src/x{a": unbalanced brackets or braces, or a trailing backslash; write \[, \{ or \\ to match the character itself`; err == nil || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
		if _, err = s.Glob(t.Context(), GlobQuery{Pattern: "*", Path: "nowhere"}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing directory: %v", err)
		}
		if _, err = s.Glob(t.Context(), GlobQuery{Pattern: "*", Path: "main.go"}); err == nil {
			t.Error("a file was accepted as the directory")
		}
	})
}
