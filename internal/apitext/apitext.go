// Package apitext lists what a Go package exports, one declaration to a line, so that a change of an API
// shows up as a change of a text file.
//
// It reads syntax only. Types appear as they are written in the source, the type of a variable without one
// is shown by its initial value, and names of parameters are left out.
package apitext

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// Lines returns the sorted lines for a package that consists of files. Unexported types are listed too if
// an exported declaration mentions them, as their exported fields and methods can then be used by others.
// Lines changes the syntax trees of files.
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
	methods map[string][]*ast.FuncDecl // by the name of the receiver's type
	queue   []string                   // types to list
	queued  map[string]bool
	lines   []string
}

// index notes the types and methods of a file, so that they can be looked up by name.
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

// receiverType returns the name of the type that d is a method of.
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

// enqueue has the type with that name listed, if the package declares one.
func (x *extractor) enqueue(name string) {
	if x.types[name] != nil && !x.queued[name] {
		x.queued[name] = true
		x.queue = append(x.queue, name)
	}
}

// decl lists a declaration of package level. Types are queued, and their methods come with them.
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
