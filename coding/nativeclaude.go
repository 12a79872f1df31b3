package coding

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/tool"
)

// claudeTools are the tools of Claude Code.
func claudeTools(p *Profile) []tool.Tool {
	return []tool.Tool{
		claudeBash(p), claudeGlob(p), claudeGrep(p), claudeRead(p), claudeEdit(p), claudeWrite(p), todoWrite(),
		claudeTaskOutput(p), claudeTaskStop(p),
	}
}

type claudeReadIn struct {
	Path       string  `json:"file_path" jsonschema:"the file to read"`
	Offset     float64 `json:"offset,omitempty" jsonschema:"the line to start at, counted from 1"`
	Limit      float64 `json:"limit,omitempty" jsonschema:"how many lines to read"`
	Pages      string  `json:"pages,omitempty" jsonschema:"pages of a PDF; PDFs cannot be read here"`
	AllowLarge bool    `json:"allow_large,omitempty" jsonschema:"accepted, and without effect: long output is always shortened"`
}

func claudeRead(p *Profile) tool.Tool {
	return native[claudeReadIn]{
		name: "Read", description: "Read a file. The lines come back as number, tab, text; 2000 of them unless limit says otherwise. Images and notebooks can be read too.",
		to: func(in claudeReadIn) any { return readIn{in.Path, int(in.Offset), int(in.Limit)} },
		show: func(_ *tool.Call, in claudeReadIn, res tool.Result) tool.Result {
			total, paged := totalLines(res)
			switch {
			case in.Pages != "":
				return claudeError(tool.Failure(tool.UnsupportedMedia, "Pages of %s cannot be read. Convert the PDF with a command such as pdftotext.", in.Path))
			case paged && (total == 0 || res.Error != nil):
				text := fmt.Sprintf("<system-reminder>Warning: the file has %d lines, and none of them were asked for.</system-reminder>", total)
				return tool.Result{Output: tool.Text(text), Fields: res.Fields}
			case res.Error != nil || !paged:
				return claudeError(res)
			}
			lines, first, notes := numbered(tool.String(res.Output))
			var b strings.Builder
			for i, l := range lines {
				fmt.Fprintf(&b, "%d\t%s\n", first+i, l)
			}
			for _, n := range notes {
				b.WriteString(n + "\n")
			}
			res.Output = tool.Text(b.String())
			return res
		},
	}.over(p.get("read_file"))
}

// claudeError marks the message of a call that failed.
func claudeError(res tool.Result) tool.Result {
	if res.Error != nil {
		e := *res.Error
		e.Message = "<tool_use_error>" + renamed(e.Message, claudeNames) + "</tool_use_error>"
		res.Error = &e
	}
	return res
}

// claudeNames are Claude Code's names for what our messages advise to use.
var claudeNames = map[string]string{
	"read_file": "Read", "glob": "Glob", "list_dir": "Bash", "grep": "Grep", "shell": "Bash",
	"shell_output": "TaskOutput", "shell_stop": "TaskStop", "timeout_ms": "timeout",
}

type claudeEditIn struct {
	Path       string `json:"file_path" jsonschema:"the file to change"`
	Old        string `json:"old_string" jsonschema:"the text to replace"`
	New        string `json:"new_string" jsonschema:"the text to put in its place, which must differ"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence (default false)"`
}

func claudeEdit(p *Profile) tool.Tool {
	return native[claudeEditIn]{
		name: "Edit",
		to:   func(in claudeEditIn) any { return editIn(in) },
		show: func(_ *tool.Call, _ claudeEditIn, res tool.Result) tool.Result { return claudeError(res) },
	}.over(p.get("edit_file"))
}

func claudeWrite(p *Profile) tool.Tool {
	return native[writeIn]{
		name: "Write",
		to:   func(in writeIn) any { return in },
		show: func(_ *tool.Call, _ writeIn, res tool.Result) tool.Result { return claudeError(res) },
	}.over(p.get("write_file"))
}

type claudeGlobIn struct {
	Pattern string `json:"pattern" jsonschema:"the glob pattern"`
	Path    string `json:"path,omitempty" jsonschema:"the directory to search; leave it out for the working directory"`
}

// claudeFiles is how many files Glob lists.
const claudeFiles = 100

