package compact

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCondense_KeepsBothEndsAndLinesThatLookLikeErrors(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 1000; i++ {
		if i == 500 {
			b.WriteString("main.go:7: undefined: frob\n")
			continue
		}
		fmt.Fprintf(&b, "line %d is fine\n", i)
	}
	got := Condense(b.String(), 1000)
	for _, want := range []string{"line 1 is fine\n", "line 1000 is fine\n", "500: main.go:7: undefined: frob\n", "omitted"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if len(got) > 1000 || len(got) < 700 {
		t.Errorf("got %d bytes, want 700 to 1000", len(got))
	}
}

func TestCondense_TextThatFitsIsUnchanged(t *testing.T) {
	if got := Condense("as it is", 8); got != "as it is" {
		t.Errorf("got %q, want it unchanged", got)
	}
	if got := Condense("anything", -5); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

func checkCondensed(t interface{ Fatalf(string, ...any) }, text string, limit int) {
	got := Condense(text, limit)
	if len(got) > max(limit, 0) || len(got) > len(text) || len(text) > limit && len(text) > 0 && len(got) >= len(text) {
		t.Fatalf("%d bytes became %d, want at most %d", len(text), len(got), limit)
	}
	if !utf8.ValidString(got) {
		t.Fatalf("%q is not UTF-8", got)
	}
}

func TestCondense_IsAlwaysSmallerAndValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkCondensed(t, drawText(t, 20000), rapid.IntRange(-1, 25000).Draw(t, "limit"))
	})
}

func FuzzCondense(f *testing.F) {
	f.Add("error: x\n", 300, 100)
	f.Add("\xff世界", 17, 1000)
	f.Fuzz(func(t *testing.T, text string, limit, repeat int) {
		checkCondensed(t, strings.Repeat(text, min(max(repeat, 1), 100_000/(len(text)+1)+1)), limit)
	})
}
