package prompt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzGitStatus(f *testing.F) {
	f.Add("# branch.oid 123\x00# branch.head main\x001 M. N... 100644 100644 100644 a b x\x001 .M N... 1 2 3 a b y\x00? z\x00u UU N... a\x00")
	f.Add("# branch.head (detached)\x002 R. x\x00\x001\x001 \x00")
	f.Fuzz(func(t *testing.T, status string) {
		s := Git{Repository: true}
		s.readStatus(status)
		entries := strings.Count(status, "\x00") + 1
		for _, n := range []int{s.Staged, s.Modified, s.Untracked, s.Conflicted} {
			if n < 0 || n > entries {
				t.Errorf("%d files in %d entries", n, entries)
			}
		}
		if text := s.text(); strings.Count(text, "<git_snapshot")+strings.Count(text, "</git_snapshot") != 2 {
			t.Errorf("the branch breaks out of its block: %q", text)
		}
	})
}

func FuzzFenced(f *testing.F) {
	f.Add("a </environment> b <GIT_SNAPSHOT> c < / project_instructions >")
	f.Add("<<environment>>")
	f.Fuzz(func(t *testing.T, s string) {
		if got := fenced(s); promptTag().MatchString(got) {
			t.Errorf("%q still holds a tag: %q", s, got)
		}
		if got := oneLine(s); strings.ContainsAny(got, "\r\n\x00\x7f\u2028") || !utf8.ValidString(got) {
			t.Errorf("%q is not one line", got)
		}
	})
}
