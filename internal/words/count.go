package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Limits, in genitives per 1,000 words.
const (
	maxTotal = 10
	maxFile  = 14
	minWords = 300 // maxFile applies to files with more words
)

var (
	word     = regexp.MustCompile(`[A-Za-z][\w'’-]*`)
	genitive = regexp.MustCompile(`(?i)\bof (an?|the|its|their|this)\b`)
	other    = regexp.MustCompile(
		`(?i)\b(the )?one that\b|\bones\b|\b(those|that) of\b|[^.?!] what (it|the|an?|is|was|they|this|has|had|each|every|no)\b` +
			`|\bthere (is|are) (no|nobody|nothing)\b|\bnobody\b|\bpeople\b|\bsomebody\b|\bworks? too\b|\bsays? so\b`,
	)
)

// count holds a text's figures.
type count struct {
	words     int
	genitives int
	others    int
}

func (c count) rate() float64 {
	return 1000 * float64(c.genitives) / float64(max(c.words, 1))
}

func (c *count) add(d count) {
	c.words += d.words
	c.genitives += d.genitives
	c.others += d.others
}

// file is a measured file.
type file struct {
	count
	path  string
	lines []line
}

func (f file) isGo() bool {
	return strings.HasSuffix(f.path, ".go")
}

// measure counts the words in a file, or in the Go and Markdown files below a directory. It skips test data and hidden
// directories.
func measure(root string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"
		if d.IsDir() {
			if hidden && path != root {
				return filepath.SkipDir
			}
			return nil
		}
		f := file{path: path}
		if !f.isGo() && filepath.Ext(path) != ".md" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if f.isGo() {
			f.lines = comments(src)
		} else {
			f.lines = prose(src)
		}
		f.count = measureText(f.lines)
		files = append(files, f)
		return nil
	})
	return files, err
}

// join returns the lines as one text. A phrase may continue on the next line.
func join(lines []line) []byte {
	var b bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&b, "%s ", strings.TrimSpace(l.text))
	}
	return b.Bytes()
}

func measureText(lines []line) count {
	text := join(lines)
	return count{
		words:     len(word.FindAll(text, -1)),
		genitives: len(genitive.FindAll(text, -1)),
		others:    len(other.FindAll(text, -1)),
	}
}

// list prints the lines with phrases to avoid. A phrase that continues on the next line counts for the first one.
func (f file) list(w io.Writer) {
	for i, l := range f.lines {
		pair := []line{l}
		var rest []line
		if i+1 < len(f.lines) && f.lines[i+1].number == l.number+1 {
			rest = f.lines[i+1 : i+2]
		}
		c, after := measureText(append(pair, rest...)), measureText(rest)
		if c.genitives+c.others > after.genitives+after.others {
			fmt.Fprintf(w, "%s:%d: %s\n", f.path, l.number, strings.TrimSpace(l.text))
		}
	}
}

// worst returns the files sorted by rate, files with few words last.
func worst(files []file) []file {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b file) int {
		if small := a.words <= minWords; small != (b.words <= minWords) {
			if small {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.rate(), a.rate())
	})
	return files
}

func totals(files []file) (comments, docs count) {
	for _, f := range files {
		if f.isGo() {
			comments.add(f.count)
		} else {
			docs.add(f.count)
		}
	}
	return comments, docs
}

// exceeded returns a sentence for each limit that the files exceed.
func exceeded(files []file) []string {
	var problems []string
	fail := func(name string, c count, limit float64) {
		if c.rate() > limit {
			problems = append(problems, fmt.Sprintf(
				"%s: %.1f of 1,000 words are \"of a\", \"of the\", \"of its\" or similar, more than %v: write \"user "+
					"settings\" instead of \"the settings of the user\"",
				name,
				c.rate(),
				limit,
			))
		}
	}
	comments, docs := totals(files)
	fail("all comments", comments, maxTotal)
	fail("all documentation", docs, maxTotal)
	for _, f := range worst(files) {
		if f.words > minWords {
			fail(f.path, f.count, maxFile)
		}
	}
	return problems
}
