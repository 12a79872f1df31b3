// Package skill reads skills: task instructions in the format of agentskills.io.
//
// A skill is a directory with a file SKILL.md: YAML frontmatter with a name and a description, then instructions in
// Markdown. [Discover] finds the skills of a user and a trusted project, and reads Claude Code commands and agents,
// codex prompts and gemini-cli commands unchanged. The model sees only names and descriptions ([Registry.Listing])
// until a skill is used ([Skill.Invoke]). Other files in a skill are read on demand, with the ordinary tools.
//
// Loading is lenient: a skill with formal mistakes still works. It refuses possible harm: links and references that
// leave the skill, invisible characters, and files that are too large. [Lint] reports all mistakes.
package skill

import (
	"fmt"
	"strings"
)

// Kind is a skill's format.
type Kind string

// The formats.
const (
	KindSkill  Kind = "skill"   // a directory with SKILL.md
	KindClaude Kind = "command" // a Claude Code command
	KindCodex  Kind = "prompt"  // a codex prompt
	KindGemini Kind = "gemini"  // a gemini-cli command
)

// Source is where a skill comes from.
type Source string

// The sources, lowest first. A skill replaces skills with the same name in lower sources.
const (
	Builtin Source = "builtin"
	User    Source = "user"
	Config  Source = "config"
	Project Source = "project"
)

// Skill is a named set of instructions.
type Skill struct {
	Name          string
	Description   string
	License       string
	Compatibility string
	Metadata      map[string]string
	// AllowedTools lists the tools that may be used while the skill is active, such as Read or Bash(git:*). nil allows
	// all. A skill never allows more than the policy.
	AllowedTools []string

	Aliases       []string
	ArgumentHint  string // such as "[message]"
	WhenToUse     string
	Model         string // to use while the skill is active; "" means the session's model
	UserInvocable bool   // the user may type /name
	ModelInvoked  bool   // the model may use it

	// Available reports whether the skill is useful in this directory; nil means always.
	Available func() bool

	Instructions string // the text after the frontmatter
	Kind         Kind
	Source       Source
	Path         string   // main file; "" if built in
	Dir          string   // absolute directory; "" without one
	Files        []string // the other files in Dir, relative and with slashes
	// Warnings lists formal mistakes that did not prevent loading.
	Warnings []string

	allowedTools string // as written
}

// available reports whether the skill can be used.
func (s *Skill) available() bool { return s.Available == nil || s.Available() }

// Tools returns the allowed tools as text, or "all".
func (s *Skill) Tools() string {
	if s.AllowedTools == nil {
		return "all"
	}
	return strings.Join(s.AllowedTools, ", ")
}

// maxListed limits the files that Invoke lists for the model.
const maxListed = 50

// Invoke returns the instructions for a model, with args in place of the argument placeholders.
func (s *Skill) Invoke(args string) string {
	args = strings.TrimSpace(args)
	block, rest := s.block(args, nil)
	if rest != "" {
		block += "\n\n" + rest
	}
	return block
}

// typed returns the text for the model when the user invokes the skill. The title is what the user typed. Outputs
// replace injections; nil leaves them.
func (s *Skill) typed(name, args string, outputs []string) string {
	line, more, _ := strings.Cut(args, "\n")
	title := strings.TrimSpace("/" + name + " " + shorten(line, maxTitle))
	block, rest := s.block(args, outputs)
	if rest != "" && (more != "" || shorten(line, maxTitle) != line) {
		block += "\n\n" + rest
	}
	return title + "\n\n" + block
}

// maxTitle limits the arguments in a title, in characters.
const maxTitle = 200

// block returns the instructions in a tag, and the arguments that remain to be appended.
func (s *Skill) block(args string, outputs []string) (text, rest string) {
	var b strings.Builder
	fmt.Fprintf(&b, `<skill name="%s"`, attribute(s.Name))
	if s.AllowedTools != nil {
		fmt.Fprintf(&b, ` allowed-tools="%s"`, attribute(strings.Join(s.AllowedTools, ", ")))
	}
	body, rest, found := s.expand(args)
	body, note := s.fill(body, found, outputs)
	fmt.Fprintf(&b, ">\n%s\n", strings.ReplaceAll(body, "</skill", "&lt;/skill"))
	if s.Dir != "" {
		fmt.Fprintf(&b, "\nDirectory of this skill: %s\nRelative paths in the skill begin there.\n", s.Dir)
	}
	if len(s.Files) > 0 {
		n := min(len(s.Files), maxListed)
		fmt.Fprintf(&b, "Its files, to be read when they are needed: %s", strings.Join(s.Files[:n], ", "))
		if n < len(s.Files) {
			fmt.Fprintf(&b, " and %d more", len(s.Files)-n)
		}
		b.WriteString("\n")
	}
	if note != "" {
		fmt.Fprintf(&b, "\n[%s]\n", note)
	}
	b.WriteString("</skill>")
	return b.String(), rest
}

var escapes = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ")

func attribute(s string) string { return escapes.Replace(s) }

// splitTools splits a tool list at commas and white space outside parentheses.
func splitTools(text string) (tools []string) {
	depth := 0
	for _, tool := range strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		}
		return depth == 0 && (r == ',' || r == ' ' || r == '\t' || r == '\n')
	}) {
		tools = append(tools, strings.TrimSpace(tool))
	}
	return tools
}
