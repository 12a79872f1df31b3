package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/search"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type grepIn struct {
	Pattern         string `json:"pattern" jsonschema:"regular expression (RE2 syntax)"`
	Path            string `json:"path,omitempty" jsonschema:"file or directory (default: the working directory)"`
	GlobFilter      string `json:"glob_filter,omitempty" jsonschema:"only files whose path matches, such as *.py; also includes hidden and ignored files"`
	Type            string `json:"type,omitempty" jsonschema:"only files of this type, such as go, py or rust"`
	CaseInsensitive bool   `json:"case_insensitive,omitempty" jsonschema:"ignore case"`
	Literal         bool   `json:"literal,omitempty" jsonschema:"pattern is plain text"`
	OutputMode      string `json:"output_mode,omitempty" jsonschema:"content (default), files_with_matches or count"`
	Before          int    `json:"before,omitempty" jsonschema:"lines before each match"`
	After           int    `json:"after,omitempty" jsonschema:"lines after each match"`
	Context         int    `json:"context,omitempty" jsonschema:"lines on both sides"`
	Multiline       bool   `json:"multiline,omitempty" jsonschema:"matches may span lines"`
	MaxResults      int    `json:"max_results,omitempty" jsonschema:"default 100"`
}

const (
	maxContext  = 1000 // maximum number of lines before or after a match
	maxGrepLine = 2000 // maximum bytes shown of a line
)

func grepOp() Op[search.GrepQuery, Found] {
	return Op[search.GrepQuery, Found]{
		Spec: tool.Spec{
			Name:    "grep",
			Version: "1.0.0",

			Description: "Search file contents using regex patterns. Skips binary files, hidden files and files excluded by .gitignore.",

			Permissions: []tool.Permission{tool.FSRead},
			ReadOnly:    true,
			Idempotent:  true,

			Output: payload("matches integer", "files integer", "partial boolean"),

			Limit: tool.Limit{Chars: 20_000, Lines: 200, Mode: tool.Tail},
		},
		Access: func(ctx context.Context, c *tool.Call, q search.GrepQuery) []policy.Access {
			return []policy.Access{touches(ctx, c, policy.Read, OrHere(q.Path))}
		},
		Do: findLines,
	}
}

func grepTool() tool.Tool {
	op := grepOp()
	return Over(op.Spec, op, func(in grepIn) search.GrepQuery { return search.GrepQuery{Path: in.Path} }, grep)
}

func grep(ctx context.Context, c *tool.Call, in grepIn) (tool.Result, error) {
	q, problem := in.query()
	if problem != "" {
		return tool.Failure(tool.ValidationError, "%s", problem), nil
	}
	found, err := findLines(ctx, c, q)
	if err != nil {
		return tool.Result{}, err
	}
	var b strings.Builder
	for _, m := range found.Files {
		writeMatch(&b, q, m)
	}
	sum := found.Summary
	if sum.Matches == 0 && sum.Files == 0 {
		b.WriteString("No matches found.\n")
	}
	partialNote(&b, sum)
	return tool.Result{Output: tool.Text(b.String()), Fields: found.Fields()}, nil
}

// findLines searches the contents of files. It stops when the output limit is reached.
func findLines(ctx context.Context, c *tool.Call, q search.GrepQuery) (Found, error) {
	q.Timeout = searchTimeout
	found, err := within(ctx, searchTimeout+searchGrace, func(ctx context.Context) (Found, error) {
		var f Found
		size, full := 0, false
		sum, err := search.Grep(ctx, c.Env, q, func(m search.FileMatch) bool {
			f.Files = append(f.Files, m)
			for _, l := range m.Lines {
				size += len(m.Path) + len(l.Text) + 10
			}
			size += len(m.Path) + 10
			full = size > maxSearchOutput
			return !full
		})
		if f.Summary = sum; full {
			f.Summary.Partial, f.Summary.Reason = true, search.LimitReached
		}
		return f, err
	})
	if err != nil {
		return found, searchFailed(err, OrHere(q.Path))
	}
	return found, nil
}

// query returns the query for the arguments, or a problem if they are invalid.
func (in grepIn) query() (q search.GrepQuery, problem string) {
	if min(in.Before, in.After, in.Context, in.MaxResults) < 0 {
		return q, "before, after, context and max_results must not be negative."
	}
	q = search.GrepQuery{
		Pattern:    in.Pattern,
		Literal:    in.Literal,
		IgnoreCase: in.CaseInsensitive,
		Multiline:  in.Multiline,

		Path:   in.Path,
		Before: min(max(in.Before, in.Context), maxContext),
		After:  min(max(in.After, in.Context), maxContext),

		HeadLimit: in.MaxResults,
		MaxLine:   maxGrepLine,
	}
	if q.HeadLimit == 0 {
		q.HeadLimit = 100
	}
	if in.GlobFilter != "" {
		q.Globs = []string{in.GlobFilter}
	}
	if in.Type != "" {
		q.Types = []string{in.Type}
	}
	switch in.OutputMode {
	case "", "content":
		q.Mode = search.Content
	case "files_with_matches", "files":
		q.Mode = search.Files
	case "count":
		q.Mode = search.Count
	default:
		problem = fmt.Sprintf("output_mode is %q; it must be content, files_with_matches or count.", in.OutputMode)
	}
	return q, problem
}

// writeMatch writes the matches of one file.
func writeMatch(b *strings.Builder, q search.GrepQuery, m search.FileMatch) {
	switch q.Mode {
	case search.Files:
		b.WriteString(m.Path + "\n")
		return
	case search.Count:
		fmt.Fprintf(b, "%s:%d\n", m.Path, m.Matches)
		return
	}
	gaps := q.Before+q.After > 0
	last := 0
	for _, l := range m.Lines {
		if gaps && last > 0 && l.Number > last+1 {
			b.WriteString("--\n")
		}
		last = l.Number
		sep := ":"
		if !l.Match {
			sep = "-"
		}
		fmt.Fprintf(b, "%s%s%d%s%s", m.Path, sep, l.Number, sep, strings.TrimSuffix(l.Text, "\r"))
		if l.Cut {
			b.WriteString(" [line truncated]")
		}
		b.WriteString("\n")
	}
}
