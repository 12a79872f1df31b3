package tool

import "testing"

func TestDefaultLimit_Is30000CharactersAndAnyNumberOfLines(t *testing.T) {
	if got, want := DefaultLimit(), (Limit{Chars: 30_000, Lines: -1, Mode: "head_tail"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// From 20 lines, 32 characters leave two lines at each end. With the warning between them there are nine lines, from
// which the limit omits five. Truncating lines first would omit 16.
func TestTruncate_CharactersComeBeforeLines(t *testing.T) {
	text := ""
	for range 19 {
		text += "0123456\n"
	}
	got, err := Truncate(Text(text+"0123456"), Limit{Chars: 32, Lines: 4, Mode: HeadTail})
	if want := "0123456\n0123456\n[... 5 lines omitted ...]\n0123456\n0123456"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
