package skill

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"
)

// Limits in the format, in characters.
const (
	maxName          = 64
	maxDescription   = 1024
	maxCompatibility = 500
)

// formatFields are the fields that the format defines.
var formatFields = []string{"allowed-tools", "compatibility", "description", "license", "metadata", "name"}

// violation makes a skill invalid.
type violation struct {
	rule, severity string
	field          string // the field with the mistake, or ""
	message        string
}

// validate applies the rules of skills-ref, the format's reference validator, to a SKILL.md in a directory. It accepts
// and rejects the same files, with different messages.
func validate(content, dir string) (list []violation) {
	fields, err := strictFields(content)
	if err != nil {
		return []violation{{rule: "FORMAT-01", severity: Critical, message: err.Error()}}
	}
	for _, key := range fields.keys {
		if !slices.Contains(formatFields, key) {
			severity := Medium
			if slices.Contains(extensions, key) {
				severity = Low
			}
			list = append(
				list,
				violation{"FORMAT-02", severity, key, fmt.Sprintf("the format has no field %q; put it under metadata", key)},
			)
		}
	}
	list = append(list, validateName(fields, dir)...)
	if text, ok := fields.text("description"); !ok {
		list = append(
			list,
			violation{"SKILL-03", Critical, "description", "description is missing or empty; say what the skill does and when to use it"},
		)
	} else if n := utf8.RuneCountInString(text); n > maxDescription {
		message := fmt.Sprintf("description has %d characters; the maximum is %d", n, maxDescription)
		list = append(list, violation{"SKILL-06", Medium, "description", message})
	}
	if node, given := fields.nodes["compatibility"]; given {
		if !isText(node) {
			list = append(list, violation{"FORMAT-03", High, "compatibility", "compatibility must be text"})
		} else if n := utf8.RuneCountInString(node.Value); n > maxCompatibility {
			message := fmt.Sprintf("compatibility has %d characters; the maximum is %d", n, maxCompatibility)
			list = append(list, violation{"FORMAT-03", High, "compatibility", message})
		}
	}
	return list
}

func validateName(fields strict, dir string) (list []violation) {
	name, ok := fields.text("name")
	if !ok {
		return []violation{{"SKILL-02", Critical, "name", fmt.Sprintf("name is missing or empty; add \"name: %s\"", dir)}}
	}
	name = norm.NFKC.String(strings.TrimSpace(name))
	wrong := func(is bool, why string) {
		if is {
			list = append(list, violation{"SKILL-04", High, "name", fmt.Sprintf("name %q %s", name, why)})
		}
	}
	n := utf8.RuneCountInString(name)
	wrong(n > maxName, fmt.Sprintf("has %d characters; the maximum is %d", n, maxName))
	wrong(name != strings.ToLower(name), "must be in lower case")
	wrong(strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"), "must not begin or end with a hyphen")
	wrong(strings.Contains(name, "--"), "must not have two hyphens in a row")
	wrong(strings.ContainsFunc(name, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }),
		"has characters other than letters, digits and hyphens")
	if norm.NFKC.String(dir) != name {
		list = append(
			list,
			violation{"SKILL-05", High, "name", fmt.Sprintf("name %q differs from the name of the directory, %q", name, dir)},
		)
	}
	return list
}

// strict holds the fields in valid frontmatter.
type strict struct {
	keys  []string
	nodes map[string]*yaml.Node
}

// text returns a field's text, and false if it is missing, blank or not text.
func (s strict) text(key string) (string, bool) {
	n := s.nodes[key]
	if n == nil || !isText(n) || strings.TrimSpace(n.Value) == "" {
		return "", false
	}
	return n.Value, true
}

// isText reports whether a node is text. Two plain scalars are special in YAML 1.1.
func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && !(n.Style == 0 && (n.Value == "=" || n.Value == "<<"))
}

// strictFields parses frontmatter like the reference implementation: it ends at the next three hyphens, and its YAML is
// limited to plain maps, lists and text.
func strictFields(content string) (strict, error) {
	content = strings.ReplaceAll(strings.ReplaceAll(content, "\r\n", "\n"), "\r", "\n")
	if !utf8.ValidString(content) {
		return strict{}, errors.New("the file is not UTF-8")
	}
	if !strings.HasPrefix(content, "---") {
		return strict{}, errors.New(`the file does not begin with frontmatter; begin it with a line "---"`)
	}
	front, _, closed := strings.Cut(content[3:], "---")
	switch {
	case !closed:
		return strict{}, errors.New(`the frontmatter is not closed; add a line "---" after it`)
	case len(front) > maxFrontmatter:
		return strict{}, fmt.Errorf("the frontmatter is larger than %d KiB", maxFrontmatter>>10)
	}
	root, err := decode(front)
	if err == nil {
		err = plainYAML(root, strings.Split(breaks.Replace(front), "\n"))
	}
	if err != nil {
		return strict{}, fmt.Errorf("the frontmatter is invalid: %w", err)
	}
	s := strict{nodes: map[string]*yaml.Node{}}
	for i := 0; i < len(root.Content); i += 2 {
		s.keys = append(s.keys, root.Content[i].Value)
		s.nodes[root.Content[i].Value] = root.Content[i+1]
	}
	return s, nil
}

// plainYAML returns an error if the reference implementation does not accept the YAML. lines is its source.
func plainYAML(root *yaml.Node, lines []string) error {
	if root == nil || root.Kind != yaml.MappingNode {
		return errors.New("it is not a map of fields")
	}
	for _, n := range nodes(root) {
		switch {
		case n.Style&yaml.FlowStyle != 0:
			return fmt.Errorf("line %d: braces and brackets need quotes", n.Line)
		case n.Style&yaml.TaggedStyle != 0:
			return fmt.Errorf("line %d: tags are not supported", n.Line)
		case n.Kind == yaml.ScalarNode && oddSource(n, lines):
			return fmt.Errorf("line %d: a tab or an exclamation mark needs quotes", n.Line)
		case n.Kind == yaml.MappingNode:
			if err := plainMap(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// oddSource reports whether a scalar has a tab before it, an unquoted tab in it, or an empty tag.
func oddSource(n *yaml.Node, lines []string) bool {
	if n.Line < 1 || n.Line > len(lines) {
		return false
	}
	line := []rune(lines[n.Line-1])
	at := min(max(n.Column-1, 0), len(line))
	before, after := string(line[:at]), string(line[at:])
	for _, end := range []string{" #", ": ", ":\t"} { // the text after a key is another node
		after, _, _ = strings.Cut(after, end)
	}
	return strings.Contains(before, "\t") || strings.HasSuffix(strings.TrimSpace(before), ": !") || strings.TrimSpace(after) == "!" ||
		n.Style == 0 && (strings.Contains(after, "\t") || strings.Contains(n.Value, "\t"))
}

// plainMap returns an error for duplicate and merged keys, and for nested maps with different indentation.
func plainMap(n *yaml.Node) error {
	seen := map[string]bool{}
	column := 0
	for i := 0; i < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			return fmt.Errorf("line %d: a key is not text", key.Line)
		case seen[key.Value]:
			return fmt.Errorf("line %d: duplicate field %q", key.Line, key.Value)
		case key.Tag == "!!merge":
			return fmt.Errorf("line %d: << is not supported", key.Line)
		case v.Kind == yaml.MappingNode && column != 0 && v.Column != column:
			return fmt.Errorf("line %d: indented differently from the fields before it", v.Line)
		case v.Kind == yaml.MappingNode:
			column = v.Column
		}
		seen[key.Value] = true
	}
	return nil
}
