package edit

import "strings"

// A shift translates the old text's indentation to the matched lines'.
type shift struct {
	add, remove string            // if every line differs by the same prefix
	table       map[string]string // otherwise: from old to file, first line first
	unit        string            // spaces in the old text for one tab in the file
}

// indentation compares lines in the old text with the lines they matched. It returns nil if they are indented the same.
func indentation(old, file []string) *shift {
	s := shift{table: map[string]string{}}
	differ := false
	for i, line := range old {
		if i >= len(file) || isEmpty(line) || isEmpty(file[i]) {
			continue
		}
		from, to := indentOf(line), indentOf(file[i])
		differ = differ || from != to
		if _, seen := s.table[from]; !seen {
			s.table[from] = to
		}
		if tabs := len(to); s.unit == "" && tabs > 0 && len(from) > 0 && strings.Trim(to, "\t") == "" && strings.Trim(from, " ") == "" &&
			len(from)%tabs == 0 {
			s.unit = from[:len(from)/tabs]
		}
	}
	if !differ {
		return nil
	}
	s.uniform(old, file)
	return &s
}

// uniform sets add or remove if all lines gained or lost the same prefix.
func (s *shift) uniform(old, file []string) {
	first := true
	var add, remove string
	for i, line := range old {
		if i >= len(file) || isEmpty(line) || isEmpty(file[i]) {
			continue
		}
		from, to := indentOf(line), indentOf(file[i])
		gained, okGained := strings.CutSuffix(to, from)
		lost, okLost := strings.CutSuffix(from, to)
		if !okGained && !okLost {
			return
		}
		if !okGained {
			gained = ""
		}
		if !okLost {
			lost = ""
		}
		if first {
			add = gained
			remove = lost
			first = false
		} else if gained != add || lost != remove {
			return
		}
	}
	s.add, s.remove = add, remove
}

// translate indents lines like the matched lines.
func (s *shift) translate(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		if isEmpty(line) {
			out[i] = line
			continue
		}
		indent := indentOf(line)
		out[i] = s.indent(indent) + line[len(indent):]
	}
	return out
}

func (s *shift) indent(indent string) string {
	switch {
	case s.add != "":
		return s.add + indent
	case s.remove != "":
		return strings.TrimPrefix(indent, s.remove)
	}
	if to, ok := s.table[indent]; ok {
		return to
	}
	for n := len(indent) - 1; n >= 0; n-- {
		if to, ok := s.table[indent[:n]]; ok {
			return to + s.tabs(indent[n:])
		}
	}
	return s.tabs(indent)
}

// tabs replaces spaces with tabs if the file uses tabs.
func (s *shift) tabs(indent string) string {
	if s.unit == "" {
		return indent
	}
	return strings.ReplaceAll(indent, s.unit, "\t")
}

func indentOf(line string) string {
	n := 0
	for n < len(line) && isBlank(line[n]) {
		n++
	}
	return line[:n]
}

func isEmpty(line string) bool { return len(indentOf(line)) == len(line) }
