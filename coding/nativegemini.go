package coding

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// geminiTools are the tools of gemini-cli, with ours for background processes.
func geminiTools(p *Profile) []tool.Tool {
	return []tool.Tool{
		geminiList(p), geminiRead(p), geminiGrep(p), geminiGlob(p), geminiReplace(p), geminiWrite(p), geminiShell(p), writeTodos(),
		p.get("shell_output"), p.get("shell_input"), p.get("shell_stop"),
	}
}

var geminiNames = map[string]string{
	"list_dir": "list_directory", "grep": "grep_search", "shell": "run_shell_command", "edit_file": "replace",
}

// geminiError gives the message of a call that failed the vendor's names.
func geminiError(res tool.Result) tool.Result {
	if res.Error != nil {
		e := *res.Error
		e.Message = renamed(e.Message, geminiNames)
		res.Error = &e
	}
	return res
}

type geminiReadIn struct {
	Path  string  `json:"file_path" jsonschema:"the file to read"`
	Start float64 `json:"start_line,omitempty" jsonschema:"the first line to read, counted from 1"`
	End   float64 `json:"end_line,omitempty" jsonschema:"the last line to read"`
}

func geminiRead(p *Profile) tool.Tool {
	return native[geminiReadIn]{
		name: "read_file", description: "Read a file, or a range of its lines; 2000 lines at most. Images and notebooks can be read too.",
		to: func(in geminiReadIn) any {
			r := readIn{Path: in.Path, Offset: int(in.Start)}
			if in.End > 0 {
				// A range that ends before it starts is refused by a negative limit.
				if r.Limit = int(in.End) - max(int(in.Start), 1) + 1; r.Limit == 0 {
					r.Limit = -1
				}
			}
			return r
		},
		show: func(_ *tool.Call, _ geminiReadIn, res tool.Result) tool.Result {
			total, paged := totalLines(res)
			if res.Error != nil || !paged || total == 0 {
				return geminiError(res)
			}
			lines, first, _ := numbered(tool.String(res.Output))
			last := first + len(lines) - 1
			text := strings.Join(lines, "\n")
			if first > 1 || last < total {
				text = fmt.Sprintf("IMPORTANT: This is a part of the file.\nStatus: Showing lines %d-%d of %d.\n"+
					"Action: Read again with start_line and end_line for other parts.\n\n--- FILE CONTENT (truncated) ---\n%s", first, last, total, text)
			}
			res.Output = tool.Text(text)
			return res
		},
	}.over(p.get("read_file"))
}

type geminiReplaceIn struct {
	Path          string `json:"file_path" jsonschema:"the file to change"`
	Instruction   string `json:"instruction" jsonschema:"what the change is for, in a sentence that stands on its own"`
	Old           string `json:"old_string" jsonschema:"the exact text to replace, with enough context to be unique; empty to create a new file"`
	New           string `json:"new_string" jsonschema:"the exact text to put in its place"`
	AllowMultiple bool   `json:"allow_multiple,omitempty" jsonschema:"replace every occurrence"`
}

func geminiReplace(p *Profile) tool.Tool {
	return native[geminiReplaceIn]{
		name: "replace",
		to:   func(in geminiReplaceIn) any { return editIn{in.Path, in.Old, in.New, in.AllowMultiple} },
		show: func(_ *tool.Call, _ geminiReplaceIn, res tool.Result) tool.Result { return geminiError(res) },
	}.over(p.get("edit_file"))
}

func geminiWrite(p *Profile) tool.Tool {
	return native[writeIn]{
		name: "write_file",
		to:   func(in writeIn) any { return in },
		show: func(_ *tool.Call, _ writeIn, res tool.Result) tool.Result { return geminiError(res) },
	}.over(p.get("write_file"))
}

type geminiFiltering struct {
	Git    *bool `json:"respect_git_ignore,omitempty" jsonschema:"accepted, and without effect"`
	Gemini *bool `json:"respect_gemini_ignore,omitempty" jsonschema:"accepted, and without effect"`
}

type geminiListIn struct {
	Path      string           `json:"dir_path" jsonschema:"the directory"`
	Ignore    []string         `json:"ignore,omitempty" jsonschema:"globs of names to leave out"`
	Filtering *geminiFiltering `json:"file_filtering_options,omitempty" jsonschema:"accepted, and without effect: what git ignores is listed too"`
}

