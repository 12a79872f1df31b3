package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func FuzzVisible_NothingControlsTheTerminal(f *testing.F) {
	f.Add("a\x1b[2J\r\n\tb\u009b\u202e\U000E0041\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Visible(s) {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || deceptive(r)) {
				t.Errorf("%q remains of %q", r, s)
			}
		}
		if strings.ContainsAny(Summary(s)+OneLine(s), "\n\t") {
			t.Errorf("%q is more than one line", Summary(s))
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		escaped := EscapeJSON(b)
		if bytes.IndexFunc(escaped, deceptive) >= 0 {
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
