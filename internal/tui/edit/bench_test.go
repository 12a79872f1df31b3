package edit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tui/keys"
)

// manyFiles returns paths as a large repository has them.
func manyFiles(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("services/team-%d/internal/component%d/handler_%d_test.go", i%40, i%2000, i)
	}
	return list
}

// BenchmarkFind looks for a file among 200,000, as with one key.
func BenchmarkFind(b *testing.B) {
	x := newIndex(manyFiles(200_000))
	for _, q := range []string{"", "h", "handler_77", "srvcmpt9", "zzz"} {
		b.Run("q="+q, func(b *testing.B) {
			for b.Loop() {
				x.narrow.query = "" // as if it were the first key
				x.find(q, maxFiles)
			}
		})
	}
}

func BenchmarkIndex(b *testing.B) {
	list := manyFiles(200_000)
	b.ReportAllocs()
	for b.Loop() {
		newIndex(list)
	}
}

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
