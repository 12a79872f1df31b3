package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/hidden"
)

func FuzzVisible_NothingControlsTheTerminal(f *testing.F) {
	f.Add("a\x1b[2J\r\n\tb\u009b\u202e\U000E0041\xff")
	f.Fuzz(func(t *testing.T, s string) {
		safe := Visible(s)
		for _, r := range safe {
			if r != '\n' && r != '\t' && controls(r) {
				t.Errorf("%q remains of %q", r, s)
			}
		}
		if at, n := hidden.Index("x"+safe, 0); at >= 0 {
			t.Errorf("%q remains of %q", ("x" + safe)[at:at+n], s)
		}
		if strings.ContainsAny(Summary(s)+OneLine(s), "\n\t") {
			t.Errorf("%q is more than one line", Summary(s))
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		escaped := EscapeJSON(b)
		if bytes.IndexFunc(escaped, controls) >= 0 {
			t.Errorf("control characters remain in %q", escaped)
		}
		var before, after string
		if json.Unmarshal(b, &before) != nil || json.Unmarshal(escaped, &after) != nil || before != after {
			t.Errorf("%q and %q are different texts", escaped, b)
		}
	})
}

func TestFit_CountsColumns(t *testing.T) {
	for text, want := range map[string]string{"abcdef": "abcd", "ab": "ab", "日本語": "日本", "⠋⠙⠹⠸⠼": "⠋⠙⠹⠸", "": ""} {
		if got := Fit(text, 4); got != want {
			t.Errorf("Fit(%q, 4) = %q, want %q", text, got, want)
		}
	}
}

func TestVisible_ReplacesWhatCannotBeSeen(t *testing.T) {
	for text, want := range map[string]string{
		"a\u200bb\u2060c\u00add\ufeffe\u3164f": "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFDf",
		"a\ufe0fb\ufe01c\U000E0101d\U000E0041": "a\uFFFDb\uFFFDc\uFFFDd\uFFFD",
		"\ufeff\ufeffa\x1b[2J\r\n\u202e\u2066": "a\uFFFD[2J\n\uFFFD\uFFFD",
		"👩‍💻 ❤️ 👍🏽 1️⃣ می\u200cخواهم":          "👩‍💻 ❤️ 👍🏽 1️⃣ می\u200cخواهم",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// The pieces of a text are shown as the whole, wherever it is split.
func TestStream_PiecesAreShownAsTheWhole(t *testing.T) {
	const text = "\ufeffa\u200b👩‍💻x\u200d🏳️‍🌈\ufe01\x1b[0m\ufeff1️⃣ می\u200cخواهم\r\n"
	runes := []rune(text)
	for i := range runes {
		for j := i; j < len(runes); j++ {
			var s Stream
			got := s.Visible(string(runes[:i])) + s.Visible(string(runes[i:j])) + s.Visible(string(runes[j:]))
			if want := Visible(text); got != want {
				t.Fatalf("split at %d and %d: got %q, want %q", i, j, got, want)
			}
		}
	}
}
