package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// output is a command's output, as far as it matters when another command reads it.
type output struct {
	kind outputKind
	from *origin // of names
}

type outputKind int

var (
	text    = output{}
	paths   = output{kind: 1} // names of files below the working directory
	dotted  = output{kind: 2} // such names that do not begin with a dash
	zeroed  = output{kind: 3} // such names, each ended by a zero byte
	numbers = output{kind: 4} // numbers
)

// is reports whether two outputs are of the same kind.
func (o output) is(p output) bool { return o.kind == p.kind }

// origin is what is known about names that a command prints. Nil means any name below the working directory.
type origin struct {
	starts []string // directories, relative to the working directory or absolute
	names  []string // patterns for the last element; none means all
	files  bool     // no symbolic links among them
	all    bool     // nothing below the directories is left out but for its type or depth
}

// value returns a value for one of the names.
func (o output) value() value {
	return value{inside: o.is(paths) || o.is(dotted), dotted: o.is(dotted), number: o.is(numbers), from: o.from}
}

// flow is a statement's final working directory and output.
type flow struct {
	ok, any []string // directories after success, and after any end
	scope   *scope   // what has certainly happened if it succeeds; nil if that is no more than before it
	out     output
}

func (a *analyzer) stmts(list []*syntax.Stmt, st *state) flow {
	f := flow{ok: st.dirs, any: st.dirs}
	for i, s := range list {
		before := f.out
		if f = a.stmt(s, st.with(f.any)); i > 0 && f.out != before {
			f.out = text
		}
	}
	return f
}

func (a *analyzer) stmt(s *syntax.Stmt, st *state) flow {
	if a.work++; a.work > maxWork {
		return flow{}
	}
	inner := *st
	for _, r := range s.Redirs {
		a.redirect(r, st)
		if replacesInput(r) {
			inner.stdin, inner.piped = text, false
			if c, ok := s.Cmd.(*syntax.CallExpr); ok && mayBeExec(c) {
				a.learn(&a.reopens)
			}
		}
	}
	if a.reopens {
		inner.stdin, inner.piped = text, false
	}
	if s.Coprocess {
		a.unsafe("it uses a coprocess")
	}
	if s.Cmd == nil {
		return flow{ok: st.dirs, any: st.dirs}
	}
	if s.Background {
		inner = *inner.perhaps()
	}
	f := a.command(s.Cmd, &inner)
	if s.Negated {
		f.ok = f.any
	}
	if slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.DplOut }) {
		f.out = text // it may contain error messages
	}
	if s.Background || s.Negated {
		f.scope = nil
	}
	if s.Background {
		f.ok, f.any = st.dirs, st.dirs
	}
	return f
}

func (a *analyzer) command(c syntax.Command, st *state) flow {
	here := flow{ok: st.dirs, any: st.dirs}
	switch c := c.(type) {
	case *syntax.CallExpr:
		return a.call(c, st)
	case *syntax.BinaryCmd:
		return a.binary(c, st)
	case *syntax.Block:
		return a.stmts(c.Stmts, st)
	case *syntax.Subshell:
		f := a.stmts(c.Stmts, st.perhaps())
		return flow{ok: st.dirs, any: st.dirs, out: f.out}
	case *syntax.IfClause:
		return a.ifClause(c, st)
	case *syntax.WhileClause:
		return a.loop(st, func(st *state) flow {
			cond := a.stmts(c.Cond, st)
			return flow{any: union(cond.any, a.stmts(c.Do, st.with(cond.any).perhaps()).any)}
		})
	case *syntax.ForClause:
		return a.forClause(c, st)
	case *syntax.CaseClause:
		a.eval(c.Word, st)
		f := here
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				a.eval(p, st)
			}
			f.any = union(f.any, a.stmts(item.Stmts, st.perhaps()).any)
		}
		f.ok = f.any
		return f
	case *syntax.FuncDecl:
		return a.function(c, st)
	case *syntax.ArithmCmd:
		a.arithm(c.X, st)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			a.arithm(x, st)
		}
	case *syntax.TestClause:
		a.test(c.X, st)
	case *syntax.DeclClause:
		a.declare(c, st)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return a.stmt(c.Stmt, st)
		}
	default:
		a.unclear("it uses a shell construct that is not analysed")
	}
	return here
}

// function judges a function body where it is defined: for any arguments, any input and any directory that the line may
// be in when it calls the function.
func (a *analyzer) function(c *syntax.FuncDecl, st *state) flow {
	switch c.Body.Cmd.(type) {
	case *syntax.Block, *syntax.Subshell:
	default:
		a.unclear("it defines a function whose body is not in braces") // the parser accepts more than bash
	}
	body, moves := st.perhaps(), a.moves
	if body.stdin, body.piped = text, false; a.cds {
		body.dirs = nil
	}
	a.stmt(c.Body, body)
	if c.Name != nil && endless(c) {
		a.add(Effect{Unknown: "it defines a fork bomb", Endless: c.Name.Value + " starts itself again and again"})
	}
	if c.Name != nil && !a.removed[c.Name.Value] && !a.anything {
		st.scope.funcs = append(st.scope.funcs, c.Name.Value)
	}
	if a.moves != moves {
		return flow{} // a call changes the directory
	}
	return flow{ok: st.dirs, any: st.dirs}
}

