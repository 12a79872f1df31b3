package atfile

import (
	"slices"
	"strings"
	"testing"
)

func paths(text string) (list []string) {
	for _, r := range Find(text) {
		list = append(list, r.Path)
	}
	return list
}

func TestFind_ReturnsReferencesOutsideCode(t *testing.T) {
	for text, want := range map[string][]string{
		"See @README.md and (@docs/a.md), @b.md.": {"README.md", "docs/a.md", "b.md"},
		"@~/x.md\n@/y.md\n- @../z":                {"~/x.md", "/y.md", "../z"},
		`@my\ file.md`:                            {"my file.md"},
		"mail ann@example.org, @ alone, @@":       {"@"},
		"`@a` and ``@b ` c`` and @c":              {"c"},
		"```\n@a\n```\n@b\n~~~sh\n@c":             {"b"},
		"> ```go\n> @a\n> ```\n> @b":              {"b"},
		"````\n```\n@a\n````\n@b":                 {"b"},
		"one ` tick @a\n\nand ` another @b":       {"a", "b"},
		"no references":                           nil,
	} {
		if got := paths(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("a @b `@c` \n```\n@d\n``` @e\\ f.")
	f.Fuzz(func(t *testing.T, text string) {
		if p := Prose(text); len(p) != len(text) || strings.Count(p, "\n") != strings.Count(text, "\n") {
			t.Fatalf("%q became %q", text, p)
		}
		end := 0
		for _, r := range Find(text) {
			if r.Start < end || r.End > len(text) || text[r.Start] != '@' || strings.ReplaceAll(text[r.Start+1:r.End], `\ `, " ") != r.Path {
				t.Fatalf("%q: got %+v", text, r)
			}
			end = r.End
		}
	})
}
