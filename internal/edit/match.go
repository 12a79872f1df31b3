package edit

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/textfile"
)

// maxLines is the maximum number of line numbers listed for an ambiguous match.
const maxLines = 20

// locate finds the places to replace, in the steps that the package comment lists.
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
	return matches{}, r.missing()
}

// choose rejects several places unless all are to be replaced.
func (r *replacer) choose(found matches) (matches, error) {
	count := len(found.spans)
	if r.all || count == 1 {
		return found, nil
	}
	err := &Error{Kind: NotUnique, match: found.kind, Count: count}
	line, at := 1, 0
	for _, s := range found.spans[:min(count, maxLines)] {
		line += bytes.Count(r.view.Text[at:s.start], []byte("\n"))
		at = s.start
		err.Lines = append(err.Lines, line)
	}
	return matches{}, err
}

// occurrences returns the places of part in text. If separate is not set, the second may overlap the
// first, such as aa in aaa, so that the match is not unique.
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

// applied returns the place of the new text if its presence shows that the edit was made before: it is not part of the
// old text, not part of a longer word, not mere punctuation, and it occurs once, or at all if all are to be replaced.
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

// whitespace finds whole lines that differ from the old text only in white space.
func (r *replacer) whitespace() matches {
	token := []byte(longestField(r.old))
	if len(token) == 0 || !bytes.Contains(r.view.Text, token) {
		return matches{}
	}
	return matches{Whitespace, r.lines(r.view.Text, []byte(r.old))}
}

// lookalike finds text that differs from the old text only in look-alike characters.
func (r *replacer) lookalike() matches {
	folded, old, ok := r.folded()
	if !ok {
		return matches{}
	}
	var spans []span
	back := textfile.NewFoldMapper(r.view.Text)
	for i, s := range occurrences(folded, old, r.all) {
		if i == 1 && !r.all { // may overlap the first
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

// lookalikeLines finds whole lines that differ in both.
func (r *replacer) lookalikeLines() matches {
	folded, old, ok := r.folded()
	if !ok || len(bytes.TrimSpace(old)) == 0 {
		return matches{}
	}
	return matches{LookalikeLines, r.lines(folded, old)}
}

// folded returns the view and the old text with look-alikes folded. It returns false if both are ASCII.
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
