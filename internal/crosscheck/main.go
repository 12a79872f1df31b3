// Command crosscheck says whether the module and its tests would compile on other systems. It checks
// the types of everything from source, standard library included, which takes seconds where go vet
// would first compile all of it for each system.
//
//	go run ./internal/crosscheck darwin windows
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	bad := false
	for _, system := range os.Args[1:] {
		for _, err := range check(system) {
			fmt.Fprintf(os.Stderr, "%s: %v\n", system, err)
			bad = true
		}
	}
	if bad {
		os.Exit(1)
	}
}

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	Module     *struct{ Main bool }
}

// check checks all packages for a system, and gives what is wrong with ours.
func check(system string) (problems []error) {
	list := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err == nil {
		err = list.Start()
	}
	if err != nil {
		return []error{err}
	}
	c := checker{files: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	for dec := json.NewDecoder(out); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			problems = append(problems, err)
			break
		}
		// The last is what go test generates to run the tests.
		if p.ImportPath != "unsafe" && !strings.HasSuffix(p.ImportPath, ".test") {
			problems = append(problems, c.check(p)...)
		}
	}
	if err := list.Wait(); err != nil {
		problems = append(problems, err)
	}
	return problems
}

// checker keeps the packages that were checked; they come after those that they import.
type checker struct {
	files *token.FileSet
	done  map[string]*types.Package
}

func (c *checker) check(p pkg) (problems []error) {
	ours := p.Module != nil && p.Module.Main
	var files []*ast.File
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		f, err := parser.ParseFile(c.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		files = append(files, f)
	}
	config := types.Config{
		IgnoreFuncBodies: !ours, Importer: imports{c.done, p.ImportMap}, Sizes: types.SizesFor("gc", "amd64"),
		Error: func(err error) {
			if ours {
				problems = append(problems, err)
			}
		},
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // behind it stands the test it is for
	c.done[p.ImportPath], _ = config.Check(path, c.files, files, nil)
	return problems
}

// imports finds what a package imports.
type imports struct {
	done map[string]*types.Package
	as   map[string]string
}

func (i imports) Import(path string) (*types.Package, error) {
	if other, ok := i.as[path]; ok {
		path = other
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("there is no package " + path)
}
