package apitext

import (
	"go/ast"
	"go/types"
	"strconv"
	"strings"
)

// namedType lists a type with its exported fields and methods.
func (x *extractor) namedType(t *ast.TypeSpec) {
	name := t.Name.Name + x.typeParams(t.TypeParams)
	if t.Assign.IsValid() {
		name += " ="
	}
	switch u := t.Type.(type) {
	case *ast.StructType:
		x.addf("type %s struct", name)
		x.fields(t.Name.Name, u)
	case *ast.InterfaceType:
		x.addf("type %s interface", name)
		x.interfaceMethods(t.Name.Name, u)
	default:
		x.addf("type %s %s", name, x.expr(u))
	}
	for _, m := range x.methods[t.Name.Name] {
		if m.Name.IsExported() {
			x.addf("method (%s) %s%s", x.expr(m.Recv.List[0].Type), m.Name.Name, x.signature(m.Type))
		}
	}
}

// fields lists a struct's exported and embedded fields.
func (x *extractor) fields(name string, s *ast.StructType) {
	for _, f := range s.Fields.List {
		tag := ""
		if f.Tag != nil {
			tag = " " + exprString(f.Tag, "")
		}
		if len(f.Names) == 0 {
			x.addf("type %s struct, embedded %s%s", name, x.expr(f.Type), tag)
		}
		for _, n := range f.Names {
			if n.IsExported() {
				x.addf("type %s struct, %s %s%s", name, n.Name, x.expr(f.Type), tag)
			}
		}
	}
}

// interfaceMethods lists an interface's methods and embedded types. It includes unexported methods, because other
// packages cannot implement an interface with one.
func (x *extractor) interfaceMethods(name string, t *ast.InterfaceType) {
	for _, m := range t.Methods.List {
		sig, isMethod := m.Type.(*ast.FuncType)
		if !isMethod || len(m.Names) == 0 {
			x.addf("type %s interface, embedded %s", name, x.expr(m.Type))
			continue
		}
		if n := m.Names[0]; n.IsExported() {
			x.addf("type %s interface, %s%s", name, n.Name, x.signature(sig))
		} else {
			x.addf("type %s interface, unexported %s", name, n.Name)
		}
	}
}

// signature returns a function's parameters and results, without names.
func (x *extractor) signature(t *ast.FuncType) string {
	return strings.TrimPrefix(x.expr(&ast.FuncType{Params: t.Params, Results: t.Results}), "func")
}

// typeParams returns type parameters in brackets, or "".
func (x *extractor) typeParams(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var params []string
	for _, f := range list.List {
		for _, n := range f.Names {
			params = append(params, n.Name+" "+x.expr(f.Type))
		}
	}
	return "[" + strings.Join(params, ", ") + "]"
}

// expr returns a type's text and queues the types from this package in it.
func (x *extractor) expr(e ast.Expr) string {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			dropNames(n.Params)
			dropNames(n.Results)
		case *ast.SelectorExpr:
			return false // another package's type
		case *ast.Ident:
			x.enqueue(n.Name)
		}
		return true
	})
	return exprString(e, "")
}

// dropNames replaces the fields in a list by fields without names, one per value.
func dropNames(list *ast.FieldList) {
	if list == nil {
		return
	}
	var fields []*ast.Field
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			fields = append(fields, &ast.Field{Type: f.Type})
		}
	}
	list.List = fields
}

// exprString returns e on one line. If iota is not empty, it replaces iota.
func exprString(e ast.Expr, iota string) string {
	var changed []*ast.Ident
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && strings.Contains(n.Value, "\n") {
				n.Value = strconv.Quote(s)
			}
		case *ast.Ident:
			if iota != "" && n.Name == "iota" {
				n.Name = iota
				changed = append(changed, n)
			}
		}
		return true
	})
	text := types.ExprString(e)
	for _, n := range changed {
		n.Name = "iota" // the following constants reuse the expression
	}
	return text
}
