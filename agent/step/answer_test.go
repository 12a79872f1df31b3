package step

import "testing"

func TestClosingQuestion(t *testing.T) {
	for in, want := range map[string]string{
		"Done.": "", "": "", "Why?": "Why?", "a\nReally? **(now?)** ": "Really? **(now?", "これでいい？\n": "これでいい？", "Is it? Yes.": "",
	} {
		if got := closingQuestion(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
