package lsp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reins-agent/reins/env"
)

// Point is a position in a file.
type Point struct {
	// Env reads the files that results refer to. If it refuses to read a file, results in it have no text.
	Env  env.Environment
	Path string // real path
	Line int    // from 1; 0 searches the whole file for Symbol
	// Column is the column in characters, from 1. If it is 0, the line is searched for Symbol.
	Column int
	Symbol string
}

// Location is a position that a server found.
type Location struct {
	Path   string
	Line   int // from 1
	Column int // from 1
	// Text is the line, or "" if it cannot be read.
	Text string
}

// Symbol is a symbol that a server found.
type Symbol struct {
	Location
	Name      string
	Kind      string // such as "function"
	Container string // the symbol that it belongs to
	Depth     int    // in the tree of symbols
}

// FileEdit is a file before and after a change.
type FileEdit struct {
	Path          string // real path
	Before, After []byte
}

// asks sends a point's document to its server and calls f with the position.
func (w *Workspace) asks(ctx context.Context, p Point, f func(c *client, at map[string]any) error) error {
	return w.with(ctx, p.Path, func(c *client) error {
		c.stale.Store(true)
		c.refresh(ctx)
		d, err := c.open(ctx, p.Path)
		if err != nil {
			return err
		}
		at, err := p.find(newText(d.text), c.enc)
		if err != nil {
			return err
		}
		if err := c.loaded(ctx, p.Path); err != nil {
			return err
		}
		return f(c, map[string]any{"textDocument": c.id(p.Path), "position": at})
	})
}

// find returns a point's position in a text.
func (p Point) find(t text, e encoding) (at position, err error) {
	switch {
	case p.Line > len(t.start):
		return at, fmt.Errorf("line %d does not exist: the file has %d lines", p.Line, len(t.start))
	case p.Line <= 0 && p.Symbol == "":
		return at, errors.New("a line or a symbol is required")
	case p.Line <= 0:
		for n := range t.start {
			if i := word(t.line(n), p.Symbol); i >= 0 {
				return position{n, e.units(t.line(n)[:i])}, nil
			}
		}
		return at, fmt.Errorf("%q does not occur in the file", p.Symbol)
	}
	line := t.line(p.Line - 1)
	at.Line = p.Line - 1
	if p.Symbol != "" && p.Column <= 0 {
		i := word(line, p.Symbol)
		if i < 0 {
			return at, fmt.Errorf("%q does not occur in line %d, which is: %s", p.Symbol, p.Line, clean(line, 200))
		}
		at.Character = e.units(line[:i])
		return at, nil
	}
	if p.Column <= 0 { // the first word
		at.Character = e.units(line[:len(line)-len(strings.TrimLeft(line, " \t"))])
		return at, nil
	}
	at.Character = e.units(line[:utf32Units.offset(line, p.Column-1)])
	return at, nil
}

// word returns a name's offset in a line. It prefers an occurrence that is not part of a longer name. For a qualified
// name, such as pkg.Name, it returns the offset of the last part.
func word(line, name string) int {
	last := strings.LastIndexAny(name, ".:") + 1
	letter := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; {
		i := strings.Index(line[from:], name)
		if i < 0 {
			break
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(line[:i])
		after, _ := utf8.DecodeRuneInString(line[i+len(name):])
		if !letter(before) && !letter(after) {
			return i + last
		}
		from = i + 1
	}
	if i := strings.Index(line, name); i >= 0 {
		return i + last
	}
	if last > 0 {
		return word(line, name[last:])
	}
	return -1
}

// Definition returns where a symbol is defined.
func (w *Workspace) Definition(ctx context.Context, p Point) ([]Location, error) {
	return w.locations(ctx, p, "textDocument/definition", nil)
}

// Implementation returns where an interface or an interface method is implemented.
func (w *Workspace) Implementation(ctx context.Context, p Point) ([]Location, error) {
	return w.locations(ctx, p, "textDocument/implementation", nil)
}

// References returns where a symbol is used, including its declaration.
func (w *Workspace) References(ctx context.Context, p Point) ([]Location, error) {
	return w.locations(ctx, p, "textDocument/references", map[string]any{"includeDeclaration": true})
}

func (w *Workspace) locations(ctx context.Context, p Point, method string, more any) (all []Location, err error) {
	err = w.asks(ctx, p, func(c *client, at map[string]any) error {
		if more != nil {
			at["context"] = more
		}
		var got locations
		if err := c.request(ctx, method, at, &got); err != nil {
			return err
		}
		r := c.reader(ctx, p.Env)
		for _, l := range got {
			all = append(all, r.location(l))
		}
		slices.SortStableFunc(all, func(a, b Location) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line, a.Column-b.Column)
		})
		all = slices.Compact(all)
		return nil
	})
	return all, err
}

// Hover returns the server's description of a symbol, such as its type and documentation, as Markdown.
func (w *Workspace) Hover(ctx context.Context, p Point) (text string, err error) {
	err = w.asks(ctx, p, func(c *client, at map[string]any) error {
		var got struct{ Contents markup }
		err := c.request(ctx, "textDocument/hover", at, &got)
		text = string(got.Contents)
		return err
	})
	return text, err
}

