package show

import (
	"strings"
	"testing"
)

func TestMarkdown_StylesWhatPeopleReadMost(t *testing.T) {
	bold, code := func(s string) string { return Bold + s + Plain }, func(s string) string { return Cyan + s + Plain }
	for in, want := range map[string]string{
		"# What I did":                    bold("What I did"),
		"### Next ###":                    bold("Next"),
		"- run `go test`":                 "• run " + code("go test"),
		"  * **all** of it":               "  • " + bold("all") + " of it",
		"2 * 3 ** 4, a*b, snake_case, C#": "2 * 3 ** 4, a*b, snake_case, C#",
		"# In C#":                         bold("In C#"),
		"#!/bin/sh":                       "#!/bin/sh",
		"**not strong":                    "**not strong",
		"---":                             "---",
		"a `b":                            "a `b",
		"`**x**`":                         code("**x**"),
		"1. one":                          "1. one",
		"```go\nx := `**`\n```\n**y**":    Grey + "```go" + Plain + "\n" + code("x := `**`") + "\n" + Grey + "```" + Plain + "\n" + bold("y"),
	} {
		var m Markdown
		if got := m.Text(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

func FuzzMarkdown_KeepsEveryWord(f *testing.F) {
	f.Add("# a\n- `b` **c**\n```\nd\n```\n")
	f.Fuzz(func(t *testing.T, text string) {
		var m Markdown
		got := m.Text(Visible(text))
		for _, code := range []string{Bold, Cyan, Grey, Plain} {
			got = strings.ReplaceAll(got, code, "")
		}
		if strings.ContainsRune(got, '\x1b') {
			t.Errorf("%q controls the terminal", got)
		}
		drop := func(s string) string {
			return strings.Map(func(r rune) rune {
				if strings.ContainsRune("#*`-+•", r) || blankRune(r) {
					return -1
				}
				return r
			}, s)
		}
		if got, want := drop(got), drop(Visible(text)); got != want {
			t.Errorf("%q became %q", want, got)
		}
	})
}
