package skill

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/realpath"
)

// Severities, highest first.
const (
	Critical = "CRITICAL" // the skill cannot be found or used
	High     = "HIGH"     // it does not work in every agent
	Medium   = "MEDIUM"
	Low      = "LOW"
)

// Report is the result of [Lint] for one skill.
type Report struct {
	Path string `json:"path"` // the directory
	// Valid reports whether the format's reference validator accepts the skill.
	Valid    bool      `json:"valid"`
	Findings []Finding `json:"findings"`
	// Properties are the loaded fields; nil if the skill cannot be loaded.
	Properties map[string]any `json:"properties"`
}

// Finding is a mistake in a skill.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	File     string `json:"file"` // relative to the skill, with slashes
	Line     int    `json:"line"` // counted from 1
	Message  string `json:"message"`
}

// Serious reports whether there is a HIGH or CRITICAL finding.
func (r Report) Serious() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == High || f.Severity == Critical })
}

// Lint checks a skill, or all skills below a directory. A directory without skills is reported as a skill without
// SKILL.md.
func Lint(path string) ([]Report, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if !strings.EqualFold(filepath.Base(path), fileName) {
			return nil, fmt.Errorf("%s is neither a directory nor a %s", path, fileName)
		}
		path = filepath.Dir(path)
	}
	dirs, err := skillDirs(path)
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		dirs = []string{path}
	}
	var reports []Report
	for _, dir := range dirs {
		r, err := lint(dir)
		if err != nil {
			return reports, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// skillDirs lists the directories with a SKILL.md, including directories in other skills.
func skillDirs(path string) (dirs []string, err error) {
	err = filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && file != path && skipped(e.Name()):
			return fs.SkipDir
		case !e.IsDir() && strings.EqualFold(e.Name(), fileName) && !slices.Contains(dirs, filepath.Dir(file)):
			dirs = append(dirs, filepath.Dir(file))
		}
		return nil
	})
	return dirs, err
}

// linter checks one skill.
type linter struct {
	root    *os.Root
	dir     string // real path
	bounds  bounds
	names   []string          // all file names
	texts   map[string]string // contents of the checked files
	reports []Finding
}

func lint(dir string) (Report, error) {
	r := Report{Path: dir, Findings: []Finding{}}
	real, err := realpath.Dir(dir)
	if err != nil {
		return r, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return r, err
	}
	defer root.Close()
	l := &linter{root: root, dir: real, bounds: around(real), texts: map[string]string{}}
	main, content, err := readMain(root, readRaw)
	if err != nil {
		l.add("SKILL-01", Critical, fileName, 1, "%v", err)
	} else {
		r.Valid = l.format(main, content)
		l.quality(main, content)
	}
	l.collect(main)
	l.all()
	if s, err := load(real, l.bounds); err != nil {
		if !slices.ContainsFunc(l.reports, func(f Finding) bool { return f.Severity == Critical }) {
			l.add("LOAD-01", Critical, cmp.Or(main, fileName), 1, "the skill cannot be loaded: %v", err)
		}
	} else {
		r.Properties = s.properties()
	}
	r.Findings = append(r.Findings, l.reports...)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(severities[a.Severity], severities[b.Severity]), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return r, nil
}

var severities = map[string]int{Critical: 0, High: 1, Medium: 2, Low: 3}

func (l *linter) add(rule, severity, file string, line int, format string, args ...any) {
	l.reports = append(l.reports, Finding{rule, severity, file, max(line, 1), fmt.Sprintf(format, args...)})
}

// properties returns the fields by their frontmatter names.
func (s *Skill) properties() map[string]any {
	p := map[string]any{"name": s.Name, "description": s.Description}
	for name, text := range map[string]string{
		"license": s.License, "compatibility": s.Compatibility, "allowed-tools": s.allowedTools, "argument-hint": s.ArgumentHint,
		"when-to-use": s.WhenToUse, "model": s.Model, "aliases": strings.Join(s.Aliases, ", "),
	} {
		if text != "" {
			p[name] = text
		}
	}
	if len(s.Metadata) > 0 {
		p["metadata"] = s.Metadata
	}
	if !s.UserInvocable {
		p["user-invocable"] = false
	}
	if !s.ModelInvoked {
		p["disable-model-invocation"] = true
	}
	return p
}
