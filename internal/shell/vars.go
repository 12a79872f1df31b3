package shell

import (
	_ "embed"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

//go:embed vars.txt
var varsText string

// variables returns the patterns in vars.txt of variables that change what programs do, and of the exceptions.
var variables = sync.OnceValues(func() (code, harmless []string) {
	for line := range strings.Lines(varsText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for name := range strings.FieldsSeq(line) {
			if exception, ok := strings.CutPrefix(name, "!"); ok {
				harmless = append(harmless, exception)
			} else {
				code = append(code, name)
			}
		}
	}
	return code, harmless
})

// isCode reports whether assigning to a variable may run code.
func isCode(name string) bool {
	code, harmless := variables()
	return matchesAny(code, name) && !matchesAny(harmless, name)
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok })
}

// computed are bash variables whose value differs from the assigned value, or whose values are arithmetic.
var computed = strings.Fields("RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME LINENO HISTCMD OPTIND FUNCNAME DIRSTACK GROUPS " +
	"PIPESTATUS UID EUID PPID SHLVL COMP_WORDBREAKS")

// assignable records that the line assigns to a variable.
func (a *analyzer) assignable(name string) {
	switch {
	case isCode(name):
		a.unsafe("it sets %s, which changes what programs do", name)
	case slices.Contains(computed, name):
		a.unsafe("it sets %s, which bash computes", name)
	case !syntax.ValidName(name):
		a.unsafe("it assigns to %s, whose subscript is code", name)
	}
}

// inherited returns the first variable that a program sees and that may change its effect, or "". By convention,
// variables that programs read have names in capitals.
func (a *analyzer) inherited(st *state) string {
	_, harmless := variables()
	for _, name := range slices.Concat(st.env, slices.Sorted(maps.Keys(a.exports))) {
		if name == strings.ToUpper(name) && !matchesAny(harmless, name) || isCode(name) {
			return name
		}
	}
	return ""
}

// collect records every assignment in a script before it is analysed, so that the order does not matter.
func (a *analyzer) collect(f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			a.collectAssign(n)
		case *syntax.ForClause:
			if w, ok := n.Loop.(*syntax.WordIter); ok {
				a.collectLoop(w)
			}
		case *syntax.BinaryArithm:
			if name, ok := target(n.X); ok && strings.HasSuffix(n.Op.String(), "=") {
				a.numbers[name] = true
			}
		case *syntax.UnaryArithm:
			if name, ok := target(n.X); ok {
				a.numbers[name] = true
			}
		case *syntax.ParamExp:
			if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) && n.Param != nil {
				a.vars[n.Param.Value] = append(a.vars[n.Param.Value], n.Exp.Word)
			}
		case *syntax.DeclClause:
			a.collectDeclare(n)
		case *syntax.FuncDecl:
			a.ownCD = a.ownCD || n.Name != nil && n.Name.Value == "cd"
		case *syntax.Redirect:
			if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
				a.numbers[strings.Trim(n.N.Value, "{}")] = true
			}
		}
		return true
	})
}

// target returns the variable that an arithmetic expression assigns to, or false if its name is computed.
func target(x syntax.ArithmExpr) (string, bool) {
	w, ok := x.(*syntax.Word)
	if !ok {
		return "", false
	}
	if p, ok := indexed(w); ok {
		return p.Param.Value, true
	}
	return w.Lit(), syntax.ValidName(w.Lit())
}

// indexed returns the expansion for a word that is an array element without a dollar sign, as in $((a[1])).
func indexed(w *syntax.Word) (*syntax.ParamExp, bool) {
	if len(w.Parts) != 1 {
		return nil, false
	}
	p, ok := w.Parts[0].(*syntax.ParamExp)
	return p, ok && !p.Short && p.Param != nil && p.Dollar == p.Param.Pos()
}

