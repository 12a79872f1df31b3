package compact

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCondense_KeepsBothEndsAndLinesThatLookLikeTrouble(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 1000; i++ {
		if i == 500 {
			b.WriteString("main.go:7: undefined: frob\n")
			continue
		}
		fmt.Fprintf(&b, "line %d is fine\n", i)
	}
	got := Condense(b.String(), 1000)
	for _, want := range []string{"line 1 is fine\n", "line 1000 is fine\n", "500: main.go:7: undefined: frob\n", "left out"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if len(got) > 1000 || len(got) < 700 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestCondense_FittingTextStays(t *testing.T) {
	if got := Condense("as it is", 8); got != "as it is" {
		t.Errorf("%q", got)
	}
	if got := Condense("anything", -5); got != "" {
		t.Errorf("%q", got)
	}
}

func checkCondensed(t interface{ Fatalf(string, ...any) }, text string, limit int) {
	got := Condense(text, limit)
	if len(got) > max(limit, 0) || len(got) > len(text) || len(text) > limit && len(text) > 0 && len(got) >= len(text) {
		t.Fatalf("%d bytes became %d, where %d are allowed", len(text), len(got), limit)
	}
	if !utf8.ValidString(got) {
		t.Fatalf("%q is no UTF-8", got)
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
