package codesearch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/search"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Limits for showing a chunk.
const (
	shownLines = 12
	shownChars = 200 // per line
)

type searchIn struct {
	Query string   `json:"query" jsonschema:"what to find, in words or identifiers"`
	Dirs  []string `json:"target_directories,omitempty" jsonschema:"directories to search (default: the working directory)"`
}

func (in searchIn) dirs() []string {
	if len(in.Dirs) == 0 {
		return []string{"."}
	}
	return in.Dirs
}

// New returns the tool codebase_search with an empty index.
func New() tool.Tool { return newIndex().tool() }

func (x *index) tool() tool.Tool {
	return tool.New(tool.Spec{
		Name:    "codebase_search",
		Version: "1.0.0",

		Description: "Find the parts of the code that match a description best. Use grep for exact text.",

		Permissions: []tool.Permission{tool.FSRead},
		ReadOnly:    true,
		Idempotent:  true,

		Limit: tool.Limit{Chars: 20_000, Lines: -1, Mode: tool.Head},
	}, func(ctx context.Context, c *tool.Call, in searchIn) []policy.Access {
		var list []policy.Access
		for _, dir := range in.dirs() {
			real, err := c.Env.RealPath(ctx, dir)
			if err != nil {
				real = dir
			}
			list = append(list, policy.Access{Kind: policy.Read, Target: real})
		}
		return list
	}, x.search)
}

func (x *index) search(ctx context.Context, c *tool.Call, in searchIn) (tool.Result, error) {
	query := terms(in.Query)
	if len(query) == 0 || len(in.Query) > 1000 || len(in.Dirs) > 20 {
		return tool.Failure(
			tool.ValidationError,
			"query must have words and at most 1000 bytes, and target_directories at most 20 entries.",
		), nil
	}
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-ctx.Done():
		return tool.Result{}, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	files, err := x.list(limited, c.Env, in.dirs())
	if errors.Is(err, errTooLarge) {
		return x.fallBack(limited, c.Env, in, query, len(files))
	}
	if err == nil {
		err = x.update(limited, c.Env, files)
	}
	var notes []string
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		notes = []string{"The index is still incomplete. Search again to continue building it."}
	case err != nil:
		return tool.Result{}, failed(err, in.dirs())
	}
	var b strings.Builder
	hits := x.rank(files, query)
	for _, h := range hits {
		h.show(ctx, &b, c.Env, query)
	}
	res := result(&b, len(hits), len(files), true)
	res.Notes = notes
	return res, nil
}

func result(b *strings.Builder, hits, files int, indexed bool) tool.Result {
	if b.Len() == 0 {
		b.WriteString("Nothing found.\n")
	}
	return tool.Result{Output: tool.Text(b.String()), Fields: map[string]any{"results": hits, "files": files, "indexed": indexed}}
}

func failed(err error, dirs []string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, env.ErrNotDir):
		return tool.Errorf(tool.NotADirectory, "%s: a target directory does not exist or is not a directory.", strings.Join(dirs, ", "))
	case errors.Is(err, env.ErrOutside), errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.PermissionDenied, "Permission denied: %s. Search inside the working directory.", strings.Join(dirs, ", "))
	}
	return err
}

// show writes a hit's best matching lines.
func (h hit) show(ctx context.Context, b *strings.Builder, e env.Environment, query []string) {
	data, err := env.ReadFile(ctx, e, h.key, maxFile)
	if err != nil {
		return // it was removed in the meantime
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if h.first >= len(lines) {
		return
	}
	lines = lines[h.first:min(h.first+chunkLines, len(lines))]
	from := window(lines, query)
	fmt.Fprintf(b, "%s\n", h.Path)
	for i, line := range lines[from:min(from+shownLines, len(lines))] {
		fmt.Fprintf(b, "%d: %s\n", h.first+from+i+1, shorten(line))
	}
	b.WriteString("\n")
}

// window returns the first line of the range that contains the most query words.
func window(lines [][]byte, query []string) int {
	score := make([]int, len(lines))
	for i, line := range lines {
		words(line, func(w []byte) {
			if slices.Contains(query, string(w)) {
				score[i]++
			}
		})
	}
	at, most := 0, -1
	for i := range lines {
		sum := 0
		for _, s := range score[i:min(i+shownLines, len(lines))] {
			sum += s
		}
		if sum > most {
			at, most = i, sum
		}
	}
	return at
}

func shorten(line []byte) string {
	line = bytes.TrimRight(line, "\r")
	if len(line) > shownChars {
		return strings.ToValidUTF8(string(line[:shownChars]), "") + "…"
	}
	return strings.ToValidUTF8(string(line), "\uFFFD")
}

// fallBack searches a large tree with grep, and ranks files by how many query words they contain.
func (x *index) fallBack(ctx context.Context, e env.Environment, in searchIn, query []string, files int) (tool.Result, error) {
	quoted := make([]string, len(query))
	for i, t := range query {
		quoted[i] = regexp.QuoteMeta(t)
	}
	type match struct {
		search.FileMatch
		words int
	}
	var found []match
	var partial bool
	for _, dir := range in.dirs() {
		q := search.GrepQuery{
			Pattern:     strings.Join(quoted, "|"),
			IgnoreCase:  true,
			Path:        dir,
			MaxPerFile:  20,
			MaxLine:     4 * shownChars,
			MaxFileSize: maxFile,
			Timeout:     maxTime,
		}
		sum, err := search.Grep(ctx, e, q, func(m search.FileMatch) bool {
			var have []string
			for _, l := range m.Lines {
				words([]byte(l.Text), func(w []byte) {
					if slices.Contains(query, string(w)) {
						have = appendNew(have, string(w))
					}
				})
			}
			found = append(found, match{m, len(have)})
			if len(found) > 1000 {
				slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.words, a.words) })
				found = found[:maxHits]
			}
			return true
		})
		if err != nil {
			return tool.Result{}, failed(err, in.dirs())
		}
		partial = partial || sum.Partial && sum.Reason == search.TimedOut
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.words, a.words) })
	found = found[:min(len(found), maxHits)]
	var b strings.Builder
	for _, m := range found {
		b.WriteString(m.Path + "\n")
		for _, l := range m.Lines[:min(len(m.Lines), shownLines/2)] {
			fmt.Fprintf(&b, "%d: %s\n", l.Number, shorten([]byte(l.Text)))
		}
		b.WriteString("\n")
	}
	res := result(&b, len(found), files, false)
	res.Notes = []string{
		fmt.Sprintf(
			"The tree is too large for the index (more than %d files or %d MiB), so it was searched with grep. Pass "+
				"target_directories for better results.",
			x.maxFiles,
			x.maxBytes>>20,
		),
	}
	if partial {
		res.Notes = append(res.Notes, "The search took too long and is incomplete.")
	}
	return res, nil
}
