package tools

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type notebookIn struct {
	Path   string `json:"notebook_path" jsonschema:"path of the .ipynb file"`
	Cell   string `json:"cell_id,omitempty" jsonschema:"id of the cell or its number from 1; insert adds the new cell after it, or at the start without it"`
	Source string `json:"new_source,omitempty" jsonschema:"the new source of the cell"`
	Kind   string `json:"cell_type,omitempty" jsonschema:"code or markdown (default: as it is, or code)"`
	Mode   string `json:"edit_mode,omitempty" jsonschema:"replace (default), insert or delete"`
}

// notebookEdit returns the tool that changes cells of Jupyter notebooks.
func (f files) notebookEdit() tool.Tool {
	spec := WithEnums[notebookIn](tool.Spec{
		Name:    "notebook_edit",
		Version: "1.0.0",

		Description: f.readFirst("Replace, insert or delete a cell of a Jupyter notebook. A replaced code cell loses its outputs."),

		Permissions: []tool.Permission{tool.FSRead, tool.FSWrite},
		SideEffects: "changes a file",
		Destructive: true,

		Output: payload("cell integer", "cells integer"),

		Limit: tool.Limit{Chars: 1_000, Lines: -1, Mode: tool.Tail},
	}, map[string][]any{"cell_type": {"code", "markdown"}, "edit_mode": {"replace", "insert", "delete"}})
	t := tool.New(spec, func(ctx context.Context, c *tool.Call, in notebookIn) []policy.Access {
		return []policy.Access{touches(ctx, c, policy.Read, in.Path), touches(ctx, c, policy.Write, in.Path)}
	}, oneByOne(f, f.editNotebook))
	return tool.WithPreview(t, func(ctx context.Context, c *tool.Call, in notebookIn) (tool.Preview, error) {
		e, err := f.planNotebook(ctx, c, in)
		if err != nil {
			return tool.Preview{}, err
		}
		return tool.Preview{Changes: []tool.Change{{
			Path:    touches(ctx, c, policy.Write, in.Path).Target,
			Before:  e.old,
			After:   e.new,
			Existed: true,
			Exists:  true,
		}}}, nil
	})
}

// notebookChange is a planned edit of a notebook.
type notebookChange struct {
	old, new    []byte
	cell, cells int // number of the cell, and how many cells there are afterwards
	verb        string
}

func (f files) editNotebook(ctx context.Context, c *tool.Call, in notebookIn) (tool.Result, error) {
	e, err := f.planNotebook(ctx, c, in)
	if err != nil {
		return tool.Result{}, err
	}
	if err := c.Env.WriteFile(ctx, in.Path, e.new, fs.FileMode(0o644)); err != nil {
		return tool.Result{}, failed(err, in.Path)
	}
	f.saw(ctx, c.Env, in.Path, e.new)
	res := tool.Success("%s cell %d of %s. The notebook has %s.", e.verb, e.cell, Show(c.Env, in.Path), Plural(e.cells, "cell"))
	res.Fields = map[string]any{"cell": e.cell, "cells": e.cells}
	res.Artifacts.FilesChanged = []string{in.Path}
	return res, nil
}

// planNotebook determines what an edit would do.
func (f files) planNotebook(ctx context.Context, c *tool.Call, in notebookIn) (notebookChange, error) {
	if extension(c.Env, in.Path) != ".ipynb" {
		return notebookChange{}, tool.Errorf(
			tool.ValidationError,
			"%s is not a .ipynb file. Edit other files with the tools for text.", brief(in.Path),
		)
	}
	old, err := f.read(ctx, c.Env, in.Path)
	if err != nil {
		return notebookChange{}, failed(err, in.Path)
	}
	if err := cmp.Or(f.unread(ctx, c.Env, in.Path, old, nil), f.placeholder(in.Path, string(old), in.Source)); err != nil {
		return notebookChange{}, err
	}
	b, err := parseBook(old)
	if err != nil {
		return notebookChange{}, tool.Errorf(tool.UnsupportedMedia, "%s was not changed: %v. Edit it as text.", in.Path, err)
	}
	return in.apply(b)
}

// apply applies the edit to a notebook.
func (in notebookIn) apply(b *book) (e notebookChange, err error) {
	i, found := b.find(in.Cell)
	if !found && (in.Cell != "" || in.Mode != "insert") {
		return e, tool.Errorf(
			tool.EditConflict,
			"The notebook has no cell %q: it has %s. Pass the id of a cell, or its number as shown by reading the notebook.",
			in.Cell,
			Plural(len(b.cells), "cell"),
		)
	}
	e = notebookChange{old: b.data, cell: i + 1, cells: len(b.cells), verb: "Replaced"}
	switch in.Mode {
	case "delete":
		e.verb, e.cells = "Deleted", e.cells-1
		e.new = b.remove(i)
	case "insert":
		if !found {
			i = -1
		}
		e.verb = "Inserted"
		e.cell = i + 2
		e.cells = e.cells + 1
		e.new, err = b.insert(i+1, cmp.Or(in.Kind, "code"), in.Source)
	default:
		e.new, err = b.replace(i, in.Kind, in.Source)
	}
	if err != nil {
		return e, fmt.Errorf("encode cell %d: %w", e.cell, err)
	}
	if _, err := parseBook(e.new); err != nil { // never write an invalid notebook
		return e, fmt.Errorf("editing cell %d results in an invalid notebook: %w", e.cell, err)
	}
	return e, nil
}
