package native

import (
	"context"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/edit"
	"github.com/reins-agent/reins/internal/search"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// The limits of Claude Code's tools.
const (
	claudeFileSize   = 256 << 10 // bytes of a file that is read without offset or limit
	claudeReadTokens = 25_000    // tokens of one read
	claudeBashChars  = 30_000    // characters of command output
	claudeErrorChars = 10_000    // characters of output from a failed command
	claudeGrepChars  = 20_000    // characters of Grep's output
	claudeChars      = 50_000    // characters of any other output
	claudeFiles      = 100       // files that Glob lists
	claudeGrepLines  = 250       // lines that Grep lists by default
	claudeColumns    = 500       // bytes of a line that Grep shows
)

// Claude returns the tools of Claude Code. They refuse to change files that were not read, so the set must be created
// with [tools.Config.ReadBeforeWrite].
func Claude(set tools.Set) Toolset {
	c := claude{set}
	return Toolset{
		[]tool.Tool{c.bash(), c.glob(), c.grep(), c.read(), c.edit(), c.write(), todoWrite(), c.taskOutput(), c.taskStop()},
		[]tool.Alias{
			{Name: "BashOutput", Tool: "TaskOutput", Params: map[string]string{"bash_id": "task_id"}},
			{Name: "KillShell", Tool: "TaskStop"},
		},
	}
}

type claude struct{ tools.Set }

func claudeLimit(chars int) tool.Limit {
	return tool.Limit{Chars: chars, Lines: -1, Mode: tool.HeadTail}
}

func claudeError(message string) string { return "<tool_use_error>" + message + "</tool_use_error>" }

func claudeFailed(err error) (tool.Result, error) { return tool.Result{}, formatted(err, claudeError) }

type claudeReadIn struct {
	Path       string  `json:"file_path" jsonschema:"the file to read"`
	Offset     float64 `json:"offset,omitempty" jsonschema:"first line to read, counted from 1"`
	Limit      float64 `json:"limit,omitempty" jsonschema:"maximum number of lines to read (default 2000)"`
	Pages      string  `json:"pages,omitempty" jsonschema:"pages of a PDF; PDFs cannot be read here"`
	AllowLarge bool    `json:"allow_large,omitempty" jsonschema:"read a file of more than 256 KiB without offset and limit"`
}

func (in claudeReadIn) read() tools.Read {
	return tools.Read{Path: in.Path, Offset: int(in.Offset), Limit: int(in.Limit)}
}

func (c claude) read() tool.Tool {
	spec := named(c.Read.Spec, "Read",
		"Read a file. Returns each line as number, tab, text; at most 2000 lines unless limit is set. Can also read images and notebooks.",
		claudeLimit(claudeReadTokens*tokenBytes))
	return tools.Over(spec, c.Read, claudeReadIn.read, func(ctx context.Context, call *tool.Call, in claudeReadIn) (tool.Result, error) {
		if in.Pages != "" {
			return claudeFailed(
				tool.Errorf(
					tool.UnsupportedMedia,
					"Pages of %s cannot be read. Convert the PDF with a command such as pdftotext.", in.Path,
				),
			)
		}
		page, err := c.Read.Do(ctx, call, in.read())
		if err != nil {
			return claudeFailed(err)
		}
		if page.Image != nil {
			return tool.Result{Images: []llm.Image{*page.Image}}, nil
		}
		res, err := in.show(page)
		if err != nil {
			return claudeFailed(err)
		}
		c.Saw(ctx, call, in.Path, page)
		return res, nil
	})
}

func (in claudeReadIn) show(page tools.Page) (tool.Result, error) {
	var b strings.Builder
	for i, l := range page.Lines {
		fmt.Fprintf(&b, "%d\t%s\n", page.First+i, l)
	}
	switch size := tokens(b.Len()); {
	case page.Total == 0:
		b.WriteString("<system-reminder>Warning: the file is empty.</system-reminder>")
	case len(page.Lines) == 0:
		fmt.Fprintf(
			&b,
			"<system-reminder>Warning: the file has %s, fewer than the offset %d.</system-reminder>",
			tools.Plural(page.Total, "line"),
			page.First,
		)
	case in.Offset == 0 && in.Limit == 0 && !in.AllowLarge && len(page.Source) > claudeFileSize:
		return tool.Result{}, tool.Errorf(
			tool.TooLarge,
			"%s has %d bytes; %d can be read at once. Read a part of it with offset and limit, or search it.",
			in.Path,
			len(page.Source),
			claudeFileSize,
		)
	case size > claudeReadTokens:
		return tool.Result{}, tool.Errorf(
			tool.TooLarge,
			"These lines of %s are about %d tokens; %d can be read at once. Read fewer lines with offset and limit, or search the file.",
			in.Path,
			size,
			claudeReadTokens,
		)
	}
	return tool.Result{Output: tool.Text(b.String()), Fields: page.Fields()}, nil
}

type claudeEditIn struct {
	Path       string `json:"file_path" jsonschema:"the file to change"`
	Old        string `json:"old_string" jsonschema:"the text to replace"`
	New        string `json:"new_string" jsonschema:"the replacement text, which must differ"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence (default false)"`
}

func (c claude) edit() tool.Tool {
	spec := named(
		c.Edit.Spec,
		"Edit",
		"Replace text in a file. Read the file first. old_string must occur exactly once unless replace_all is set.",
		claudeLimit(claudeChars),
	)
	args := func(in claudeEditIn) tools.Edit {
		return tools.Edit{Path: in.Path, Old: in.Old, New: in.New, ReplaceAll: in.ReplaceAll}
	}
	return present(spec, c.Edit, args, claudeError, claudeEdited)
}

func claudeEdited(ctx context.Context, call *tool.Call, in claudeEditIn, e tools.Edited) tool.Result {
	if e.Created != nil {
		return claudeWritten(ctx, call, writeIn{Path: in.Path}, *e.Created)
	}
	res := tool.Result{Fields: e.Fields()}
	text := fmt.Sprintf("%s was updated.", e.Path)
	if in.ReplaceAll {
		text = fmt.Sprintf("%s was updated: %s replaced.", e.Path, tools.Plural(e.Replacements, "occurrence"))
	}
	if e.Match == edit.AlreadyApplied {
		text = e.Path + " was not changed."
	} else {
		res.Artifacts.FilesChanged = []string{in.Path}
	}
	if note := e.Note(); note != "" {
		text += "\n" + note
	}
	res.Output = tool.Text(text)
	return res
}

type writeIn struct {
	Path    string `json:"file_path" jsonschema:"the file to write"`
	Content string `json:"content" jsonschema:"the full content of the file"`
}

func (c claude) write() tool.Tool {
	spec := named(
		c.Write.Spec,
		"Write",
		"Write a file and create its parent directories. Replaces an existing file, which must be read first.",
		claudeLimit(claudeChars),
	)
	args := func(in writeIn) tools.Write { return tools.Write{Path: in.Path, Content: in.Content} }
	return present(spec, c.Write, args, claudeError, claudeWritten)
}

func claudeWritten(_ context.Context, _ *tool.Call, _ writeIn, w tools.Written) tool.Result {
	verb := "updated"
	if w.Created {
		verb = "created"
	}
	text := strings.TrimSpace(fmt.Sprintf("%s was %s. %s", w.Path, verb, w.Note))
	return tool.Result{Output: tool.Text(text), Fields: w.Fields(), Artifacts: w.Artifacts}
}

type claudeBashIn struct {
	Command     string  `json:"command" jsonschema:"the command to run"`
	Timeout     float64 `json:"timeout,omitempty" jsonschema:"timeout in milliseconds (at most 600000)"`
	Description string  `json:"description,omitempty" jsonschema:"what the command does, in a few words"`
	Background  bool    `json:"run_in_background,omitempty" jsonschema:"leave it running; read its output with TaskOutput"`
	NoSandbox   bool    `json:"dangerouslyDisableSandbox,omitempty" jsonschema:"run it outside the sandbox; needs approval, so use it only after the sandbox made the command fail"`
}

func (in claudeBashIn) command() tools.Command {
	return tools.Command{
		Command:     in.Command,
		TimeoutMS:   int64(in.Timeout),
		Description: in.Description,
		Background:  in.Background,
		NoInput:     true,
		Outside:     in.NoSandbox,
	}
}

func (c claude) bash() tool.Tool {
	spec := named(
		c.Run.Spec,
		"Bash",
		fmt.Sprintf("Run a shell command. Standard input is empty. Each command runs in a new shell in the working directory. "+
			"It is stopped after timeout milliseconds (default %d, at most %d).", c.Timeouts.Default.Milliseconds(),
			c.Timeouts.Max.Milliseconds()),
		claudeLimit(claudeBashChars),
	)
	return tools.Over(spec, c.Run, claudeBashIn.command, func(ctx context.Context, call *tool.Call, in claudeBashIn) (tool.Result, error) {
		if in.Background {
			p, err := c.Start.Do(ctx, call, in.command())
			if err != nil {
				return claudeFailed(err)
			}
			res := tool.Success(
				"The command runs in the background with ID %s. Read its output with TaskOutput; stop it with TaskStop.",
				p.ID,
			)
			res.Fields, res.Artifacts = p.Fields(), p.Artifacts(in.Command)
			return res, nil
		}
		r, err := c.Run.Do(ctx, call, in.command())
		if err != nil {
			return claudeFailed(err)
		}
		res := tool.Result{Output: r.Output, Fields: r.Fields(), Error: r.Err(), Artifacts: tool.Artifacts{CommandsRun: []string{in.Command}}}
		res.Present = func(o tool.Output, l tool.Limit) (string, error) { return claudeOutput(r, o, l) }
		if res.Error != nil {
			res.Error.Shown = true
		}
		return res, nil
	})
}

// claudeOutput formats a command's output. If the command failed, the exit code comes first.
func claudeOutput(r tools.Ran, o tool.Output, l tool.Limit) (string, error) {
	head, tail := max(l.Chars, 0), 0
	failure := r.Err()
	if failure != nil && head > claudeErrorChars {
		head, tail = claudeErrorChars/2, claudeErrorChars/2
	}
	x, err := tool.ReadExcerpt(o, head, tail)
	text := x.Head + x.Tail
	switch {
	case x.Chars > 0 && tail > 0:
		text = fmt.Sprintf("%s\n\n... [%d characters truncated] ...\n\n%s", x.Head, x.Chars, x.Tail)
	case x.Chars > 0:
		text = fmt.Sprintf("%s\n\n... [%d lines truncated] ...", x.Head, x.Lines)
	}
	switch {
	case failure == nil && text == "":
		return "(Bash completed with no output)", err
	case failure == nil:
		return text, err
	case failure.Code == tool.ShellExitError && r.Exit.Signal == "":
		return fmt.Sprintf("Exit code %d\n%s", r.Exit.Code, text), err
	}
	return fmt.Sprintf("Exit code %d\n%s\n%s", r.Exit.Code, failure.Message, text), err
}

type claudeGlobIn struct {
	Pattern string `json:"pattern" jsonschema:"the glob pattern"`
	Path    string `json:"path,omitempty" jsonschema:"the directory to search (default: the working directory)"`
}

func (in claudeGlobIn) query() search.GlobQuery {
	return search.GlobQuery{Pattern: in.Pattern, Path: in.Path, Limit: claudeFiles}
}

func (c claude) glob() tool.Tool {
	spec := named(
		c.Glob.Spec,
		"Glob",
		fmt.Sprintf("Find files matching a glob pattern, newest first; at most %d.", claudeFiles),
		claudeLimit(claudeChars),
	)
	return present(
		spec,
		c.Glob,
		claudeGlobIn.query,
		claudeError,
		func(_ context.Context, _ *tool.Call, _ claudeGlobIn, found search.GlobResult) tool.Result {
			var lines []string
			for _, f := range found.Files {
				lines = append(lines, f.Path)
			}
			if len(lines) == 0 {
				lines = []string{"No files found"}
			}
			if found.Summary.Partial {
				lines = append(
					lines,
					fmt.Sprintf("(The list is incomplete: %s. Use a more specific path or pattern.)", found.Summary.Reason),
				)
			}
			return tool.Result{
				Output: tool.Text(strings.Join(lines, "\n")),
				Fields: map[string]any{"files": len(found.Files), "partial": found.Summary.Partial},
			}
		},
	)
}

type claudeTaskOutputIn struct {
	ID      string   `json:"task_id" jsonschema:"the id of the background command"`
	Block   *bool    `json:"block,omitempty" jsonschema:"wait for the command to end (default true)"`
	Timeout *float64 `json:"timeout,omitempty" jsonschema:"how long to wait, in milliseconds (default 30000)"`
}

func (in claudeTaskOutputIn) output() tools.Output {
	wait := int64(30_000)
	if in.Timeout != nil {
		wait = min(int64(*in.Timeout), 600_000)
	}
	if in.Block != nil && !*in.Block {
		wait = 0
	}
	return tools.Output{ID: tools.ID(in.ID), WaitMS: wait}
}

func (c claude) taskOutput() tool.Tool {
	spec := named(
		c.Output.Spec,
		"TaskOutput",
		"Read what a background command has printed since the last read, and whether it is still running.",
		claudeLimit(claudeBashChars),
	)
	return present(spec, c.Output, claudeTaskOutputIn.output, claudeError, claudeNews)
}

type claudeTaskStopIn struct {
	ID      string `json:"task_id,omitempty" jsonschema:"the id of the background command"`
	ShellID string `json:"shell_id,omitempty" jsonschema:"old name of task_id"`
}

func (in claudeTaskStopIn) stop() tools.Stop {
	if in.ID == "" {
		in.ID = in.ShellID
	}
	return tools.Stop{ID: tools.ID(in.ID)}
}

func (c claude) taskStop() tool.Tool {
	spec := named(
		c.Stop.Spec,
		"TaskStop",
		"Stop a background command and everything it started, and read the rest of its output.",
		claudeLimit(claudeBashChars),
	)
	return present(spec, c.Stop, claudeTaskStopIn.stop, claudeError, claudeNews)
}

func claudeNews[In any](_ context.Context, _ *tool.Call, _ In, n tools.News) tool.Result {
	status := "running"
	if !n.Running {
		status = fmt.Sprintf("exited with code %d", n.Exit.Code)
	}
	text := fmt.Sprintf("Status: %s\n%s", status, n.Text)
	if n.More {
		text += "\n(There is more output; read again.)"
	}
	return tool.Result{Output: tool.Text(text), Fields: n.Fields()}
}

type todoWriteIn struct {
	Todos []claudeTodo `json:"todos" jsonschema:"the whole list"`
}

type claudeTodo struct {
	Content    string `json:"content" jsonschema:"what to do, such as Run the tests"`
	Status     string `json:"status" jsonschema:"only one item at a time is in_progress"`
	ActiveForm string `json:"activeForm" jsonschema:"the same in the present tense, such as Running the tests"`
}

func todoWrite() tool.Tool {
	return tools.PlanTool[todoWriteIn]("TodoWrite", "Record the list of things to do. Each call replaces the whole list.",
		"todos.status", []any{"pending", "in_progress", "completed"}, "The list was updated. Continue with the item in progress.")
}
