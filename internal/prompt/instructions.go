package prompt

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/tool"
)

//go:embed instructions/*.md
var instructionFiles embed.FS

// Wording holds the words for tools in the instructions, such as their names by purpose. A name is "" if the tool does
// not exist.
type Wording struct {
	Native, Freeform bool
	Timeout          string // default command timeout, such as "10 seconds"

	Read, ReadMany, Write, Edit, Patch, Delete string
	Grep, Glob, List                           string
	Shell, Output, Input, Stop                 string
	Plan                                       string
}

// Instructions returns the base instructions for a model family ("openai", "anthropic", "gemini" or "generic"), or the
// short instructions for every family ("lean"). They mention only tools that are offered.
func Instructions(family string, w Wording, offered []tool.Spec) string {
	words := map[string]string{
		"Read": w.Read, "ReadMany": w.ReadMany, "Write": w.Write, "Edit": w.Edit, "Patch": w.Patch, "Delete": w.Delete,
		"Grep": w.Grep, "Glob": w.Glob, "List": w.List, "Shell": w.Shell, "Output": w.Output, "Input": w.Input,
		"Stop": w.Stop, "Plan": w.Plan,
	}
	for key, name := range words {
		if !slices.ContainsFunc(offered, func(s tool.Spec) bool { return s.Name == name }) {
			words[key] = ""
		}
	}
	words["Timeout"] = w.Timeout
	words["Native"] = flag(w.Native)
	words["Freeform"] = flag(w.Freeform)
	text, err := instructionFiles.ReadFile("instructions/" + family + ".md")
	if err != nil {
		panic(fmt.Sprintf("prompt: no instructions for family %q", family))
	}
	return strings.TrimSpace(render(string(text), words))
}

// flag returns a non-empty word if a condition holds.
func flag(holds bool) string {
	if holds {
		return "yes"
	}
	return ""
}

// render fills in a template: {{.Name}} is a word, {{if .Name}}…{{else}}…{{end}} tests whether it is empty, and {{if or
// .A .B}} tests two. It does not use text/template, which makes a program a tenth larger because the linker must then
// keep all exported methods.
func render(text string, words map[string]string) string {
	word := func(name string) string {
		w, known := words[strings.TrimPrefix(name, ".")]
		if !known {
			panic("prompt: unknown word " + name)
		}
		return w
	}
	var b strings.Builder
	var holds []bool // the conditions around the current position
	for more := true; more; {
		var plain, action string
		plain, text, more = strings.Cut(text, "{{")
		if !slices.Contains(holds, false) {
			b.WriteString(plain)
		}
		action, text, _ = strings.Cut(text, "}}")
		condition, isIf := strings.CutPrefix(action, "if ")
		switch last := len(holds) - 1; {
		case !more:
		case isIf:
			names := strings.Fields(strings.TrimPrefix(condition, "or "))
			holds = append(holds, slices.ContainsFunc(names, func(name string) bool { return word(name) != "" }))
		case action == "else":
			holds[last] = !holds[last]
		case action == "end":
			holds = holds[:last]
		case !slices.Contains(holds, false):
			b.WriteString(word(action))
		}
	}
	return b.String()
}
