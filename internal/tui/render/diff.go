package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/text"
)

// Limits of diffs.
const (
	splitWidth  = 120 // columns from which the two sides stand beside each other
	foldedDiff  = 20  // rows when folded
	wordTokens  = 200 // per line, to compare its words
	diffPerPart = 64  // rows
)

// change is a diff row: a line on one side or both.
type change struct {
	sign     byte // ' ', '+' or '-'; '~' for a changed line, '@' for a hunk, 'f' for a file, 'm' for a message
	old, new string
	from, to int // line numbers
}

// Diff lays out a unified diff. Unless it is expanded, a long diff shows its first rows and counts the rest.
func Diff(diff string, o Layout) []Block { return diffBlocks(prefix{}, diff, o) }

func diffBlocks(p prefix, diff string, o Layout) []Block {
	all := changes(diff)
	var out []Block
	numbers := 1
	for _, c := range all {
		numbers = max(numbers, digits(c.from), digits(c.to))
	}
	shown := all
	if !o.Expanded && len(all) > foldedDiff+5 {
		shown = all[:foldedDiff]
	}
	for len(shown) > 0 {
		n := min(len(shown), diffPerPart)
		out = append(out, Block{Part: &hunk{prefix: p, rows: shown[:n], numbers: numbers}})
		shown = shown[n:]
	}
	if rest := len(all) - foldedDiff; !o.Expanded && rest > 5 {
		l := append(p.rest[:len(p.rest):len(p.rest)], text.Span{Text: "… " + show.Plural(rest, "more line"), Style: role(text.Dim)})
		out = append(out, Block{Part: fixed{l}})
	}
	return out
}

func digits(n int) int { return len(strconv.Itoa(n)) }

// Counts returns the numbers of added and removed lines in a unified diff.
func Counts(diff string) (added, removed int) {
	for _, c := range changes(diff) {
		switch c.sign {
		case '+':
			added++
		case '-':
			removed++
		case '~':
			added++
			removed++
		}
	}
	return added, removed
}

