package coding

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/shell"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// DiffField is the field of a result that contains the diff of the changed files. The model does not see it.
const DiffField = "diff"

// maxDiffed is the maximum size of a file that is compared.
const maxDiffed = 256 << 10

// recordDiffs is middleware that adds the diff of the changed files to the result of a call.
func recordDiffs(ctx context.Context, c tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
	before := readChanging(ctx, c.Env, c.Accesses)
	res, err := next(ctx)
	ctx = context.WithoutCancel(ctx) // failed and interrupted calls may have changed files too
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if after, ok := readText(ctx, c.Env, path); ok {
			b.WriteString(unified(c.Env, path, before[path], after))
		}
	}
	if b.Len() > 0 {
		if res.Fields == nil {
			res.Fields = make(map[string]any)
		}
		res.Fields[DiffField] = b.String()
	}
	return res, err
}

// PreviewDiff returns the diff of a preview. It skips files that cannot be compared.
func PreviewDiff(e env.Environment, p tool.Preview) string {
	var b strings.Builder
	for _, c := range p.Changes {
		if isText(c.Before) && isText(c.After) {
			b.WriteString(unified(e, c.Path, string(c.Before), string(c.After)))
		}
	}
	return b.String()
}

// maxDescribed is the maximum size of the description of a call.
const maxDescribed = 64 << 10

// Describe describes a call that needs approval: what the tool says about it, the diff, and what its commands do.
func Describe(ctx context.Context, r tool.Request) (d event.Description) {
	switch p, ok, err := r.Preview(ctx); {
	case err != nil: // it may succeed later
		d.Notes = append(d.Notes, "this call would fail: "+err.Error())
	case ok:
		d.Preview, d.Diff = atMost(p.Text, maxDescribed), atMost(PreviewDiff(r.Call.Env, p), maxDescribed)
		for _, c := range p.Changes {
			one := tool.Preview{Changes: []tool.Change{c}}
			if PreviewDiff(r.Call.Env, one) == "" && (c.Existed != c.Exists || !bytes.Equal(c.Before, c.After)) {
				d.Notes = append(d.Notes,
					fmt.Sprintf("changes %s without a diff: %d bytes before, %d after", c.Path, len(c.Before), len(c.After)))
			}
		}
	}
	for _, a := range r.Accesses {
		if a.Kind == policy.Exec {
			d.Parts = append(d.Parts, commandParts(r, a)...)
		}
	}
	return d
}

// atMost truncates a text.
func atMost(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "\n[truncated]\n"
}

// commandParts describes the parts of a command that need approval, if it has several.
func commandParts(r tool.Request, a policy.Access) (parts []string) {
	o := shell.Options{Dir: a.Dir, Home: r.Home()}
	if r.Call.Env != nil {
		o.Paths = r.Call.Env.Info().Paths()
	}
	effects, err := shell.Analyze(a.Target, o)
	if err != nil || len(effects) < 2 {
		return nil
	}
	for _, e := range effects {
		if text := partText(e); text != "" && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return parts
}

// partText describes one part of a command. It returns "" if the part only reads.
func partText(e shell.Effect) string {
	var does []string
	if e.Unknown != "" {
		does = append(does, e.Unknown)
	}
	for _, x := range e.Accesses {
		if verb := map[shell.Kind]string{shell.Write: "writes ", shell.Delete: "deletes "}[x.Kind]; verb != "" {
			does = append(does, verb+x.Path)
		}
	}
	if len(does) == 0 {
		return ""
	}
	words := strings.ReplaceAll(strings.Join(e.Words, " "), shell.Unset, "…")
	if words == "" {
		return strings.Join(does, ", ")
	}
	return words + ": " + strings.Join(does, ", ")
}

// isText reports whether content is text and small enough to compare.
func isText(content []byte) bool { return len(content) <= maxDiffed && utf8.Valid(content) }

// readChanging reads the files that a call will change. It skips files that cannot be compared. A missing file counts
// as empty.
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

// readText reads a file if it can be compared. A missing file counts as empty.
func readText(ctx context.Context, e env.Environment, path string) (string, bool) {
	if _, err := e.Stat(ctx, path); err != nil {
		return "", true
	}
	b, err := env.ReadFile(ctx, e, path, maxDiffed)
	if err != nil || !isText(b) {
		return "", false
	}
	return string(b), true
}

// unified returns the diff of a file, or "" if it did not change.
func unified(e env.Environment, path, before, after string) string {
	if before == after {
		return ""
	}
	name, paths, dir := path, e.Info().Paths(), e.Info().Dir
	if rel, ok := paths.Rel(dir, path); ok && paths.Within(dir, path) {
		name = paths.ToSlash(rel)
	}
	return udiff.Unified("a/"+name, "b/"+name, before, after)
}
