package skill

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/hidden"
	"github.com/reins-agent/reins/internal/lazy"
)

// format checks the format rules and reports whether the skill is valid.
func (l *linter) format(main, content string) bool {
	d, _ := parse(content)
	list := validate(content, filepath.Base(l.dir))
	for _, v := range list {
		l.add(v.rule, v.severity, main, d.fields[v.field].line, "%s", v.message)
	}
	// If the frontmatter cannot be parsed, validate does not report the other mistakes.
	if len(list) == 1 && list[0].rule == "FORMAT-01" {
		if d.text("name") == "" {
			l.add("SKILL-02", Critical, main, 1, "name is missing or empty")
		}
		if d.text("description") == "" {
			l.add("SKILL-03", Critical, main, 1, "description is missing or empty")
		}
	}
	return len(list) == 0
}

var trigger = lazy.Regexp(`(?i)\buse\s+(this\s+(skill\s+)?)?(when|if)\b|\bwhen\s+to\s+use\b`)

// quality checks rules beyond the format.
func (l *linter) quality(main, content string) {
	if main != fileName {
		l.add("SKILL-01", High, main, 1, "some agents find only %s; rename the file", fileName)
	}
	d, err := parse(content)
	if err != nil {
		return
	}
	description := d.text("description")
	if description != "" && !trigger().MatchString(description) && d.extension("when-to-use", "when_to_use") == "" &&
		!strings.HasPrefix(strings.ToLower(strings.TrimSpace(description)), "deprecated") {
		l.add(
			"SKILL-06",
			Medium,
			main,
			d.fields["description"].line,
			`description does not say when to use the skill; add a sentence that begins with "Use when"`,
		)
	}
	if d.body == "" {
		l.add("SKILL-07", High, main, d.line, "there are no instructions after the frontmatter")
	}
}

// collect reads the files to check, and reports links that leave the skill.
func (l *linter) collect(main string) {
	err := fs.WalkDir(l.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && skipped(e.Name()), e.IsDir() && name != "." && l.isSkill(name):
			return fs.SkipDir
		case e.IsDir():
			return nil
		case len(l.names) == maxFiles:
			l.add("FILE-02", High, name, 1, "the skill has more than %d files", maxFiles)
			return fs.SkipAll
		}
		l.names = append(l.names, name)
		info, err := l.root.Stat(name)
		switch {
		case err != nil:
			l.add("LINK-01", Critical, name, 1, "the symbolic link leaves the skill or is broken; replace it with a file")
		case !info.Mode().IsRegular():
			l.add("FILE-01", High, name, 1, "this is not a regular file")
		case slices.Contains([]string{".md", ".yaml", ".yml"}, path.Ext(name)):
			l.text(name, name == main)
		}
		return nil
	})
	if err != nil {
		l.add("FILE-01", High, ".", 1, "the files cannot be listed: %v", err)
	}
}

// isSkill reports whether a subdirectory is itself a skill.
func (l *linter) isSkill(dir string) bool {
	_, err := l.root.Stat(dir + "/" + fileName)
	return err == nil
}

// text reads a text file.
func (l *linter) text(name string, main bool) {
	severity := Medium
	if main {
		severity = Critical
	}
	text, err := readRaw(l.root, name)
	switch {
	case err != nil:
		l.add("FILE-02", severity, name, 1, "%v", err)
		return
	case !utf8.ValidString(text):
		l.add("FILE-01", severity, name, 1, "the file is not UTF-8 text")
		return
	}
	l.texts[name] = strings.ReplaceAll(text, "\r\n", "\n")
	if r := hidden.Find(text); r != nil {
		l.add("TEXT-01", Critical, name, r.Line, "the file contains invisible characters: %s", r)
	}
}

var (
	installed = lazy.Regexp(`(?i)\binstall(ed|ation)?[_-]path\b`)
	estimates = lazy.Regexp(
		`(?i:takes?\s+(about\s+|around\s+|~\s*)?\d+\s*(-\s*\d+\s*)?(sec|min|hour)|~\s*\d+\s*(min|hour)|estimated\s+time)|\bETA\b`,
	)
	absolute = lazy.Regexp(`(?:^|[\s"'(=:\x60])(/Users/[\w.-]+|/home/[\w.-]+|[A-Z]:\\+\w)`)
	stepName = lazy.Regexp(`^step-\d{2}[a-z]?-[a-z0-9-]+\.md$`)
)

