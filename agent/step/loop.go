package step

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/reins-agent/reins/llm"
)

// loopDetector detects that the model repeats a pattern of one to three calls with the same arguments and results. A
// call whose result changes, such as a poll, is not a loop.
type loopDetector struct {
	window int // 0 means off
	recent []uint64
	trips  int // during this input
	length int // length of the detected pattern
}

func (d *loopDetector) add(c llm.ToolCall, result string) {
	if d.window <= 0 {
		return
	}
	d.recent = append(d.recent, signature(c, result))
	if len(d.recent) > d.window {
		d.recent = d.recent[1:]
	}
}

// signature hashes a call and its result. Argument order and spacing do not matter.
func signature(c llm.ToolCall, result string) uint64 {
	args := c.Arguments
	var v any
	if json.Unmarshal([]byte(args), &v) == nil {
		if b, err := json.Marshal(v); err == nil {
			args = string(b)
		}
	}
	h := fnv.New64a()
	for _, s := range []string{c.Name, args, result} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// tripped reports whether the window is one repeating pattern, and starts a new window if so.
func (d *loopDetector) tripped() bool {
	if d.window <= 0 || len(d.recent) < d.window {
		return false
	}
	for length := 1; length <= 3 && 2*length <= d.window; length++ {
		if slices.Equal(d.recent[length:], d.recent[:len(d.recent)-length]) {
			d.trips++
			d.length = length
			d.recent = nil
			return true
		}
	}
	return false
}

func (d *loopDetector) warning() string {
	return fmt.Sprintf("Loop detected: the last %d tool calls follow a repeating pattern. Try a different approach.", d.window)
}