func (a *analyzer) binary(c *syntax.BinaryCmd, st *state) flow {
	first := st
	if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt {
		first = st.perhaps()
	}
	left := a.stmt(c.X, first)
	switch c.Op {
	case syntax.AndStmt:
		next := st.with(left.ok).within(left.success(st))
		right := a.stmt(c.Y, next)
		return flow{ok: right.ok, any: union(left.any, right.any), scope: right.success(next)}
	case syntax.OrStmt:
		right := a.stmt(c.Y, st.with(left.any).perhaps())
		return flow{ok: union(left.ok, right.ok), any: union(left.any, right.any)}
	}
	next := st.perhaps() // each pipeline stage is a separate process
	next.piped = true
	if next.stdin = left.out; c.Op == syntax.PipeAll {
		next.stdin = text
	}
	right := a.stmt(c.Y, next)
	return flow{ok: st.dirs, any: st.dirs, out: right.out}
}

// success returns what has certainly happened if a statement that began in a state succeeded.
func (f flow) success(st *state) *scope {
	if f.scope != nil {
		return f.scope
	}
	return st.scope
}

func (a *analyzer) ifClause(c *syntax.IfClause, st *state) flow {
	cond := a.stmts(c.Cond, st)
	then := a.stmts(c.Then, st.with(cond.ok).within(cond.success(st)))
	f := flow{any: union(cond.any, then.any)}
	if c.Else != nil {
		f.any = union(f.any, a.ifClause(c.Else, st.with(cond.any).perhaps()).any)
	}
	f.ok = f.any
	return f
}

// loop analyses a body that may run any number of times. A body that changes the directory is analysed again
// with an unknown one.
func (a *analyzer) loop(st *state, body func(*state) flow) flow {
	before := len(a.effects)
	f := body(st)
	if slices.Equal(f.any, st.dirs) {
		return flow{ok: st.dirs, any: st.dirs, out: f.out}
	}
	a.effects = a.effects[:before]
	return flow{out: body(st.with(nil)).out}
}

func (a *analyzer) forClause(c *syntax.ForClause, st *state) flow {
	if c.Select {
		a.unclear("it uses select")
	}
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		a.assignable(l.Name.Value)
		for _, w := range l.Items {
			a.eval(w, st)
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			if x != nil {
				a.arithm(x, st)
			}
		}
	default:
		a.unclear("it uses a loop that is not analysed")
	}
	return a.loop(st, func(st *state) flow {
		body := st.perhaps()
		if l, ok := c.Loop.(*syntax.WordIter); ok {
			body.scope.assigned = append(body.scope.assigned, l.Name.Value)
		}
		return a.stmts(c.Do, body)
	})
}

// redirect records the files that a redirection opens.
func (a *analyzer) redirect(r *syntax.Redirect, st *state) {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		a.assignable(strings.Trim(r.N.Value, "{}"))
	}
	if r.Hdoc != nil {
		a.eval(r.Hdoc, st)
	}
	if list, _ := braces(r.Word); len(list) != 1 {
		a.unsafe("it redirects to a file whose name has braces")
	}
	kind := Write
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return
	case syntax.WordHdoc:
		a.eval(r.Word, st)
		return
	case syntax.RdrIn:
		kind = Read
	case syntax.DplIn, syntax.DplOut:
		v := a.eval(r.Word, st)
		if len(v) == 1 && v[0].known && isDescriptor(v[0].text) {
			return
		}
		if r.Op == syntax.DplIn {
			a.unsafe("it redirects to a descriptor that is only known when it runs")
			return
		}
		a.open(kind, v, st)
		return
	}
	a.open(kind, a.eval(r.Word, st), st)
}

// replacesInput reports whether a redirection opens the standard input.
func replacesInput(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return true
	}
	return r.N != nil && r.N.Value == "0"
}

// mayBeExec reports whether a command may be exec, whose redirections last.
func mayBeExec(c *syntax.CallExpr) bool {
	if len(c.Args) == 0 {
		return false
	}
	name, ok := constant(c.Args[0])
	return !ok || slices.Contains([]string{"exec", "command", "builtin", "eval"}, name)
}

func isDescriptor(s string) bool {
	return s == "-" || strings.Trim(strings.TrimSuffix(s, "-"), "0123456789") == ""
}

// harmlessDevices can be read and written freely.
var harmlessDevices = []string{
	"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero", "/dev/full", "/dev/fd/0",
	"/dev/fd/1", "/dev/fd/2",
}

// open records a redirection's file.
func (a *analyzer) open(kind Kind, alternatives []value, st *state) {
	e := Effect{}
	for _, v := range alternatives {
		list, ok := a.file(kind, st, v)
		switch {
		case !ok || (v.glob || v.inside) && kind == Write:
			e.Unknown = "it redirects to a file whose name is only known when it runs"
		case v.known && (strings.HasPrefix(v.text, "/dev/tcp/") || strings.HasPrefix(v.text, "/dev/udp/")):
			e.Unknown = "it opens a network connection: " + v.text
		case v.known && slices.Contains(harmlessDevices, v.text):
		default:
			e.Accesses = append(e.Accesses, list...)
		}
	}
	if e.Unknown != "" || len(e.Accesses) > 0 {
		a.add(e)
	}
}
