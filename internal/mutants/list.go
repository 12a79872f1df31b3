package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A mutant is one code change that the tests should notice.
type mutant struct {
	name     string
	pkg      string  // directory of the package it changes, relative to the module root
	tests    []tests // which should notice it
	old, new string
	survives string // why no test can notice it
}

// tests are the tests of one package, or those whose names match a pattern.
type tests struct{ pkg, run string }

// parse reads a list of mutants. mutants.txt describes the format.
func parse(list string) ([]*mutant, error) {
	var all []*mutant
	var errs []error
	for i, line := range strings.Split(list, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if name, ok := strings.CutPrefix(line, "mutant "); ok {
			all = append(all, &mutant{name: strings.TrimSpace(name)})
			continue
		}
		err := errors.New("the list must begin with a mutant")
		if len(all) > 0 {
			err = all[len(all)-1].add(line)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", i+1, err))
		}
	}
	seen := map[string]bool{}
	for _, m := range all {
		if m.pkg == "" || m.old == "" || len(m.tests) == 0 || seen[m.name] {
			errs = append(errs, fmt.Errorf("mutant %s: needs a package, tests, old text and a name that no other mutant has", m.name))
		}
		seen[m.name] = true
	}
	return all, errors.Join(errs...)
}

// add adds a line from the mutant's description.
func (m *mutant) add(line string) error {
	switch line[0] {
	case '-':
		m.old = joinLines(m.old, line[1:])
		return nil
	case '+':
		m.new = joinLines(m.new, line[1:])
		return nil
	}
	key, value, _ := strings.Cut(line, " ")
	value = strings.TrimSpace(value)
	switch key {
	case "in":
		m.pkg = value
	case "tests":
		pkg, run, _ := strings.Cut(value, " ")
		m.tests = append(m.tests, tests{pkg, strings.TrimSpace(run)})
	case "survives":
		m.survives = value
	default:
		return fmt.Errorf("unknown field %q", key)
	}
	return nil
}

func joinLines(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

// in reports whether the mutant changes a package, such as ./agent or ./agent/....
func (m *mutant) in(pkg string) bool {
	if below, ok := strings.CutSuffix(pkg, "/..."); ok {
		return below == "." || strings.HasPrefix(m.pkg+"/", path.Clean(below)+"/")
	}
	return pkg == "" || m.pkg == path.Clean(pkg)
}

// apply returns the file that the mutant changes, relative to the root, and its new content.
func (m *mutant) apply(root string) (file string, changed []byte, err error) {
	files, err := filepath.Glob(filepath.Join(root, m.pkg, "*.go"))
	if err != nil {
		return "", nil, err
	}
	places := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return "", nil, err
		}
		if n := strings.Count(string(text), m.old); n > 0 {
			places += n
			file, changed = name, []byte(strings.Replace(string(text), m.old, m.new, 1))
		}
	}
	if places != 1 {
		return "", nil, fmt.Errorf("the old text occurs %d times in %s, not once", places, m.pkg)
	}
	return file, changed, nil
}
