package lsptools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/lsp"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type query struct {
	Operation string `json:"operation" jsonschema:"definition, references, implementation, hover, symbols, workspace_symbols, rename, incoming_calls, outgoing_calls or diagnostics"`
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"`
	Character int    `json:"character,omitempty"`
	Symbol    string `json:"symbol,omitempty" jsonschema:"name in that line, or in the file, instead of character"`
	NewName   string `json:"new_name,omitempty"`
	Query     string `json:"query,omitempty" jsonschema:"for workspace_symbols"`
}

// operations maps the names of operations to methods. claudeNames maps the names that Claude Code uses.
var operations = map[string]func(*Tools, context.Context, lsp.Point, query) (answer, error){
	"definition":        located((*lsp.Workspace).Definition),
	"references":        located((*lsp.Workspace).References),
	"implementation":    located((*lsp.Workspace).Implementation),
	"hover":             (*Tools).hover,
	"symbols":           (*Tools).symbols,
	"workspace_symbols": (*Tools).symbols,
	"incoming_calls":    (*Tools).calls,
	"outgoing_calls":    (*Tools).calls,
	"diagnostics":       (*Tools).diagnostics,
}

var claudeNames = map[string]string{
	"goToDefinition": "definition", "findReferences": "references", "goToImplementation": "implementation", "documentSymbol": "symbols",
	"workspaceSymbol": "workspace_symbols", "incomingCalls": "incoming_calls", "outgoingCalls": "outgoing_calls",
}

func (t *Tools) lspTool() tool.Tool {
	made := tool.New(tool.Spec{
		Name:    "lsp",
		Version: "1.0.0",

		Description: "Ask a language server about code, or rename a symbol in all files. Lines and characters count from 1.",

		Permissions: []tool.Permission{tool.FSRead, tool.FSWrite},
		SideEffects: "rename changes files",
		Destructive: true,

		Limit: tool.Limit{Chars: 20_000, Lines: -1, Mode: tool.Head},
	}, t.access, t.run)
	return tool.WithPreview(made, t.preview)
}

// access declares a call's accesses: the server reads the workspace, and a rename writes the files that it changes.
func (t *Tools) access(ctx context.Context, c *tool.Call, in query) []policy.Access {
	all := reads(ctx, c.Env, in.Path, c.Env.Info().Dir)
	if in.Operation != "rename" {
		return all
	}
	changes, err := t.rename(ctx, c, in)
	if err != nil {
		return all // the call will fail in the same way and write nothing
	}
	for _, ch := range changes {
		all = append(all, policy.Access{Kind: policy.Write, Target: ch.Path})
	}
	return all
}

func (t *Tools) preview(ctx context.Context, c *tool.Call, in query) (tool.Preview, error) {
	if in.Operation != "rename" {
		return tool.Preview{}, tool.ErrNoPreview
	}
	changes, err := t.rename(ctx, c, in)
	return tool.Preview{Changes: changes}, err
}

// point returns the position that a call asks about.
func (in query) point(ctx context.Context, c *tool.Call) (lsp.Point, error) {
	real, err := c.Env.RealPath(ctx, in.Path)
	if err != nil {
		return lsp.Point{}, tool.Errorf(tool.FileNotFound, "%s: %v", in.Path, err)
	}
	info, err := c.Env.Stat(ctx, real)
	if err != nil || info.IsDir() {
		return lsp.Point{}, tool.Errorf(tool.FileNotFound, "File not found: %s. Pass a source file.", in.Path)
	}
	return lsp.Point{
		Env:    c.Env,
		Path:   real,
		Line:   in.Line,
		Column: in.Character,
		Symbol: in.Symbol,
	}, nil
}

