package search

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
)

func TestIgnore_Rules(t *testing.T) {
	for _, c := range []struct {
		rules    string
		out, in  string // files that are left out, and that stay in; separated by commas
		dirs     string // the same for directories that are left out
		dirsStay string
	}{
		{rules: "foo", out: "foo,a/foo,a/b/foo", in: "foo.go,xfoo", dirs: "foo,a/foo"},
		{rules: "/foo", out: "foo", in: "a/foo"},
		{rules: "foo/", in: "foo,a/foo", dirs: "foo,a/foo"},
		{rules: "a/foo", out: "a/foo", in: "foo,b/a/foo"},
		{rules: "a/", dirs: "a,b/a", in: "a"},
		{rules: "*.o\n!keep.o", out: "x.o,a/y.o", in: "keep.o,a/keep.o"},
		{rules: "!keep.o\n*.o", out: "keep.o"},
		{rules: "**/foo", out: "foo,a/b/foo"},
		{rules: "foo/**", out: "foo/x,foo/a/b", in: "foo,a/foo/x", dirsStay: "foo"},
		{rules: "a/**/b", out: "a/b,a/x/b,a/x/y/b", in: "b,c/a/b"},
		{rules: "a/*", out: "a/x", in: "a/x/y"},
		{rules: "[ab]?", out: "ax,b1", in: "a,cx"},
		{rules: "# foo\n\n   \nbar", out: "bar", in: "foo,# foo"},
		{rules: `\#foo`, out: "#foo", in: "foo"},
		{rules: `\!foo`, out: "!foo", in: "foo"},
		{rules: "foo  \nbar\t", out: "foo,bar", in: "foo  "},
		{rules: `foo\ `, out: "foo ", in: "foo"},
		{rules: "\ufefffoo\r\nbar\r\n", out: "foo,bar"},
		{rules: "[\nfoo", out: "foo", in: "["},
		{rules: "{a,b}.c", out: "a.c,b.c", in: "c.c"},
		{rules: `\*`, out: "*", in: "x"},
	} {
		rs := parseIgnore(c.rules)
		check := func(list string, dir bool, want verdict) {
			for p := range strings.SplitSeq(list, ",") {
				if p == "" {
					continue
				}
				cand := candidate{base: p[strings.LastIndexByte(p, '/')+1:], full: "/" + p}
				if got := rs.match(&cand, 1, dir); (got == ignored) != (want == ignored) {
					t.Errorf("%q on %q (directory %v): verdict %d, want %d", c.rules, p, dir, got, want)
				}
			}
		}
		check(c.out, false, ignored)
		check(c.in, false, undecided)
		check(c.dirs, true, ignored)
		check(c.dirsStay, true, undecided)
	}
}

