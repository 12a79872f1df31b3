package compact

import "testing"

func BenchmarkClear(b *testing.B) {
	var m Meter
	msgs := work(1000, 4000)
	g := Goal{Tokens: m.Weigh(msgs...) / 2}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Clear(m, msgs, g); !ok {
			b.Fatal("nothing to clear")
		}
	}
}

func BenchmarkFallback(b *testing.B) {
	var m Meter
	msgs := work(1000, 4000)
	g := Goal{Tokens: 20_000}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Fallback(m, msgs, g, Facts{}); !ok {
			b.Fatal("no fallback")
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	var m Meter
	msgs := work(1000, 4000)
	g := Goal{Tokens: 20_000, Request: 100_000}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Prepare(m, msgs, g); !ok {
			b.Fatal("nothing to summarise")
		}
	}
}

func BenchmarkMeterAdd(b *testing.B) {
	var m Meter
	msg := step(0, 4000)[1]
	b.ReportAllocs()
	for b.Loop() {
		m.Add(msg)
	}
}
