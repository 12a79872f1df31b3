package apitext

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// consts lists a declaration's exported constants with their types and values.
func (x *extractor) consts(d *ast.GenDecl) {
	var typ ast.Expr
	var values []ast.Expr
	for i, s := range d.Specs {
		s := s.(*ast.ValueSpec)
		if s.Type != nil || len(s.Values) > 0 {
			typ, values = s.Type, s.Values
		}
		for j, name := range s.Names {
			if name.IsExported() && j < len(values) {
				x.addf("const %s%s = %s", name.Name, x.typeOf(typ), exprString(values[j], strconv.Itoa(i)))
			}
		}
	}
}

// vars lists a declaration's exported variables.
func (x *extractor) vars(d *ast.GenDecl) {
	for _, s := range d.Specs {
		s := s.(*ast.ValueSpec)
		for i, name := range s.Names {
			switch {
			case !name.IsExported():
			case s.Type != nil:
				x.addf("var %s%s", name.Name, x.typeOf(s.Type))
			default:
				x.addf("var %s%s", name.Name, x.initial(s.Values[min(i, len(s.Values)-1)]))
			}
		}
	}
}

func (x *extractor) typeOf(typ ast.Expr) string {
	if typ == nil {
		return ""
	}
	return " " + x.expr(typ)
}

// initial returns the type of a variable's initial value, or the value, after a space.
func (x *extractor) initial(value ast.Expr) string {
	switch v := value.(type) {
	case *ast.CompositeLit:
		return x.typeOf(v.Type)
	case *ast.FuncLit:
		return x.typeOf(v.Type)
	case *ast.UnaryExpr:
		if lit, ok := v.X.(*ast.CompositeLit); ok && v.Op == token.AND {
			return " *" + x.expr(lit.Type)
		}
	case *ast.CallExpr:
		return " = " + exprString(v.Fun, "") + "(" + x.arguments(v.Args) + ")"
	}
	return " = " + exprString(value, "")
}

// arguments returns the types of function literals, which may determine the result's type, and "..." for other
// arguments.
func (x *extractor) arguments(args []ast.Expr) string {
	var texts []string
	for _, a := range args {
		text := "..."
		if f, ok := a.(*ast.FuncLit); ok {
			text = x.expr(f.Type)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