// collectDeclare records variables whose attributes change the values that are assigned to them.
func (a *analyzer) collectDeclare(c *syntax.DeclClause) {
	changes := false
	for _, n := range c.Args {
		switch {
		case n.Name == nil:
			changes = changes || !strings.HasPrefix(n.Value.Lit(), "-") || strings.ContainsAny(n.Value.Lit(), "ulcn")
		case changes:
			a.opaque[n.Name.Value] = true
		case n.Value != nil: // unlike a plain assignment, its words have braces expanded
			if list, _ := braces(n.Value); len(list) != 1 {
				a.opaque[n.Name.Value] = true
			}
		}
	}
}

func (a *analyzer) collectAssign(n *syntax.Assign) {
	if n.Name == nil {
		return
	}
	name := n.Name.Value
	switch {
	case n.Append || n.Index != nil:
		a.opaque[name] = true
	case n.Array != nil:
		for _, e := range n.Array.Elems {
			if e.Value != nil {
				a.collectWord(name, e.Value)
			}
		}
	case n.Value != nil:
		a.vars[name] = append(a.vars[name], n.Value)
	default:
		a.vars[name] = append(a.vars[name], &syntax.Word{})
	}
}

// collectWord records a word whose braces are expanded before they are assigned.
func (a *analyzer) collectWord(name string, w *syntax.Word) {
	list, ok := braces(w)
	a.vars[name] = append(a.vars[name], list...)
	a.opaque[name] = a.opaque[name] || !ok
}

func (a *analyzer) collectLoop(w *syntax.WordIter) {
	if !w.InPos.IsValid() || len(w.Items) == 0 {
		a.opaque[w.Name.Value] = true
	}
	for _, item := range w.Items {
		a.collectWord(w.Name.Value, item)
	}
}

// arithm checks an arithmetic expression. Bash evaluates the values of variables in it as expressions, in
// which a subscript may contain a command substitution.
func (a *analyzer) arithm(x syntax.ArithmExpr, st *state) {
	switch x := x.(type) {
	case nil:
	case *syntax.BinaryArithm:
		if op := x.Op.String(); strings.HasSuffix(op, "=") && op != "==" && op != "!=" && op != "<=" && op != ">=" {
			a.assignTarget(x.X)
		}
		a.arithm(x.X, st)
		a.arithm(x.Y, st)
	case *syntax.UnaryArithm:
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			a.assignTarget(x.X)
		}
		a.arithm(x.X, st)
	case *syntax.ParenArithm:
		a.arithm(x.X, st)
	case *syntax.Word:
		a.operand(x, st)
	default:
		a.unsafe("it uses arithmetic that is not analysed")
	}
}

// assignTarget checks an arithmetic expression's target.
func (a *analyzer) assignTarget(x syntax.ArithmExpr) {
	name, ok := target(x)
	if !ok {
		a.unsafe("it assigns to a variable whose name is only known when it runs")
		a.learn(&a.anything)
		return
	}
	a.assignable(name)
}

// operand checks a word in an arithmetic expression.
func (a *analyzer) operand(w *syntax.Word, st *state) {
	if p, ok := indexed(w); ok {
		a.subscript(p.Index, st)
	}
	for _, v := range a.eval(w, st) {
		switch {
		case v.number, v.known && isNumberLiteral(v.text):
		case v.known && syntax.ValidName(v.text):
			a.number(v.text, st)
		default:
			a.unsafe("it evaluates a value as arithmetic that is only known when it runs")
			return
		}
	}
}

// isNumberLiteral reports whether an operand is a number in any base.
func isNumberLiteral(s string) bool {
	if s == "" {
		return true
	}
	return s[0] >= '0' && s[0] <= '9' && strings.Trim(strings.ToLower(s), "0123456789abcdefghijklmnopqrstuvwxyz#_@") == "" &&
		!strings.ContainsAny(s, "[]$`")
}

// number checks that all values of a variable in arithmetic are numbers.
func (a *analyzer) number(name string, st *state) {
	for _, v := range a.variable(name, st, true) {
		if !v.number && !(v.known && isNumber(v.text)) {
			a.unsafe("it evaluates $%s as arithmetic, and its value is only known when it runs", name)
			return
		}
	}
}

