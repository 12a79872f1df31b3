package edit

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Pastes with more lines or more characters than these are folded.
const (
	maxPasteLines = 5
	maxPasteRunes = 1000
)

// Folds are private-use characters in the text. A private-use character in pasted text becomes a fold itself.
const (
	firstFold = 0x10F000
	lastFold  = 0x10FFFD
)

// Fold is a stretch of the draft that is shown and edited as one character: a large paste, or an image.
type Fold struct {
	// Text is the folded text, empty for an image.
	Text  string
	Image *Image
	label string
}

// Image is an image in a draft.
type Image struct {
	Name string `json:"name"`
	Type string `json:"type"` // such as image/png
	Data []byte `json:"data"`
}

func isFold(r rune) bool { return r >= firstFold && r <= lastFold }

// fold returns the fold at the start of s, or nil.
func (b *Buffer) fold(s string) *Fold {
	r, _ := utf8.DecodeRuneInString(s)
	if n := int(r - firstFold); isFold(r) && n < len(b.folds) {
		return &b.folds[n]
	}
	return nil
}

// add returns the character for a new fold. Without free characters it returns the text itself.
func (b *Buffer) add(f Fold) string {
	if len(b.folds) > lastFold-firstFold {
		return strings.Map(func(r rune) rune {
			if isFold(r) {
				return utf8.RuneError
			}
			return r
		}, f.Text)
	}
	b.folds = append(b.folds, f)
	return string(rune(firstFold + len(b.folds) - 1))
}

// admit returns text that can be inserted: valid, with plain line ends, and without the characters of folds.
func (b *Buffer) admit(s string) string {
	s = plain(s)
	if !strings.ContainsFunc(s, isFold) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if isFold(r) {
			out.WriteString(b.add(Fold{Text: string(r), label: "\uFFFD"}))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// plain returns text with plain line ends and without bytes that no text has.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsAny(s, "\r\x00") {
		s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD").Replace(s)
	}
	return s
}

// paste inserts a text, folded if it is large.
func (b *Buffer) paste(s string) {
	s = plain(s)
	lines, runes := size(s)
	if lines > maxPasteLines || runes > maxPasteRunes {
		s = b.addPaste(s)
	} else {
		s = b.admit(s)
	}
	b.begin(other)
	b.replace(b.caret, b.caret, s)
}

// size counts the lines and characters in s.
func size(s string) (lines, runes int) {
	lines = strings.Count(s, "\n")
	if !strings.HasSuffix(s, "\n") {
		lines++
	}
	return lines, utf8.RuneCountInString(s)
}

// addPaste folds s, and returns the fold's character.
func (b *Buffer) addPaste(s string) string {
	lines, runes := size(s)
	return b.add(Fold{Text: s, label: b.pasteLabel(lines, runes)})
}

// pasted reports whether a fold is a paste.
func (f *Fold) pasted() bool { return strings.HasPrefix(f.label, "[paste") }

// pasteLabel returns the label that a folded paste shows.
func (b *Buffer) pasteLabel(lines, runes int) string {
	n := 1
	for _, f := range b.folds {
		if f.pasted() {
			n++
		}
	}
	if lines > 1 {
		return fmt.Sprintf("[paste #%d, %s lines]", n, thousands(lines))
	}
	return fmt.Sprintf("[paste #%d, %s characters]", n, thousands(runes))
}

// image inserts an image.
func (b *Buffer) image(i Image) {
	b.begin(other)
	b.replace(b.caret, b.caret, b.addImage(i))
}

// addImage folds an image, and returns the fold's character.
func (b *Buffer) addImage(i Image) string {
	n := 1
	for _, f := range b.folds {
		if f.Image != nil {
			n++
		}
	}
	label := fmt.Sprintf("[image #%d]", n)
	if i.Name != "" {
		label = fmt.Sprintf("[image #%d, %s]", n, i.Name)
	}
	return b.add(Fold{Image: &i, label: label})
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// expand replaces the folds in s with their content, and images with their labels.
func (b *Buffer) expand(s string) string {
	at := strings.IndexFunc(s, isFold)
	if at < 0 {
		return s
	}
	var out strings.Builder
	for ; at >= 0; at = strings.IndexFunc(s, isFold) {
		out.WriteString(s[:at])
		if f := b.fold(s[at:]); f != nil {
			out.WriteString(f.content())
		}
		s = s[at+utf8.RuneLen(firstFold):]
	}
	out.WriteString(s)
	return out.String()
}

// content returns the folded text, or an image's label.
func (f *Fold) content() string {
	if f.Image != nil {
		return f.label
	}
	return f.Text
}

// show replaces the fold at or before the caret by its text, and reports whether there is one.
func (b *Buffer) show() bool {
	at := b.caret
	f := b.fold(b.text[at:])
	if f == nil {
		at = b.prev(at)
		f = b.fold(b.text[at:])
	}
	if f == nil || !f.pasted() {
		return false
	}
	b.begin(other)
	b.replace(at, b.next(at), b.admit(f.Text))
	return true
}

// refold folds the given folds' content again where it occurs in s.
func (b *Buffer) refold(s string, folds []string) string {
	s = b.admit(plain(s))
	from := 0
	for _, c := range folds {
		content := ""
		if f := b.fold(c); f != nil {
			content = f.content()
		}
		if at := strings.Index(s[from:], content); at >= 0 && content != "" {
			s = s[:from+at] + c + s[from+at+len(content):]
			from += at + len(c)
		}
	}
	return s
}

// foldsOf returns the fold characters in s, in order.
func foldsOf(s string) (list []string) {
	for _, r := range s {
		if isFold(r) {
			list = append(list, string(r))
		}
	}
	return list
}

// reset empties the buffer and forgets its earlier states. The kills stay.
func (b *Buffer) reset() {
	old := Buffer{folds: b.folds}
	*b = Buffer{kills: b.kills, version: b.version + 1, group: b.group, goal: -1}
	for i, s := range b.kills {
		for _, c := range foldsOf(s) {
			s = strings.Replace(s, c, b.add(*old.fold(c)), 1)
		}
		b.kills[i] = s
	}
}
