package term

import (
	"strings"
	"testing"
	"unicode"
)

func TestPrintable_HasNoControlCharacters(t *testing.T) {
	for r := range rune(0x100) {
		got := printable("a" + string(r) + "b")
		want := "a" + string(r) + "b"
		if unicode.IsControl(r) {
			want = "a b"
		}
		if got != want {
			t.Errorf("%U: got %q, want %q", r, got, want)
		}
	}
	if got := printable(strings.Repeat("ü", 300)); got != strings.Repeat("ü", 200) {
		t.Errorf("a long title has %d bytes", len(got))
	}
}
