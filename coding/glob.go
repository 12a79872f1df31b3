package coding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/env/search"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// searchTimeout bounds a search, and maxSearchOutput what it gives back; what was found until then
// is reported.
const (
	searchTimeout   = 30 * time.Second
	searchGrace     = 2 * time.Second // for a search to notice that its time is over
	maxSearchOutput = 4 << 20
)

type globIn struct {
	Pattern string `json:"pattern" jsonschema:"glob pattern, such as **/*.ts or src/{a,b}/*.go"`
	Path    string `json:"path,omitempty" jsonschema:"the directory to search (default: the working directory)"`
	Limit   int    `json:"limit,omitempty" jsonschema:"the most files to list (default 1000)"`
}

func globTool() tool.Tool {
	return tool.New(tool.Spec{
		Name: "glob", Version: "1.0.0",
		Description: "Find files matching a glob pattern, newest first. Files that .gitignore excludes are left out, and hidden ones unless the pattern names them.",
		Permissions: []tool.Permission{tool.FSRead}, ReadOnly: true, Idempotent: true,
		Output: payload("files integer", "partial boolean"),
		Limit:  tool.Limit{Chars: 20_000, Lines: 500, Mode: tool.Head},
	}, func(ctx context.Context, c *tool.Call, in globIn) []policy.Access {
		return []policy.Access{touches(ctx, c, policy.Read, orHere(search.GlobQuery{Pattern: in.Pattern, Path: in.Path}.Root(c.Env.Info().Paths())))}
	}, glob)
}

func glob(ctx context.Context, c *tool.Call, in globIn) (tool.Result, error) {
	if in.Pattern == "" || in.Limit < 0 {
		return tool.Failure(tool.ValidationError, "pattern must not be empty, and limit not negative."), nil
	}
	limit := in.Limit
	if limit == 0 {
		limit = 1000
	}
	found, err := findFiles(ctx, c, search.GlobQuery{Pattern: in.Pattern, Path: in.Path, Limit: limit})
	if err != nil {
		return engine.Failed(err)
	}
	var b strings.Builder
	listed := 0
	for _, f := range found.Files {
		if b.Len() > maxSearchOutput {
			found.Summary.Partial, found.Summary.Reason = true, search.LimitReached
			break
		}
		b.WriteString(f.Path + "\n")
		listed++
	}
	if listed == 0 {
		b.WriteString("No files found.\n")
	}
	partialNote(&b, found.Summary)
	return tool.Result{Output: tool.Text(b.String()), Fields: map[string]any{"files": listed, "partial": found.Summary.Partial}}, nil
}

// findFiles finds files by name.
func findFiles(ctx context.Context, c *tool.Call, q search.GlobQuery) (search.GlobResult, error) {
	q.Timeout = searchTimeout
	found, err := within(ctx, searchTimeout+searchGrace, func(ctx context.Context) (search.GlobResult, error) {
		return search.Glob(ctx, c.Env, q)
	})
	if err != nil {
		return found, searchFailed(err, orHere(q.Path)).Error
	}
	return found, nil
}

func partialNote(b *strings.Builder, s search.Summary) {
	if s.Partial {
		fmt.Fprintf(b, "[The results are not complete: %s. Narrow the search to see the rest.]\n", s.Reason)
	}
}

func searchFailed(err error, p string) tool.Result {
	var pe *search.PatternError
	if errors.As(err, &pe) {
		return tool.Failure(tool.InvalidPattern, "%v.", pe)
	}
	return failed(err, p)
}
