package transcript

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// lines100k is a session with 100,000 rows at 120 columns.
func lines100k(b *testing.B) *session {
	s := long(2000)
	v := New(&s.State)
	v.ExpandAll(true)
	v.Resize(120, 40)
	rows, _ := full(v)
	if len(rows) < 100_000 {
		b.Fatalf("the session has only %d rows", len(rows))
	}
	return s
}

func BenchmarkOpen(b *testing.B) {
	s := lines100k(b)
	for b.Loop() {
		v := New(&s.State)
		v.Resize(120, 40)
		v.Lines(epoch)
	}
}

func BenchmarkTop(b *testing.B) {
	s := lines100k(b)
	v := New(&s.State)
	v.Resize(120, 40)
	for b.Loop() {
		v.Bottom()
		v.Lines(epoch)
		v.forgetAll()
		v.Top()
		v.Lines(epoch)
	}
}

func BenchmarkSearch(b *testing.B) {
	s := lines100k(b)
	v := New(&s.State)
	v.Resize(120, 40)
	for b.Loop() {
		v.Search("part 1234 of")
		v.Lines(epoch)
		v.Search("")
	}
}

func BenchmarkScroll(b *testing.B) {
	s := lines100k(b)
	v := New(&s.State)
	v.Resize(120, 40)
	for b.Loop() {
		v.Page(-1)
		if v.top == (place{}) {
			v.Bottom()
		}
		v.Lines(epoch)
	}
}

// BenchmarkStream measures a frame for a token of an answer that has the given number of lines so far.
func BenchmarkStream(b *testing.B) {
	for _, lines := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(lines), func(b *testing.B) {
			s := lines100k(b)
			s.begin("")
			s.delta("", "```go\n"+strings.Repeat("\treturn nil, fmt.Errorf(\"reading: %w\", err)\n", lines)+"```\n\n")
			v := New(&s.State)
			v.Resize(120, 40)
			v.Lines(epoch)
			n := 0
			for b.Loop() {
				token := "token "
				if n++; n%100 == 0 {
					token = "\n\n"
				}
				v.Sync(s.delta("", token))
				v.Lines(epoch)
			}
		})
	}
}

// BenchmarkGrow reports the memory of a session that grew to 100,000 rows under a view.
func BenchmarkGrow(b *testing.B) {
	for b.Loop() {
		s := new(session)
		v := New(&s.State)
		v.Resize(120, 40)
		v.ExpandAll(true)
		for i := range 2000 {
			v.Sync(s.add("", event.UserInput{Message: llm.UserText(fmt.Sprintf("Question %d", i))}))
			v.Sync(s.begin(""))
			body := fmt.Sprintf("## Answer %d\n\n```go\n%s```\n", i, strings.Repeat("\treturn nil, fmt.Errorf(\"reading: %w\", err)\n", 18))
			for w := range strings.SplitAfterSeq(body, "\n") {
				v.Sync(s.delta("", w))
				v.Lines(epoch)
			}
			v.Sync(s.answer("", body, "a"))
			v.Sync(s.run("", "a", strings.Repeat("ok  \tgithub.com/example/package\t0.1s\n", 30)))
			v.Lines(epoch)
		}
		start := time.Now()
		rows, _ := full(v)
		b.ReportMetric(float64(len(rows)), "rows")
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "full-ms")
		rows = nil
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/1e6, "heap-MB")
		v.Lines(epoch)
		runtime.KeepAlive(s)
	}
}
