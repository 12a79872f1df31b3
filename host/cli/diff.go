package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// diffField is where the result of a call has the diff of the files that it changed. It is for
// people and programs; the model does not see it.
const diffField = "diff"

// maxDiffed is the largest file, in bytes, that is compared.
const maxDiffed = 256 << 10

// recordDiffs puts the diff of the files that a call changed into its result.
func recordDiffs(next tool.Handler) tool.Handler {
	return func(ctx context.Context, t tool.Tool, c *tool.Call) (tool.Result, error) {
		if t.Spec().ReadOnly {
			return next(ctx, t, c)
		}
		before := readChanging(ctx, c.Env, t.Access(ctx, c))
		res, err := next(ctx, t, c)
		if err != nil || len(before) == 0 {
			return res, err
		}
		ctx = context.WithoutCancel(ctx) // what was done is told, also of a call that was cut short
		if d := diffOf(c.Env, before, func(path string) (string, bool) { return readText(ctx, c.Env, path) }); d != "" {
			if res.Fields == nil {
				res.Fields = make(map[string]any)
			}
			res.Fields[diffField] = d
		}
		return res, nil
	}
}

// readChanging reads the files that a call declares to change. One that cannot be compared is left
// out; one that does not exist yet is empty.
func readChanging(ctx context.Context, e env.Environment, accesses []policy.Access) map[string]string {
	files := make(map[string]string)
	for _, a := range accesses {
		if a.Kind != policy.Write && a.Kind != policy.Delete {
			continue
		}
		if text, ok := readText(ctx, e, a.Target); ok {
			files[a.Target] = text
		}
	}
	return files
}

// readText reads a file that can be compared; a missing one is empty.
func readText(ctx context.Context, e env.Environment, path string) (string, bool) {
	if _, err := e.Stat(ctx, path); err != nil {
		return "", true
	}
	b, err := env.ReadFile(ctx, e, path, maxDiffed)
	if err != nil || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}

// diffOf compares files as they were with what they are now.
func diffOf(e env.Environment, before map[string]string, now func(path string) (string, bool)) string {
	paths := make([]string, 0, len(before))
	for p := range before {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	var b strings.Builder
	for _, p := range paths {
		after, ok := now(p)
		if !ok || after == before[p] {
			continue
		}
		name := p
		if rel, err := filepath.Rel(e.Info().Dir, p); err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
		b.WriteString(udiff.Unified("a/"+name, "b/"+name, before[p], after))
	}
	return b.String()
}
