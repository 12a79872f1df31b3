package edit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/edit"
)

func TestEdit_Replacements(t *testing.T) {
	for _, c := range []struct {
		name              string
		content, old, new string
		all               bool
		match             edit.Match
		want              string
	}{
		{"CRLF file keeps its endings", "a\r\nb\r\nc\r\n", "b\n", "x\ny\n", false, edit.Exact, "a\r\nx\r\ny\r\nc\r\n"},
		{"CR file keeps its endings", "a\rb\rc\r", "a\nb", "a\nx\nb", false, edit.Exact, "a\rx\rb\rc\r"},
		{"context keeps mixed endings", "a\r\nb\nc\rd\n", "a\nb\nc\nd", "a\nB\nc\nd", false, edit.Exact, "a\r\nB\nc\rd\n"},
		{"a replaced line keeps its own ending", "a\r\nb\nc\r\n", "b\nc\n", "B\nC\n", false, edit.Exact, "a\r\nB\nC\r\n"},
		{"a further line gets the dominant ending", "a\r\nb\nc\r\n", "b", "b\nb2", false, edit.Exact, "a\r\nb\r\nb2\nc\r\n"},
		{"an empty line between CR and LF survives", "a\rb\nc\r", "b", "", false, edit.Exact, "a\r\r\nc\r"},
		{"no final newline stays none", "a\nb", "b", "c", false, edit.Exact, "a\nc"},
		{"an empty file is filled", "", "", "a\r\nb", false, edit.Exact, "a\r\nb"},
		{"a file with only a mark is filled", "\ufeff", "", "a\n", false, edit.Exact, "\ufeffa\n"},
		{"a quoted mark is not part of the text", "\ufeffa\nb", "\ufeffa", "\ufeffx", false, edit.Exact, "\ufeffx\nb"},
		{"all occurrences", "a b a\na", "a", "x", true, edit.Exact, "x b x\nx"},
		{"all adjacent occurrences", "aaaa", "aa", "b", true, edit.Exact, "bb"},
		{"lines are deleted whole", "a\nb\nc\n", "b\n", "", false, edit.Exact, "a\nc\n"},

		{"indentation differs", "\tif x {\n\t\ty()\n\t}\n", "if x {\n\ty()\n}", "if x {\n\tz()\n\tw()\n}", false, edit.Whitespace, "\tif x {\n\t\tz()\n\t\tw()\n\t}\n"},
		{"tabs in the file, spaces in the text", "\tif x {\n\t\ty()\n\t}\n", "    if x {\n        y()\n    }", "    if x {\n        if z {\n            y()\n        }\n    }", false, edit.Whitespace, "\tif x {\n\t\tif z {\n\t\t\ty()\n\t\t}\n\t}\n"},
		{"text indented too far", "a:\n  b\n", "    a:\n      b", "    a:\n      c\n        d", false, edit.Whitespace, "a:\n  c\n    d\n"},
		{"spaces at the end", "one  \ntwo\t\nthree\n", "one\ntwo\n", "new\n", false, edit.Whitespace, "new\nthree\n"},
		{"spaces at the end of context stay", "one  \ntwo\t\nthree\n", "one\ntwo\nthree", "one\nTWO\nthree", false, edit.Whitespace, "one  \nTWO\nthree\n"},
		{"runs of spaces", "x   =  1\n", "x = 1", "x = 2", false, edit.Whitespace, "x = 2\n"},
		{"blank lines with spaces", "a\n  \nb\n", "a\n\nb", "a\n\nc", false, edit.Whitespace, "a\n  \nc\n"},
		{"a missing final newline stays missing", "a\nb", "  b\n", "  c\n", false, edit.Whitespace, "a\nc"},
		{"every loosely matching line", " x \ny\n  x \n", "x  ", "z", true, edit.Whitespace, " z\ny\n  z\n"},

		{"curly quotes", "say “hi” to ‘you’\n", `"hi" to 'you'`, "bye", false, edit.Lookalike, "say bye\n"},
		{"straight in the file, curly in the text", "it's \"x\"\n", "it’s “x”", "ok", false, edit.Lookalike, "ok\n"},
		{"no-break space", "a\u00a0b c\n", "a b", "x", false, edit.Lookalike, "x c\n"},
		{"dashes and ellipsis", "1–5 — wait…\n", "1-5 - wait...", "x", false, edit.Lookalike, "x\n"},
		{"composed accents", "cafe\u0301 noir\n", "café", "thé", false, edit.Lookalike, "thé noir\n"},
		{"context keeps its quotes", "“a”\nb\n", "\"a\"\nb", "\"a\"\nc", false, edit.Lookalike, "“a”\nc\n"},
		{"quotes and indentation", "\t“a”\n\tb\n", "\"a\"\nb\n", "\"a\"\nc\n", false, edit.LookalikeLines, "\t“a”\n\tc\n"},

		{"already applied", "new text\n", "old text", "new text", false, edit.AlreadyApplied, "new text\n"},
		{"already applied, indentation was the change", "\t\tfoo()\n", "  foo()\n", "\t\tfoo()\n", false, edit.AlreadyApplied, "\t\tfoo()\n"},
		{"already applied, all", "x\nx\n", "y", "x", true, edit.AlreadyApplied, "x\nx\n"},
		{"a loose match wins over the new text elsewhere", "  f(a)  \nf(b)\n", "\tf(a)", "f(b)", false, edit.Whitespace, "f(b)\nf(b)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := edit.Replace([]byte(c.content), c.old, c.new, c.all)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Content) != c.want {
				t.Errorf("got %q, want %q", got.Content, c.want)
			}
			if got.Match != c.match {
				t.Errorf("match is %s, want %s", got.Match, c.match)
			}
		})
	}
}

