package search

import (
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// TestMain fixes the seed for the random trees, because we do not guarantee to agree with ripgrep in every corner case.
// Use -rapid.seed to try others.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "20261115"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const sample = `
-- a/one.txt --
first foo
second
third foo
fourth
fifth
-- a/two.go --
package foo

func Foo() {}
-- a-b/three.txt --
foo
-- .hidden/four.txt --
foo
-- b.txt --
no match here
`

// bothLayers runs a test on the local and on the generic layer.
func bothLayers(t *testing.T, dir string, test func(t *testing.T, s Searcher)) {
	t.Run("local", func(t *testing.T) { test(t, isolated(dir)) })
	t.Run("generic", func(t *testing.T) { test(t, genericSearcher{diskEnv{dir: dir}}) })
}

func TestGrep_ReportsByPathElement(t *testing.T) {
	bothLayers(t, writeTree(t, sample), func(t *testing.T, s Searcher) {
		got, sum := grepAll(t, s, GrepQuery{Pattern: "foo"})
		// The order of ripgrep --sort path: "a" is before "a-b", although "a-b/" sorts before "a/".
		want := "a/one.txt:1:first foo\na/one.txt:3:third foo\na/two.go:1:package foo\na-b/three.txt:1:foo\n"
		if diff := cmp.Diff(want, text(got)); diff != "" {
			t.Error(diff)
		}
		wantSum := Summary{Files: 3, Matches: 4, Searched: 4}
		if sum != wantSum {
			t.Errorf("summary is %+v, want %+v", sum, wantSum)
		}
	})
}

func TestGrep_Context(t *testing.T) {
	bothLayers(t, writeTree(t, sample), func(t *testing.T, s Searcher) {
		got, _ := grepAll(t, s, GrepQuery{Pattern: "third|fifth", Path: "a", Before: 1, After: 5})
		want := "a/one.txt-2-second\na/one.txt:3:third foo\na/one.txt-4-fourth\na/one.txt:5:fifth\n"
		if diff := cmp.Diff(want, text(got)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestGrep_ModesAndSpans(t *testing.T) {
	l := isolated(writeTree(t, sample))
	files, _ := grepAll(t, l, GrepQuery{Pattern: "foo", Mode: Files, IgnoreCase: true})
	counts, _ := grepAll(t, l, GrepQuery{Pattern: "foo", Mode: Count, IgnoreCase: true})
	if diff := cmp.Diff([]FileMatch{{Path: "a/one.txt", Matches: 1}, {Path: "a/two.go", Matches: 1}, {Path: "a-b/three.txt", Matches: 1}}, files); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]FileMatch{{Path: "a/one.txt", Matches: 2}, {Path: "a/two.go", Matches: 2}, {Path: "a-b/three.txt", Matches: 1}}, counts); diff != "" {
		t.Error(diff)
	}
	spans, _ := grepAll(t, l, GrepQuery{Pattern: `f\w`, Path: "a/one.txt", Spans: true, MaxPerFile: 1})
	want := []FileMatch{{Path: "a/one.txt", Matches: 1, Lines: []Line{{Number: 1, Match: true, Text: "first foo", Spans: []Span{{0, 2}, {6, 8}}}}}}
	if diff := cmp.Diff(want, spans); diff != "" {
		t.Error(diff)
	}
}

func TestGrep_Multiline(t *testing.T) {
	l := isolated(writeTree(t, sample))
	got, sum := grepAll(t, l, GrepQuery{Pattern: `second.third|fourth\n`, Path: "a/one.txt", Multiline: true, Spans: true})
	want := []FileMatch{{Path: "a/one.txt", Matches: 2, Lines: []Line{
		{Number: 2, Match: true, Text: "second", Spans: []Span{{0, 6}}},
		{Number: 3, Match: true, Text: "third foo", Spans: []Span{{0, 5}}},
		{Number: 4, Match: true, Text: "fourth", Spans: []Span{{0, 6}}},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if sum.Matches != 2 {
		t.Errorf("%d matches, want 2", sum.Matches)
	}
	cut, sum := grepAll(t, l, GrepQuery{Pattern: `second.third|fourth\n`, Path: "a/one.txt", Multiline: true, HeadLimit: 1})
	if got := text(cut); got != "a/one.txt:2:second\na/one.txt:3:third foo\n" || !sum.Partial {
		t.Errorf("with a limit of 1: %q, %+v", got, sum)
	}
}

func TestGrep_LimitMarksResultPartialOnlyIfMoreMatched(t *testing.T) {
	bothLayers(t, writeTree(t, sample), func(t *testing.T, s Searcher) {
		for limit, want := range map[int]Summary{
			1: {Files: 1, Matches: 1, Partial: true, Reason: LimitReached},
			2: {Files: 1, Matches: 2, Partial: true, Reason: LimitReached},
			3: {Files: 2, Matches: 3, Partial: true, Reason: LimitReached},
			4: {Files: 3, Matches: 4},
			5: {Files: 3, Matches: 4},
		} {
			got, sum := grepAll(t, s, GrepQuery{Pattern: "foo", HeadLimit: limit, After: 1})
			sum.Searched = 0
			if sum != want {
				t.Errorf("limit %d: summary %+v, want %+v", limit, sum, want)
			}
			if n := strings.Count(text(got), ":"); n != 2*want.Matches {
				t.Errorf("limit %d: lines %q", limit, text(got))
			}
		}
		_, sum := grepAll(t, s, GrepQuery{Pattern: "foo", HeadLimit: 2, Mode: Files})
		if sum.Files != 2 || !sum.Partial {
			t.Errorf("limit of 2 files: %+v", sum)
		}
	})
}

func TestGrep_StopsWhenCallerHasEnough(t *testing.T) {
	dir := t.TempDir()
	for i := range 500 {
		writeFile(t, filepath.Join(dir, strconv.Itoa(i%10), strconv.Itoa(i)), "foo\n", false)
	}
	calls := 0
	sum, err := isolated(dir).Grep(t.Context(), GrepQuery{Pattern: "foo"}, func(FileMatch) bool { calls++; return calls < 3 })
	if err != nil || calls != 3 || !sum.Partial || sum.Reason != Stopped {
		t.Errorf("%d calls, %+v, %v", calls, sum, err)
	}
}

func TestGrep_TimeoutGivesPartialResult(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		writeFile(t, filepath.Join(dir, strconv.Itoa(i)), "foo\n", false)
	}
	// The environment blocks until the timeout.
	slow := slowEnv{diskEnv{dir: dir}, filepath.Join(dir, "250")}
	var got []FileMatch
	sum, err := Grep(t.Context(), slow, GrepQuery{Pattern: "foo", Timeout: 50 * time.Millisecond}, func(m FileMatch) bool {
		got = append(got, m)
		return true
	})
	if err != nil || !sum.Partial || sum.Reason != TimedOut {
		t.Fatalf("summary %+v, error %v", sum, err)
	}
	for i := 1; i < len(got); i++ {
		if got[i-1].Path >= got[i].Path {
			t.Errorf("%s came before %s", got[i-1].Path, got[i].Path)
		}
	}
}

// slowEnv blocks in Open of one file until the context is done.
type slowEnv struct {
	diskEnv
	path string
}

func (e slowEnv) Open(ctx context.Context, p string) (io.ReadCloser, error) {
	if p == e.path {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return e.diskEnv.Open(ctx, p)
}

func TestGrep_CancelledContextIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := isolated(writeTree(t, sample)).Grep(ctx, GrepQuery{Pattern: "foo"}, func(FileMatch) bool { return true })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestGrep_FileNamedInPathIsAlwaysSearched(t *testing.T) {
	dir := writeTree(t, sample+"-- .gitignore --\n*\n-- .git/ --\n")
	bothLayers(t, dir, func(t *testing.T, s Searcher) {
		got, _ := grepAll(t, s, GrepQuery{Pattern: "foo", Path: ".hidden/four.txt", Globs: []string{"*.go"}})
		if text(got) != ".hidden/four.txt:1:foo\n" {
			t.Errorf("got %q", text(got))
		}
		if got, _ := grepAll(t, s, GrepQuery{Pattern: "foo"}); len(got) != 0 {
			t.Errorf("ignored files were searched: %q", text(got))
		}
		got, _ = grepAll(t, s, GrepQuery{Pattern: "^foo$", NoIgnore: true, Hidden: true})
		if want := ".hidden/four.txt\na-b/three.txt\n"; paths(got) != want {
			t.Errorf("got %q, want %q", paths(got), want)
		}
	})
}

func TestGrep_AbsolutePathGivesAbsoluteResults(t *testing.T) {
	dir := writeTree(t, sample)
	got, _ := grepAll(t, isolated(t.TempDir()), GrepQuery{Pattern: "third", Path: dir})
	if want := filepath.ToSlash(dir) + "/a/one.txt\n"; paths(got) != want {
		t.Errorf("got %q, want %q", paths(got), want)
	}
}

func TestGrep_GitIsNeverSearched(t *testing.T) {
	bothLayers(t, writeTree(t, "-- .git/config --\nfoo\n-- sub/.git --\nfoo\n-- x --\nfoo\n"), func(t *testing.T, s Searcher) {
		got, _ := grepAll(t, s, GrepQuery{Pattern: "foo", Hidden: true, NoIgnore: true, Globs: []string{"*"}})
		if paths(got) != "x\n" {
			t.Errorf("got %q", paths(got))
		}
	})
}

func TestGrep_BinaryAndTooBigFilesAreSkippedAndCounted(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/binary", "foo\x00", false)
	writeFile(t, dir+"/late", strings.Repeat("foo\n", 100_000)+"\x00", false)
	writeFile(t, dir+"/early", "\x00"+strings.Repeat("foo\n", 100_000), false)
	writeFile(t, dir+"/exact", strings.Repeat("foo\n", 128<<10), false)
	writeFile(t, dir+"/over", strings.Repeat("foo\n", 128<<10)+"x", false)
	bothLayers(t, dir, func(t *testing.T, s Searcher) {
		got, sum := grepAll(t, s, GrepQuery{Pattern: "foo", Mode: Files, MaxFileSize: 512 << 10})
		want := Summary{Files: 1, Matches: 1, Searched: 4, Binary: 3, TooBig: 1, Partial: true, Reason: FilesTooBig}
		if paths(got) != "exact\n" || sum != want {
			t.Errorf("got %q, %+v", paths(got), sum)
		}
	})
}

func TestGrep_UTF16AndByteOrderMarks(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/utf16", toUTF16("first\nsecond 日本 🎉\n"), false)
	writeFile(t, dir+"/utf8", "\ufeffsecond", false)
	got, _ := grepAll(t, isolated(dir), GrepQuery{Pattern: "^second"})
	if want := "utf16:2:second 日本 🎉\nutf8:1:second\n"; text(got) != want {
		t.Errorf("got %q, want %q", text(got), want)
	}
}

func TestGrep_LongLinesAreCutBetweenCharacters(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/x", "foo"+strings.Repeat("é", 50)+"\nfoo\n", false)
	got, _ := grepAll(t, isolated(dir), GrepQuery{Pattern: "foo", MaxLine: 8})
	want := []Line{{Number: 1, Match: true, Cut: true, Text: "fooéé"}, {Number: 2, Match: true, Text: "foo"}}
	if diff := cmp.Diff(want, got[0].Lines); diff != "" {
		t.Error(diff)
	}
}

func TestGrep_SkipsFilesAbove32MiBByDefault(t *testing.T) {
	dir := t.TempDir()
	bothLayers(t, dir, func(t *testing.T, s Searcher) {
		for size, skipped := range map[int]int{33_554_432: 0, 33_554_433: 1} {
			writeFile(t, filepath.Join(dir, "f"), strings.Repeat("x", size), false)
			if got, sum := grepAll(t, s, GrepQuery{Pattern: "x", Mode: Files}); sum.TooBig != skipped || len(got) != 1-skipped {
				t.Errorf("%d bytes: %d matches, %+v, want %d skipped", size, len(got), sum, skipped)
			}
		}
	})
}

func TestGrep_DoesNotFollowSymbolicLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // making links needs a privilege there
	}
	dir := writeTree(t, "-- real/x.txt --\nfoo\n-- real/sub/y.txt --\nfoo\n")
	for link, target := range map[string]string{
		"dirlink": "real", "filelink": "real/x.txt", "real/sub/loop": "..", "dangling": "nowhere",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	bothLayers(t, dir, func(t *testing.T, s Searcher) {
		got, _ := grepAll(t, s, GrepQuery{Pattern: "foo", Mode: Files})
		if want := "real/sub/y.txt\nreal/x.txt\n"; paths(got) != want {
			t.Errorf("found %q, want %q", paths(got), want)
		}
	})
}

func TestGrep_UnreadableFilesMakeResultPartial(t *testing.T) {
	e := failingEnv{diskEnv{dir: writeTree(t, sample)}}
	var got []FileMatch
	sum, err := Grep(t.Context(), e, GrepQuery{Pattern: "foo"}, func(m FileMatch) bool { got = append(got, m); return true })
	if err != nil || paths(got) != "a/one.txt\na-b/three.txt\n" {
		t.Errorf("got %q, error %v", paths(got), err)
	}
	if sum.Failed != 1 || !sum.Partial || sum.Reason != Unreadable {
		t.Errorf("summary %+v", sum)
	}
}

// failingEnv refuses to open Go files.
type failingEnv struct{ diskEnv }

func (e failingEnv) Open(ctx context.Context, p string) (io.ReadCloser, error) {
	if strings.HasSuffix(p, ".go") {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrPermission}
	}
	return e.diskEnv.Open(ctx, p)
}

func TestGrep_MissingPath(t *testing.T) {
	bothLayers(t, writeTree(t, sample), func(t *testing.T, s Searcher) {
		_, err := s.Grep(t.Context(), GrepQuery{Pattern: "foo", Path: "nowhere"}, func(FileMatch) bool { return true })
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestGrep_PatternErrorsNameProblemAndPosition(t *testing.T) {
	l := isolated(writeTree(t, sample))
	for _, c := range []struct {
		q    GrepQuery
		want string
	}{
		{GrepQuery{Pattern: "a(b"}, "invalid regular expression \"a(b\" at offset 0: missing closing ); write \\( and \\) for literal parentheses, or search for a literal string"},
		{GrepQuery{Pattern: "x[a"}, "invalid regular expression \"x[a\" at offset 1: missing closing ] (\"[a\"); write \\[ for a literal bracket, or search for a literal string"},
		{GrepQuery{Pattern: "a|*"}, "invalid regular expression \"a|*\" at offset 2: missing argument to repetition operator (\"*\"); put a backslash before a literal *, + or ?"},
		{GrepQuery{Pattern: `a(?=b)`}, "invalid regular expression \"a(?=b)\" at offset 1: invalid or unsupported Perl syntax (\"(?=\"); lookahead and lookbehind assertions are not supported; rewrite the expression without them"},
		{GrepQuery{Pattern: `a\nb`}, `invalid regular expression "a\\nb": contains a line feed, which cannot match within one line; use multiline mode`},
		{GrepQuery{Pattern: "a", Globs: []string{"*.{go"}}, `invalid glob "*.{go": unbalanced brackets or braces, or a trailing backslash; write \[, \{ or \\ to match the character itself`},
		{GrepQuery{Pattern: "a", Globs: []string{"x[a"}}, `invalid glob "x[a": unbalanced brackets or braces, or a trailing backslash; write \[, \{ or \\ to match the character itself`},
		{GrepQuery{Pattern: "a", Types: []string{"tsx"}}, `invalid file type "tsx": unknown type; did you mean ts, typescript?`},
		{GrepQuery{Pattern: "a", Types: []string{"qqq"}}, `invalid file type "qqq": unknown type; use a glob such as "*.ext" instead`},
	} {
		_, err := l.Grep(t.Context(), c.q, func(FileMatch) bool { return true })
		var pe *PatternError
		if !errors.As(err, &pe) || err.Error() != c.want {
			t.Errorf("%q: error is\n%v, want\n%s", c.q.Pattern, err, c.want)
		}
	}
}

func TestGrep_UnsupportedSyntaxIsNamed(t *testing.T) {
	l := isolated(writeTree(t, sample))
	for pattern, want := range map[string]string{
		`a(?=b)`:        "lookahead and lookbehind assertions are not supported",
		`a(?!b)`:        "lookahead and lookbehind assertions are not supported",
		`(?<=a)b`:       "lookahead and lookbehind assertions are not supported",
		`(?<!a)b`:       "lookahead and lookbehind assertions are not supported",
		`(a)\1`:         "backreferences are not supported",
		`(?P<x>a)\k<x>`: "backreferences are not supported",
		`a*+`:           "possessive repeats are not supported",
	} {
		_, err := l.Grep(t.Context(), GrepQuery{Pattern: pattern}, func(FileMatch) bool { return true })
		var pe *PatternError
		if !errors.As(err, &pe) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q in it", pattern, err, want)
		}
	}
}
