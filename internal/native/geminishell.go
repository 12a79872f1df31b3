package native

import (
	"context"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

type geminiShellIn struct {
	Command     string  `json:"command" jsonschema:"the command to run"`
	Description string  `json:"description,omitempty" jsonschema:"what the command does, in a few words"`
	Dir         string  `json:"dir_path,omitempty" jsonschema:"the directory to run it in (default: the working directory)"`
	Background  bool    `json:"is_background,omitempty" jsonschema:"leave it running; see shell_output, shell_input and shell_stop"`
	Outside     bool    `json:"outside_sandbox,omitempty" jsonschema:"run it outside the sandbox; needs approval, so use it only after the sandbox made the command fail"`
	Delay       float64 `json:"delay_ms,omitempty" jsonschema:"with is_background: wait this long and return the first output"`
}

func (in geminiShellIn) command() tools.Command {
	return tools.Command{
		Command:     in.Command,
		Description: in.Description,
		Workdir:     in.Dir,
		Background:  in.Background,
		Idle:        true,
		Outside:     in.Outside,

		Env: map[string]string{"TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat"},
	}
}

func (g gemini) shell() tool.Tool {
	spec := geminiSpec(
		g.Run.Spec,
		"run_shell_command",
		fmt.Sprintf("Run a shell command. Standard input is empty. Each command runs in a new shell. "+
			"It is stopped if it prints nothing for %g seconds, unless it runs in the background.", g.Timeouts.Default.Seconds()),
	)
	return tools.Over(spec, g.Run, geminiShellIn.command, func(ctx context.Context, c *tool.Call, in geminiShellIn) (tool.Result, error) {
		if in.Background {
			return g.background(ctx, c, in)
		}
		r, err := g.Run.Do(ctx, c, in.command())
		if err != nil {
			return tool.Result{}, err
		}
		res := tool.Result{Output: r.Output, Fields: r.Fields(), Artifacts: tool.Artifacts{CommandsRun: []string{in.Command}}}
		// The call succeeds even if the command fails, but not if the command is stopped.
		if res.Error = r.Err(); res.Error != nil && res.Error.Code == tool.ShellExitError {
			res.Error = nil
		} else if res.Error != nil {
			res.Error.Shown = true
		}
		res.Present = func(o tool.Output, l tool.Limit) (string, error) {
			text, err := geminiCut(o, l)
			return untrusted(text, r), err
		}
		return res, nil
	})
}

// untrusted labels the parts of a command's result and marks them as untrusted. The output cannot end that section.
func untrusted(output string, r tools.Ran) string {
	if output == "" {
		output = "(empty)"
	}
	lines := []string{"Output: " + strings.ReplaceAll(output, "</untrusted_context", "&lt;/untrusted_context")}
	if e := r.Err(); e != nil && e.Code != tool.ShellExitError {
		lines = append(lines, "Error: "+e.Message)
	}
	if r.Exit.Code != 0 {
		lines = append(lines, fmt.Sprintf("Exit Code: %d", r.Exit.Code))
	}
	if r.Exit.Signal != "" {
		lines = append(lines, "Signal: "+r.Exit.Signal)
	}
	if r.Exit.Orphans > 0 {
		lines = append(lines, fmt.Sprintf("Background processes: %d", r.Exit.Orphans), fmt.Sprintf("Process Group PGID: %d", r.PID))
	}
	return "<untrusted_context>\n" + strings.Join(lines, "\n") + "\n</untrusted_context>"
}

func (g gemini) background(ctx context.Context, c *tool.Call, in geminiShellIn) (tool.Result, error) {
	p, err := g.Start.Do(ctx, c, in.command())
	if err != nil {
		return tool.Result{}, err
	}
	text := fmt.Sprintf(
		"The command runs in the background with id %s (PID %d). See shell_output, shell_input and shell_stop.",
		p.ID, p.PID,
	)
	if in.Delay > 0 {
		first, err := g.Output.Do(ctx, c, tools.Output{ID: p.ID, WaitMS: int64(in.Delay)})
		if err != nil {
			return tool.Result{}, err
		}
		text += "\n" + untrusted(first.Text, tools.Ran{PID: first.PID, Exit: first.Exit})
	}
	res := geminiText(text, p.Fields())
	res.Artifacts = p.Artifacts(in.Command)
	return res, nil
}
