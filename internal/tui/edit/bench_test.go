package edit

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tui/keys"
)

// BenchmarkPaste pastes 1 MB, shows it, and takes the message.
func BenchmarkPaste(b *testing.B) {
	s := strings.Repeat("some words 漢字 in a line\n", 1<<20/28)
	for b.Loop() {
		e := New(Options{})
		e.Paste(s)
		e.View(80, 10)
		if len(e.Message().Text) != len(s) {
			b.Fatal("text lost")
		}
	}
}

// BenchmarkKey types a key in a draft of 100 kB and shows it.
func BenchmarkKey(b *testing.B) {
	e := New(Options{})
	e.Insert(strings.Repeat("some words in a line\n", 5000))
	k := keys.Key{Code: 'x', Text: "x"}
	for b.Loop() {
		e.Handle(k)
		e.View(80, 10)
	}
}