// changes parses a unified diff. Removed lines that are followed by added lines become changed lines.
func changes(diff string) []change {
	var out []change
	var from, to, left, right int // line numbers, and the hunk's remaining lines
	was := ""                     // the file's old name
	removed := 0                  // rows at the end of out that an added line can complete
	for line := range strings.SplitSeq(strings.TrimSuffix(diff, "\n"), "\n") {
		inside := left > 0 || right > 0
		pair := 0
		switch {
		case !inside && strings.HasPrefix(line, "@@ "):
			from, left, to, right = hunkHeader(line)
			_, title, _ := strings.Cut(line[3:], "@@")
			out = append(out, change{sign: '@', new: strings.TrimSpace(title), from: from, to: to})
		case !inside && strings.HasPrefix(line, "--- "):
			was = line[4:]
		case !inside && strings.HasPrefix(line, "+++ "):
			out = append(out, change{sign: 'f', new: fileName(was, line[4:])})
		case !inside && noise(line):
		case inside && strings.HasPrefix(line, "-"):
			out = append(out, change{sign: '-', old: line[1:], from: from})
			from++
			left--
			pair = removed + 1
		case inside && strings.HasPrefix(line, "+"):
			if removed > 0 && out[len(out)-removed].sign == '-' {
				c := &out[len(out)-removed]
				c.sign, c.new, c.to = '~', line[1:], to
				pair = removed - 1
			} else {
				out = append(out, change{sign: '+', new: line[1:], to: to})
			}
			to++
			right--
		case inside && strings.HasPrefix(line, `\`):
			pair = removed
		case inside:
			line = strings.TrimPrefix(line, " ")
			out = append(out, change{
				sign: ' ',
				old:  line,
				new:  line,
				from: from,
				to:   to,
			})
			from++
			to++
			left--
			right--
		default:
			out = append(out, change{sign: 'm', new: line})
		}
		removed = pair
	}
	return out
}

// hunkHeader parses "@@ -1,2 +3,4 @@".
func hunkHeader(s string) (from, left, to, right int) {
	left, right = 1, 1
	fields := strings.Fields(s)
	if len(fields) < 3 {
		return 0, 0, 0, 0
	}
	parse := func(s string, at, n *int) {
		first, count, ok := strings.Cut(s[1:], ",")
		*at, _ = strconv.Atoi(first)
		if ok {
			*n, _ = strconv.Atoi(count)
		}
	}
	parse(fields[1], &from, &left)
	parse(fields[2], &to, &right)
	const most = 1 << 30
	return min(max(from, 0), most), left, min(max(to, 0), most), right
}

// noise reports whether a line of git's diffs says nothing that a reader needs.
func noise(line string) bool {
	for _, start := range []string{"diff --git ", "index ", "similarity index ", "new file mode 100644", "deleted file mode "} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

// fileName returns the file name to show for a diff, and whether the file is new or deleted.
func fileName(was, is string) string {
	was, _, _ = strings.Cut(was, "\t")
	is, _, _ = strings.Cut(is, "\t")
	switch {
	case is == "/dev/null":
		return strings.TrimPrefix(was, "a/") + " (deleted)"
	case was == "/dev/null":
		return strings.TrimPrefix(is, "b/") + " (new)"
	}
	return strings.TrimPrefix(is, "b/")
}

// hunk is a diff hunk.
type hunk struct {
	prefix
	rows    []change
	numbers int // digits of line numbers
}

func (h *hunk) Rows(o Layout) int {
	n := len(h.rows)
	if o.Width < splitWidth {
		for _, c := range h.rows {
			if c.sign == '~' {
				n++
			}
		}
	}
	return n
}

func (h *hunk) Lines(o Layout) []text.Line {
	var out []text.Line
	width := h.width(o)
	for i := 0; i < len(h.rows); i++ {
		c := h.rows[i]
		switch c.sign {
		case 'f':
			out = append(out, o.Rule.Fold(one(text.Clean(c.new), text.Style{Role: text.Heading, Attr: text.Bold}), width)...)
		case 'm':
			out = append(out, o.Rule.Fold(one(text.Clean(c.new), role(text.Dim)), width)...)
		case '@':
			if c.from > 1 || c.to > 1 || c.new != "" {
				out = append(out, o.Rule.Cut(one("⋯ "+text.Clean(c.new), role(text.Accent)), width))
			}
		default:
			if o.Width >= splitWidth {
				out = append(out, h.split(o, c, width)...)
				continue
			}
			n := i + 1
			for changed(c.sign) && n < len(h.rows) && changed(h.rows[n].sign) {
				n++
			}
			out = append(out, h.unified(o, h.rows[i:n], width)...)
			i = n - 1
		}
	}
	return h.put(o, out)
}

func changed(sign byte) bool { return sign == '-' || sign == '+' || sign == '~' }

// unified lays out a row, or several changed rows: first the removed lines, then the added lines.
func (h *hunk) unified(o Layout, rows []change, width int) []text.Line {
	var out, added []text.Line
	for _, c := range rows {
		switch c.sign {
		case '-', '~':
			out = append(out, h.side(o, c.from, '-', h.content(c, true), width)...)
		}
		switch c.sign {
		case '+', '~':
			added = append(added, h.side(o, c.to, '+', h.content(c, false), width)...)
		case ' ':
			out = append(out, h.side(o, c.to, ' ', h.content(c, false), width)...)
		}
	}
	return append(out, added...)
}

// split lays out a row with both sides.
func (h *hunk) split(o Layout, c change, width int) []text.Line {
	half := (width - 3) / 2
	var left, right []text.Line
	if c.sign != '+' {
		sign := byte('-')
		if c.sign == ' ' {
			sign = ' '
		}
		left = h.side(o, c.from, sign, h.content(c, true), half)
	}
	if c.sign != '-' {
		sign := byte('+')
		if c.sign == ' ' {
			sign = ' '
		}
		right = h.side(o, c.to, sign, h.content(c, false), half)
	}
	var out []text.Line
	for i := range max(len(left), len(right)) {
		var l text.Line
		if i < len(left) {
			l = left[i]
		}
		l = o.Rule.Pad(l, half, text.Style{})
		l = append(l, text.Span{Text: " │ ", Style: role(text.Border)})
		if i < len(right) {
			l = append(l, right[i]...)
		}
		out = append(out, l)
	}
	return out
}

// side lays out a line with its number and sign.
func (h *hunk) side(o Layout, number int, sign byte, content text.Line, width int) []text.Line {
	gutter := fmt.Sprintf("%*d ", h.numbers, number)
	r := role(text.Dim)
	switch sign {
	case '+':
		r = role(text.Added)
	case '-':
		r = role(text.Removed)
	}
	if width < len(gutter)+12 {
		gutter = ""
	}
	room := max(width-len(gutter)-2, 1)
	rows := o.Rule.Fold(content, room)
	for i, l := range rows {
		first := text.Line{{Text: gutter, Style: role(text.Dim)}, {Text: string(sign) + " ", Style: r}}
		if i > 0 {
			first = text.Line{{Text: text.Blank(len(gutter)), Style: role(text.Dim)}, {Text: "  ", Style: r}}
		}
		if gutter == "" {
			first = first[1:]
		}
		rows[i] = append(first, l...)
		if width < 3 {
			rows[i] = o.Rule.Cut(rows[i], width)
		}
	}
	return rows
}

// content returns the styled text for one side of a row.
func (h *hunk) content(c change, old bool) text.Line {
	switch {
	case c.sign == '~':
		was, is := words(text.Clean(c.old), text.Clean(c.new))
		if old {
			return was
		}
		return is
	case c.sign == '-':
		return one(text.Clean(c.old), role(text.Removed))
	case c.sign == '+':
		return one(text.Clean(c.new), role(text.Added))
	}
	return one(text.Clean(c.new), text.Style{})
}

// words returns the two sides of a changed line, with the words that differ marked. Lines with little in common have no
// marks.
func words(before, after string) (was, is text.Line) {
	a, b := tokens(before), tokens(after)
	keepA, keepB, same := common(a, b)
	if 3*same < max(len(before), len(after)) {
		return one(before, role(text.Removed)), one(after, role(text.Added))
	}
	return marked(a, keepA, text.Removed, text.RemovedWord), marked(b, keepB, text.Added, text.AddedWord)
}

func marked(tokens []string, keep []bool, plain, word text.Role) text.Line {
	l := text.Line{}
	for i, t := range tokens {
		r := word
		if keep[i] {
			r = plain
		}
		l = add(l, text.Span{Text: t, Style: role(r)})
	}
	return l
}

// tokens splits a line into words, runs of spaces, and other characters.
func tokens(s string) []string {
	var out []string
	for s != "" {
		n := 0
		for n < len(s) && (letter(s[n]) || digit(s[n])) && s[n] < 0x80 {
			n++
		}
		if n == 0 {
			n = run(s, ' ')
		}
		if n == 0 {
			c, _ := text.Next(s)
			n = len(c)
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// common finds the longest common subsequence of two lists of tokens, and its size in bytes.
func common(a, b []string) (keepA, keepB []bool, same int) {
	keepA, keepB = make([]bool, len(a)), make([]bool, len(b))
	keep := func(i, j int) {
		keepA[i], keepB[j] = true, true
		same += len(strings.TrimSpace(a[i]))
	}
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		keep(start, start)
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA--
		endB--
		keep(endA, endB)
	}
	n, m := endA-start, endB-start
	if n == 0 || m == 0 || n > wordTokens || m > wordTokens {
		return keepA, keepB, same
	}
	size := make([]uint16, (n+1)*(m+1))
	at := func(i, j int) *uint16 { return &size[i*(m+1)+j] }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if a[start+i] == b[start+j] {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case a[start+i] == b[start+j]:
			keep(start+i, start+j)
			i++
			j++
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
	return keepA, keepB, same
}

// HunkSize returns the numbers of old and new lines that a hunk header announces.
func HunkSize(header string) (left, right int) {
	_, left, _, right = hunkHeader(header)
	return left, right
}