func claudeGlob(p *Profile) tool.Tool {
	return native[claudeGlobIn]{
		name: "Glob",
		to:   func(in claudeGlobIn) any { return globIn{in.Pattern, in.Path, claudeFiles} },
		show: func(_ *tool.Call, _ claudeGlobIn, res tool.Result) tool.Result {
			if res.Error != nil {
				return claudeError(res)
			}
			lines := strings.Split(strings.TrimSuffix(tool.String(res.Output), "\n"), "\n")
			if files, _ := res.Fields["files"].(int); files < len(lines) {
				lines = lines[:files]
			}
			if len(lines) == 0 {
				lines = []string{"No files found"}
			}
			if partial, _ := res.Fields["partial"].(bool); partial {
				lines = append(lines, fmt.Sprintf("(The list is not complete; it stops at %d files. Use a more specific path or pattern.)", claudeFiles))
			}
			res.Output = tool.Text(strings.Join(lines, "\n"))
			return res
		},
	}.over(p.get("glob"))
}

type claudeBashIn struct {
	Command     string  `json:"command" jsonschema:"the command to run"`
	Timeout     float64 `json:"timeout,omitempty" jsonschema:"how long it may run, in milliseconds (at most 600000)"`
	Description string  `json:"description,omitempty" jsonschema:"what the command does, in a few words"`
	Background  bool    `json:"run_in_background,omitempty" jsonschema:"leave it running; read its output with TaskOutput"`
	NoSandbox   bool    `json:"dangerouslyDisableSandbox,omitempty" jsonschema:"accepted, and without effect: the sandbox is the user's to set up"`
}

func claudeBash(p *Profile) tool.Tool {
	return native[claudeBashIn]{
		name:        "Bash",
		description: fmt.Sprintf("Run a shell command. Standard input is empty. The command is ended after timeout milliseconds (default %d).", p.ToolConfig.withDefaults().DefaultTimeout.Milliseconds()),
		to: func(in claudeBashIn) any {
			return shellIn{Command: in.Command, TimeoutMS: int64(in.Timeout), Description: in.Description, Background: in.Background}
		},
		show: func(_ *tool.Call, in claudeBashIn, res tool.Result) tool.Result {
			code, exited := res.Fields["exit_code"].(int)
			switch {
			case in.Background && res.Error == nil:
				res.Output = tool.Text(renamed(tool.String(res.Output), claudeNames))
			case res.Error == nil && isEmpty(res.Output):
				res.Output = tool.Text("(Bash completed with no output)")
			case res.Error != nil && res.Error.Code == tool.ShellExitError && exited:
				e := *res.Error
				e.Message, e.Shown = fmt.Sprintf("Exit code %d", code), true
				res.Output, res.Error = framed{before: e.Message + "\n", output: res.Output}, &e
			case res.Error != nil:
				e := *res.Error
				e.Message = renamed(e.Message, claudeNames)
				res.Error = &e
			}
			return res
		},
	}.over(p.get("shell"))
}

type claudeTaskOutputIn struct {
	ID      string   `json:"task_id" jsonschema:"the id of the background command"`
	Block   *bool    `json:"block,omitempty" jsonschema:"wait for the command to end (default true)"`
	Timeout *float64 `json:"timeout,omitempty" jsonschema:"how long to wait, in milliseconds (default 30000)"`
}

func claudeTaskOutput(p *Profile) tool.Tool {
	return native[claudeTaskOutputIn]{
		name: "TaskOutput",
		to: func(in claudeTaskOutputIn) any {
			wait := int64(30_000)
			if in.Timeout != nil {
				wait = int64(*in.Timeout)
			}
			if in.Block != nil && !*in.Block {
				wait = 0
			}
			return outputIn{ID: processID(in.ID), WaitMS: wait}
		},
		show: func(_ *tool.Call, _ claudeTaskOutputIn, res tool.Result) tool.Result { return claudeError(res) },
	}.over(p.get("shell_output"))
}

type claudeTaskStopIn struct {
	ID      string `json:"task_id,omitempty" jsonschema:"the id of the background command"`
	ShellID string `json:"shell_id,omitempty" jsonschema:"an older name of task_id"`
}

func claudeTaskStop(p *Profile) tool.Tool {
	return native[claudeTaskStopIn]{
		name: "TaskStop",
		to: func(in claudeTaskStopIn) any {
			if in.ID == "" {
				in.ID = in.ShellID
			}
			return stopIn{ID: processID(in.ID)}
		},
		show: func(_ *tool.Call, _ claudeTaskStopIn, res tool.Result) tool.Result { return claudeError(res) },
	}.over(p.get("shell_stop"))
}
