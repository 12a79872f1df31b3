package textfile

import (
	"bytes"
	"strings"
)

const (
	// maxVoters bounds the lines that look for their place.
	maxVoters = 200
	// maxCompared bounds the size of a text that is compared word by word.
	maxCompared = 1 << 20
	// maxShown bounds the bytes shown of a line.
	maxShown = 200
)

// A Nearest is the place of a text that resembles wanted lines most, down to
// the first line that differs. Lines count from 1; the contents are shown as
// [Visible] shows them, long ones cut to the part that differs.
type Nearest struct {
	Line       int    // the line of the text where the first difference is
	WantedLine int    // the wanted line that differs there
	Wanted     string // its content
	Found      string // the content of the text's line
	Past       bool   // the text ends before this line
}

// FindNearest returns the place of text, which has LF endings, that resembles
// the wanted lines most, or nil when no line of it does. It is meant for lines
// that are not there; its cost is linear in the size of the text.
func FindNearest(text []byte, wanted []string) *Nearest {
	if len(wanted) == 0 {
		return nil
	}
	start, weight := vote(text, wanted)
	if 4*weight < size(wanted) {
		// Too little agrees, perhaps only a brace.
		if place, ok := resemblance(text, wanted); ok {
			return firstDifference(text, wanted, place)
		}
	}
	if weight == 0 {
		return nil
	}
	return firstDifference(text, wanted, start)
}

// size returns the length of the lines without white space around them.
func size(lines []string) int {
	n := 0
	for _, line := range lines[:min(len(lines), maxVoters)] {
		n += min(len(strings.TrimSpace(line)), maxShown)
	}
	return n
}

// vote returns the line of the text, from 0, where the block of wanted lines
// fits best, and how well: each line of the text that equals a wanted line,
// white space aside, votes for the place this implies with its length.
func vote(text []byte, wanted []string) (place, weight int) {
	voters := make(map[string][]int)
	for i, line := range wanted[:min(len(wanted), maxVoters)] {
		// A line that occurs often among the wanted says little about the place.
		if key := strings.TrimSpace(line); key != "" && len(voters[key]) < 4 {
			voters[key] = append(voters[key], i)
		}
	}
	// Places from len(wanted) lines before the text to its end, by index.
	votes := make([]int32, bytes.Count(text, []byte("\n"))+1+len(wanted))
	best, first := int32(0), 0
	number := len(wanted)
	for line := range bytes.Lines(text) {
		key := bytes.TrimSpace(line)
		for _, i := range voters[string(key)] {
			place := number - i
			votes[place] += int32(min(len(key), maxShown))
			if votes[place] > best || votes[place] == best && place < first {
				best, first = votes[place], place
			}
		}
		number++
	}
	return first - len(wanted), int(best)
}

// resemblance returns the line of the text that is most like the first line of
// the wanted lines that is not empty, and where the block would begin then.
func resemblance(text []byte, wanted []string) (int, bool) {
	index := 0
	for index < len(wanted)-1 && strings.TrimSpace(wanted[index]) == "" {
		index++
	}
	want := strings.TrimSpace(wanted[index])
	best, place, number := 0, 0, 0
	for line := range bytes.Lines(text) {
		if score := likeness(bytes.TrimSpace(line), want); score > best {
			best, place = score, number
		}
		number++
	}
	if best >= 3 && 2*best >= len(want) {
		return place - index, true
	}
	if len(text) <= maxCompared {
		place, ok := sharedWords(text, want)
		return place - index, ok
	}
	word := longestWord(want)
	if at := bytes.Index(text, []byte(word)); len(word) >= 3 && at >= 0 {
		return bytes.Count(text[:at], []byte("\n")) - index, true
	}
	return 0, false
}

// sharedWords returns the line of the text that has most of the wanted words,
// if any has half of them, measured in bytes.
func sharedWords(text []byte, want string) (int, bool) {
	words := make(map[string]bool)
	for word := range strings.FieldsSeq(want) {
		words[word] = true
	}
	best, place, number := 0, 0, 0
	for line := range bytes.Lines(text) {
		score := 0
		for word := range bytes.FieldsSeq(line) {
			if words[string(word)] {
				score += len(word)
			}
		}
		if score > best && score <= len(want) {
			best, place = score, number
		}
		number++
	}
	return place, best >= 3 && 2*best >= len(strings.Join(strings.Fields(want), ""))
}

func longestWord(s string) string {
	longest := ""
	for word := range strings.FieldsSeq(s) {
		if len(word) > len(longest) {
			longest = word
		}
	}
	return longest
}

// likeness counts the bytes that two lines share at their start and end.
func likeness(line []byte, want string) int {
	shorter := min(len(line), len(want))
	prefix := 0
	for prefix < shorter && line[prefix] == want[prefix] {
		prefix++
	}
	suffix := 0
	for suffix < shorter-prefix && line[len(line)-1-suffix] == want[len(want)-1-suffix] {
		suffix++
	}
	return prefix + suffix
}

// firstDifference compares the wanted lines with the text's from a line on, which
// may be before the first. The first may begin inside a line of the text,
// and the last may end inside one.
func firstDifference(text []byte, wanted []string, start int) *Nearest {
	lines := linesFrom(text, start, len(wanted))
	for i, want := range wanted {
		got, inside := lines[start+i]
		same := inside && got == want
		if inside && len(wanted) > 1 {
			same = same || i == 0 && strings.HasSuffix(got, want) || i == len(wanted)-1 && strings.HasPrefix(got, want)
		}
		if same {
			continue
		}
		n := &Nearest{Line: max(start+i, 0) + 1, WantedLine: i + 1, Past: !inside && start+i >= 0}
		n.Wanted, n.Found = shown(want, got)
		return n
	}
	// Only the line break at the end is missing.
	return &Nearest{Line: start + len(wanted), WantedLine: len(wanted), Wanted: Visible(wanted[len(wanted)-1]) + `\n`, Past: true}
}

// linesFrom returns count lines of text from a number on, by number.
func linesFrom(text []byte, start, count int) map[int]string {
	lines := make(map[int]string)
	number := 0
	for line := range bytes.Lines(text) {
		if number >= start+count {
			break
		}
		if number >= start {
			lines[number] = strings.TrimSuffix(string(line), "\n")
		}
		number++
	}
	return lines
}

// shown returns two lines with invisible characters escaped. Long lines are
// cut to the neighbourhood of the first difference.
func shown(want, got string) (string, string) {
	from := 0
	for from < min(len(want), len(got)) && want[from] == got[from] {
		from++
	}
	from = max(0, from-maxShown/2)
	return excerpt(want, from), excerpt(got, from)
}

func excerpt(line string, from int) string {
	if len(line) <= maxShown {
		return Visible(line)
	}
	from = min(from, len(line))
	to := min(len(line), from+maxShown)
	out := Visible(strings.ToValidUTF8(line[from:to], ""))
	if from > 0 {
		out = "…" + out
	}
	if to < len(line) {
		out += "…"
	}
	return out
}
