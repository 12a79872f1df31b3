package render

import (
	"math"
	"strings"

	"github.com/reins-agent/reins/internal/tui/text"
)

// Bar is a bar in a chart.
type Bar struct {
	Label string
	Value float64 // not negative
	Text  string  // the value as text
}

// Bars is a chart with a bar per line.
type Bars []Bar

const maxBar = 60 // columns

var eighths = [...]string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// Rows returns the number of bars.
func (b Bars) Rows(Layout) int { return len(b) }

// Lines lays the chart out: labels, bars, and values as text.
func (b Bars) Lines(o Layout) []text.Line {
	labels, texts, most := 0, 0, 0.0
	for _, bar := range b {
		labels = max(labels, o.Rule.Width(text.Clean(bar.Label)))
		texts = max(texts, o.Rule.Width(text.Clean(bar.Text)))
		most = max(most, bar.Value)
	}
	labels = min(labels, max(o.Width/3, 8))
	room := min(o.Width-labels-texts-4, maxBar)
	var out []text.Line
	for _, bar := range b {
		l := o.Rule.Pad(one(o.Rule.CutText(text.Clean(bar.Label), labels), text.Style{}), labels, text.Style{})
		if room >= 4 {
			l = append(l, text.Span{Text: "  "})
			l = o.Rule.Pad(append(l, text.Span{Text: length(bar.Value, most, room), Style: role(text.Accent)}), labels+2+room, text.Style{})
		}
		l = append(l, text.Span{Text: "  " + text.Clean(bar.Text), Style: role(text.Dim)})
		out = append(out, o.Rule.Cut(l, o.Width))
	}
	return out
}

// length returns a bar whose length shows a value.
func length(value, most float64, columns int) string {
	if !(most > 0) || !(value > 0) || math.IsInf(most, 0) {
		return ""
	}
	n := max(int(math.Round(value/most*float64(columns)*8)), 1)
	n = min(n, columns*8)
	return strings.Repeat("█", n/8) + eighths[n%8]
}

// Spark is a chart of values over time, on one line. If there are more values than columns, a column is their sum.
type Spark []float64

var levels = [...]rune{'▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}

// Rows returns 1.
func (s Spark) Rows(Layout) int { return 1 }

// Lines lays the chart out.
func (s Spark) Lines(o Layout) []text.Line {
	columns := min(len(s), o.Width)
	if columns == 0 {
		return nil
	}
	sums := make([]float64, columns)
	most := 0.0
	for i, v := range s {
		at := i * columns / len(s)
		if v > 0 && !math.IsInf(v, 0) {
			sums[at] += v
		}
		most = max(most, sums[at])
	}
	var b strings.Builder
	for _, v := range sums {
		level := 0
		if most > 0 {
			level = min(int(v/most*float64(len(levels))), len(levels)-1)
		}
		if v == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(levels[level])
	}
	return []text.Line{one(b.String(), role(text.Accent))}
}
