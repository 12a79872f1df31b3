package main

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
)

// A line is one line of prose.
type line struct {
	number int
	text   string
}

// comments returns the comments in Go source, without directives and without code examples.
func comments(src []byte) []line {
	var lines []line
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok != token.COMMENT {
			continue
		}
		for i, l := range strings.Split(text, "\n") {
			l = strings.TrimPrefix(l, "//")
			if isProse(l) {
				lines = append(lines, line{file.Line(pos) + i, l})
			}
		}
	}
}

var directive = regexp.MustCompile(`^(\t|\+build |[a-z]+:[a-z])`)

// isProse reports whether a comment line is neither a directive nor part of an example.
func isProse(comment string) bool {
	return !directive.MatchString(comment)
}

var (
	codeSpan   = regexp.MustCompile("`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)|<https?:[^>]*>`)
	flagRow    = regexp.MustCompile("^\\| *`-")
)

// prose returns a Markdown file's text without code, link targets and tables of flags.
func prose(src []byte) []line {
	var lines []line
	fenced := false
	for i, l := range strings.Split(string(src), "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(l, "    ") || flagRow.MatchString(l) {
			continue
		}
		l = codeSpan.ReplaceAllString(l, "code")
		lines = append(lines, line{i + 1, linkTarget.ReplaceAllString(l, "]")})
	}
	return lines
}
