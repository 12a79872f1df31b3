package edit_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/edit"
	"github.com/reins-agent/reins/internal/textfile"
)

// Replace never panics and never changes its input. An exact replacement equals a plain text replacement.
func FuzzReplace(f *testing.F) {
	f.Add([]byte("alpha\r\nbeta\ngamma"), "beta\n", "b\nc\n", false)
	f.Add([]byte("    if (a) {\n        foo();\n    }\n"), "if (a) {\n    foo();\n}", "if (a) {\n    bar();\n}", false)
	f.Add([]byte("say “hi” – cafe\u0301"), `say "hi" - café`, "x", false)
	f.Add([]byte("\xff\xfea\x00\r\x00\n\x00"), "a", "b\nc", false)
	f.Add([]byte("caf\xe9 au lait\n"), "café", "thé", true)
	f.Add([]byte("\xd6\xd0\xce\xc4\n"), "中", "国", true)
	f.Add([]byte("a\rb\n\nc"), "b", "", true)
	f.Fuzz(func(t *testing.T, content []byte, old, new string, all bool) {
		before := string(content)
		got, err := edit.Replace(content, old, new, all)
		if string(content) != before {
			t.Fatal("the input changed")
		}
		if err != nil {
			var failure *edit.Error
			if !errors.As(err, &failure) || failure.Kind == "" || err.Error() == "" {
				t.Fatalf("error of type %T", err)
			}
			return
		}
		if got.Match == edit.Exact != (got.Note() == "") {
			t.Fatalf("match %s with note %q", got.Match, got.Note())
		}
		if utf8.Valid(content) && got.Match == edit.Exact && old != "" {
			checkExact(t, content, got, old, new, all)
		}
	})
}

func checkExact(t *testing.T, content []byte, got edit.Result, old, new string, all bool) {
	file, err := textfile.Decode(content)
	if err != nil || file.Encoding() != textfile.UTF8 {
		return
	}
	count := 1
	if all {
		count = -1
	}
	want := strings.Replace(string(file.View().Text), textfile.ToLF(old), textfile.ToLF(new), count)
	again, err := textfile.Decode(got.Content)
	if err != nil {
		t.Fatalf("the result %q is not text: %v", got.Content, err)
	}
	if view := string(again.View().Text); view != want && !strings.HasPrefix(want, "\ufeff") && !strings.HasPrefix(want, "\ufffe") {
		t.Fatalf("got %q, want %q", view, want)
	}
}