func TestIgnore_FilesInTheTree(t *testing.T) {
	for _, c := range []struct {
		name, tree, root, want string
	}{
		{"gitignore counts only in a repository", "-- .gitignore --\nx\n-- x --\n-- y --\n", "", "x y"},
		{"gitignore", "-- .git/ --\n-- .gitignore --\nx\n-- x --\n-- y --\n", "", "y"},
		{"ignore always counts", "-- .ignore --\nx\n-- x --\n-- y --\n", "", "y"},
		{"nested negation", "-- .git/ --\n-- .gitignore --\n*.o\n-- a/.gitignore --\n!x.o\n-- a/x.o --\n-- b/x.o --\n", "", "a/x.o"},
		{"a directory that is out is not entered", "-- .ignore --\na/\n!a/x\n-- a/x --\n-- b --\n", "", "b"},
		{"ignore overrules gitignore", "-- .git/ --\n-- .gitignore --\nx\n-- .ignore --\n!x\n-- x --\n", "", "x"},
		{"rgignore overrules ignore", "-- .ignore --\nx\n-- .rgignore --\n!x\n-- x --\n", "", "x"},
		{"rules above the root", "-- .git/ --\n-- .gitignore --\n/a/x\ny\n-- a/x --\n-- a/y --\n-- a/z --\n", "a", "a/z"},
		{"a repository ends the search for gitignore above", "-- .git/ --\n-- .gitignore --\nx\n-- a/.git/ --\n-- a/x --\n", "a", "a/x"},
		{"a nested repository begins anew", "-- .git/ --\n-- .gitignore --\nx\n-- a/.git/ --\n-- a/x --\n-- x --\n", "", "a/x"},
		{"info/exclude", "-- .git/ --\n-- .git/info/exclude --\n/x\n-- x --\n-- a/x --\n", "", "a/x"},
		{"info/exclude of a worktree", "-- .git --\ngitdir: real/worktrees/w\n-- real/worktrees/w/HEAD --\nref: refs/heads/w\n-- real/worktrees/w/commondir --\n../..\n-- real/objects/ --\n-- real/refs/ --\n-- real/info/exclude --\nx\nreal\n-- x --\n-- y --\n", "", "y"},
		{"git ignores an empty .git", "-- .git/hooks/ --\n-- .gitignore --\nx\n-- x --\n-- y --\n", "", "x y"},
		{"an empty .git is not a nested repository", "-- .git/ --\n-- .gitignore --\nx\n-- a/.git/hooks/ --\n-- a/x --\n-- a/y --\n", "", "a/y"},
		{"an empty .git at the root", "-- .git/ --\n-- .gitignore --\nx\n-- a/.git/hooks/ --\n-- a/x --\n-- a/y --\n", "a", "a/y"},
		{"an empty .git above the root", "-- .git/ --\n-- .gitignore --\nx\n-- a/.git/hooks/ --\n-- a/b/x --\n-- a/b/y --\n", "a/b", "a/b/y"},
		{"a broken .git file", "-- .git/ --\n-- .gitignore --\nx\n-- a/.git --\ngitdir: nowhere\n-- a/x --\n-- a/y --\n", "a", "a/y"},
		{"whitelisted hidden files are seen", "-- .ignore --\n!.x\n-- .x --\n-- .y --\n", "", ".x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothLayers(t, writeTree(t, c.tree), func(t *testing.T, s Searcher) {
				if got := fileList(t, s, GlobQuery{Pattern: "**", Path: c.root}); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

// fileList returns the files that a glob finds, sorted by path.
func fileList(t *testing.T, s Searcher, q GlobQuery) string {
	t.Helper()
	got, _ := globPaths(t, s, q)
	list := strings.Fields(got)
	return strings.Join(sortedLines(strings.Join(list, "\n")), " ")
}

func TestIgnore_GlobalExcludes(t *testing.T) {
	for _, c := range []struct{ name, home, want string }{
		{"default place", "-- .config/git/ignore --\nx\n", "y"},
		{"core.excludesFile", "-- .gitconfig --\n[user]\n\tname = x\n[core]\n\texcludesFile = ~/mine\n-- mine --\ny\n", "x"},
		{"in the XDG configuration", "-- .config/git/config --\n[core]\nexcludesfile = \"~/mine\"\n-- mine --\ny\n", "x"},
		{"none", "-- other --\n", "x y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeTree(t, "-- .git/ --\n-- x --\n-- y --\n")
			l := &Local{Dir: dir, home: writeTree(t, c.home)}
			if got := fileList(t, l, GlobQuery{Pattern: "*"}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A worktree whose repository cannot be read has its own rules, without those in the surrounding repository.
func TestLocal_ConfinedWorktreeHasItsOwnRules(t *testing.T) {
	dir := writeTree(t, "-- .git/ --\n-- .gitignore --\nx\n-- tree/.gitignore --\ny\n-- tree/x --\n-- tree/y --\n")
	writeFile(t, dir+"/tree/.git", "gitdir: "+dir+"/.git\n", false)
	l := isolated(dir + "/tree")
	l.Open = func(p string) (*os.File, error) {
		if strings.HasPrefix(filepath.ToSlash(p), filepath.ToSlash(dir)+"/.git/") {
			return nil, env.ErrOutside
		}
		return os.Open(p)
	}
	if got := fileList(t, l, GlobQuery{Pattern: "*"}); got != "x" {
		t.Errorf("got %q, want x", got)
	}
}

func TestLocal_OpenConfinesTheSearch(t *testing.T) {
	outside := writeTree(t, "-- secret --\nfoo\n")
	dir := writeTree(t, "-- in --\nfoo\n")
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	l := isolated(dir)
	l.Open = func(p string) (*os.File, error) {
		rel, err := filepath.Rel(dir, p)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, env.ErrOutside
		}
		return root.Open(rel)
	}
	got, _ := grepAll(t, l, GrepQuery{Pattern: "foo"})
	if paths(got) != "in\n" {
		t.Errorf("found %q", paths(got))
	}
	for _, p := range []string{outside, "..", "link"} {
		if _, err := l.Grep(t.Context(), GrepQuery{Pattern: "foo", Path: p}, func(FileMatch) bool { return true }); err == nil {
			t.Errorf("%s was searched", p)
		}
	}
}
