package tools

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

// maxEntries is the maximum number of entries in a listing.
const maxEntries = 10_000

func listDir() Op[List, Listing] {
	return Op[List, Listing]{
		Spec: tool.Spec{
			Name:    "list_dir",
			Version: "1.0.0",

			Description: "List a directory with file sizes. Directory names end with a slash.",

			Permissions: []tool.Permission{tool.FSRead},
			ReadOnly:    true,
			Idempotent:  true,

			Output: payload("entries integer", "partial boolean"),
		},
		Access: func(ctx context.Context, c *tool.Call, in List) []policy.Access {
			return []policy.Access{touches(ctx, c, policy.Read, OrHere(in.Path))}
		},
		Do: list,
	}
}

func list(ctx context.Context, c *tool.Call, in List) (Listing, error) {
	l := lister{ctx: ctx, env: c.Env, ignore: in.Ignore}
	if in.Depth < 0 {
		return l.found, tool.Errorf(tool.ValidationError, "depth must not be negative.")
	}
	for _, g := range in.Ignore {
		if !doublestar.ValidatePattern(g) {
			return l.found, tool.Errorf(tool.InvalidPattern, "%q in ignore_globs is not a valid glob.", g)
		}
	}
	root := OrHere(in.Path)
	info, err := c.Env.Stat(ctx, root)
	if err != nil {
		return l.found, failed(err, root)
	}
	if !info.IsDir() {
		return l.found, tool.Errorf(tool.NotADirectory, "%s is a file, not a directory.", root)
	}
	if err := l.list(root, "", max(in.Depth, 1)); err != nil {
		return l.found, failed(err, root)
	}
	return l.found, nil
}

// showListing formats a directory for list_dir.
func showListing(_ List, l Listing) tool.Result {
	var b strings.Builder
	for _, e := range l.Entries {
		indent := strings.Repeat("  ", strings.Count(e.Path, "/"))
		switch {
		case e.Unreadable:
			fmt.Fprintf(&b, "%s%s/\n%s  [not readable]\n", indent, e.Info.Name, indent)
		case e.Info.IsDir():
			fmt.Fprintf(&b, "%s%s/\n", indent, e.Info.Name)
		default:
			fmt.Fprintf(&b, "%s%s  %s\n", indent, e.Info.Name, size(e.Info))
		}
	}
	if len(l.Entries) == 0 {
		b.WriteString("(the directory is empty)\n")
	}
	if l.Partial {
		fmt.Fprintf(&b, "[The listing stops at %d entries. List a subdirectory, or skip entries with ignore_globs.]\n", maxEntries)
	}
	return tool.Result{Output: tool.Text(b.String()), Fields: l.Fields()}
}

type lister struct {
	ctx    context.Context
	env    env.Environment
	ignore []string
	found  Listing
}

// list collects the entries of a directory. rel is its path relative to the root.
func (l *lister) list(dir, rel string, depth int) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	entries, err := l.env.ReadDir(l.ctx, dir)
	if err != nil {
		if rel == "" {
			return err
		}
		l.found.Entries[len(l.found.Entries)-1].Unreadable = true
		return nil
	}
	for _, e := range entries {
		below := path.Join(rel, e.Name)
		if l.ignored(below) {
			l.found.Ignored++
			continue
		}
		if len(l.found.Entries) == maxEntries {
			l.found.Partial = true
			return nil
		}
		l.found.Entries = append(l.found.Entries, Entry{Path: below, Info: e})
		if e.IsDir() && depth > 1 {
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

// size returns the size of a regular file, or the kind of another file.
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
