package coding

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/env/search"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// The vendors' search tools offer more than a renaming of ours could, so they ask the engine below
// it themselves. What they touch is what ours touches.

// searchTool makes a vendor's search tool. access are the arguments of ours that tell what is
// touched.
func searchTool[In any](name, description string, enums map[string][]any, ours tool.Tool, access func(In) any, run tool.Run[In]) tool.Tool {
	spec := ours.Spec()
	spec.Name, spec.Description, spec.Input = name, description, nil
	return newNative(spec, enums, func(ctx context.Context, c *tool.Call, in In) []policy.Access {
		return ours.Access(ctx, with(c, access(in)))
	}, run)
}

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
	Limit     *float64 `json:"head_limit,omitempty" jsonschema:"the most lines or entries (default 250; 0 is all)"`
	Offset    float64  `json:"offset,omitempty" jsonschema:"how many lines or entries to leave out first"`
	Multiline bool     `json:"multiline,omitempty" jsonschema:"let a match span lines"`
}

func (in claudeGrepIn) window() (offset, limit int) {
	limit = 250
	if in.Limit != nil {
		limit = max(int(*in.Limit), 0)
	}
	return max(int(in.Offset), 0), limit
}

func (in claudeGrepIn) query() search.GrepQuery {
	around := max(in.Around, in.Context)
	q := search.GrepQuery{
		Pattern: in.Pattern, Path: in.Path, IgnoreCase: in.Fold, Multiline: in.Multiline, Spans: in.Only,
		Before: int(max(in.Before, around)), After: int(max(in.After, around)),
		Hidden: true, MaxLine: 500, Timeout: searchTimeout, Mode: search.Files,
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
		// One more than is shown tells whether there is more.
		q.HeadLimit = offset + limit + 1
	}
	return q
}

func claudeGrep(p *Profile) tool.Tool {
	return searchTool("Grep", "Search the contents of files by regular expression (RE2 syntax).",
		map[string][]any{"output_mode": {"content", "files_with_matches", "count"}}, p.get("grep"),
		func(in claudeGrepIn) any { return grepIn{Pattern: in.Pattern, Path: in.Path} },
		func(ctx context.Context, c *tool.Call, in claudeGrepIn) (tool.Result, error) {
			var entries []string
			matches := 0
			sum, err := search.Grep(ctx, c.Env, in.query(), func(m search.FileMatch) bool {
				matches += m.Matches
				entries = append(entries, in.entries(m)...)
				return true
			})
			if err != nil {
				return claudeError(searchFailed(err, orHere(in.Path))), nil
			}
			return tool.Result{Output: tool.Text(in.text(entries, matches)), Fields: map[string]any{"matches": sum.Matches, "files": sum.Files, "partial": sum.Partial}}, nil
		})
}

// entries are the lines that one file gives.
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
		note = fmt.Sprintf("[The results stop at head_limit %d. Use offset %d for more.]", limit, offset+limit)
	}
	text := strings.Join(shown, "\n")
	switch {
	case len(shown) == 0 && (in.Mode == "" || in.Mode == "files_with_matches"):
		return "No files found"
	case len(shown) == 0:
		return "No matches found"
	case in.Mode == "count":
		text += fmt.Sprintf("\n\nFound %s in %s.", matchCount(matches), plural(len(entries), "file"))
	case in.Mode != "content":
		text = "Found " + plural(len(shown), "file") + "\n" + text
	}
	if note != "" {
		text += "\n\n" + note
	}
	return text
}

type geminiGrepIn struct {
	Pattern       string  `json:"pattern" jsonschema:"the regular expression to search for"`
	Dir           string  `json:"dir_path,omitempty" jsonschema:"the file or directory to search (default: the working directory)"`
	Include       string  `json:"include_pattern,omitempty" jsonschema:"only files that match this glob, such as *.ts"`
	Exclude       string  `json:"exclude_pattern,omitempty" jsonschema:"leave out lines that match this regular expression"`
	NamesOnly     bool    `json:"names_only,omitempty" jsonschema:"list only the files"`
	PerFile       float64 `json:"max_matches_per_file,omitempty" jsonschema:"the most matches of one file"`
	Total         float64 `json:"total_max_matches,omitempty" jsonschema:"the most matches of all (default 100)"`
	CaseSensitive bool    `json:"case_sensitive,omitempty" jsonschema:"respect case (default false)"`
	Fixed         bool    `json:"fixed_strings,omitempty" jsonschema:"the pattern is plain text"`
	Context       float64 `json:"context,omitempty" jsonschema:"lines before and after each match"`
	After         float64 `json:"after,omitempty" jsonschema:"lines after each match"`
	Before        float64 `json:"before,omitempty" jsonschema:"lines before each match"`
	NoIgnore      bool    `json:"no_ignore,omitempty" jsonschema:"also search files that ignore files exclude"`
}

func (in geminiGrepIn) query() search.GrepQuery {
	q := search.GrepQuery{
		Pattern: in.Pattern, Literal: in.Fixed, IgnoreCase: !in.CaseSensitive, Path: in.Dir, NoIgnore: in.NoIgnore,
		Before: int(max(in.Before, in.Context)), After: int(max(in.After, in.Context)),
		HeadLimit: int(in.Total), MaxPerFile: int(in.PerFile), MaxLine: 2000, Timeout: searchTimeout,
	}
	if q.HeadLimit <= 0 {
		q.HeadLimit = 100
	}
	if in.Include != "" {
		q.Globs = []string{in.Include}
	}
	if in.NamesOnly {
		q.Mode = search.Files
	}
	return q
}

