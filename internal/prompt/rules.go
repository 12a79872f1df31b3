package prompt

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	maxRules = 50  // in one directory
	maxAbout = 300 // bytes of a rule description
)

// rule is a file with rules for Cursor or Copilot.
type rule struct {
	Doc
	always bool     // it applies to everything
	globs  []string // files below dir that it applies to
	dir    string   // relative to the root
	about  string   // when it is relevant
}

// rules returns the rules in a directory: Cursor rules and, in the project root, Copilot rules.
func (f *docFinder) rules(dir string) (list []rule) {
	cursor, _ := f.rule(f.paths.Join(dir, ".cursorrules"))
	cursor.always = true
	list = append(list, cursor)
	list = append(list, f.rulesIn(dir, ".cursor/rules", ".mdc")...)
	if _, err := f.files.Lstat(f.ctx, f.paths.Join(dir, ".github")); err == nil && dir == f.root {
		copilot, _ := f.rule(f.paths.Join(dir, ".github", "copilot-instructions.md"))
		copilot.always = true
		list = append(list, copilot)
		list = append(list, f.rulesIn(dir, ".github/instructions", ".instructions.md")...)
	}
	return slices.DeleteFunc(list, func(r rule) bool { return r.Text == "" })
}

// rulesIn returns the rules in a directory's files with this extension.
func (f *docFinder) rulesIn(dir, below, ext string) (list []rule) {
	full := f.paths.Join(dir, below)
	if _, err := f.files.Lstat(f.ctx, full); err != nil {
		return nil
	}
	entries, err := f.files.ReadDir(f.ctx, full)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name, ext) {
			continue
		}
		if len(list) == maxRules {
			f.docs.limits = append(f.docs.limits, f.shown(full)+" has more than 50 rules; the others are ignored")
			break
		}
		if r, ok := f.rule(f.paths.Join(full, e.Name)); ok {
			if r.dir = f.shown(dir); r.dir == "." {
				r.dir = ""
			}
			list = append(list, r)
		}
	}
	return list
}

// rule reads a file with a rule. It does not count against the budget until the rule applies.
func (f *docFinder) rule(p string) (r rule, ok bool) {
	if _, err := f.files.Lstat(f.ctx, p); err != nil {
		return r, false
	}
	left := f.budget
	f.budget = docBudget
	doc, more, ok := f.open(p)
	f.budget = left
	if !ok || more {
		if more {
			f.docs.limits = append(f.docs.limits, doc.Path+" was not read: it is larger than 32 KiB")
		}
		return r, false
	}
	r = rule{Doc: doc}
	r.parse()
	return r, true
}

// parse reads the frontmatter and removes it from the text. It is almost YAML: patterns need no quotes.
func (r *rule) parse() {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(r.Text, "\r\n", "\n"), "---\n")
	head, body, closed := strings.Cut(rest, "\n---")
	if strings.HasPrefix(rest, "---") {
		head = ""
		body = rest[3:]
		closed = true
	}
	if !ok || !closed {
		return
	}
	r.Text = strings.TrimSpace(body)
	key := ""
	for line := range strings.SplitSeq(head, "\n") {
		value, item := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !item {
			k, v, _ := strings.Cut(line, ":")
			key, value = strings.TrimSpace(k), v
		}
		r.set(key, unquote(value))
	}
}

func (r *rule) set(key, value string) {
	switch key {
	case "alwaysApply":
		r.always = r.always || value == "true"
	case "description":
		r.about = value
	case "globs", "applyTo":
		for _, glob := range splitGlobs(strings.Trim(value, "[]")) {
			r.globs = append(r.globs, glob)
			r.always = r.always || key == "applyTo" && slices.Contains([]string{"*", "**", "**/*"}, glob)
		}
	}
}

// splitGlobs splits patterns at commas outside of braces.
func splitGlobs(text string) (globs []string) {
	depth := 0
	for _, g := range strings.FieldsFunc(text, func(c rune) bool {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		}
		return c == ',' && depth == 0
	}) {
		if g = unquote(g); g != "" {
			globs = append(globs, g)
		}
	}
	return globs
}

func unquote(s string) string { return strings.Trim(strings.TrimSpace(s), "\"'") }

// applies reports whether the rule applies to a file, by its path relative to the root. A pattern without a slash
// matches files with this name in all directories.
func (r rule) applies(file string) bool {
	if r.dir != "" {
		below, ok := strings.CutPrefix(file, r.dir+"/")
		if !ok {
			return false
		}
		file = below
	}
	return slices.ContainsFunc(r.globs, func(glob string) bool {
		glob = strings.TrimPrefix(glob, "/")
		if !strings.Contains(glob, "/") {
			glob = "**/" + glob
		}
		ok, err := doublestar.Match(glob, file)
		return ok && err == nil
	})
}