// Symbols returns a file's symbols.
func (w *Workspace) Symbols(ctx context.Context, p Point) (all []Symbol, err error) {
	p.Line, p.Column = 1, 1
	err = w.asks(ctx, p, func(c *client, at map[string]any) error {
		delete(at, "position")
		var got []documentSymbol
		if err := c.request(ctx, "textDocument/documentSymbol", at, &got); err != nil {
			return err
		}
		r := c.reader(ctx, p.Env)
		var add func(list []documentSymbol, container string, depth int)
		add = func(list []documentSymbol, container string, depth int) {
			for _, s := range list {
				at := location{URI: uriOf(c.paths, p.Path), Range: s.Selection}
				if s.Location != nil {
					at, container = *s.Location, s.Container
				}
				all = append(all, Symbol{
					Location:  r.location(at),
					Name:      clean(s.Name, 200),
					Kind:      kindName(s.Kind),
					Container: clean(container, 200),
					Depth:     depth,
				})
				add(s.Children, s.Name, depth+1)
			}
		}
		add(got, "", 0)
		return nil
	})
	return all, err
}

// WorkspaceSymbols returns the workspace symbols whose names match a query. The point's path selects the server.
func (w *Workspace) WorkspaceSymbols(ctx context.Context, p Point, query string) (all []Symbol, err error) {
	p.Line, p.Column = 1, 1
	err = w.asks(ctx, p, func(c *client, _ map[string]any) error {
		var got []documentSymbol
		if err := c.request(ctx, "workspace/symbol", map[string]any{"query": query}, &got); err != nil {
			return err
		}
		r := c.reader(ctx, p.Env)
		for _, s := range got {
			if s.Location != nil {
				all = append(
					all,
					Symbol{
						Location:  r.location(*s.Location),
						Name:      clean(s.Name, 200),
						Kind:      kindName(s.Kind),
						Container: clean(s.Container, 200),
					},
				)
			}
		}
		return nil
	})
	return all, err
}

// Calls returns the functions that call a function or, if outgoing is set, those that it calls.
func (w *Workspace) Calls(ctx context.Context, p Point, outgoing bool) (all []Symbol, err error) {
	err = w.asks(ctx, p, func(c *client, at map[string]any) error {
		var items []callItem
		if err := c.request(ctx, "textDocument/prepareCallHierarchy", at, &items); err != nil {
			return err
		}
		r := c.reader(ctx, p.Env)
		for _, item := range items {
			method := "callHierarchy/incomingCalls"
			if outgoing {
				method = "callHierarchy/outgoingCalls"
			}
			var got []struct{ From, To callItem }
			if err := c.request(ctx, method, map[string]any{"item": item}, &got); err != nil {
				return err
			}
			for _, call := range got {
				other := call.From
				if outgoing {
					other = call.To
				}
				at := r.location(location{URI: other.URI, Range: other.Selection})
				all = append(all, Symbol{Location: at, Name: clean(other.Name, 200), Kind: kindName(other.Kind)})
			}
		}
		return nil
	})
	return all, err
}

// Rename returns how files change if a symbol is renamed. It does not write them. A change outside the workspace is an
// error.
func (w *Workspace) Rename(ctx context.Context, p Point, name string) (all []FileEdit, err error) {
	err = w.asks(ctx, p, func(c *client, at map[string]any) error {
		at["newName"] = name
		var got workspaceEdit
		if err := c.request(ctx, "textDocument/rename", at, &got); err != nil {
			return err
		}
		edits, err := got.byURI()
		if err != nil {
			return err
		}
		for _, uri := range slices.Sorted(maps.Keys(edits)) {
			f, err := c.edited(ctx, p.Env, uri, edits[uri])
			if err != nil {
				return err
			}
			if !bytes.Equal(f.Before, f.After) {
				all = append(all, f)
			}
		}
		return nil
	})
	return all, err
}

// edited applies edits to a file.
func (c *client) edited(ctx context.Context, e env.Environment, uri string, edits []textEdit) (f FileEdit, err error) {
	path, ok := pathOf(c.paths, uri)
	if !ok {
		return f, fmt.Errorf("the server would change %.200q, which is not a file", uri)
	}
	if f.Path, err = e.RealPath(ctx, path); err != nil {
		return f, err
	}
	if !c.paths.Within(c.root, f.Path) {
		return f, fmt.Errorf("the server would change %s, which is outside of the workspace", f.Path)
	}
	if f.Before, err = env.ReadFile(ctx, c.env, f.Path, maxDocument); err != nil {
		return f, err
	}
	t, err := decode(f.Path, f.Before)
	if err != nil {
		return f, err
	}
	after, err := t.apply(edits, c.enc)
	if err != nil {
		return f, fmt.Errorf("%s: %w", f.Path, err)
	}
	f.After = slices.Concat(f.Before[:len(f.Before)-len(t.s)], []byte(after)) // with its byte order mark
	return f, nil
}

// reader reads the files that locations refer to.
type reader struct {
	ctx   context.Context
	c     *client
	env   env.Environment
	texts map[string]*text
}

// maxReads is the maximum number of files that are read for one result.
const maxReads = 200

func (c *client) reader(ctx context.Context, e env.Environment) *reader {
	return &reader{ctx, c, e, make(map[string]*text)}
}

// location converts a location. If its file cannot be read, the column is in the server's encoding.
func (r *reader) location(l location) Location {
	path, ok := pathOf(r.c.paths, l.URI)
	if !ok {
		return Location{Path: clean(l.URI, 200), Line: l.Range.Start.Line + 1, Column: l.Range.Start.Character + 1}
	}
	t, known := r.texts[path]
	if !known && len(r.texts) < maxReads && r.env != nil {
		if content, err := env.ReadFile(r.ctx, r.env, path, maxDocument); err == nil {
			if read, err := decode(path, content); err == nil {
				t = &read
			}
		}
		r.texts[path] = t
	}
	at := Location{Path: path, Line: l.Range.Start.Line + 1, Column: l.Range.Start.Character + 1}
	if t != nil {
		line := t.line(l.Range.Start.Line)
		at.Column, at.Text = r.c.enc.column(line, l.Range.Start.Character)+1, clean(line, 200)
	}
	return at
}
