package skill

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/atfile"
	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/internal/suggest"
)

// Invocation is a skill that the user invokes.
type Invocation struct {
	Skill *Skill
	Args  string
	Text  string // for the model
	// Injections are commands and files whose output other agents insert in the text. Fill does the same.
	Injections []Injection

	name string // as typed
}

// Injection is a command to run, or a file to read, for a command written for another agent.
type Injection struct {
	Command string // a command line; "" for a file
	File    string
}

// Fill sets Text, replacing the injections with their outputs.
func (i *Invocation) Fill(outputs []string) {
	i.Text = i.Skill.typed(i.name, i.Args, outputs)
}

// command matches the input "/name args".
var command = lazy.Regexp(`(?s)^/([\p{L}\p{N}_][\p{L}\p{M}\p{N}_.:-]*)(?:\s+(.*))?$`)

// Expand returns the skill that the input "/name args" invokes. It returns nil if r is nil or the input does not have
// this form. An unknown name is an error, unless exists reports that it is a file path.
func (r *Registry) Expand(input string, exists func(path string) bool) (*Invocation, error) {
	input = strings.TrimRight(input, " \t\r\n")
	if r == nil || !strings.HasPrefix(input, "/") {
		return nil, nil
	}
	m := command().FindStringSubmatch(input)
	if m == nil {
		return nil, nil
	}
	name, args := m[1], strings.TrimSpace(m[2])
	s, ok := r.Find(name)
	switch {
	case ok && s.UserInvocable:
		_, _, found := s.expand(args)
		return &Invocation{s, args, s.typed(name, args, nil), found, name}, nil
	case exists != nil && exists("/"+name):
		return nil, nil
	case ok:
		return nil, fmt.Errorf("skill %s can be used only by the model: it sets user-invocable to false", name)
	}
	if _, known := r.skills[name]; known {
		return nil, fmt.Errorf("skill %s cannot be used here: it is not available in this directory", name)
	}
	return nil, r.unknown("/", name, func(s *Skill) bool { return s.UserInvocable })
}

// unknown returns an error that names similar skills.
func (r *Registry) unknown(prefix, name string, usable func(*Skill) bool) error {
	var names []string
	for _, s := range r.All() {
		if usable(s) {
			names = append(names, s.Name)
			names = append(names, s.Aliases...)
		}
	}
	if near := suggest.Words(name, names); len(near) > 0 {
		return fmt.Errorf("unknown skill %s%s; did you mean %s%s?", prefix, name, prefix, near[0])
	}
	if prefix == "" {
		return fmt.Errorf("unknown skill %q; use one of the listed names", name)
	}
	return fmt.Errorf("unknown skill %s%s; \"reins skills list\" lists them", prefix, name)
}

// ForModel returns the skill that a model requests.
func (r *Registry) ForModel(name string) (*Skill, error) {
	if s, ok := r.Find(strings.TrimPrefix(name, "/")); ok && s.ModelInvoked {
		return s, nil
	}
	return nil, r.unknown("", name, func(s *Skill) bool { return s.ModelInvoked })
}

var (
	positional  = lazy.Regexp(`\$ARGUMENTS(?:\[(\d+)\])?|\$(\d)\b`)
	named       = lazy.Regexp(`\$([A-Z][A-Z0-9_]*)\b`)
	claudeShell = lazy.Regexp("(?m)(?:^|\\s)(!`([^`\n]+)`)")
	geminiBlock = lazy.Regexp(`([!@])\{([^{}\n]+(?:\{\{args\}\}[^{}\n]*)*|\{\{args\}\})\}`)
)

// substitute inserts arguments into the instructions. If they do not use the arguments, rest has the text to append.
func (s *Skill) substitute(args string) (body, rest string) {
	body = strings.ReplaceAll(s.Instructions, "${CLAUDE_SKILL_DIR}", s.Dir)
	if s.Kind == KindGemini {
		if strings.Contains(body, "{{args}}") {
			return strings.ReplaceAll(body, "{{args}}", args), ""
		}
		if args != "" {
			rest = "/" + s.Name + " " + args
		}
		return body, rest
	}
	words := fields(args)
	used := false
	if s.Kind == KindCodex {
		body, used = substituteNamed(body, words)
	}
	// $1 may be part of a script in a skill's instructions.
	numbers := s.Kind != KindSkill || args != "" || s.ArgumentHint != ""
	body = positional().ReplaceAllStringFunc(body, func(m string) string {
		g := positional().FindStringSubmatch(m)
		switch {
		case g[1] != "": // $ARGUMENTS[0] is the first
			used = true
			n, _ := strconv.Atoi(g[1])
			return word(words, n)
		case g[2] == "": // $ARGUMENTS
			used = true
			return args
		case g[2] == "0" || !numbers:
			return m
		}
		used = true
		n, _ := strconv.Atoi(g[2])
		return word(words, n-1)
	})
	if !used && args != "" {
		rest = args
	}
	return body, rest
}

