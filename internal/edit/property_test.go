package edit_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/internal/edit"
	"github.com/reins-agent/reins/internal/textfile"
	"github.com/reins-agent/reins/internal/textfile/textfiletest"
)

// drawNew draws replacement text in the sample's characters, not equal to old.
func drawNew(t *rapid.T, s textfiletest.Sample, old string) string {
	lines := make([]string, rapid.IntRange(1, 4).Draw(t, "new lines"))
	for i := range lines {
		lines[i] = s.Line(t, "new line")
	}
	text := strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "new ending"))
	if textfile.ToLF(text) == old {
		text += "!"
	}
	return text
}

// viewOf returns a file's text with LF endings.
func viewOf(t *rapid.T, data []byte) string {
	file, err := textfile.Decode(data)
	if err != nil {
		t.Fatalf("decoding %q: %v", data, err)
	}
	return string(file.View().Text)
}

// Replacing whole lines or a part of a line keeps every byte before and after, in any encoding and with any line
// endings.
func TestEdit_BytesOutsideTheSpanStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := textfiletest.Draw(t)
		first := rapid.IntRange(0, len(s.Lines)-1).Draw(t, "first")
		last := rapid.IntRange(first, len(s.Lines)-1).Draw(t, "last")
		before := s.BOM + s.Bytes(t, 0, first)
		old := strings.Join(s.Lines[first:last+1], "\n")
		var after string
		switch {
		case first == last && rapid.Bool().Draw(t, "part of a line"):
			marker := s.Lines[first][:strings.Index(s.Lines[first], ">")+1]
			after = s.Encode(t, s.Lines[first][len(marker):]+s.Endings[first]) + s.Bytes(t, first+1, len(s.Lines))
			old = marker
		case s.Endings[last] != "" && rapid.Bool().Draw(t, "with the last ending"):
			old += "\n"
			after = s.Bytes(t, last+1, len(s.Lines))
		default:
			after = s.Encode(t, s.Endings[last]) + s.Bytes(t, last+1, len(s.Lines))
		}
		content := []byte(s.File(t))
		replacement := drawNew(t, s, old)

		got, err := edit.Replace(content, old, replacement, false)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		out := string(got.Content)
		if len(out) < len(before)+len(after) || !strings.HasPrefix(out, before) || !strings.HasSuffix(out, after) {
			t.Fatalf("%s: bytes outside the span changed:\nbefore %q\nafter  %q\ngot    %q", s.Name, before, after, out)
		}
		if first == 0 {
			return // the line that makes the encoding recognisable is gone
		}
		want := strings.Replace(viewOf(t, content), old, textfile.ToLF(replacement), 1)
		if view := viewOf(t, got.Content); view != want {
			t.Fatalf("%s: got text %q, want %q", s.Name, view, want)
		}
	})
}

// Replacing very many places, close together and far apart, equals a plain replacement.
func TestEdit_ManyPlacesAreAllReplaced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := textfiletest.Draw(t)
		gaps := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 5, 64, 65}), 90, 150).Draw(t, "gaps")
		var text strings.Builder
		for _, gap := range gaps {
			text.WriteString("@@" + strings.Repeat(".", gap))
		}
		content := []byte(s.File(t) + s.Encode(t, text.String()))
		replacement := rapid.SampledFrom([]string{"", "x", "a longer text", "two\nlines", "\n", "\r\n|\r\n"}).Draw(t, "new")
		got, err := edit.Replace(content, "@@", replacement, true)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(viewOf(t, content), "@@", textfile.ToLF(replacement))
		if view := viewOf(t, got.Content); got.Replacements != len(gaps) || view != want {
			t.Fatalf("%s: %d replacements gave %q, want %q", s.Name, got.Replacements, view, want)
		}
	})
}

// Lines are found despite wrong indentation, and nothing around them changes.
func TestEdit_LooseMatchLeavesTheRestAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := textfiletest.Draw(t)
		n := rapid.IntRange(0, len(s.Lines)-1).Draw(t, "line")
		old := "  \t" + strings.TrimRight(s.Lines[n], " \t") + " "
		content := []byte(s.File(t))
		got, err := edit.Replace(content, old, "other", false)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if got.Match != edit.Whitespace || got.Note() == "" {
			t.Fatalf("%s: match is %s with note %q", s.Name, got.Match, got.Note())
		}
		want := s.BOM + s.Bytes(t, 0, n) + s.Encode(t, "other"+s.Endings[n]) + s.Bytes(t, n+1, len(s.Lines))
		if string(got.Content) != want {
			t.Fatalf("%s: got %q, want %q", s.Name, got.Content, want)
		}
	})
}

// Applying an edit twice changes the file once.
func TestEdit_SecondApplicationIsRecognised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := textfiletest.Draw(t)
		n := rapid.IntRange(0, len(s.Lines)-1).Draw(t, "line")
		once, err := edit.Replace([]byte(s.File(t)), s.Lines[n], "[replaced]\nin two lines", false)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := edit.Replace(once.Content, s.Lines[n], "[replaced]\nin two lines", false)
		if err != nil {
			t.Fatal(err)
		}
		if twice.Match != edit.AlreadyApplied || string(twice.Content) != string(once.Content) {
			t.Fatalf("match is %s, content %q, want %q", twice.Match, twice.Content, once.Content)
		}
		if !strings.Contains(viewOf(t, twice.Content), "[replaced]\nin two lines") {
			t.Fatalf("the text is not there: %q", twice.Content)
		}
	})
}
