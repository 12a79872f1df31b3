// Package gitconfig parses the configuration files of git.
package gitconfig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Setting is a value in a configuration file.
type Setting struct {
	Section, Sub, Name string // Section and Name are in lower case
	Value              string
	Alone              bool // without "=", which means true
}

// Key returns the section and the name, as in "core.pager".
func (s Setting) Key() string { return s.Section + "." + s.Name }

// Full returns the name as git prints it.
func (s Setting) Full() string {
	switch {
	case s.Section == "" && s.Sub == "":
		return s.Name
	case s.Sub == "":
		return s.Key()
	}
	return s.Section + "." + s.Sub + "." + s.Name
}

// scanner reads a configuration file as git does. After the end it returns newlines.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) next() byte {
	s.pos++
	if s.pos > len(s.data) {
		return '\n'
	}
	return s.data[s.pos-1]
}

func (s *scanner) eof() bool { return s.pos > len(s.data) }

// Parse returns the settings in a configuration file. It accepts the same files as git, except for NUL bytes.
func Parse(data []byte) ([]Setting, error) {
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, errors.New("it contains a NUL byte")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	s := &scanner{data: bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))}
	var list []Setting
	base := ""
	for {
		c := s.next()
		ok := true
		switch {
		case c == '\n' && s.eof():
			return list, nil
		case space(c):
		case c == '#' || c == ';':
			for s.next() != '\n' {
			}
		case c == '[':
			base, ok = s.header()
		case letter(c):
			var e Setting
			e, ok = s.entry(base, c)
			list = append(list, e)
		default:
			ok = false
		}
		if !ok {
			line := 1 + bytes.Count(s.data[:min(s.pos-1, len(s.data))], []byte("\n"))
			return nil, fmt.Errorf("line %d cannot be parsed", line)
		}
	}
}

// header reads the rest of a section header.
func (s *scanner) header() (base string, ok bool) {
	var b strings.Builder
	for {
		c := s.next()
		switch {
		case s.eof():
			return "", false
		case c == ']':
			return b.String(), b.Len() > 0
		case space(c):
			return s.subsection(b.String(), c)
		case !keyChar(c) && c != '.':
			return "", false
		}
		b.WriteByte(lower(c))
	}
}

// subsection reads the quoted part of a section header.
func (s *scanner) subsection(section string, c byte) (base string, ok bool) {
	for ; space(c); c = s.next() {
		if c == '\n' {
			return "", false
		}
	}
	if c != '"' {
		return "", false
	}
	b := []byte(section + ".")
	for {
		c := s.next()
		if c == '"' {
			return string(b), s.next() == ']'
		}
		if c == '\\' {
			c = s.next()
		}
		if c == '\n' {
			return "", false
		}
		b = append(b, c)
	}
}

// entry reads a setting that starts with c.
func (s *scanner) entry(base string, c byte) (e Setting, ok bool) {
	name := []byte{lower(c)}
	for c = s.next(); keyChar(c); c = s.next() {
		name = append(name, lower(c))
	}
	e.Name = string(name)
	e.Section, e.Sub, _ = strings.Cut(base, ".")
	for c == ' ' || c == '\t' {
		c = s.next()
	}
	switch c {
	case '\n':
		e.Alone = true
		return e, true
	case '=':
		e.Value, ok = s.text()
		return e, ok
	}
	return e, false
}

// text reads a value.
func (s *scanner) text() (value string, ok bool) {
	var b []byte
	quoted, trim := false, -1
	for {
		c := s.next()
		switch {
		case c == '\n':
			if trim >= 0 {
				b = b[:trim]
			}
			return string(b), !quoted
		case space(c) && !quoted:
			if trim < 0 {
				trim = len(b)
			}
			if len(b) > 0 {
				b = append(b, c)
			}
			continue
		case (c == '#' || c == ';') && !quoted:
			for s.next() != '\n' {
			}
			s.pos--
			continue
		}
		trim = -1
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			c = s.next()
			i := strings.IndexByte("\ntbn\\\"", c)
			if i < 0 {
				return "", false
			}
			if i > 0 {
				b = append(b, "\t\b\n\\\""[i-1])
			}
		default:
			b = append(b, c)
		}
	}
}

func space(c byte) bool   { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func letter(c byte) bool  { return 'a' <= lower(c) && lower(c) <= 'z' }
func keyChar(c byte) bool { return letter(c) || '0' <= c && c <= '9' || c == '-' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