// substituteNamed replaces $KEY by the arguments KEY=value.
func substituteNamed(body string, words []string) (string, bool) {
	used := false
	body = named().ReplaceAllStringFunc(body, func(m string) string {
		i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, m[1:]+"=") })
		if i < 0 {
			return m
		}
		used = true
		return words[i][len(m):]
	})
	return body, used
}

func word(words []string, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i]
}

// fields splits arguments at white space outside quotes, and removes the quotes.
func fields(args string) (words []string) {
	var b strings.Builder
	quote, open := rune(0), false
	for _, r := range args {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if open || b.Len() > 0 {
				words = append(words, b.String())
			}
			b.Reset()
			open = false
		default:
			b.WriteRune(r)
		}
	}
	if open || b.Len() > 0 {
		words = append(words, b.String())
	}
	return words
}

// expand returns the instructions with the arguments, and the injections in them. In the text, slot(n) stands for
// injection n. Arguments cannot add injections. If the instructions do not use the arguments, rest has the text to append.
func (s *Skill) expand(args string) (body, rest string, found []Injection) {
	args = strings.ReplaceAll(args, "\x00", "")
	template := s.Instructions
	var spots []spot
	switch s.Kind {
	case KindClaude, KindSkill:
		spots = claudeSpots(template, s.Kind == KindClaude)
	case KindGemini:
		for _, m := range geminiBlock().FindAllStringSubmatchIndex(template, -1) {
			spots = append(spots, spot{m[0], m[1], template[m[4]:m[5]], template[m[2]] == '!'})
		}
	}
	for i, sp := range slices.Backward(spots) {
		template = template[:sp.start] + slot(i) + template[sp.end:]
	}
	body, rest = s.with(template).substitute(args)
	for _, sp := range spots {
		given := args
		if sp.command && s.Kind == KindGemini {
			given = "'" + strings.ReplaceAll(args, "'", `'\''`) + "'"
		}
		text, left := s.with(sp.text).substitute(given)
		if left == "" {
			rest = ""
		}
		in := Injection{File: strings.TrimSpace(text)}
		if sp.command {
			in = Injection{Command: strings.TrimSpace(text)}
		}
		found = append(found, in)
	}
	return body, rest, found
}

// spot is where instructions have an injection.
type spot struct {
	start, end int
	text       string
	command    bool
}

// claudeSpots returns the places of !`command` and, if files is set, of @file.
func claudeSpots(text string, files bool) (spots []spot) {
	for _, m := range claudeShell().FindAllStringSubmatchIndex(text, -1) {
		spots = append(spots, spot{m[2], m[3], text[m[4]:m[5]], true})
	}
	if !files {
		return spots
	}
	for _, r := range atfile.Find(text) {
		spots = append(spots, spot{r.Start, r.End, r.Path, false})
	}
	slices.SortFunc(spots, func(a, b spot) int { return a.start - b.start })
	return spots
}

// with copies the skill with other instructions.
func (s *Skill) with(instructions string) *Skill {
	other := *s
	other.Instructions = instructions
	return &other
}

// slot returns the text that stands for an injection. Instructions and arguments contain no NUL.
func slot(n int) string { return fmt.Sprintf("\x00%d\x00", n) }

// fill replaces the slots by outputs or, without outputs, by the injections as they were written. It returns a note for
// the model about injections that were not replaced.
func (s *Skill) fill(body string, found []Injection, outputs []string) (text, note string) {
	open, end := "!`", "`"
	if s.Kind == KindGemini {
		open, end = "!{", "}"
	}
	for i, in := range found {
		var with string
		switch {
		case outputs != nil:
			with = strings.ReplaceAll(outputs[i], "\x00", "\uFFFD")
		case in.Command != "":
			with, note = open+in.Command+end, notReplaced
		case s.Kind == KindGemini:
			with, note = "@{"+in.File+"}", notReplaced
		default:
			with = "@" + in.File // may be another kind of reference
		}
		body = strings.Replace(body, slot(i), with, 1)
	}
	return body, note
}

const notReplaced = "Commands and files in this text were not replaced by their output. " +
	"Run the command or read the file with your tools if you need it."
