package native

import (
	"context"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/edit"
	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/internal/textfile"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// The limits of gemini-cli's tools.
const (
	geminiChars        = 40_000   // maximum output characters: one fifth from its beginning, the rest from its end
	geminiFileSize     = 20 << 20 // maximum file size
	geminiLineChars    = 2000     // maximum characters per line
	geminiMatches      = 100      // default maximum number of matches of grep_search
	geminiFiles        = 1000     // maximum number of files that glob lists
	geminiContextLines = 5        // lines shown around a change
)

// Gemini returns the tools of gemini-cli and the standard tools for background processes.
func Gemini(set tools.Set) Toolset {
	g := gemini{set}
	all := []tool.Tool{g.list(), g.read(), g.grep(), g.glob(), g.replace(), g.write(), g.shell(), writeTodos()}
	return Toolset{append(all, set.Background...), []tool.Alias{
		{Name: "search_file_content", Tool: "grep_search", Params: map[string]string{"path": "dir_path", "include": "include_pattern"}},
	}}
}

type gemini struct{ tools.Set }

func geminiSpec(base tool.Spec, name, description string) tool.Spec {
	return named(base, name, description, tool.Limit{Chars: geminiChars, Lines: -1})
}

// geminiText returns a result with text output.
func geminiText(text string, fields map[string]any) tool.Result {
	return tool.Result{Output: tool.Text(text), Fields: fields, Present: geminiCut}
}

// geminiCut keeps the beginning of an output and four times as much from its end.
func geminiCut(o tool.Output, l tool.Limit) (string, error) {
	if l.Chars < 0 {
		return tool.Truncate(o, l)
	}
	x, err := tool.ReadExcerpt(o, l.Chars/5, l.Chars-l.Chars/5)
	if x.Chars > 0 {
		return fmt.Sprintf("%s\n\n... [%d characters omitted] ...\n\n%s", x.Head, x.Chars, x.Tail), err
	}
	return x.Head + x.Tail, err
}

type geminiReadIn struct {
	Path  string  `json:"file_path" jsonschema:"the file to read"`
	Start float64 `json:"start_line,omitempty" jsonschema:"the first line to read, counted from 1"`
	End   float64 `json:"end_line,omitempty" jsonschema:"the last line to read"`
}

func (in geminiReadIn) read() tools.Read {
	r := tools.Read{Path: in.Path, Offset: int(in.Start)}
	if in.End > 0 {
		r.Limit = int(in.End) - max(int(in.Start), 1) + 1
	}
	return r
}

func (g gemini) read() tool.Tool {
	spec := geminiSpec(
		g.Read.Spec,
		"read_file",
		"Read a file or a range of its lines; at most 2000 lines. Can also read images and notebooks.",
	)
	return tools.Over(spec, g.Read, geminiReadIn.read, func(ctx context.Context, c *tool.Call, in geminiReadIn) (tool.Result, error) {
		if in.Start < 0 || in.End < 0 || in.End > 0 && in.End < in.Start {
			return tool.Failure(
				tool.ValidationError,
				"start_line and end_line must be at least 1, and end_line not before start_line.",
			), nil
		}
		page, err := g.Read.Do(ctx, c, in.read())
		switch {
		case err != nil:
			return tool.Result{}, err
		case page.Image != nil:
			return tool.Result{Images: []llm.Image{*page.Image}}, nil
		case len(page.Source) > geminiFileSize:
			return tool.Failure(tool.TooLarge, "%s is larger than %d MB and cannot be read.", in.Path, geminiFileSize>>20), nil
		case page.Total > 0 && len(page.Lines) == 0:
			return tool.Failure(
				tool.ValidationError,
				"start_line %d is after the end of %s, which has %s.",
				page.First,
				in.Path,
				tools.Plural(page.Total, "line"),
			), nil
		}
		g.Saw(ctx, c, in.Path, page)
		return geminiText(geminiPage(page), page.Fields()), nil
	})
}

func geminiPage(page tools.Page) string {
	cutLines := false
	for i, l := range page.Lines {
		if r := []rune(l); len(l) > geminiLineChars && len(r) > geminiLineChars {
			page.Lines[i], cutLines = string(r[:geminiLineChars])+"... [truncated]", true
		}
	}
	text := strings.Join(page.Lines, "\n")
	if page.First <= 1 && page.Last() >= page.Total && !cutLines {
		return text
	}
	return fmt.Sprintf("IMPORTANT: The file content has been truncated.\nStatus: Showing lines %d-%d of %d total lines.\n"+
		"Action: Read other parts with start_line and end_line.\n\n--- FILE CONTENT (truncated) ---\n%s", page.First,
		page.Last(), page.Total, text)
}

type geminiReplaceIn struct {
	Path          string `json:"file_path" jsonschema:"the file to change"`
	Instruction   string `json:"instruction" jsonschema:"the purpose of the change, in one self-contained sentence"`
	Old           string `json:"old_string" jsonschema:"the exact text to replace, with enough context to be unique; empty to create a new file"`
	New           string `json:"new_string" jsonschema:"the exact replacement text"`
	AllowMultiple bool   `json:"allow_multiple,omitempty" jsonschema:"replace every occurrence"`
}

func (in geminiReplaceIn) edit() tools.Edit {
	return tools.Edit{
		Path:       in.Path,
		Old:        in.Old,
		New:        in.New,
		ReplaceAll: in.AllowMultiple,
		Check: func(_ context.Context, _ *tool.Call, old []byte) error {
			if in.Old == "" && old != nil {
				return tool.Errorf(tool.AlreadyExists, "%s already exists; an empty old_string only creates new files.", in.Path)
			}
			return complete("new_string", in.New, in.Old)
		},
	}
}

func (g gemini) replace() tool.Tool {
	spec := geminiSpec(g.Edit.Spec, "replace", "Replace text in a file. old_string must occur exactly once unless allow_multiple is set.")
	return present(spec, g.Edit, geminiReplaceIn.edit, nil, geminiEdited)
}

func geminiEdited(ctx context.Context, c *tool.Call, in geminiReplaceIn, e tools.Edited) tool.Result {
	switch {
	case e.Created != nil:
		return geminiWritten(ctx, c, writeIn{Path: in.Path}, *e.Created)
	case e.Match == edit.AlreadyApplied:
		return geminiText(e.Path+": "+e.Note(), e.Fields())
	}
	text := fmt.Sprintf("Successfully modified file: %s (%s).", e.Path, tools.Plural(e.Replacements, "replacement"))
	if note := e.Note(); note != "" {
		text += "\n" + note
	}
	var around [][2]int
	for _, c := range e.Changes {
		around = append(around, [2]int{c.FirstLine, c.LastLine})
	}
	res := geminiText(text+snippet(e.Content, around), e.Fields())
	res.Artifacts.FilesChanged = []string{in.Path}
	return res
}

func (g gemini) write() tool.Tool {
	spec := geminiSpec(g.Write.Spec, "write_file", "Write a file and create its parent directories. Replaces an existing file.")
	args := func(in writeIn) tools.Write {
		return tools.Write{Path: in.Path, Content: in.Content, Check: func(_ context.Context, _ *tool.Call, old []byte) error {
			return complete("content", in.Content, string(old))
		}}
	}
	return present(spec, g.Write, args, nil, geminiWritten)
}

func geminiWritten(_ context.Context, _ *tool.Call, _ writeIn, w tools.Written) tool.Result {
	text := fmt.Sprintf("Successfully overwrote file: %s.", w.Path)
	if w.Created {
		text = fmt.Sprintf("Successfully created and wrote to new file: %s.", w.Path)
	}
	if w.Note != "" {
		text += " " + w.Note
	}
	res := geminiText(text+snippet(w.New, changedLines(w.Old, w.New)), w.Fields())
	res.Artifacts = w.Artifacts
	return res
}

// omission matches a placeholder for omitted code.
var omission = lazy.Regexp(`(?i)^[\s/#*(<!-]*(\.{3}|…)?\s*(the\s+)?(rest of|remaining|existing|unchanged)\s+[\w\s]+?` +
	`(\.{3}|…)?[\s*/)>-]*$`)

// complete rejects text with a placeholder for omitted code, unless the old text has the same line.
func complete(arg, text, old string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		dots := strings.Contains(line, "...") || strings.Contains(line, "…")
		if dots && omission().MatchString(line) && !strings.Contains(old, line) {
			return tool.Errorf(tool.ValidationError, "%s contains a placeholder for omitted code (%q). Pass the complete text.", arg, line)
		}
	}
	return nil
}

