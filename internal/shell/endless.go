package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// endless reports whether a function starts itself in another process whenever it runs, so that the processes never end.
// A function that can return, or that calls itself only under a condition, is not endless.
func endless(c *syntax.FuncDecl) bool {
	switch c.Body.Cmd.(type) {
	case *syntax.Block, *syntax.Subshell:
	default:
		return false
	}
	ends := false
	syntax.Walk(c.Body, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && slices.Contains([]string{"return", "exit", "exec"}, call.Args[0].Lit()) {
			ends = true
		}
		return !ends
	})
	return !ends && restarts(c.Body, c.Name.Value, false)
}

// restarts reports whether a statement always runs a function in another process. other means that the statement itself
// runs in one.
func restarts(s *syntax.Stmt, name string, other bool) bool {
	other = other || s.Background || s.Coprocess
	some := func(list []*syntax.Stmt) bool {
		return slices.ContainsFunc(list, func(s *syntax.Stmt) bool { return restarts(s, name, other) })
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return other && len(c.Args) > 0 && c.Args[0].Lit() == name
	case *syntax.Block:
		return some(c.Stmts)
	case *syntax.Subshell:
		return some(c.Stmts)
	case *syntax.TimeClause:
		return c.Stmt != nil && restarts(c.Stmt, name, other)
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			return restarts(c.X, name, other)
		}
		return restarts(c.X, name, true) || restarts(c.Y, name, true)
	}
	return false
}
