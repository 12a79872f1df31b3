// Package apitext lists a Go package's exported declarations, one per line, so that an API change shows in a text file.
//
// It reads only syntax. Types appear as written in the source, variables without a type appear with their initial
// value, and parameter names are dropped.
package apitext

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// Lines returns the sorted lines for a package. Unexported types are included if an exported declaration mentions them,
// because other packages can use their exported fields and methods. Lines modifies the syntax trees.
func Lines(files []*ast.File) []string {
	x := &extractor{types: map[string]*ast.TypeSpec{}, methods: map[string][]*ast.FuncDecl{}, queued: map[string]bool{}}
	for _, f := range files {
		x.index(f)
	}
	for _, f := range files {
		for _, d := range f.Decls {
			x.decl(d)
		}
	}
	for len(x.queue) > 0 {
		name := x.queue[0]
		x.queue = x.queue[1:]
		x.namedType(x.types[name])
	}
	slices.Sort(x.lines)
	return slices.Compact(x.lines)
}

type extractor struct {
	types   map[string]*ast.TypeSpec
	methods map[string][]*ast.FuncDecl // by receiver type
	queue   []string                   // types to list
	queued  map[string]bool
	lines   []string
}

// index adds a file's types and methods to the maps.
func (x *extractor) index(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				name := receiverType(d)
				x.methods[name] = append(x.methods[name], d)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					x.types[t.Name.Name] = t
				}
			}
		}
	}
}

// receiverType returns the receiver type's name.
func receiverType(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

func (x *extractor) addf(format string, args ...any) {
	x.lines = append(x.lines, fmt.Sprintf(format, args...))
}

// enqueue adds one of the package's types to the queue once.
func (x *extractor) enqueue(name string) {
	if x.types[name] != nil && !x.queued[name] {
		x.queued[name] = true
		x.queue = append(x.queue, name)
	}
}

// decl lists a package-level declaration. Types are queued; their methods are listed with them.
func (x *extractor) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			x.addf("func %s%s%s", d.Name.Name, x.typeParams(d.Type.TypeParams), x.signature(d.Type))
		}
	case *ast.GenDecl:
		switch d.Tok {
		case token.CONST:
			x.consts(d)
		case token.VAR:
			x.vars(d)
		case token.TYPE:
			for _, s := range d.Specs {
				if t := s.(*ast.TypeSpec); t.Name.IsExported() {
					x.enqueue(t.Name.Name)
				}
			}
		}
	}
}
