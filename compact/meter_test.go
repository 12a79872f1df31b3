package compact

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/llm"
)

// provider returns the count by a provider with this ratio and overhead.
func provider(ratio float64, overhead int64, msgs []llm.Message) int64 {
	var sum load
	for _, msg := range msgs {
		sum = sum.add(messageLoad(msg))
	}
	return overhead + sum.tokens + int64(float64(sum.bytes)/ratio)
}

func TestMeter_CalibrationConverges(t *testing.T) {
	for _, ratio := range []float64{1.8, 2.7, 3.4, 4, 5.5, 7.5} {
		for _, overhead := range []int64{0, 500, 30_000} {
			var m Meter
			var msgs []llm.Message
			add := func(msg llm.Message) {
				msgs = append(msgs, msg)
				m.Add(msg)
			}
			add(llm.UserText(strings.Repeat("task ", 50)))
			for range 20 {
				input := provider(ratio, overhead, msgs)
				add(llm.AssistantText(strings.Repeat("step ", 300)))
				m.Reported(llm.Usage{Input: input, Output: provider(ratio, overhead, msgs) - input})
				add(llm.UserText(strings.Repeat("more ", 500)))
			}
			truth := float64(provider(ratio, overhead, msgs))
			if got := float64(m.Estimate()); math.Abs(got-truth) > truth/50 {
				t.Errorf("ratio %g, overhead %d: %g tokens, want %g", ratio, overhead, got, truth)
			}
			half := msgs[len(msgs)/2:]
			m.Reset(half)
			truth = float64(provider(ratio, overhead, half))
			if got := float64(m.Estimate()); math.Abs(got-truth) > truth/20+10 {
				t.Errorf("ratio %g, overhead %d: %g tokens after a reset, want %g", ratio, overhead, got, truth)
			}
		}
	}
}

func TestMeter_UsesTheReportedCount(t *testing.T) {
	var m Meter
	m.Add(llm.UserText("Hello, how are you?"))
	m.Reported(llm.Usage{Input: 900, Output: 100})
	if got := m.Estimate(); got != 1000 {
		t.Errorf("%d tokens, want 1000", got)
	}
	m.Reported(llm.Usage{Output: 5})
	if got := m.Estimate(); got != 1000 {
		t.Errorf("%d tokens after a report without input, want 1000", got)
	}
	if got := m.Overhead(); got < 980 || got > 1000 {
		t.Errorf("overhead: got %d, want 980 to 1000", got)
	}
}

func TestMeter_IsNeverNegativeAndNeverShrinksByAdding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Meter
		unique := 0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			was := m.Estimate()
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				input := rapid.SampledFrom([]int64{-1, 0, 1, 1000, 1 << 20, math.MaxInt64}).Draw(t, "input")
				m.Reported(llm.Usage{Input: input, Output: rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 10, math.MaxInt64}).Draw(t, "output")})
			case 1:
				m.Reset(drawRound(t, &unique))
			default:
				for _, msg := range drawRound(t, &unique) {
					m.Add(msg)
				}
				if m.Estimate() < was {
					t.Fatalf("%d tokens became %d by adding", was, m.Estimate())
				}
			}
			if r := m.bytesPerToken(); m.Estimate() < 0 || m.Overhead() < 0 || r < minRatio || r > maxRatio {
				t.Fatalf("estimate %d, overhead %d or ratio %g is out of range", m.Estimate(), m.Overhead(), r)
			}
		}
	})
}

func TestMeter_EveryPartWeighs(t *testing.T) {
	var m Meter
	for _, p := range []llm.Part{
		llm.Text{Text: "word"}, pixel, llm.Audio{Media: llm.Media{Data: make([]byte, 1<<20)}},
		llm.Document{Media: llm.Media{MIME: "text/plain", Data: []byte("text")}}, llm.Document{Media: llm.Media{URL: "https://example.com/a.pdf"}},
		llm.ToolCall{Name: "x"}, llm.ToolResult{}, llm.Thinking{Text: "hm, well"}, llm.Thinking{Redacted: true, State: llm.State{Data: make([]byte, 100)}},
		llm.Opaque{State: llm.State{Data: []byte("opaque")}},
	} {
		with := m.Weigh(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{p}})
		if without := m.Weigh(llm.Message{Role: llm.RoleUser}); with <= without {
			t.Errorf("a message with a %T weighs %d, want more than %d", p, with, without)
		}
	}
}
