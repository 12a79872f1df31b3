package search

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/internal/gitdir/gitdirtest"
)

// chooser draws random numbers, from a seed or from rapid.
type chooser interface {
	below(n int) int // 0 ≤ result < n
}

type seeded struct{ *rand.Rand }

func (s seeded) below(n int) int { return s.IntN(n) }

type drawn struct{ *rapid.T }

func (d drawn) below(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "n") }

func pick[T any](c chooser, list []T) T { return list[c.below(len(list))] }

func chance(c chooser, percent int) bool { return c.below(100) < percent }

var (
	dirNames  = []string{"a", "b", "foo", "src", "build", "a-b", ".conf", "sp ace", "node_modules"}
	fileNames = []string{
		"a", "b", "foo", "foo.go", "bar.go", "x.py", "x_test.go", "foo.txt", "bar.txt", "notes.md",
		".hid", ".env.go", "sp ace", "sp ace ", "#hash", "!bang", "a.b.c", "foo[1]", "Makefile", "data.json",
	}
	ignoreLines = []string{
		"foo", "*.go", "/foo", "foo/", "!foo", "**/foo", "foo/**", "a/**/b", "**/a/**", "*.t?t", "[ab]*", "[a-c].go",
		`\#hash`, `\!bang`, "# comment", "", "   ", "foo ", "sp ace", `sp\ ace`, `sp ace\ `, "foo\t", "{foo,bar}.go", "*",
		"!*.go", "!*/", "/a/b", "a/b", "build/", "!build/", ".hid", "!.hid", "!.conf", "!.conf/", "!.env.go", "*.md", "a/*",
		"!a/foo", "/*", "!/src", "src/*.go", "!src/bar.go", "**", "a.b.*", "x?", "node_modules", "/build/**/foo",
		`foo\[1\]`, "foo[[]1]", "*.{txt,md}", "b/", "*_test.go", "!x_test.go", "a-*", "**/src/foo.go", "[!f]oo.go",
	}
	textLines = []string{
		"alpha beta", "func Foo() error {", "Foo foo FOO", "", "  indented", "kelvin Kelvin sign", "ſharp sharp Sharp",
		"naïve café", "x := foo.Bar(\"k\")", "return nil", "tail space ", "日本語 text", "foobar", "barfoo", "a.b", "tab\there",
		"crlf line\r", "foo\r", "123-456", "if err != nil {", "ErrFoo ErrBar", "end",
	}
)

// randomTree writes a random tree with ignore files, and a home directory.
func randomTree(t testing.TB, c chooser) (root, home string) {
	base, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	home = filepath.Join(base, "home")
	outer := filepath.Join(base, "outer")
	root = filepath.Join(outer, "root")
	if chance(c, 30) {
		randomIgnores(t, c, outer)
		if chance(c, 50) {
			gitdirtest.Init(t, outer)
		}
	}
	if chance(c, 60) {
		gitdirtest.Init(t, root)
		if chance(c, 40) {
			writeFile(t, filepath.Join(root, ".git", "info", "exclude"), randomRules(c), false)
		}
	}
	if chance(c, 20) {
		writeFile(t, filepath.Join(home, ".config", "git", "ignore"), floating(randomRules(c)), false)
	}
	writeFile(t, root, "", true)
	randomDir(t, c, root, 0)
	return root, home
}

func randomDir(t testing.TB, c chooser, dir string, depth int) {
	for range 2 + c.below(5) {
		name := filepath.Join(dir, pick(c, fileNames))
		if _, err := os.Stat(name); err != nil {
			writeFile(t, name, randomText(c), false)
		}
	}
	if chance(c, 45) {
		randomIgnores(t, c, dir)
	}
	if depth > 0 && chance(c, 8) {
		gitdirtest.Init(t, dir)
	}
	if depth == 3 {
		return
	}
	for range 1 + c.below(3-depth/2) {
		sub := filepath.Join(dir, pick(c, dirNames))
		if _, err := os.Stat(sub); err == nil {
			continue
		}
		writeFile(t, sub, "", true)
		randomDir(t, c, sub, depth+1)
	}
}

func randomIgnores(t testing.TB, c chooser, dir string) {
	for _, name := range []string{".gitignore", ".ignore", ".rgignore"} {
		if chance(c, 40) {
			writeFile(t, filepath.Join(dir, name), randomRules(c), false)
		}
	}
}

// floating drops anchored rules. In the user's ignore file, git and we apply them relative to the repository, but
// ripgrep relative to where the search starts.
func floating(rules string) string {
	var b strings.Builder
	for line := range strings.Lines(rules) {
		if i := strings.IndexByte(line, '/'); i < 0 || i == len(line)-2 {
			b.WriteString(line)
		}
	}
	return b.String()
}

func randomRules(c chooser) string {
	var b strings.Builder
	for range 1 + c.below(4) {
		fmt.Fprintln(&b, pick(c, ignoreLines))
	}
	return b.String()
}

func randomText(c chooser) string {
	var b strings.Builder
	for range c.below(12) {
		b.WriteString(pick(c, textLines))
		b.WriteString("\n")
	}
	s := b.String()
	if chance(c, 30) {
		s = strings.TrimSuffix(s, "\n")
	}
	switch c.below(20) {
	case 0:
		s = "\ufeff" + s
	case 1:
		s = toUTF16(s)
	case 2:
		s += "foo\x00bar\n"
	}
	return s
}

func toUTF16(s string) string {
	out := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return string(out)
}

var (
	grepPatterns = []string{
		"foo", "Foo", `fo+`, `^foo`, `foo$`, `[a-z]+Foo`, `Err(Foo|Bar)`, `foo|bar|end`, `kelvin`, `sharp`, `s`, `k`,
		`caf.`, `\bfoo\b`, `\w+\(`, `.`, `^$`, `x*`, `(foo|bar)(foo|bar)`, `日本`, `\s$`, `[^a-z ]+`, `\d{3}-`, `err != nil`, `no such text`,
	}
	multilinePatterns = []string{`foo\n`, `foo[\s\S]*?end`, `alpha.*?nil`, `(?s)foo.bar`, `\n\n`, `[^x]+`, `end\s+foo`, `(foo|bar)\s*$`}
	grepGlobs         = []string{"*.go", "!*.go", "foo*", "src/**", "!build", "**/a/*", "/foo", "*.{txt,md}", "!/a", ".*", "!.conf", "b", "a/"}
	grepTypes         = []string{"go", "py", "md", "json", "make", "txt"}
)

// randomQuery draws a query that ripgrep supports too.
func randomQuery(c chooser) GrepQuery {
	q := GrepQuery{Pattern: pick(c, grepPatterns), IgnoreCase: chance(c, 30), Hidden: chance(c, 30), NoIgnore: chance(c, 15)}
	if chance(c, 25) {
		q.Multiline, q.Pattern = true, pick(c, multilinePatterns)
	}
	if chance(c, 10) {
		q.Literal = true
		q.Pattern = strings.ReplaceAll(q.Pattern, `\n`, "")
		if q.Pattern == "" {
			q.Pattern = "("
		}
	}
	if chance(c, 30) {
		q.Before, q.After = c.below(3), c.below(3)
	}
	for chance(c, 30) {
		q.Globs = append(q.Globs, pick(c, grepGlobs))
	}
	if chance(c, 15) {
		q.Types = []string{pick(c, grepTypes)}
	}
	return q
}
