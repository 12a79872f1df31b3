package textfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxVoters   = 200     // wanted lines that vote
	maxCompared = 1 << 20 // bytes of text compared word by word
	maxShown    = 200     // bytes shown per line
)

// A Nearest is the first difference between wanted lines and the most similar place in a text. Lines count from 1.
// Contents are escaped by [Visible]; long lines are truncated to the part that differs.
type Nearest struct {
	Line       int    // text line
	WantedLine int    // wanted line that differs
	Wanted     string // wanted line's content
	Found      string // text line's content, or "(end of file)"
}

// FindNearest returns the place in text that is most similar to the wanted lines, or nil if no line is similar. The
// text has LF endings and does not contain the wanted lines. The cost is linear in the text's size.
func FindNearest(text []byte, wanted []string) *Nearest {
	if len(wanted) == 0 {
		return nil
	}
	start, weight := vote(text, wanted)
	if 4*weight < size(wanted) {
		// Too little matches, perhaps only a brace.
		if place, ok := resemblance(text, wanted); ok {
			return firstDifference(text, wanted, place)
		}
	}
	if weight == 0 {
		return nil
	}
	return firstDifference(text, wanted, start)
}

// size returns the lines' length without surrounding white space.
func size(lines []string) int {
	n := 0
	for _, line := range lines[:min(len(lines), maxVoters)] {
		n += min(len(strings.TrimSpace(line)), maxShown)
	}
	return n
}

// vote returns the line in text, from 0, where the wanted lines fit best, and that place's weight. Each text line that
// equals a wanted line, ignoring surrounding white space, votes for the place it implies with its length.
func vote(text []byte, wanted []string) (place, weight int) {
	voters := make(map[string][]int)
	for i, line := range wanted[:min(len(wanted), maxVoters)] {
		// A line that is wanted several times does not identify a place.
		if key := strings.TrimSpace(line); key != "" && len(voters[key]) < 4 {
			voters[key] = append(voters[key], i)
		}
	}
	// Index 0 is len(wanted) lines before the text.
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

// resemblance returns where the wanted lines would start if their first non-empty line were the text's most similar
// line.
func resemblance(text []byte, wanted []string) (int, bool) {
	index := 0
	for index < len(wanted)-1 && strings.TrimSpace(wanted[index]) == "" {
		index++
	}
	want := strings.TrimSpace(wanted[index])
	best := 0
	place := 0
	number := 0
	for line := range bytes.Lines(text) {
		if score := likeness(bytes.TrimSpace(line), want); score > best {
			best, place = score, number
		}
		number++
	}
	if best >= 3 && 2*best >= len(want) {
		return place - index, true
	}
	if len(text) > maxCompared {
		return 0, false
	}
	place, ok := sharedWords(text, want)
	return place - index, ok
}

// sharedWords returns the text line with the most wanted words, measured in bytes. It returns false if no line has half
// of them.
func sharedWords(text []byte, want string) (int, bool) {
	words := make(map[string]bool)
	for word := range strings.FieldsSeq(want) {
		words[word] = true
	}
	best := 0
	place := 0
	number := 0
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

// likeness counts the bytes that two lines have in common at their start and end.
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

// firstDifference compares the wanted lines with the text from line start, which may be negative. The first wanted line
// may begin inside a text line, and the last may end inside one.
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
		n := &Nearest{Line: max(start+i, 0) + 1, WantedLine: i + 1}
		n.Wanted, n.Found = shown(want, got)
		if !inside && start+i >= 0 {
			n.Found = endOfFile
		}
		return n
	}
	// Only the final line break is missing.
	return &Nearest{Line: start + len(wanted), WantedLine: len(wanted), Wanted: Visible(wanted[len(wanted)-1]) + `\n`, Found: endOfFile}
}

const endOfFile = "(end of file)"

// linesFrom returns count lines of text from line start, by number.
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

// shown returns two lines with invisible characters escaped. Long lines are truncated to the part around the first
// difference.
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

// Visible escapes characters in a line that are invisible or look like an ordinary space: tabs, control and format
// characters, special spaces, trailing spaces, and invalid bytes.
func Visible(line string) string {
	body := strings.TrimRight(line, " ")
	var out strings.Builder
	for i := 0; i < len(body); {
		r, size := utf8.DecodeRuneInString(body[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, body[i])
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\n':
			out.WriteString(`\n`)
		case r != ' ' && !unicode.IsPrint(r) || unicode.Is(unicode.Mn, r):
			format := `\u%04x`
			if r > 0xFFFF {
				format = `\U%08x`
			}
			fmt.Fprintf(&out, format, r)
		default:
			out.WriteString(body[i : i+size])
		}
		i += size
	}
	out.WriteString(strings.Repeat(`\x20`, len(line)-len(body)))
	return out.String()
}
