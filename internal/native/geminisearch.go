package native

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/search"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

type geminiGrepIn struct {
	Pattern       string  `json:"pattern" jsonschema:"the regular expression to search for"`
	Dir           string  `json:"dir_path,omitempty" jsonschema:"the file or directory to search (default: the working directory)"`
	Include       string  `json:"include_pattern,omitempty" jsonschema:"only files that match this glob, such as *.ts"`
	Exclude       string  `json:"exclude_pattern,omitempty" jsonschema:"skip lines that match this regular expression"`
	NamesOnly     bool    `json:"names_only,omitempty" jsonschema:"list only the files"`
	PerFile       float64 `json:"max_matches_per_file,omitempty" jsonschema:"maximum number of matches per file"`
	Total         float64 `json:"total_max_matches,omitempty" jsonschema:"maximum number of matches in total (default 100)"`
	CaseSensitive bool    `json:"case_sensitive,omitempty" jsonschema:"respect case (default false)"`
	Fixed         bool    `json:"fixed_strings,omitempty" jsonschema:"the pattern is plain text"`
	Context       float64 `json:"context,omitempty" jsonschema:"lines before and after each match"`
	After         float64 `json:"after,omitempty" jsonschema:"lines after each match"`
	Before        float64 `json:"before,omitempty" jsonschema:"lines before each match"`
	NoIgnore      bool    `json:"no_ignore,omitempty" jsonschema:"also search ignored files"`
}

func (in geminiGrepIn) query() search.GrepQuery {
	q := search.GrepQuery{
		Pattern:    in.Pattern,
		Literal:    in.Fixed,
		IgnoreCase: !in.CaseSensitive,
		Path:       in.Dir,
		NoIgnore:   in.NoIgnore,

		Before: int(max(in.Before, in.Context)),
		After:  int(max(in.After, in.Context)),

		HeadLimit:  int(in.Total),
		MaxPerFile: int(in.PerFile),
		MaxLine:    geminiLineChars,
	}
	if q.HeadLimit <= 0 {
		q.HeadLimit = geminiMatches
	}
	if in.Include != "" {
		q.Globs = []string{in.Include}
	}
	if in.NamesOnly {
		q.Mode = search.Files
	}
	return q
}

func (g gemini) grep() tool.Tool {
	spec := geminiSpec(g.Grep.Spec, "grep_search", "Search file contents using a regular expression (RE2 syntax).")
	return tools.Over(spec, g.Grep, geminiGrepIn.query, func(ctx context.Context, c *tool.Call, in geminiGrepIn) (tool.Result, error) {
		var exclude *regexp.Regexp
		if in.Exclude != "" {
			var err error
			if exclude, err = regexp.Compile(in.Exclude); err != nil {
				return tool.Failure(tool.InvalidPattern, "exclude_pattern is not a valid regular expression: %v", err), nil
			}
		}
		found, err := g.Grep.Do(ctx, c, in.query())
		if err != nil {
			return tool.Result{}, err
		}
		var b strings.Builder
		matches := 0
		for _, m := range found.Files {
			matches += in.write(&b, m, exclude)
		}
		return geminiText(in.text(b.String(), matches, found), found.Fields()), nil
	})
}

// write writes the matches in a file and returns their number.
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

func (in geminiGrepIn) text(list string, matches int, found tools.Found) string {
	where := fmt.Sprintf("for pattern %q in path %q", in.Pattern, tools.OrHere(in.Dir))
	what := tools.Plural(matches, "match")
	if in.NamesOnly {
		what = tools.Plural(matches, "file")
	}
	head := fmt.Sprintf("Found %s %s:\n", what, where)
	switch {
	case matches == 0:
		return "No matches found " + where + "."
	case !in.NamesOnly:
		head += "---\n"
	}
	if found.Summary.Partial {
		list += fmt.Sprintf("[The results are incomplete: %s.]\n", found.Summary.Reason)
	}
	return head + list
}

type geminiGlobIn struct {
	Pattern       string `json:"pattern" jsonschema:"the glob pattern, such as **/*.py"`
	Dir           string `json:"dir_path,omitempty" jsonschema:"the directory to search (default: the working directory)"`
	CaseSensitive bool   `json:"case_sensitive,omitempty" jsonschema:"respect case (default false)"`
	Git           *bool  `json:"respect_git_ignore,omitempty" jsonschema:"skip files that .gitignore excludes (default true)"`
	Gemini        *bool  `json:"respect_gemini_ignore,omitempty" jsonschema:"has no effect"`
}

func (in geminiGlobIn) query() search.GlobQuery {
	return search.GlobQuery{
		Pattern:    in.Pattern,
		Path:       in.Dir,
		IgnoreCase: !in.CaseSensitive,
		NoIgnore:   in.Git != nil && !*in.Git,
		Limit:      geminiFiles,
	}
}

func (g gemini) glob() tool.Tool {
	spec := geminiSpec(
		g.Glob.Spec,
		"glob",
		"Find files matching a glob pattern. Files changed within a day come first, newest first; the others follow by name.",
	)
	return present(
		spec,
		g.Glob,
		geminiGlobIn.query,
		nil,
		func(_ context.Context, c *tool.Call, in geminiGlobIn, found search.GlobResult) tool.Result {
			fields := map[string]any{"files": len(found.Files), "partial": found.Summary.Partial}
			if len(found.Files) == 0 {
				return geminiText(fmt.Sprintf("No files found for the pattern %q in %s", in.Pattern, tools.OrHere(in.Dir)), fields)
			}
			info := c.Env.Info()
			recentFirst(found.Files, time.Now().Add(-24*time.Hour))
			var b strings.Builder
			fmt.Fprintf(
				&b,
				"Found %s for the pattern %q in %s:\n",
				tools.Plural(len(found.Files), "file"),
				in.Pattern,
				tools.OrHere(in.Dir),
			)
			for _, f := range found.Files {
				b.WriteString(info.Paths().Abs(info.Dir, f.Path) + "\n")
			}
			if found.Summary.Partial {
				fmt.Fprintf(&b, "[The list is incomplete: %s.]\n", found.Summary.Reason)
			}
			return geminiText(b.String(), fields)
		},
	)
}

// recentFirst sorts the files that are older than since by name. The files must be sorted newest first.
func recentFirst(files []search.GlobFile, since time.Time) {
	old := slices.IndexFunc(files, func(f search.GlobFile) bool { return f.ModTime.Before(since) })
	if old >= 0 {
		slices.SortFunc(files[old:], func(a, b search.GlobFile) int { return strings.Compare(a.Path, b.Path) })
	}
}