func geminiList(p *Profile) tool.Tool {
	return native[geminiListIn]{
		name: "list_directory", description: "List the names in a directory, directories first.",
		to: func(in geminiListIn) any { return listIn{Path: in.Path, Ignore: in.Ignore} },
		show: func(_ *tool.Call, in geminiListIn, res tool.Result) tool.Result {
			if n, _ := res.Fields["entries"].(int); res.Error != nil || n == 0 {
				return geminiError(res)
			}
			var dirs, files, notes []string
			for _, l := range strings.Split(strings.TrimSuffix(tool.String(res.Output), "\n"), "\n") {
				name, isDir := strings.CutSuffix(l, "/")
				size := strings.LastIndex(l, "  ")
				switch {
				case isDir:
					dirs = append(dirs, "[DIR] "+name)
				case size > 0:
					files = append(files, l[:size])
				default:
					notes = append(notes, l)
				}
			}
			all := append(append(append([]string{fmt.Sprintf("Directory listing for %s:", in.Path)}, dirs...), files...), notes...)
			res.Output = tool.Text(strings.Join(all, "\n"))
			return res
		},
	}.over(p.get("list_dir"))
}

type geminiShellIn struct {
	Command     string  `json:"command" jsonschema:"the command to run with bash -c"`
	Description string  `json:"description,omitempty" jsonschema:"what the command does, in a few words"`
	Dir         string  `json:"dir_path,omitempty" jsonschema:"the directory to run it in (default: the working directory)"`
	Background  bool    `json:"is_background,omitempty" jsonschema:"leave it running; see shell_output, shell_input and shell_stop"`
	Delay       float64 `json:"delay_ms,omitempty" jsonschema:"with is_background: wait this long and report the first output"`
}

// geminiTimeout ends a command that nobody watches.
const geminiTimeout = 5 * time.Minute

func geminiShell(p *Profile) tool.Tool {
	shell, output := p.get("shell"), p.get("shell_output")
	spec := shell.Spec()
	spec.Name, spec.Input = "run_shell_command", nil
	spec.Description = "Run a shell command. Standard input is empty. The command is ended after five minutes, unless it runs in the background."
	args := func(in geminiShellIn) shellIn {
		s := shellIn{Command: in.Command, Description: in.Description, Workdir: in.Dir, Background: in.Background}
		if !s.Background {
			s.TimeoutMS = geminiTimeout.Milliseconds()
		}
		return s
	}
	return tool.New(spec, func(ctx context.Context, c *tool.Call, in geminiShellIn) []policy.Access {
		return shell.Access(ctx, with(c, args(in)))
	}, func(ctx context.Context, c *tool.Call, in geminiShellIn) (tool.Result, error) {
		res, err := shell.Run(ctx, with(c, args(in)))
		switch id, started := res.Fields["id"].(string); {
		case err != nil:
			return res, err
		case started && in.Delay > 0:
			first, err := output.Run(ctx, with(c, outputIn{ID: processID(id), WaitMS: int64(in.Delay)}))
			res.Output = framed{before: tool.String(res.Output) + "\n", output: first.Output}
			return res, err
		case started:
			return res, nil
		}
		return geminiOutput(res), nil
	})
}

// geminiOutput gives the result of a command its form: labelled parts, those that apply, marked as
// text from outside. A command that failed is no failure of the call.
func geminiOutput(res tool.Result) tool.Result {
	code, exited := res.Fields["exit_code"].(int)
	if !exited {
		return geminiError(res)
	}
	before, after := "<untrusted_context>\nOutput: ", ""
	if isEmpty(res.Output) {
		before += "(empty)"
	}
	if e := res.Error; e != nil && e.Code != tool.ShellExitError {
		failure := *e
		failure.Message, _, _ = strings.Cut(e.Message, "\n")
		failure.Shown = true
		res.Error = &failure
		after += "\nError: " + failure.Message
	} else {
		res.Error = nil
	}
	if code != 0 {
		after += fmt.Sprintf("\nExit Code: %d", code)
	}
	if signal, _ := res.Fields["signal"].(string); signal != "" {
		after += "\nSignal: " + signal
	}
	if n, _ := res.Fields["background_processes"].(int); n > 0 {
		after += fmt.Sprintf("\nBackground processes: %d", n)
	}
	res.Output = framed{before, res.Output, after + "\n</untrusted_context>"}
	return res
}