// subscript checks an array index, which is arithmetic or a key.
func (a *analyzer) subscript(x syntax.ArithmExpr, st *state) {
	if w, ok := x.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") {
		return
	}
	a.arithm(x, st)
}

// test checks the expression of [[ ]].
func (a *analyzer) test(x syntax.TestExpr, st *state) {
	switch x := x.(type) {
	case *syntax.Word:
		a.eval(x, st)
	case *syntax.ParenTest:
		a.test(x.X, st)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			a.variableTest(x.X, st)
			return
		}
		a.test(x.X, st)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					a.operand(w, st)
				}
			}
		default:
			a.test(x.X, st)
			a.test(x.Y, st)
		}
	}
}

// variableTest checks the operand of -v, whose subscript is code.
func (a *analyzer) variableTest(x syntax.TestExpr, st *state) {
	w, ok := x.(*syntax.Word)
	if !ok {
		a.unsafe("it tests a variable whose name is only known when it runs")
		return
	}
	for _, v := range a.eval(w, st) {
		if !v.known || !syntax.ValidName(v.text) {
			a.unsafe("it tests a variable whose name is only known when it runs")
		}
	}
}

// declare checks declare, local, export, readonly and typeset.
func (a *analyzer) declare(c *syntax.DeclClause, st *state) {
	integer := false
	exports := c.Variant.Value == "export"
	prints := len(c.Args) == 0
	for _, n := range c.Args {
		if n.Name == nil {
			options := a.declareWord(c.Variant.Value, n.Value, st)
			integer = integer || strings.Contains(options, "i")
			exports = exports || strings.Contains(options, "x")
			prints = prints || strings.Contains(options, "p")
			continue
		}
		a.assign(n, st)
		if integer {
			a.integer(n.Name.Value, st)
		}
		if exports {
			a.note(a.exports, n.Name.Value)
		}
	}
	a.assigned(c.Args, st)
	if prints {
		a.unsafe("%s prints all variables, which may hold secrets", c.Variant.Value)
	}
	if c.Variant.Value == "nameref" {
		a.unsafe("nameref makes a variable stand for another one")
	}
}

// declareWord checks a word of declare that is not a plain assignment, and returns it if it may be an option.
func (a *analyzer) declareWord(builtin string, w *syntax.Word, st *state) (options string) {
	for _, v := range a.eval(w, st) {
		switch {
		case v.known && !v.glob && (strings.HasPrefix(v.text, "-") || strings.HasPrefix(v.text, "+")):
			if options += v.text; strings.Contains(v.text, "n") && builtin != "export" {
				a.unsafe("%s %s makes a variable stand for another one", builtin, v.text)
				a.learn(&a.anything)
			}
		default:
			a.unsafe("%s assigns to a name that is only known when it runs", builtin)
			a.learn(&a.anything)
		}
	}
	return options
}

// integer checks a variable whose values are arithmetic, whoever assigns them.
func (a *analyzer) integer(name string, st *state) {
	a.note(a.numbers, name)
	if _, reads := a.sources[name]; a.opaque[name] || a.anything || reads {
		a.unsafe("it evaluates the values of %s as arithmetic, and they are only known when it runs", name)
	}
	for _, w := range a.vars[name] {
		a.operand(w, st)
	}
}

// assigned records variables that have the line's values from here on.
func (a *analyzer) assigned(list []*syntax.Assign, st *state) {
	for _, n := range list {
		if n.Name != nil && !a.removed[n.Name.Value] {
			st.scope.assigned = append(st.scope.assigned, n.Name.Value)
		}
	}
}

// assign checks one assignment.
func (a *analyzer) assign(n *syntax.Assign, st *state) {
	if n.Name != nil {
		a.assignable(n.Name.Value)
	}
	a.subscript(n.Index, st)
	if n.Value != nil {
		a.eval(n.Value, st)
	}
	if n.Array != nil {
		for _, e := range n.Array.Elems {
			a.subscript(e.Index, st)
			if e.Value != nil {
				a.eval(e.Value, st)
			}
		}
	}
}
