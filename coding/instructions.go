package coding

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/reins-agent/reins/tool"
)

//go:embed instructions/*.md
var instructionFiles embed.FS

// instructionTemplates are the base instructions of the families. They are templates because tools have
// other names in a native toolset, and because a host may offer only some of them.
var instructionTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").ParseFS(instructionFiles, "instructions/*.md"))
})

// wording is what the instructions say about the tools: their names, "" for one that is not offered.
type wording struct {
	Native, Freeform bool
	Timeout          string // of a command that asks for none

	Read, ReadMany, Write, Edit, Patch, Delete string
	Grep, Glob, List                           string
	Shell, Output, Input, Stop                 string
	Plan                                       string
}

// instructions are the base instructions of the profile for a model that is offered these tools.
func (p *Profile) instructions(offered []tool.Spec) string {
	w := p.wording()
	w.Native, w.Freeform = p.Toolset == Native, p.Freeform
	w.Timeout = inWords(p.ToolConfig.withDefaults().DefaultTimeout)
	for _, name := range []*string{
		&w.Read, &w.ReadMany, &w.Write, &w.Edit, &w.Patch, &w.Delete, &w.Grep, &w.Glob, &w.List,
		&w.Shell, &w.Output, &w.Input, &w.Stop, &w.Plan,
	} {
		if !slices.ContainsFunc(offered, func(s tool.Spec) bool { return s.Name == *name }) {
			*name = ""
		}
	}
	var b strings.Builder
	if err := instructionTemplates().ExecuteTemplate(&b, string(p.Family)+".md", w); err != nil {
		panic(fmt.Sprintf("coding: the instructions of the family %q cannot be written: %v", p.Family, err))
	}
	return strings.TrimSpace(b.String())
}

// instructionsFor are the base instructions for a model that is offered these tools. What the host wrote
// itself stays as it is.
func (p *Profile) instructionsFor(offered []tool.Spec) string {
	if p.generated == "" || p.Instructions != p.generated {
		return strings.TrimSpace(p.Instructions)
	}
	return p.instructions(offered)
}

// wording are the tools of the toolset by what they are for.
func (p *Profile) wording() wording {
	switch {
	case p.Toolset != Native:
		return wording{
			Read: "read_file", ReadMany: "read_many_files", Write: "write_file", Edit: "edit_file", Patch: "apply_patch", Delete: "delete_file",
			Grep: "grep", Glob: "glob", List: "list_dir",
			Shell: "shell", Output: "shell_output", Input: "shell_input", Stop: "shell_stop", Plan: "update_plan",
		}
	case p.Family == OpenAIFamily:
		return wording{Patch: "apply_patch", Shell: "exec_command", Input: "write_stdin", Plan: "update_plan"}
	case p.Family == AnthropicFamily:
		return wording{
			Read: "Read", Write: "Write", Edit: "Edit", Grep: "Grep", Glob: "Glob",
			Shell: "Bash", Output: "TaskOutput", Stop: "TaskStop", Plan: "TodoWrite",
		}
	}
	return wording{
		Read: "read_file", Write: "write_file", Edit: "replace", Grep: "grep_search", Glob: "glob", List: "list_directory",
		Shell: "run_shell_command", Output: "shell_output", Input: "shell_input", Stop: "shell_stop", Plan: "write_todos",
	}
}

func inWords(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return plural(int(d/time.Minute), "minute")
	}
	return plural(int(d.Round(time.Second)/time.Second), "second")
}
