package native

import (
	"context"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/search"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

type claudeGrepIn struct {
	Pattern   string   `json:"pattern" jsonschema:"the regular expression to search for"`
	Path      string   `json:"path,omitempty" jsonschema:"the file or directory to search (default: the working directory)"`
	Glob      string   `json:"glob,omitempty" jsonschema:"only files that match, such as *.js or *.{ts,tsx}"`
	Mode      string   `json:"output_mode,omitempty" jsonschema:"the matching lines, the files (default), or counts"`
	Before    float64  `json:"-B,omitempty" jsonschema:"lines before each match (content mode)"`
	After     float64  `json:"-A,omitempty" jsonschema:"lines after each match (content mode)"`
	Around    float64  `json:"-C,omitempty" jsonschema:"lines before and after each match (content mode)"`
	Context   float64  `json:"context,omitempty" jsonschema:"the same as -C"`
	Numbers   *bool    `json:"-n,omitempty" jsonschema:"show line numbers (content mode; default true)"`
	Fold      bool     `json:"-i,omitempty" jsonschema:"ignore case"`
	Only      bool     `json:"-o,omitempty" jsonschema:"show only the matched parts (content mode)"`
	Type      string   `json:"type,omitempty" jsonschema:"only files of this type, such as js, py or go"`
	Limit     *float64 `json:"head_limit,omitempty" jsonschema:"maximum number of lines or entries (default 250; 0 means no limit)"`
	Offset    float64  `json:"offset,omitempty" jsonschema:"number of lines or entries to skip first"`
	Multiline bool     `json:"multiline,omitempty" jsonschema:"let a match span several lines"`
}

func (in claudeGrepIn) window() (offset, limit int) {
	limit = claudeGrepLines
	if in.Limit != nil {
		limit = max(int(*in.Limit), 0)
	}
	return max(int(in.Offset), 0), limit
}

func (in claudeGrepIn) query() search.GrepQuery {
	around := max(in.Around, in.Context)
	q := search.GrepQuery{
		Pattern:    in.Pattern,
		Path:       in.Path,
		IgnoreCase: in.Fold,
		Multiline:  in.Multiline,
		Spans:      in.Only,

		Before: int(max(in.Before, around)),
		After:  int(max(in.After, around)),

		Hidden:  true,
		MaxLine: claudeColumns,
		Mode:    search.Files,
	}
	if in.Glob != "" {
		q.Globs = append(q.Globs, in.Glob)
	}
	for _, dir := range []string{".git", ".svn", ".hg", ".bzr", ".jj"} {
		q.Globs = append(q.Globs, "!"+dir)
	}
	if in.Type != "" {
		q.Types = []string{in.Type}
	}
	switch in.Mode {
	case "content":
		q.Mode = search.Content
	case "count":
		q.Mode = search.Count
	}
	if offset, limit := in.window(); limit > 0 {
		q.HeadLimit = offset + limit + 1 // one more than shown, to know whether there is more
	}
	return q
}

func (c claude) grep() tool.Tool {
	spec := named(c.Grep.Spec, "Grep", "Search file contents using a regular expression (RE2 syntax).", claudeLimit(claudeGrepChars))
	spec = tools.WithEnums[claudeGrepIn](spec, map[string][]any{"output_mode": {"content", "files_with_matches", "count"}})
	return present(
		spec,
		c.Grep,
		claudeGrepIn.query,
		claudeError,
		func(_ context.Context, _ *tool.Call, in claudeGrepIn, found tools.Found) tool.Result {
			var entries []string
			matches := 0
			for _, m := range found.Files {
				matches += m.Matches
				entries = append(entries, in.entries(m)...)
			}
			return tool.Result{Output: tool.Text(in.text(entries, matches)), Fields: found.Fields()}
		},
	)
}

// entries returns the output lines of one file.
func (in claudeGrepIn) entries(m search.FileMatch) (lines []string) {
	switch in.Mode {
	case "content":
	case "count":
		return []string{fmt.Sprintf("%s:%d", m.Path, m.Matches)}
	default:
		return []string{m.Path}
	}
	for _, l := range m.Lines {
		sep := "-"
		if l.Match {
			sep = ":"
		}
		prefix := m.Path + sep
		if in.Numbers == nil || *in.Numbers {
			prefix += fmt.Sprint(l.Number) + sep
		}
		if !in.Only {
			lines = append(lines, prefix+l.Text)
			continue
		}
		for _, s := range l.Spans {
			lines = append(lines, prefix+l.Text[min(s.Start, len(l.Text)):min(s.End, len(l.Text))])
		}
	}
	return lines
}

func (in claudeGrepIn) text(entries []string, matches int) string {
	offset, limit := in.window()
	shown := entries[min(offset, len(entries)):]
	note := ""
	if limit > 0 && len(shown) > limit {
		shown = shown[:limit]
		note = fmt.Sprintf("\n\n[The results stop at head_limit %d. Use offset %d for more.]", limit, offset+limit)
	}
	text := strings.Join(shown, "\n")
	switch {
	case len(shown) == 0 && (in.Mode == "" || in.Mode == "files_with_matches"):
		return "No files found"
	case len(shown) == 0:
		return "No matches found"
	case in.Mode == "count":
		text += fmt.Sprintf("\n\nFound %s in %s.", tools.Plural(matches, "match"), tools.Plural(len(entries), "file"))
	case in.Mode != "content":
		text = "Found " + tools.Plural(len(shown), "file") + "\n" + text
	}
	return text + note
}
