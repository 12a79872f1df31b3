package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A mutant is one change of the code that the tests should notice.
type mutant struct {
	name     string
	file     string  // relative to the module's root
	tests    []tests // which should notice it
	old, new string
	survives string // why no test can notice it
}

// tests are those of one package, or of them those that match a pattern.
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
		if m.file == "" || m.old == "" || len(m.tests) == 0 || seen[m.name] {
			errs = append(errs, fmt.Errorf("mutant %s: needs a file, tests, old text and a name that no other mutant has", m.name))
		}
		seen[m.name] = true
	}
	return all, errors.Join(errs...)
}

// add adds what one line says about the mutant.
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
	case "file":
		m.file = value
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

// in reports whether the mutant changes a file of a package, such as ./agent or ./agent/....
func (m *mutant) in(pkg string) bool {
	dir := "./" + path.Dir(m.file)
	if below, ok := strings.CutSuffix(pkg, "/..."); ok {
		return dir == below || strings.HasPrefix(dir, below+"/")
	}
	return pkg == "" || dir == "./"+path.Clean(pkg)
}

// apply returns the file as the mutant changes it.
func (m *mutant) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return nil, fmt.Errorf("the old text occurs %d times in %s, not once", n, m.file)
	}
	return []byte(strings.Replace(string(text), m.old, m.new, 1)), nil
}
