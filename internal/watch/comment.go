package watch

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxFile = 1 << 20 // larger files are not searched
	maxText = 2000    // bytes in an instruction
)

// Comment is an instruction in a comment such as "// reins: handle the empty list".
type Comment struct {
	Line int
	Text string
}

// instruction matches a line with an instruction. The comment marker stands directly before it, at the start of
// the line or after a blank, so that "reins: " in a string is not an instruction.
var instruction = regexp.MustCompile(`(?:^|\s)(?://[/!]?|#+|--|;+|%+|/\*+|<!--|\{#|\{/\*|\(\*|^\s*\*|^\s*(?:REM|rem|')) *reins: +(\S.*)$`)

// closing are the ends of comments.
var closing = []string{"*/}", "*/", "-->", "#}", "*)"}

// Comments returns the instructions in a text. A text that is not UTF-8 has none.
func Comments(text []byte) (list []Comment) {
	if !bytes.Contains(text, []byte("reins: ")) || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		m := instruction.FindStringSubmatch(strings.TrimRight(line, " \t\r\n"))
		if m == nil {
			continue
		}
		said := m[1]
		for _, end := range closing {
			said = strings.TrimSpace(strings.TrimSuffix(said, end))
		}
		if said != "" && len(said) <= maxText {
			list = append(list, Comment{n, said})
		}
	}
	return list
}

// In returns the instructions in a file of the tree. A file that is large, or cannot be read, has none.
func (t *Tree) In(path string) []Comment {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	name := filepath.FromSlash(path)
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil || len(text) > maxFile {
		return nil
	}
	return Comments(text)
}

// Known are the instructions that a tree has, by file.
type Known map[string][]Comment

// Update reads files again.
func (k Known) Update(t *Tree, paths []string) {
	for _, p := range paths {
		if list := t.In(p); len(list) > 0 {
			k[p] = list
		} else {
			delete(k, p)
		}
	}
}

// Clone returns a copy.
func (k Known) Clone() Known {
	c := make(Known, len(k))
	for p, list := range k {
		c[p] = list
	}
	return c
}

// Added lists a file's new instructions. An instruction that only moved, within the file or from another
// file, is not new.
func (k Known) Added(before Known, path string) (list []Comment) {
	for _, c := range k[path] {
		same := func(o Comment) bool { return o.Text == c.Text }
		if count(k[path], same) > count(before[path], same) && k.total(same) > before.total(same) && !slices.ContainsFunc(list, same) {
			list = append(list, c)
		}
	}
	return list
}

func (k Known) total(match func(Comment) bool) (n int) {
	for _, list := range k {
		n += count(list, match)
	}
	return n
}

func count(list []Comment, match func(Comment) bool) (n int) {
	for _, c := range list {
		if match(c) {
			n++
		}
	}
	return n
}
