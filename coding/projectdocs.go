package coding

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reins-agent/reins/env"
)

// DocBudget is how many bytes of project documents go into a system prompt.
const DocBudget = 32 << 10

const docMarker = "[Project instructions truncated at 32KB]"

// ProjectDocs are the instructions that a project gives to agents.
type ProjectDocs struct {
	Files     []ProjectDoc // those of the root first, those of the working directory last
	Truncated bool         // there was more than DocBudget
	// Refused are files that were not read: links that lead out of the project, and files that
	// cannot be read. A host can tell the user.
	Refused []string
}

// ProjectDoc is one document. Its path is relative to the root of the project.
type ProjectDoc struct {
	Path string
	Text string
}

// FindProjectDocs reads the project documents of these names in every directory from the root of
// the repository down to the working directory, or only there if it lies in none. A file that
// several names lead to is read once.
func FindProjectDocs(ctx context.Context, e env.Environment, names []string) ProjectDocs {
	t := findTree(ctx, e)
	f := docFinder{ctx: ctx, env: e, tree: t, budget: DocBudget}
	for _, dir := range t.dirs {
		for _, name := range names {
			if f.docs.Truncated {
				return f.docs
			}
			f.load(t.paths.Join(dir, name))
		}
	}
	return f.docs
}

type docFinder struct {
	ctx    context.Context
	env    env.Environment
	tree   tree
	budget int
	seen   []string // real paths
	docs   ProjectDocs
}

// load takes in one document, if it is there.
func (f *docFinder) load(p string) {
	if _, err := f.env.Lstat(f.ctx, p); err != nil {
		return
	}
	shown := f.tree.relative(p)
	real, err := f.env.RealPath(f.ctx, p)
	if err != nil || !f.tree.holds(f.ctx, f.env, real) {
		f.docs.Refused = append(f.docs.Refused, shown)
		return
	}
	if slices.Contains(f.seen, real) {
		return
	}
	f.seen = append(f.seen, real)
	if info, err := f.env.Stat(f.ctx, real); err != nil || info.IsDir() {
		return
	}
	text, more, err := f.read(real)
	switch {
	case err != nil:
		f.docs.Refused = append(f.docs.Refused, shown)
	case text != "" || more:
		f.docs.Files = append(f.docs.Files, ProjectDoc{shown, text})
		f.docs.Truncated = more
	}
}

// read reads as much of a document as the budget allows, and says whether there is more.
func (f *docFinder) read(real string) (text string, more bool, err error) {
	r, err := f.env.Open(f.ctx, real)
	if err != nil {
		return "", false, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, int64(f.budget)+1))
	if err != nil {
		return "", false, err
	}
	if more = len(data) > f.budget; more {
		data = data[:f.budget]
		for i := 0; i < utf8.UTFMax && len(data) > 0 && !utf8.Valid(data[max(0, len(data)-utf8.UTFMax):]); i++ {
			data = data[:len(data)-1]
		}
	}
	f.budget -= len(data)
	text = strings.TrimPrefix(strings.ToValidUTF8(string(data), "\uFFFD"), "\uFEFF")
	return strings.TrimSpace(text), more, nil
}

// text is the part of the prompt with the documents.
func (d *ProjectDocs) text() string {
	if len(d.Files) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("# Project instructions\n\nThese come from the project, the root first. A later one wins over an earlier one.")
	for _, f := range d.Files {
		fmt.Fprintf(&b, "\n\n<project_instructions path=%q>\n%s\n</project_instructions>", f.Path, fenced(f.Text))
	}
	if d.Truncated {
		b.WriteString("\n" + docMarker)
	}
	return b.String()
}
