package lsptools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/lsp"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type lintIn struct {
	Paths []string `json:"paths,omitempty" jsonschema:"files; for a directory, only known diagnostics are shown (default: working directory)"`
}

func (in lintIn) paths() []string {
	if len(in.Paths) == 0 {
		return []string{"."}
	}
	return in.Paths
}

func (t *Tools) lintTool() tool.Tool {
	return tool.New(tool.Spec{
		Name:    "read_lints",
		Version: "1.0.0",

		Description: "Return the errors and warnings that language servers find in files.",

		Permissions: []tool.Permission{tool.FSRead},
		ReadOnly:    true,
		Idempotent:  true,

		Limit: tool.Limit{Chars: 20_000, Lines: -1, Mode: tool.Head},
	}, func(ctx context.Context, c *tool.Call, in lintIn) []policy.Access {
		return reads(ctx, c.Env, in.paths()...)
	}, t.lints)
}

func (t *Tools) lints(ctx context.Context, c *tool.Call, in lintIn) (tool.Result, error) {
	paths := in.paths()
	if len(paths) > maxPaths {
		return tool.Failure(tool.ValidationError, "%d paths are too many. Pass at most %d.", len(paths), maxPaths), nil
	}
	var lines, notes []string
	for _, name := range paths {
		real, err := c.Env.RealPath(ctx, name)
		if err != nil {
			return tool.Failure(tool.FileNotFound, "%s: %v", name, err), nil
		}
		info, err := c.Env.Stat(ctx, real)
		if err != nil {
			return tool.Failure(tool.FileNotFound, "File not found: %s.", name), nil
		}
		found, note := t.lintsOf(ctx, real, info.IsDir())
		if note != "" {
			notes = append(notes, tools.Show(c.Env, real)+": "+note)
		}
		for _, d := range found {
			if d.Severity <= lsp.Warning {
				lines = append(lines, format(c.Env, d, d.Severity.String()+": "))
			}
		}
	}
	res := listed(lines, "No errors or warnings were found.", maxLints)
	if len(lines) == 0 && len(notes) > 0 {
		res.Output = tool.Text("No diagnostics.")
	}
	res.Notes = append(res.Notes, notes...)
	return res, nil
}

// lintsOf returns the diagnostics for a file or a directory, and a note if they may be incomplete.
func (t *Tools) lintsOf(ctx context.Context, path string, dir bool) ([]lsp.Diagnostic, string) {
	if dir {
		return t.servers.Known(path), "these are the diagnostics of files that language servers have already checked"
	}
	limited, cancel := context.WithTimeout(ctx, lintTime)
	defer cancel()
	found, err := t.servers.Diagnostics(limited, path)
	s, known := t.servers.Server(path)
	switch {
	case err == nil:
		return found, ""
	case !known:
		return nil, "there is no language server for this type of file; use the compiler or linter of the project"
	case unavailable(err):
		return nil, fmt.Sprintf("%v; use the compiler or linter of the project, such as %s", err, s.Check)
	case errors.Is(err, context.DeadlineExceeded):
		return found, fmt.Sprintf("%s has not finished; try again later, or run %s", s.Name, s.Check)
	}
	return found, err.Error()
}

// diagnostics implements the lsp tool's diagnostics operation.
func (t *Tools) diagnostics(ctx context.Context, p lsp.Point, _ query) (a answer, err error) {
	found, err := t.servers.Diagnostics(ctx, p.Path)
	for _, d := range found {
		a.lines = append(a.lines, format(p.Env, d, d.Severity.String()+": "))
	}
	a.none = "No diagnostics."
	return a, err
}

// format formats a diagnostic.
func format(e env.Environment, d lsp.Diagnostic, severity string) string {
	line := fmt.Sprintf("%s:%d:%d: %s%s", tools.Show(e, d.Path), d.Line, d.Column, severity, d.Message)
	if d.Source != "" {
		line += " (" + d.Source + ")"
	}
	return line
}

// Diagnose is middleware that adds a note with new errors to the result of a call that changed files. It waits for
// language servers, at most for Config.Timeout.
func (t *Tools) Diagnose(ctx context.Context, c tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
	paths, commands := t.changes(c)
	if len(paths) == 0 {
		res, err := next(ctx)
		if commands {
			t.servers.Touched()
		}
		return res, err
	}
	change := t.servers.Before(ctx, paths)
	res, err := next(ctx)
	if err != nil || res.Error != nil || ctx.Err() != nil {
		return res, err
	}
	limit, cancel := context.WithTimeout(ctx, t.config.Timeout)
	defer cancel()
	half, cancel := context.WithTimeout(ctx, t.config.Timeout/2)
	defer cancel()
	report, late := change.After(limit, half)
	s, _ := t.servers.Server(paths[0])
	if note := t.note(c.Env, s, report, errors.Is(late, context.DeadlineExceeded)); note != "" {
		res.Notes = append(res.Notes, note)
	}
	return res, nil
}

// changes returns the files with a language server that a call will change, and whether it may change other files.
func (t *Tools) changes(c tool.Call) (paths []string, others bool) {
	if c.Env == nil {
		return nil, false
	}
	others = c.Accesses == nil
	for _, a := range c.Accesses {
		switch a.Kind {
		case policy.Exec:
			others = true
		case policy.Write, policy.Delete:
			if len(paths) < maxPaths && t.servers.Usable(a.Target) {
				paths = append(paths, a.Target)
			}
		}
	}
	return paths, others
}

// note returns the note for the model about errors after a change, or "".
func (t *Tools) note(e env.Environment, s lsp.Server, r lsp.Report, late bool) string {
	told := t.told.Swap(late)
	var b strings.Builder
	switch n := len(r.New); {
	case n == 0 && late && !told:
		return fmt.Sprintf("%s has not checked this change yet. read_lints returns its diagnostics later.", s.Name)
	case n == 0 && r.Before == 0 || n == 0 && late:
		return ""
	case n == 0:
		return fmt.Sprintf("%s: no new errors; %s from before.", s.Name, tools.Plural(r.Before, "error"))
	case r.Known:
		fmt.Fprintf(&b, "%s: this change causes %s:", s.Name, tools.Plural(n, "new error"))
	default:
		fmt.Fprintf(&b, "%s: %s in the changed files:", s.Name, tools.Plural(n, "error"))
	}
	for _, d := range r.New[:min(len(r.New), maxNoted)] {
		b.WriteString("\n" + format(e, d, ""))
	}
	if more := len(r.New) - maxNoted; more > 0 {
		fmt.Fprintf(&b, "\n%d more; see read_lints", more)
	}
	if r.Known && r.Before > 0 {
		fmt.Fprintf(&b, "\n%s in the changed files existed before.", tools.Plural(r.Before, "error"))
	}
	return b.String()
}
