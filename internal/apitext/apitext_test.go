package apitext

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

func lines(t *testing.T, sources ...string) []string {
	t.Helper()
	var files []*ast.File
	for _, src := range sources {
		f, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n"+src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return Lines(files)
}

func TestLines_ListsEveryDeclarationKind(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"functions without parameter names", "func F(a, b int, c ...string) (n int, err error)", "func F(int, int, ...string) (int, error)"},
		{"functions as parameters", "func F(f func(name string) (ok bool))", "func F(func(string) bool)"},
		{"generic functions", "func F[K comparable, V any](m map[K]V) V", "func F[K comparable, V any](map[K]V) V"},
		{"nothing unexported", "func f()\nvar v int\nconst c = 1\ntype t int\nfunc (t) M()", ""},
		{"typed constants", `const A, b string = "x", "y"`, `const A string = "x"`},
		{"values of iota", "const (\nA int = 1 << iota\n_\nB\n)", "const A int = 1 << 0\nconst B int = 1 << 2"},
		{"multi-line strings", "const A = `x\ny`", `const A = "x\ny"`},
		{"variables with types", "var A, B int", "var A int\nvar B int"},
		{"errors without their texts", `var ErrA = errors.New("a")`, "var ErrA = errors.New(...)"},
		{"function literals that determine a type", "var A = sync.OnceValue(func() *b.B { return nil })", "var A = sync.OnceValue(func() *b.B)"},
		{"types of literals", "type T struct{}\nvar A = &T{}\nvar B = []string{`b`}\nvar C = func(i int) {}",
			"type T struct\nvar A *T\nvar B []string\nvar C func(int)"},
		{"fields with tags", "type T struct {\nA, B int\nC string `json:\"c\"`\nd int\nio.Reader\n}",
			"type T struct\ntype T struct, A int\ntype T struct, B int\ntype T struct, C string `json:\"c\"`\ntype T struct, embedded io.Reader"},
		{"methods", "type T[E any] []E\nfunc (t *T[E]) Add(e E)\nfunc (T[E]) Len() int\nfunc (T[E]) m()",
			"method (*T[E]) Add(E)\nmethod (T[E]) Len() int\ntype T[E any] []E"},
		{"interfaces", "type I interface {\nM(x int) error\nm()\nfmt.Stringer\n}",
			"type I interface\ntype I interface, M(int) error\ntype I interface, embedded fmt.Stringer\ntype I interface, unexported m"},
		{"aliases", "type A = b.B", "type A = b.B"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(lines(t, test.source), "\n"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestLines_ListsReachableUnexportedTypes(t *testing.T) {
	got := lines(t, "type T struct{ base }\nfunc New() *hidden", "type base struct{}\nfunc (base) Close() error", "type hidden struct{ A int; k kind }\ntype kind int")
	want := []string{
		"func New() *hidden",
		"method (base) Close() error",
		"type T struct",
		"type T struct, embedded base",
		"type base struct",
		"type hidden struct",
		"type hidden struct, A int",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