func geminiGrep(p *Profile) tool.Tool {
	return searchTool("grep_search", "Search the contents of files by regular expression (RE2 syntax).", nil, p.get("grep"),
		func(in geminiGrepIn) any { return grepIn{Pattern: in.Pattern, Path: in.Dir} },
		func(ctx context.Context, c *tool.Call, in geminiGrepIn) (tool.Result, error) {
			var exclude *regexp.Regexp
			if in.Exclude != "" {
				var err error
				if exclude, err = regexp.Compile(in.Exclude); err != nil {
					return tool.Failure(tool.InvalidPattern, "exclude_pattern is not a regular expression: %v", err), nil
				}
			}
			var b strings.Builder
			matches := 0
			sum, err := search.Grep(ctx, c.Env, in.query(), func(m search.FileMatch) bool {
				matches += in.write(&b, m, exclude)
				return true
			})
			if err != nil {
				return geminiError(searchFailed(err, orHere(in.Dir))), nil
			}
			return tool.Result{Output: tool.Text(in.text(b.String(), matches, sum)), Fields: map[string]any{"matches": matches, "files": sum.Files, "partial": sum.Partial}}, nil
		})
}

// write writes the matches of a file, and counts them.
func (in geminiGrepIn) write(b *strings.Builder, m search.FileMatch, exclude *regexp.Regexp) (matches int) {
	if in.NamesOnly {
		b.WriteString(m.Path + "\n")
		return 1
	}
	var lines []string
	for _, l := range m.Lines {
		sep := "-"
		if l.Match {
			if exclude != nil && exclude.MatchString(l.Text) {
				continue
			}
			matches++
			sep = ":"
		}
		lines = append(lines, fmt.Sprintf("L%d%s %s\n", l.Number, sep, l.Text))
	}
	if matches > 0 {
		b.WriteString("File: " + m.Path + "\n" + strings.Join(lines, "") + "---\n")
	}
	return matches
}

func (in geminiGrepIn) text(found string, matches int, sum search.Summary) string {
	where := fmt.Sprintf("for pattern %q in path %q", in.Pattern, orHere(in.Dir))
	what := matchCount(matches)
	if in.NamesOnly {
		what = plural(matches, "file")
	}
	head := fmt.Sprintf("Found %s %s:\n", what, where)
	switch {
	case matches == 0:
		return "No matches found " + where + "."
	case !in.NamesOnly:
		head += "---\n"
	}
	if sum.Partial {
		found += fmt.Sprintf("[The results are not complete: %s.]\n", sum.Reason)
	}
	return head + found
}

type geminiGlobIn struct {
	Pattern       string `json:"pattern" jsonschema:"the glob pattern, such as **/*.py"`
	Dir           string `json:"dir_path,omitempty" jsonschema:"the directory to search (default: the working directory)"`
	CaseSensitive bool   `json:"case_sensitive,omitempty" jsonschema:"respect case (default false)"`
	Git           *bool  `json:"respect_git_ignore,omitempty" jsonschema:"leave out what .gitignore excludes (default true)"`
	Gemini        *bool  `json:"respect_gemini_ignore,omitempty" jsonschema:"accepted, and without effect"`
}

func geminiGlob(p *Profile) tool.Tool {
	return searchTool("glob", "Find files by a glob pattern. Those changed within a day come first, newest first; the others follow by name.", nil, p.get("glob"),
		func(in geminiGlobIn) any { return globIn{Pattern: in.Pattern, Path: in.Dir} },
		func(ctx context.Context, c *tool.Call, in geminiGlobIn) (tool.Result, error) {
			found, err := search.Glob(ctx, c.Env, search.GlobQuery{
				Pattern: in.Pattern, Path: in.Dir, IgnoreCase: !in.CaseSensitive, NoIgnore: in.Git != nil && !*in.Git, Limit: 1000, Timeout: searchTimeout,
			})
			if err != nil {
				return geminiError(searchFailed(err, orHere(in.Dir))), nil
			}
			fields := map[string]any{"files": len(found.Files), "partial": found.Summary.Partial}
			if len(found.Files) == 0 {
				return tool.Result{Output: tool.Text(fmt.Sprintf("No files found for the pattern %q in %s", in.Pattern, orHere(in.Dir))), Fields: fields}, nil
			}
			info := c.Env.Info()
			recentFirst(found.Files, time.Now().Add(-24*time.Hour))
			var b strings.Builder
			fmt.Fprintf(&b, "Found %s for the pattern %q in %s:\n", plural(len(found.Files), "file"), in.Pattern, orHere(in.Dir))
			for _, f := range found.Files {
				b.WriteString(info.Paths().Abs(info.Dir, f.Path) + "\n")
			}
			partialNote(&b, found.Summary)
			return tool.Result{Output: tool.Text(b.String()), Fields: fields}, nil
		})
}

func matchCount(n int) string {
	if n == 1 {
		return "1 match"
	}
	return fmt.Sprintf("%d matches", n)
}

// recentFirst sorts files, newest first up to a time, and the older ones by name.
func recentFirst(files []search.GlobFile, since time.Time) {
	old := slices.IndexFunc(files, func(f search.GlobFile) bool { return f.ModTime.Before(since) })
	if old >= 0 {
		slices.SortFunc(files[old:], func(a, b search.GlobFile) int { return strings.Compare(a.Path, b.Path) })
	}
}
