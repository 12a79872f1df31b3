package search

import (
	"bytes"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// plainGlob reports whether doublestar must agree with us on whole paths. In doublestar, classes match
// a slash, and "**" after a star needs at least one element.
func plainGlob(pattern string) bool {
	if strings.ContainsAny(pattern, `\[{}`) || strings.Contains(pattern, "//") || strings.Contains(pattern, "***") || strings.Contains(pattern, "*/**") {
		return false
	}
	for elem := range strings.SplitSeq(pattern, "/") {
		if elem == "" || elem != "**" && strings.Contains(elem, "**") {
			return false
		}
	}
	return utf8.ValidString(pattern)
}

func FuzzGlob(f *testing.F) {
	for _, s := range [][2]string{
		{"**/*.go", "a/b/c.go"}, {"a/**", "a"}, {"a/**/b", "a/x/y/b"}, {"{a,b{c,d}}/*", "bd/x"}, {"[!a-c]?", "xé"}, {`\*`, "*"},
		{"*a*a*b", "aaaaaaaaaaaaac"}, {"**/a/**/a/**/b", "a/a/a/a/a/c"}, {"[", "["}, {"{a", "a"}, {"a}", "a"}, {"[]-]", "]"}, {"", ""},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > 40 || len(path) > 40 {
			return
		}
		g, err := compileGlob(pattern, false)
		if err != nil {
			if pe, ok := err.(*PatternError); !ok || pe.Pattern != pattern || pe.Problem == "" {
				t.Fatalf("compileGlob(%q): got error %v, want a PatternError", pattern, err)
			}
			return
		}
		got := g.match(path)
		if plainGlob(pattern) && plainPath(path) {
			if ds, err := doublestar.Match(pattern, path); err == nil && ds != got {
				t.Errorf("glob %q on %q: %v, doublestar says %v", pattern, path, got, ds)
			}
		}
		if strings.Contains(pattern, "[") {
			return // a range such as [A-b] ends before it starts in lower case
		}
		if folded, err := compileGlob(pattern, true); err != nil || got && !folded.match(path) {
			t.Errorf("glob %q on %q matches, but not when case is ignored (%v)", pattern, path, err)
		}
	})
}

func plainPath(path string) bool {
	return path != "" && utf8.ValidString(path) && !strings.Contains("/"+path+"/", "//")
}

func FuzzGitignore(f *testing.F) {
	for _, line := range ignoreLines {
		f.Add(line+"\n!"+line, "a/foo.go", true)
	}
	f.Add("\ufeff*.go\r\n\xff\nfoo", "x.go", false)
	f.Fuzz(func(t *testing.T, data, path string, dir bool) {
		if len(data) > 200 || !plainPath(path) {
			return
		}
		rs := parseIgnore(data)
		i := strings.LastIndexByte(path, '/')
		c := candidate{dir: "/r/" + path[:max(i, 0)], base: path[i+1:]}
		c.full = "/r/" + path
		got := rs.match(&c, len("/r/"), dir)

		// The last line that matches decides.
		want := undecided
		for _, r := range rs {
			if (!r.dirOnly || dir) && r.glob.match(path) {
				want = ignored
				if r.negated {
					want = whitelisted
				}
			}
		}
		if got != want {
			t.Errorf("rules %q on %q (dir %v): verdict %d, want %d", data, path, dir, got, want)
		}
	})
}

func FuzzGrepPrefilter(f *testing.F) {
	for _, p := range append(grepPatterns, multilinePatterns...) {
		f.Add(p, strings.Join(textLines, "\n"), true, false)
		f.Add(p, strings.Join(textLines, "\n"), false, true)
	}
	f.Add("(?i)ask|sk+", "as\u212a\nAſK\n\xffsk", true, false)
	f.Add("\ufffd", "a\xffb", false, false)
	f.Add("setreaddeadline", strings.Repeat("SetReadDeadline(x) \u017fetreaddeadline\n", 5), true, false)
	f.Fuzz(func(t *testing.T, text, data string, fold, multiline bool) {
		if len(text) > 60 || len(data) > 2000 {
			return
		}
		p, err := compilePattern(&GrepQuery{Pattern: text, IgnoreCase: fold, Multiline: multiline})
		if err != nil {
			if _, ok := err.(*PatternError); !ok {
				t.Fatalf("got error %v, want a PatternError", err)
			}
			return
		}
		m := matcher{pattern: p, stop: new(atomic.Bool)}
		got := m.find([]byte(data), 0)
		want := plainHits(p.re, []byte(data), multiline)
		if len(got) != len(want) {
			t.Fatalf("pattern %q (fold %v, multiline %v) on %q: hits %v, plain regexp says %v", text, fold, multiline, data, got, want)
		}
		for i := range got {
			if got[i].start != want[i].start || got[i].end != want[i].end || got[i].matches != want[i].matches {
				t.Fatalf("pattern %q (fold %v, multiline %v) on %q: hits %v, plain regexp says %v", text, fold, multiline, data, got, want)
			}
		}
	})
}

// plainHits finds hits with package regexp only.
func plainHits(re *regexp.Regexp, data []byte, multiline bool) []hit {
	var hits []hit
	if multiline {
		plain := matcher{pattern: &pattern{re: re, multiline: true}, stop: new(atomic.Bool)}
		return plain.find(data, 0)
	}
	pos := 0
	for line := range bytes.Lines(data) {
		body := bytes.TrimSuffix(line, []byte("\n"))
		if re.Match(body) {
			hits = append(hits, hit{start: pos, end: pos + len(body), matches: 1})
		}
		pos += len(line)
	}
	return hits
}
