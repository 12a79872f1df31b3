package coding

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/tool"
)

// PromptConfig says what goes into a system prompt beside the profile. The zero value looks
// everything up.
type PromptConfig struct {
	Date time.Time // the zero time is today
	// Tools are those that the model is offered; nil is the profile's.
	Tools []tool.Spec
	// User are the user's own instructions. They come last and win over everything else.
	User string
	// Git and Docs are what was found earlier in the session, so that a prompt that is made again,
	// for another model, says the same; nil looks now. &ProjectDocs{} leaves the documents of a
	// project out that is not trusted.
	Git  *GitSnapshot
	Docs *ProjectDocs
}

// SystemPrompt builds the system prompt in five layers, of which a later one wins over an earlier:
// base instructions, environment, tools, project documents, user instructions. The same inputs
// give the same bytes. It fails only if ctx ends: what cannot be found out is left out.
func (p *Profile) SystemPrompt(ctx context.Context, e env.Environment, c PromptConfig) (string, error) {
	if c.Date.IsZero() {
		c.Date = time.Now()
	}
	if c.Git == nil {
		git := TakeGitSnapshot(ctx, e)
		c.Git = &git
	}
	if c.Docs == nil {
		docs := FindProjectDocs(ctx, e, p.DocFiles)
		c.Docs = &docs
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if c.Tools == nil {
		c.Tools = p.specs()
	}
	layers := []string{
		p.instructionsFor(c.Tools),
		p.environment(e.Info(), c),
		c.Git.text(),
		toolText(c.Tools),
		c.Docs.text(),
		userText(c.User),
	}
	layers = slices.DeleteFunc(layers, func(layer string) bool { return layer == "" })
	return strings.Join(layers, "\n\n") + "\n", nil
}

// environment is the block that tells the model where it is. A line whose value is not known is
// left out.
func (p *Profile) environment(info env.Info, c PromptConfig) string {
	var b strings.Builder
	b.WriteString("<environment>\n")
	line := func(name, value string) { b.WriteString(promptLine(name, value)) }
	line("Working directory", info.Dir)
	line("Is git repository", fmt.Sprint(c.Git.Repository))
	line("Git branch", c.Git.Branch)
	line("Platform", info.Platform)
	line("OS version", info.OSVersion)
	line("Today's date", c.Date.Format(time.DateOnly))
	line("Model", p.DisplayName)
	line("Knowledge cutoff", p.Cutoff)
	b.WriteString("</environment>")
	return b.String()
}

// promptLine returns a line of the environment block; "" if the value is not known.
func promptLine(name, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s\n", name, fenced(oneLine(value)))
}

// specs describe the tools as a registry would hold them: a later one takes the place of an earlier
// one with its name.
func (p *Profile) specs() []tool.Spec {
	var specs []tool.Spec
	for _, t := range p.Tools {
		spec := t.Spec()
		i := slices.IndexFunc(specs, func(s tool.Spec) bool { return s.Name == spec.Name })
		if i < 0 {
			specs = append(specs, spec)
		} else {
			specs[i] = spec
		}
	}
	return specs
}

// toolText lists the tools. Their parameters go with the request, as the provider takes them.
func toolText(specs []tool.Spec) string {
	if len(specs) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("# Available tools\n")
	for _, s := range specs {
		fmt.Fprintf(&b, "\n- %s: %s", s.Name, oneLine(s.Description))
	}
	if slices.ContainsFunc(specs, func(s tool.Spec) bool { return s.Name == "spawn_agent" }) {
		b.WriteString(subagentText)
	}
	return b.String()
}

// subagentText tells the model when subagents are worth their cost.
const subagentText = "\n\nUse spawn_agent for work that can be done apart from this conversation: a broad search through the code, " +
	"or parts of a task that do not depend on each other, which then run side by side. A subagent sees nothing of this conversation, " +
	"so put everything that it needs into its task, and collect its report with wait. Do small and sequential work yourself."

// userHead comes before the user's instructions.
const userHead = "# User instructions\n\nThese come from the user and take precedence over everything above.\n\n"

func userText(instructions string) string {
	instructions = strings.TrimSpace(instructions)
	if instructions == "" {
		return ""
	}
	return userHead + instructions
}

// oneLine is text without line breaks and other control characters.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == 0x85 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSpace(s)
}

var promptTag = regexp.MustCompile(`(?i)<(\s*/?\s*(?:environment|git_snapshot|project_instructions)\b)`)

// fenced is text from a repository that cannot close the block it stands in, nor open another.
func fenced(s string) string { return promptTag.ReplaceAllString(s, "&lt;$1") }
