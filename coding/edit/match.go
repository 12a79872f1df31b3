package edit

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reins-agent/reins/coding/textfile"
)

// maxLines bounds the line numbers listed for an ambiguous match.
const maxLines = 20

// locate finds the places to replace, by the steps of the package comment.
func (r *replacer) locate() (matches, error) {
	exact := occurrences(r.view.Text, []byte(r.old), r.all)
	if len(exact) > 0 {
		return r.choose(matches{Exact, exact})
	}
	applied, isApplied := r.applied()
	for _, step := range []func() matches{r.whitespace, r.lookalike, r.lookalikeLines} {
		found := step()
		if len(found.spans) == 0 {
			continue
		}
		if isApplied && overlapsAny(applied, found.spans) {
			break
		}
		return r.choose(found)
	}
	if isApplied {
		return matches{AlreadyApplied, []span{applied}}, nil
	}
	return matches{}, r.notFound()
}

// choose refuses several places unless all are wanted.
func (r *replacer) choose(found matches) (matches, error) {
	if r.all {
		return found, nil
	}
	count := len(found.spans)
	if count == 1 {
		return found, nil
	}
	err := &Error{Kind: NotUnique, Match: found.kind, Count: count}
	line, at := 1, 0
	for _, s := range found.spans[:min(count, maxLines)] {
		line += bytes.Count(r.view.Text[at:s.start], []byte("\n"))
		at = s.start
		err.Lines = append(err.Lines, line)
	}
	return matches{}, err
}

// occurrences returns the places of part in text. Separate ones are wanted for
// replacing all; otherwise the second may overlap the first, such as aa in aaa,
// so that it is seen that there is more than one.
func occurrences(text, part []byte, separate bool) []span {
	var found []span
	for at := 0; ; {
		i := bytes.Index(text[at:], part)
		if i < 0 {
			return found
		}
		at += i
		found = append(found, span{at, at + len(part)})
		if separate || len(found) > 1 {
			at += len(part)
		} else {
			at++
		}
	}
}

func overlapsAny(s span, spans []span) bool {
	for _, t := range spans {
		if s.overlaps(t) {
			return true
		}
	}
	return false
}

// applied returns the place of the new text when its presence shows that the
// edit was made before: it says something that the old text did not, it is not
// part of a longer word or mere punctuation, and it occurs once, or at all when
// all are wanted.
func (r *replacer) applied() (span, bool) {
	if !strings.ContainsFunc(r.new, isWord) || strings.Contains(r.old, r.new) {
		return span{}, false
	}
	text, part := r.view.Text, []byte(r.new)
	i := bytes.Index(text, part)
	if i < 0 || !r.all && bytes.Contains(text[i+1:], part) {
		return span{}, false
	}
	at := span{i, i + len(part)}
	if splitsWord(text, at.start) || splitsWord(text, at.end) {
		return span{}, false
	}
	return at, true
}

// splitsWord reports whether the offset is inside a word.
func splitsWord(text []byte, offset int) bool {
	before, _ := utf8.DecodeLastRune(text[:offset])
	after, _ := utf8.DecodeRune(text[offset:])
	return isWord(before) && isWord(after)
}

func isWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// whitespace finds whole lines that differ from the old text in white space.
func (r *replacer) whitespace() matches {
	token := []byte(longestField(r.old))
	if len(token) == 0 || !bytes.Contains(r.view.Text, token) {
		return matches{}
	}
	return matches{Whitespace, r.lines(r.view.Text, []byte(r.old))}
}

// lookalike finds the old text with look-alike characters made equal.
func (r *replacer) lookalike() matches {
	folded, old, ok := r.folded()
	if !ok {
		return matches{}
	}
	var spans []span
	back := textfile.NewFoldMapper(r.view.Text)
	for i, s := range occurrences(folded, old, r.all) {
		if i == 1 && !r.all { // it may overlap the first
			back = textfile.NewFoldMapper(r.view.Text)
		}
		start, ok1 := back.Offset(s.start)
		end, ok2 := back.Offset(s.end)
		if ok1 && ok2 && bytes.Equal(textfile.Fold(r.view.Text[start:end]), old) {
			spans = append(spans, span{start, end})
		}
	}
	return matches{Lookalike, spans}
}

// lookalikeLines combines the two.
func (r *replacer) lookalikeLines() matches {
	folded, old, ok := r.folded()
	if !ok || len(bytes.TrimSpace(old)) == 0 {
		return matches{}
	}
	return matches{LookalikeLines, r.lines(folded, old)}
}

// folded returns the view and the old text with look-alikes made equal; false
// when there are none in either.
func (r *replacer) folded() (text, old []byte, ok bool) {
	old = []byte(r.old)
	if textfile.IsASCII(r.view.Text) && textfile.IsASCII(old) {
		return nil, nil, false
	}
	return textfile.Fold(r.view.Text), textfile.Fold(old), true
}

func longestField(s string) string {
	longest := ""
	for field := range strings.FieldsFuncSeq(s, isBlankRune) {
		if len(field) > len(longest) {
			longest = field
		}
	}
	return longest
}
