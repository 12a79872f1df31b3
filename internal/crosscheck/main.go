// Command crosscheck type-checks the module and its tests for other operating systems. It reads everything from source,
// including the standard library, which takes seconds. go vet would first compile all of it for each system.
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

// pkg is a package as go list reports it.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	Module     *struct{ Main bool }
}

// check type-checks all packages for a system and returns the errors in this module.
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
		// go test generates the .test packages.
		if p.ImportPath != "unsafe" && !strings.HasSuffix(p.ImportPath, ".test") {
			problems = append(problems, c.check(p)...)
		}
	}
	if err := list.Wait(); err != nil {
		problems = append(problems, err)
	}
	return problems
}

// checker holds the packages checked so far. Imported packages come first.
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
	path, _, _ := strings.Cut(p.ImportPath, " ") // without the test that it is built for
	c.done[p.ImportPath], _ = config.Check(path, c.files, files, nil)
	return problems
}

// imports resolves a package's imports.
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
	return nil, errors.New("package " + path + " not found")
}