// rename returns the changes that a rename makes.
func (t *Tools) rename(ctx context.Context, c *tool.Call, in query) ([]tool.Change, error) {
	if in.NewName == "" {
		return nil, tool.Errorf(tool.ValidationError, "rename needs new_name.")
	}
	p, err := in.point(ctx, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	edits, err := t.servers.Rename(ctx, p, in.NewName)
	if err != nil {
		return nil, failed(err)
	}
	if len(edits) == 0 {
		return nil, tool.Errorf(tool.EditConflict, "The rename would change nothing. Check line and symbol.")
	}
	var changes []tool.Change
	for _, e := range edits {
		changes = append(changes, tool.Change{
			Path:    e.Path,
			Before:  e.Before,
			After:   e.After,
			Existed: true,
			Exists:  true,
		})
	}
	return changes, nil
}

// answer is an operation's result.
type answer struct {
	lines []string
	text  string // instead of lines
	none  string // text if lines is empty
}

func (t *Tools) run(ctx context.Context, c *tool.Call, in query) (tool.Result, error) {
	if name, ok := claudeNames[in.Operation]; ok {
		in.Operation = name
	}
	if in.Operation == "rename" {
		return t.applyRename(ctx, c, in)
	}
	do, ok := operations[in.Operation]
	if !ok {
		return tool.Failure(
			tool.ValidationError,
			"Unknown operation %q. Use definition, references, implementation, hover, symbols, workspace_symbols, rename, "+
				"incoming_calls, outgoing_calls or diagnostics.",
			in.Operation,
		), nil
	}
	p, err := in.point(ctx, c)
	if err != nil {
		return tool.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	a, err := do(t, ctx, p, in)
	if err != nil {
		return tool.Result{}, failed(err)
	}
	if a.text != "" {
		return tool.Result{Output: tool.Text(a.text)}, nil
	}
	return listed(a.lines, a.none, maxShown), nil
}

// listed returns lines as a result, up to a limit.
func listed(lines []string, none string, limit int) tool.Result {
	if len(lines) == 0 {
		return tool.Success("%s", none)
	}
	res := tool.Result{Fields: map[string]any{"results": len(lines)}}
	if more := len(lines) - limit; more > 0 {
		lines = lines[:limit]
		res.Notes = []string{fmt.Sprintf("%d more are not shown.", more)}
	}
	res.Output = tool.Text(strings.Join(lines, "\n"))
	return res
}

func (t *Tools) applyRename(ctx context.Context, c *tool.Call, in query) (tool.Result, error) {
	changes, err := t.rename(ctx, c, in)
	if err != nil {
		return tool.Result{}, err
	}
	for _, ch := range changes {
		if !slices.Contains(c.Accesses, policy.Access{Kind: policy.Write, Target: ch.Path}) {
			return tool.Failure(
				tool.EditConflict,
				"The rename would now change files that were not checked, such as %s. Nothing was changed. Try again.",
				tools.Show(c.Env, ch.Path),
			), nil
		}
	}
	done, err := tools.ReplaceFiles(ctx, c, t.files, changes)
	if err != nil {
		return tool.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Renamed to %s in %s:", in.NewName, tools.Plural(len(done.Changes), "file"))
	for _, op := range done.Changes {
		b.WriteString("\n" + tools.Show(c.Env, op.Path))
	}
	return tool.Result{Output: tool.Text(b.String()), Fields: done.Fields(), Artifacts: done.Artifacts, Notes: done.Notes}, nil
}

// located returns an operation that returns locations.
func located(
	find func(*lsp.Workspace, context.Context, lsp.Point) ([]lsp.Location, error),
) func(*Tools, context.Context, lsp.Point, query) (answer, error) {
	return func(t *Tools, ctx context.Context, p lsp.Point, _ query) (answer, error) {
		found, err := find(t.servers, ctx, p)
		a := answer{none: "Nothing was found. Check that line and character, or symbol, refer to a symbol."}
		for _, l := range found {
			a.lines = append(a.lines, place(p, l))
		}
		return a, err
	}
}

// place formats a location.
func place(p lsp.Point, l lsp.Location) string {
	return strings.TrimRight(fmt.Sprintf("%s:%d:%d: %s", tools.Show(p.Env, l.Path), l.Line, l.Column, l.Text), ": ")
}

func (t *Tools) hover(ctx context.Context, p lsp.Point, _ query) (answer, error) {
	text, err := t.servers.Hover(ctx, p)
	return answer{text: strings.TrimSpace(text), none: "The language server has no information about this position."}, err
}

func (t *Tools) symbols(ctx context.Context, p lsp.Point, in query) (a answer, err error) {
	var found []lsp.Symbol
	a.none = "There are no symbols."
	if in.Operation == "symbols" {
		found, err = t.servers.Symbols(ctx, p)
		for _, s := range found {
			a.lines = append(a.lines, fmt.Sprintf("%s%d: %s %s", strings.Repeat("  ", s.Depth), s.Line, s.Kind, s.Name))
		}
		return a, err
	}
	found, err = t.servers.WorkspaceSymbols(ctx, p, in.Query)
	for _, s := range found {
		a.lines = append(a.lines, fmt.Sprintf("%s:%d: %s %s", tools.Show(p.Env, s.Path), s.Line, s.Kind, s.Name))
	}
	return a, err
}

func (t *Tools) calls(ctx context.Context, p lsp.Point, in query) (a answer, err error) {
	found, err := t.servers.Calls(ctx, p, in.Operation == "outgoing_calls")
	for _, s := range found {
		a.lines = append(a.lines, fmt.Sprintf("%s:%d: %s %s", tools.Show(p.Env, s.Path), s.Line, s.Kind, s.Name))
	}
	slices.Sort(a.lines)
	a.none = "There are no calls."
	return a, err
}
