package prompt

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/reins-agent/reins/tool"
)

//go:embed instructions/*.md
var instructionFiles embed.FS

var instructionTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").ParseFS(instructionFiles, "instructions/*.md"))
})

// Wording holds what the instructions say about the tools, such as their names by purpose. A name is "" if
// there is no such tool.
type Wording struct {
	Native, Freeform bool
	Timeout          string // default command timeout, such as "10 seconds"

	Read, ReadMany, Write, Edit, Patch, Delete string
	Grep, Glob, List                           string
	Shell, Output, Input, Stop                 string
	Plan                                       string
}

// Instructions returns the base instructions of a model family ("openai", "anthropic", "gemini" or
// "generic"). They mention only tools that are offered.
func Instructions(family string, w Wording, offered []tool.Spec) string {
	for _, name := range []*string{
		&w.Read, &w.ReadMany, &w.Write, &w.Edit, &w.Patch, &w.Delete, &w.Grep, &w.Glob, &w.List,
		&w.Shell, &w.Output, &w.Input, &w.Stop, &w.Plan,
	} {
		if !slices.ContainsFunc(offered, func(s tool.Spec) bool { return s.Name == *name }) {
			*name = ""
		}
	}
	var b strings.Builder
	if err := instructionTemplates().ExecuteTemplate(&b, family+".md", w); err != nil {
		panic(fmt.Sprintf("prompt: instructions of family %q: %v", family, err))
	}
	return strings.TrimSpace(b.String())
}