func TestEdit_Refusals(t *testing.T) {
	for _, c := range []struct {
		name              string
		content, old, new string
		all               bool
		kind              edit.Kind
		message           string // a substring of the message
	}{
		{"same text", "a", "x", "x", false, edit.NoChange, "nothing to change"},
		{"only line endings differ", "a\nb", "a\nb", "a\r\nb", false, edit.NoChange, "nothing to change"},
		{"empty old text", "a", "", "b", false, edit.EmptyOld, "old_string is empty"},
		{"NUL byte", "a\x00b", "a", "b", false, edit.Undecodable, "binary"},
		{"unknown encoding", "\x81\xff\xff\xff", "a", "b", false, edit.Undecodable, "known encoding"},
		{"character the file cannot have", "caf\xe9 au lait", "lait", "5 €", false, edit.Unencodable, "'€' (U+20AC)"},
		{"twice", "x\ny\nx\n", "x", "z", false, edit.NotUnique, "2 places (lines 1, 3)"},
		{"overlapping twice", "aaa", "aa", "b", false, edit.NotUnique, "2 places"},
		{"twice but for spaces", "\tx\n  x\n", "x ", "z", false, edit.NotUnique, "2 places when white space and look-alike characters are ignored (lines 1, 2)"},
		{"twice but for quotes", "“x”\n„x“\n", `"x"`, "z", false, edit.NotUnique, "lines 1, 2"},
		{"only white space", "a\n\t\nb", " \n ", "z", false, edit.NotFound, "not found"},
		{"words run together", "return x\n", "returnx", "y", false, edit.NotFound, "not found"},
		{"part of a line with other spaces", "alpha  beta c\n", "alpha beta", "x", false, edit.NotFound, "line 1"},
		{"new text is part of a word", "barrel\n", "foo", "bar", false, edit.NotFound, "not found"},
		{"new text is part of the old", "foo baz\n", "foo bar", "foo", false, edit.NotFound, "line 1"},
		{"new text is punctuation", "f()\n}\n", "g()", "}", false, edit.NotFound, "not found"},
		{"only a brace agrees", "}\nx := compute(1)\n}\n", "x := compute(2)\n}\n}\n", "y", false, edit.NotFound, "line 2 of the file"},
		{"deletion of absent text", "a\n", "b", "", false, edit.NotFound, "not found"},
		{"new text twice", "new\nnew\n", "old", "new", false, edit.NotFound, "not found"},
		{"line numbers", "foo\nbar\n", "1\tfoo\n2\tbar", "x", false, edit.NotFound, "line numbers"},
		{"written line break", "foo\nbar\n", `foo\nbar`, "x", false, edit.NotFound, "backslash"},
		{"first difference", "a\nb\nfunc f() {\n\treturn 1\n}\n", "func f() {\n\treturn 2\n}", "x", false, edit.NotFound,
			"line 4 of the file (line 2 of old_string):\n  old_string: \\treturn 2\n  file:       \\treturn 1\n"},
		{"invisible character", "a\nfoo\u200bbar\n", "foobar", "x", false, edit.NotFound, `foo\u200bbar`},
		{"past the end", "a\nfunc last()\n", "func last()\nmore", "x", false, edit.NotFound, "(end of file)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := edit.Replace([]byte(c.content), c.old, c.new, c.all)
			wantKind(t, err, c.kind)
			if err != nil && !strings.Contains(err.Error(), c.message) {
				t.Errorf("got message %q, want it to contain %q", err, c.message)
			}
			if got.Content != nil {
				t.Errorf("got content %q beside an error", got.Content)
			}
		})
	}
}

