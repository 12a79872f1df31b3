package prompt

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/reins-agent/reins/env"
)

// nestedBudget is the maximum number of bytes of documents that one file brings.
const nestedBudget = 16 << 10

// foreign are directories with the code of others, whose instructions are not for this project.
var foreign = []string{"node_modules", "vendor", "site-packages", "bower_components"}

// Nested finds documents that are not in the prompt, because they apply to certain files or directories.
type Nested struct {
	Finder
	Env env.Environment

	mu    sync.Mutex
	rules map[string][]rule // by directory
}

// Part holds the documents that apply to a project file.
type Part struct {
	Docs
	// Keys name the parts of the project that the documents apply to, so that each is given only once.
	Keys      []string
	untrusted bool // they belong to a repository inside the project
}

// For returns the documents for a file, given the working directory and the keys of those that the model has. It
// returns none if the file is not in the same project as the working directory. Paths must be real.
func (n *Nested) For(ctx context.Context, dir, file string, given func(key string) bool) (p Part) {
	t := findTreeAt(ctx, n.Env, dir)
	rel, ok := t.paths.Rel(t.root, file)
	if !ok || slices.ContainsFunc(strings.Split(rel, "/"), func(name string) bool { return slices.Contains(foreign, name) }) {
		return p
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.start(ctx, n.Env, t)
	d.budget = nestedBudget
	for _, at := range t.below(t.paths.Dir(file)) {
		known := t.paths.Within(at, t.paths.Clean(dir))
		if !known {
			_, err := n.Env.Lstat(ctx, t.paths.Join(at, ".git"))
			p.untrusted = p.untrusted || err == nil
		}
		for _, r := range n.rulesAt(d, at) {
			if key := r.Path; (r.applies(rel) && !r.always || r.always && !known) && !given(key) {
				d.add(r.Doc)
				p.Keys = append(p.Keys, key)
			}
		}
		key := t.relative(at)
		if before := len(d.docs.Files); !known && !given(key) {
			if d.main(at, n.Names); len(d.docs.Files) > before {
				p.Keys = append(p.Keys, key)
			}
		}
	}
	p.Docs = d.docs
	return p
}

// rulesAt returns the rules in a directory. They are read once.
func (n *Nested) rulesAt(d *docFinder, dir string) []rule {
	list, ok := n.rules[dir]
	if !ok {
		list = d.rules(dir)
		if n.rules == nil {
			n.rules = map[string][]rule{}
		}
		n.rules[dir] = list
	}
	return list
}

// Note returns the documents as a note to add to a tool result, or "" without documents.
func (p Part) Note(trusted bool) string {
	if len(p.Files) == 0 {
		return ""
	}
	mark := mark(trusted && !p.untrusted)
	var b strings.Builder
	b.WriteString("Project instructions for this part of the project. They apply to all work on its files.")
	if mark != "" {
		b.WriteString(untrustedHead)
	}
	writeDocs(&b, "project_instructions", mark, p.Files)
	if p.Truncated {
		b.WriteString("\n(truncated at 16 KiB)")
	}
	return b.String() + "\n"
}