// changedLines returns the range of lines in the new content that differ from the old content, or nil if they are
// equal.
func changedLines(old, new []byte) [][2]int {
	a, b := textLines(old), textLines(new)
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if start == len(a) && start == len(b) {
		return nil
	}
	return [][2]int{{start + 1, len(b) - end}}
}

// snippet returns a file's lines around the given ranges.
func snippet(content []byte, ranges [][2]int) string {
	lines := textLines(content)
	var b strings.Builder
	shown := 0
	for _, r := range ranges {
		from, to := max(r[0]-geminiContextLines, shown+1), min(max(r[1], r[0])+geminiContextLines, len(lines))
		if from > to {
			continue
		}
		if shown > 0 && from > shown+1 {
			b.WriteString("...\n")
		}
		for _, l := range lines[from-1 : to] {
			b.WriteString(l + "\n")
		}
		shown = to
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nHere is the updated code:\n" + strings.TrimSuffix(b.String(), "\n")
}

func textLines(content []byte) []string {
	file, err := textfile.Decode(content)
	if err != nil {
		return nil
	}
	var lines []string
	text := file.Text()
	for _, l := range textfile.Lines(text) {
		lines = append(lines, string(text[l.Start:l.End]))
	}
	return lines
}

type geminiFiltering struct {
	Git    *bool `json:"respect_git_ignore,omitempty" jsonschema:"has no effect"`
	Gemini *bool `json:"respect_gemini_ignore,omitempty" jsonschema:"has no effect"`
}

type geminiListIn struct {
	Path      string           `json:"dir_path" jsonschema:"the directory"`
	Ignore    []string         `json:"ignore,omitempty" jsonschema:"globs of names to skip"`
	Filtering *geminiFiltering `json:"file_filtering_options,omitempty" jsonschema:"has no effect: files that git ignores are listed too"`
}

func (in geminiListIn) list() tools.List { return tools.List{Path: in.Path, Ignore: in.Ignore} }

func (g gemini) list() tool.Tool {
	spec := geminiSpec(g.List.Spec, "list_directory", "List the entries of a directory, directories first.")
	show := func(_ context.Context, _ *tool.Call, in geminiListIn, l tools.Listing) tool.Result {
		return geminiText(geminiListing(in.Path, l), l.Fields())
	}
	return present(spec, g.List, geminiListIn.list, nil, show)
}

func geminiListing(dir string, l tools.Listing) string {
	var dirs, files []string
	for _, e := range l.Entries {
		if e.Info.IsDir() {
			dirs = append(dirs, "[DIR] "+e.Info.Name)
		} else {
			files = append(files, e.Info.Name)
		}
	}
	text := fmt.Sprintf("Directory %s is empty.", dir)
	if len(l.Entries) > 0 {
		text = fmt.Sprintf("Directory listing for %s:\n%s", dir, strings.Join(append(dirs, files...), "\n"))
	}
	if l.Ignored > 0 {
		text += fmt.Sprintf("\n\n(%d ignored)", l.Ignored)
	}
	if l.Partial {
		text += fmt.Sprintf("\n\n(The listing stops at %d entries.)", len(l.Entries))
	}
	return text
}

type writeTodosIn struct {
	Todos []geminiTodo `json:"todos" jsonschema:"the whole list"`
}

type geminiTodo struct {
	Description string `json:"description" jsonschema:"what to do"`
	Status      string `json:"status" jsonschema:"only one item at a time is in_progress"`
}

func writeTodos() tool.Tool {
	return tools.PlanTool[writeTodosIn]("write_todos", "Record the list of things to do. Each call replaces the whole list.",
		"todos.status", []any{"pending", "in_progress", "completed", "cancelled", "blocked"}, "The list was updated.")
}