// all applies the rules for every file.
func (l *linter) all() {
	for _, name := range l.names {
		text, ok := l.texts[name]
		if !ok {
			continue
		}
		l.lines(name, text)
		if path.Ext(name) == ".md" {
			l.markdown(name, text)
		}
	}
	l.steps()
}

// lines applies the rules for single lines outside code blocks.
func (l *linter) lines(name, text string) {
	for i, line := range proseLines(text) {
		if !suspicious(line) { // most lines
			continue
		}
		switch {
		case installed().MatchString(line):
			l.add("PATH-02", High, name, i+1, "this depends on where the skill is installed; use relative paths")
		case absolute().MatchString(line):
			l.add(
				"PATH-03",
				High,
				name,
				i+1,
				"%s exists only on one machine; use relative paths",
				strings.TrimSpace(absolute().FindStringSubmatch(line)[1]),
			)
		}
		if m := estimates().FindString(line); m != "" {
			l.add("SEQ-02", Low, name, i+1, "%q estimates a duration, which depends on the model", m)
		}
	}
}

// suspicious reports whether a line may break a rule. It is much faster than the regular expressions.
func suspicious(line string) bool {
	lower := strings.ToLower(line)
	return slices.ContainsFunc(
		[]string{"install", "/users/", "/home/", `:\`, "min", "sec", "hour", "estimated", "eta"},
		func(s string) bool { return strings.Contains(lower, s) },
	)
}

// markdown checks the frontmatter and references in a Markdown file.
func (l *linter) markdown(name, text string) {
	if !strings.EqualFold(name, fileName) {
		l.metadata(name, text)
	}
	dir := path.Dir(name)
	for _, r := range references(text, 1) {
		target := path.Join(dir, r.target)
		if why := l.bounds.escape(filepath.Join(l.dir, filepath.FromSlash(dir)), r.target); why != "" {
			l.add("REF-02", Critical, name, r.line, "%s %s", r.target, strings.TrimPrefix(why, "which "))
			continue
		}
		if l.exists(target) || !r.link && l.exists(path.Clean(r.target)) {
			continue
		}
		severity := Medium
		if r.link {
			severity = High
		}
		l.add("REF-01", severity, name, r.line, "%s does not exist", r.target)
	}
}

func (l *linter) exists(name string) bool {
	_, err := os.Stat(filepath.Join(l.dir, filepath.FromSlash(name)))
	return err == nil
}

// metadata checks that only SKILL.md has a name and a description. Templates are exempt.
func (l *linter) metadata(name, text string) {
	top, _, _ := strings.Cut(name, "/")
	d, err := parse(text)
	if err != nil || top == "assets" || top == "templates" || top == "agents" {
		return
	}
	for i, key := range []string{"name", "description"} {
		v, given := d.fields[key]
		switch {
		case !given:
		case top == "steps":
			l.add("STEP-06", Medium, name, v.line, "a step needs no %s; remove it", key)
		default:
			l.add([]string{"WF-01", "WF-02"}[i], High, name, v.line, "only %s has a %s; remove it here", fileName, key)
		}
	}
}

// steps checks a workflow's step files.
func (l *linter) steps() {
	n := 0
	for _, name := range l.names {
		base, ok := strings.CutPrefix(name, "steps/")
		if !ok || path.Ext(base) != ".md" || strings.Contains(base, "/") {
			continue
		}
		if strings.HasPrefix(base, "step-") {
			n++
		}
		if !stepName().MatchString(base) {
			l.add("STEP-01", Medium, name, 1, "the name of a step must have the form step-NN-description.md, in lower case")
		}
	}
	switch {
	case n == 1:
		l.add("STEP-07", Low, "steps", 1, "there is only one step; move it to %s", fileName)
	case n > 10:
		l.add("STEP-07", Low, "steps", 1, "there are %d steps; use at most 10", n)
	}
}
