package coding

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type listIn struct {
	Path   string   `json:"path,omitempty" jsonschema:"the directory (default: the working directory)"`
	Depth  int      `json:"depth,omitempty" jsonschema:"how many levels to list (default 1)"`
	Ignore []string `json:"ignore_globs,omitempty" jsonschema:"names or paths to leave out, such as node_modules or **/*.log"`
}

// maxEntries bounds a listing, and so what a call can cost.
const maxEntries = 10_000

func (f files) listDir() tool.Tool {
	return tool.New(tool.Spec{
		Name: "list_dir", Version: "1.0.0",
		Description: "List a directory, with sizes; directories end in a slash.",
		Permissions: []tool.Permission{tool.FSRead}, ReadOnly: true, Idempotent: true,
		Output: payload("entries integer", "partial boolean"),
	}, func(ctx context.Context, c *tool.Call, in listIn) []policy.Access {
		return []policy.Access{touches(ctx, c, policy.Read, orHere(in.Path))}
	}, listDir)
}

func listDir(ctx context.Context, c *tool.Call, in listIn) (tool.Result, error) {
	if in.Depth < 0 {
		return tool.Failure(tool.ValidationError, "depth must not be negative."), nil
	}
	for _, g := range in.Ignore {
		if !doublestar.ValidatePattern(g) {
			return tool.Failure(tool.InvalidPattern, "ignore_globs: %q is not a valid glob.", g), nil
		}
	}
	root := orHere(in.Path)
	info, err := c.Env.Stat(ctx, root)
	if err != nil {
		return failed(err, root), nil
	}
	if !info.IsDir() {
		return tool.Failure(tool.NotADirectory, "%s is not a directory. Use read_file to read it.", root), nil
	}
	l := lister{ctx: ctx, env: c.Env, ignore: in.Ignore}
	if err := l.list(root, "", max(in.Depth, 1)); err != nil {
		return failed(err, root), nil
	}
	text := l.out.String()
	if l.entries == 0 {
		text = "(the directory is empty)\n"
	}
	if l.full {
		text += fmt.Sprintf("[The listing stops at %d entries. List a directory further down, or leave some out with ignore_globs.]\n", maxEntries)
	}
	return tool.Result{Output: tool.Text(text), Fields: map[string]any{"entries": l.entries, "partial": l.full}}, nil
}

type lister struct {
	ctx     context.Context
	env     env.Environment
	ignore  []string
	out     strings.Builder
	entries int
	full    bool // there are more entries than are listed
}

// list writes the entries of a directory, indented by their depth. rel is its path below the root.
func (l *lister) list(dir, rel string, depth int) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	entries, err := l.env.ReadDir(l.ctx, dir)
	if err != nil {
		if rel == "" {
			return err
		}
		fmt.Fprintf(&l.out, "%s[not readable]\n", indentation(rel+"/x"))
		return nil
	}
	for _, e := range entries {
		below := path.Join(rel, e.Name)
		if l.ignored(below) {
			continue
		}
		if l.entries == maxEntries {
			l.full = true
			return nil
		}
		l.entries++
		if !e.IsDir() {
			fmt.Fprintf(&l.out, "%s%s  %s\n", indentation(below), e.Name, size(e))
			continue
		}
		fmt.Fprintf(&l.out, "%s%s/\n", indentation(below), e.Name)
		if depth > 1 {
			if err := l.list(l.env.Info().Paths().Join(dir, e.Name), below, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lister) ignored(rel string) bool {
	for _, g := range l.ignore {
		if ok, _ := doublestar.Match(g, rel); ok {
			return true
		}
		if ok, _ := doublestar.Match(g, path.Base(rel)); ok {
			return true
		}
	}
	return false
}

func indentation(rel string) string { return strings.Repeat("  ", strings.Count(rel, "/")) }

// size tells the size of a file, or what it is if it is no ordinary one.
func size(f env.FileInfo) string {
	switch {
	case f.Mode.IsRegular():
		return humanSize(f.Size)
	case f.Mode.Type()&fs.ModeSymlink != 0:
		return "link"
	}
	return "special file"
}

func humanSize(n int64) string {
	switch {
	case n < 1024:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/1024)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
