package event

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// switches lists the functions in this repository that handle each kind in a switch.
const switches = "testdata/switches.txt"

// TestKinds_EverySwitchIsReviewedForANewKind compares the switches over Data and Kind in this repository with
// switches.txt. With -update it rewrites the lines for known kinds. The line for a new kind is written by hand, after
// its author has decided for each switch whether it must handle the kind.
func TestKinds_EverySwitchIsReviewedForANewKind(t *testing.T) {
	got, funcs := findSwitches(t)
	want := readSwitches(t)
	for _, kind := range slices.Sorted(maps.Keys(dataTypes)) {
		handlers, known := want[kind]
		switch {
		case !known:
			t.Errorf("%s has no line in %s. Decide for each of these functions whether it must handle the kind, then add the line %q:\n\t%s",
				kind, switches, line(kind, got[kind]), strings.Join(slices.Sorted(maps.Keys(funcs)), "\n\t"))
		case *update:
			want[kind] = got[kind]
		case !slices.Equal(handlers, got[kind]):
			t.Errorf("%s is handled by\n\t%s\nand %s lists\n\t%s\nIf that is intended, run: go test ./event -run Kinds -update",
				kind, strings.Join(got[kind], "\n\t"), switches, strings.Join(handlers, "\n\t"))
		}
	}
	for kind := range want {
		if _, known := dataTypes[kind]; !known {
			t.Errorf("%s lists %s, which is not a kind", switches, kind)
		}
	}
	if *update {
		var b strings.Builder
		for _, kind := range slices.Sorted(maps.Keys(want)) {
			b.WriteString(line(kind, want[kind]) + "\n")
		}
		if err := os.WriteFile(switches, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func line(kind Kind, handlers []string) string {
	return strings.TrimSpace(string(kind) + ": " + strings.Join(handlers, " "))
}

func readSwitches(t *testing.T) map[Kind][]string {
	t.Helper()
	b, err := os.ReadFile(switches)
	if err != nil {
		t.Fatal(err)
	}
	out := map[Kind][]string{}
	for l := range strings.Lines(string(b)) {
		kind, handlers, _ := strings.Cut(strings.TrimSpace(l), ":")
		out[Kind(kind)] = strings.Fields(handlers)
	}
	return out
}

// kindNames maps type and constant names to kinds. Every constant needs a type, and every type an example in
// docs_test.go.
func kindNames(t *testing.T, files map[string]*ast.File) map[string]Kind {
	t.Helper()
	names := map[string]Kind{}
	for name, f := range files {
		if path.Dir(name) != "event" {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 && strings.HasPrefix(spec.Names[0].Name, "Kind") {
				if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
					value, _ := strconv.Unquote(lit.Value)
					names[spec.Names[0].Name] = Kind(value)
				}
			}
			return true
		})
	}
	documented := map[Kind]string{}
	for _, s := range sections() {
		documented[s.data.kind()] = strings.TrimPrefix(fmt.Sprintf("%T", s.data), "event.")
	}
	for name, kind := range maps.Clone(names) {
		if _, ok := dataTypes[kind]; !ok || documented[kind] == "" {
			t.Fatalf("%s must be in dataTypes, with an example in docs_test.go", name)
		}
		names[documented[kind]] = kind
	}
	if len(documented) != len(dataTypes) || len(dataTypes) == 0 {
		t.Fatalf("%d kinds have an example and %d a type", len(documented), len(dataTypes))
	}
	return names
}

// findSwitches returns the functions with a case for each kind, and all functions with such a switch.
func findSwitches(t *testing.T) (map[Kind][]string, map[string]bool) {
	t.Helper()
	files := parseRepository(t)
	names := kindNames(t, files)
	found, funcs := map[Kind]map[string]bool{}, map[string]bool{}
	for name, f := range files {
		dir := path.Dir(name)
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if clause, ok := n.(*ast.CaseClause); ok {
					for _, e := range clause.List {
						if kind, ok := names[identifier(dir, e)]; ok {
							if found[kind] == nil {
								found[kind] = map[string]bool{}
							}
							found[kind][funcName(dir, fn)] = true
							funcs[funcName(dir, fn)] = true
						}
					}
				}
				return true
			})
		}
	}
	got := map[Kind][]string{}
	for kind, handlers := range found {
		got[kind] = slices.Sorted(maps.Keys(handlers))
	}
	return got, funcs
}

// identifier returns the name that e has in package event, or "".
func identifier(dir string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		if dir == "event" {
			return e.Name
		}
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && x.Name == "event" {
			return e.Sel.Name
		}
	}
	return ""
}

func funcName(dir string, fn *ast.FuncDecl) string {
	name := fn.Name.Name
	if fn.Recv != nil {
		recv := fn.Recv.List[0].Type
		if star, ok := recv.(*ast.StarExpr); ok {
			recv = star.X
		}
		if id, ok := recv.(*ast.Ident); ok {
			name = id.Name + "." + name
		}
	}
	return dir + "." + name
}

// parseRepository parses all files but tests, by their slash-separated paths from the root.
func parseRepository(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel("..", file)
		switch name = filepath.ToSlash(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.ContainsAny(d.Name()[:1], "._") || d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files[name], err = parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
