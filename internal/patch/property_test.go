package patch

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/internal/textfile/textfiletest"
)

// An expectation builds the expected bytes for a patched sample: kept lines keep their bytes, added lines end like the
// file's first line, and the last line gets an ending.
type expectation struct {
	sample textfiletest.Sample
	ending string
	lines  []string // decoded, with endings
}

func (e *expectation) keep(line int) {
	e.lines = append(e.lines, e.sample.Lines[line]+e.sample.Endings[line])
}

func (e *expectation) insert(text string) {
	if n := len(e.lines); n > 0 && strings.TrimRight(e.lines[n-1], "\r\n") == e.lines[n-1] {
		e.lines[n-1] += e.ending
	}
	e.lines = append(e.lines, text+e.ending)
}

func (e *expectation) bytes(t *rapid.T) string {
	out := e.sample.BOM
	for i, line := range e.lines {
		if i == len(e.lines)-1 && strings.TrimRight(line, "\r\n") == line {
			line += e.ending
		}
		out += e.sample.Encode(t, line)
	}
	return out
}

// change draws a change to each line in a sample and returns it as a patch and as the expected result. Added lines are
// never empty, so a lone CR and a lone LF never meet; TestPatch_LineEndings covers that.
func change(t *rapid.T, s textfiletest.Sample) (text, want string) {
	e := expectation{sample: s, ending: "\n"}
	if s.Endings[0] != "" {
		e.ending = s.Endings[0]
	}
	var hunks strings.Builder
	kept := false // the last line written to the patch may stand apart
	for i := range s.Lines {
		switch rapid.IntRange(0, 3).Draw(t, fmt.Sprintf("action %d", i)) {
		case 0: // not in the patch
			e.keep(i)
			kept = false
			continue
		case 1:
			separate(&hunks, kept)
			e.keep(i)
			fmt.Fprintf(&hunks, " %s\n", s.Lines[i])
		case 2:
			separate(&hunks, kept)
			fmt.Fprintf(&hunks, "-%s\n", s.Lines[i])
		case 3:
			separate(&hunks, kept)
			e.keep(i)
			added := "+" + s.Line(t, fmt.Sprintf("added %d", i))
			e.insert(added)
			fmt.Fprintf(&hunks, " %s\n+%s\n", s.Lines[i], added)
		}
		kept = true
	}
	if hunks.Len() == 0 {
		e.insert("+end")
		hunks.WriteString("@@\n++end\n")
	}
	return "*** Begin Patch\n*** Update File: f\n" + hunks.String() + "*** End Patch\n", e.bytes(t)
}

// separate begins a new hunk unless the previous line is in the current one.
func separate(hunks *strings.Builder, adjacent bool) {
	if !adjacent {
		hunks.WriteString("@@\n")
	}
}

func TestPatch_BytesOutsideTheHunksStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := textfiletest.Draw(t)
		text, want := change(t, s)
		if rapid.Bool().Draw(t, "CRLF patch") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		got, err := run(tree{"f": s.File(t)}, text, Options{})
		if err != nil {
			t.Fatalf("%s: %v\n%s", s.Name, err, text)
		}
		if got["f"] != want {
			t.Fatalf("%s:\ngot  %q\nwant %q\npatch:\n%s", s.Name, got["f"], want, text)
		}
	})
}
