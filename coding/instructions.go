package coding

import (
	"embed"
	"fmt"
	"strings"
	"sync"
	"text/template"
	"time"
)

//go:embed instructions/*.md
var instructionFiles embed.FS

// instructionTemplates are the base instructions of the families. They are templates only because
// tools have other names in a native profile.
var instructionTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").ParseFS(instructionFiles, "instructions/*.md"))
})

// wording is what the instructions say about the tools: their names, "" for one that is not there.
type wording struct {
	Native, Freeform bool
	Timeout          string // of a command that asks for none

	Read, ReadMany, Write, Edit, Patch string
	Grep, Glob, List                   string
	Shell, Output, Input, Stop         string
	Plan                               string
}

// instructions are the base instructions of the profile.
func (p *Profile) instructions() string {
	w := p.wording()
	w.Native, w.Freeform = p.native, p.Freeform
	w.Timeout = inWords(p.ToolConfig.withDefaults().DefaultTimeout)
	var b strings.Builder
	if err := instructionTemplates().ExecuteTemplate(&b, string(p.Family)+".md", w); err != nil {
		panic(fmt.Sprintf("coding: the instructions of the family %q cannot be written: %v", p.Family, err))
	}
	return strings.TrimSpace(b.String())
}

// wording are the tools of the profile by what they are for.
func (p *Profile) wording() wording {
	if p.native {
		return nativeWording(p.Family)
	}
	w := wording{
		Read: "read_file", Write: "write_file", Grep: "grep", Glob: "glob",
		Shell: "shell", Output: "shell_output", Input: "shell_input", Stop: "shell_stop",
	}
	switch p.Family {
	case OpenAIFamily:
		w.Patch = "apply_patch"
	case GeminiFamily:
		w.Edit, w.ReadMany, w.List = "edit_file", "read_many_files", "list_dir"
	default:
		w.Edit, w.List = "edit_file", "list_dir"
	}
	return w
}

func inWords(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return plural(int(d/time.Minute), "minute")
	}
	return plural(int(d.Round(time.Second)/time.Second), "second")
}
