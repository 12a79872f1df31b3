package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/search"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// The limits of a search. A search that reaches one reports what it has found so far.
const (
	searchTimeout   = 30 * time.Second
	searchGrace     = 2 * time.Second // for a search to notice its timeout
	maxSearchOutput = 4 << 20
)

type globIn struct {
	Pattern string `json:"pattern" jsonschema:"glob pattern, such as **/*.ts or src/{a,b}/*.go"`
	Path    string `json:"path,omitempty" jsonschema:"directory (default: the working directory)"`
	Limit   int    `json:"limit,omitempty" jsonschema:"maximum number of files (default 1000)"`
}

func globOp() Op[search.GlobQuery, search.GlobResult] {
	return Op[search.GlobQuery, search.GlobResult]{
		Spec: tool.Spec{
			Name:    "glob",
			Version: "1.0.0",

			Description: "Find files matching a glob pattern, newest first. Skips files excluded by .gitignore, and hidden " +
				"files unless the pattern names them.",

			Permissions: []tool.Permission{tool.FSRead},
			ReadOnly:    true,
			Idempotent:  true,

			Output: payload("files integer", "partial boolean"),

			Limit: tool.Limit{Chars: 20_000, Lines: 500, Mode: tool.Head},
		},
		Access: func(ctx context.Context, c *tool.Call, q search.GlobQuery) []policy.Access {
			return []policy.Access{touches(ctx, c, policy.Read, OrHere(q.Root(c.Env.Info().Paths())))}
		},
		Do: findFiles,
	}
}

func (in globIn) query() search.GlobQuery {
	q := search.GlobQuery{Pattern: in.Pattern, Path: in.Path, Limit: in.Limit}
	if q.Limit == 0 {
		q.Limit = 1000
	}
	return q
}

func globTool() tool.Tool {
	op := globOp()
	return Over(op.Spec, op, globIn.query, glob)
}

func glob(ctx context.Context, c *tool.Call, in globIn) (tool.Result, error) {
	if in.Pattern == "" || in.Limit < 0 {
		return tool.Failure(tool.ValidationError, "pattern must not be empty and limit must not be negative."), nil
	}
	found, err := findFiles(ctx, c, in.query())
	if err != nil {
		return tool.Result{}, err
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
		return found, searchFailed(err, OrHere(q.Path))
	}
	return found, nil
}

func partialNote(b *strings.Builder, s search.Summary) {
	if s.Partial {
		fmt.Fprintf(b, "[The results are incomplete: %s. Narrow the search to see the rest.]\n", s.Reason)
	}
}
