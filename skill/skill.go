// Package skill reads skills: instructions for a kind of task, in the format of agentskills.io.
//
// A skill is a directory with a file SKILL.md: YAML frontmatter with a name and a description, then the instructions in
// Markdown. [Discover] finds the skills of the user and of a trusted project, and reads commands and agents of Claude
// Code, prompts of codex and commands of gemini-cli unchanged. The model sees only names and descriptions
// ([Registry.Listing]) until a skill is used ([Skill.Invoke]). Other files of a skill are read when they are needed,
// with the ordinary tools.
//
// Loading is lenient: a skill with formal mistakes still works. It refuses what may be harmful: links and references
// that leave the skill, characters that people cannot see, and files that are too large. [Lint] reports all mistakes.
package skill

import (
	"fmt"
	"strings"
)

// Kind is the format of a skill.
type Kind string

// The formats.
const (
	KindSkill  Kind = "skill"   // a directory with SKILL.md
	KindClaude Kind = "command" // a command of Claude Code
	KindCodex  Kind = "prompt"  // a prompt of codex
	KindGemini Kind = "gemini"  // a command of gemini-cli
)

// Source is where a skill comes from.
type Source string

// The sources, lowest first. A skill replaces those of the same name in lower sources.
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
	// AllowedTools lists the tools that may be used while the skill is active, such as Read or Bash(git:*). Nil allows
	// all. A skill never allows more than the policy.
	AllowedTools []string

	Aliases       []string
	ArgumentHint  string // such as "[message]"
	WhenToUse     string
	Model         string // to use while the skill is active; "" means the session's model
	UserInvocable bool   // with /name
	ModelInvoked  bool   // the model may use it

	// Available reports whether the skill is useful in this directory; nil means always.
	Available func() bool

	Instructions string // the text after the frontmatter
	Kind         Kind
	Source       Source
	Path         string   // of the file; "" if it is built in
	Dir          string   // of the skill, absolute; "" if it has no directory
	Files        []string // the other files in Dir, relative and with slashes
	// Warnings lists formal mistakes that did not prevent loading.
	Warnings []string

	allowedTools string // as written
}

// available reports whether the skill can be used.
func (s *Skill) available() bool { return s.Available == nil || s.Available() }

// Tools returns the allowed tools as one text, or "all".
func (s *Skill) Tools() string {
	if s.AllowedTools == nil {
		return "all"
	}
	return strings.Join(s.AllowedTools, ", ")
}

// maxListed is the maximum number of files of a skill that the model is told about.
const maxListed = 50

// Invoke returns the instructions of the skill for a model.
func (s *Skill) Invoke(args string) string {
	args = strings.TrimSpace(args)
	block, rest := s.block(args, nil)
	if rest != "" {
		block += "\n\n" + rest
	}
	return block
}

// typed returns the text for the model when the user invokes the skill. It begins with what the user typed, as a title.
// Outputs replace injections; nil leaves them.
func (s *Skill) typed(name, args string, outputs []string) string {
	line, more, _ := strings.Cut(args, "\n")
	title := strings.TrimSpace("/" + name + " " + shorten(line, maxTitle))
	block, rest := s.block(args, outputs)
	if rest != "" && (more != "" || shorten(line, maxTitle) != line) {
		block += "\n\n" + rest
	}
	return title + "\n\n" + block
}

// maxTitle is the maximum length of the arguments in a title, in characters.
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

// splitTools splits a list of tools at commas and white space outside parentheses.
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