func TestEdit_NotUniqueListsLines(t *testing.T) {
	_, err := edit.Replace([]byte(strings.Repeat("x\n", 50)), "x", "y", false)
	var failure *edit.Error
	if !errors.As(err, &failure) {
		t.Fatal(err)
	}
	if failure.Count != 50 || len(failure.Lines) != 20 || failure.Lines[19] != 20 {
		t.Errorf("got %d places at lines %v", failure.Count, failure.Lines)
	}
}

func TestEdit_LooseMatchIsReported(t *testing.T) {
	got, err := edit.Replace([]byte("a\n\tif “x” {\n\t\ty\n\t}\n"), "if \"x\" {\n\ty\n}", "if \"x\" {\n\tz\n}", false)
	if err != nil {
		t.Fatal(err)
	}
	const want = "old_string did not match exactly; the replaced text differs from it only in white space and look-alike characters (quotes, dashes, spaces).\n" +
		`line 2: file has "\\tif “x” {", old_string has "if \"x\" {"` + "\n" +
		`line 3: file has "\\t\\ty", old_string has "\\ty"` + "\n" +
		`line 4: file has "\\t}", old_string has "}"` + "\n" +
		"The new lines were indented like the lines they replace."
	if got.Note() != want {
		t.Errorf("got note\n%s\nwant\n%s", got.Note(), want)
	}
}

func TestEdit_ChangesNameNewLines(t *testing.T) {
	got, err := edit.Replace([]byte("a\nx\nb\nx\nc\n"), "x", "1\n2\n3", true)
	if err != nil {
		t.Fatal(err)
	}
	var lines [][2]int
	for _, c := range got.Changes {
		lines = append(lines, [2]int{c.FirstLine, c.LastLine})
	}
	if want := [][2]int{{2, 4}, {6, 8}}; !slices.Equal(lines, want) {
		t.Errorf("got lines %v, want %v", lines, want)
	}
	if got.Replacements != 2 {
		t.Errorf("got %d replacements, want 2", got.Replacements)
	}
}

func TestEdit_ErrorUnwrapsToItsCause(t *testing.T) {
	_, err := edit.Replace([]byte("\xff\xfea"), "a", "b", false)
	var failure *edit.Error
	if !errors.As(err, &failure) || errors.Unwrap(failure) == nil || !strings.HasPrefix(err.Error(), "the file is not valid UTF-16LE") {
		t.Errorf("got %v, want the error of the encoding", err)
	}
}
