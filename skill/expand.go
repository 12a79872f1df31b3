package skill

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/internal/suggest"
)

// Invocation is a use of a skill by the user.
type Invocation struct {
	Skill *Skill
	Args  string
	Text  string // for the model
}

// command matches the input "/name args".
var command = lazy.Regexp(`(?s)^/([\p{L}\p{N}_][\p{L}\p{M}\p{N}_.:-]*)(?:\s+(.*))?$`)

// Expand returns the skill that the input "/name args" invokes. It returns nil if the input does not have this form or
// r is nil. An unknown name is an error, unless exists reports that it is the path of a file.
func (r *Registry) Expand(input string, exists func(path string) bool) (*Invocation, error) {
	input = strings.TrimSpace(input)
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
		return &Invocation{s, args, s.typed(name, args)}, nil
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
	shellInline = lazy.Regexp("(?m)(^|\\s)!`[^`\n]+`")
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
	// $1 may be part of a script in the instructions of a skill.
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

// injections returns a note about commands and files in the text that other agents would replace by their output.
func (s *Skill) injections() string {
	switch {
	case s.Kind == KindGemini && (strings.Contains(s.Instructions, "!{") || strings.Contains(s.Instructions, "@{")):
		return "!{command} and @{file} above were not replaced by their output. Run the command or read the file with your tools if you need it."
	case s.Kind != KindGemini && shellInline().MatchString(s.Instructions):
		return "!`command` above was not replaced by its output. Run the command with your tools if you need it."
	}
	return ""
}
