package skill

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/reins-agent/reins/internal/lazy"
)

// maxFrontmatter limits the frontmatter size, in bytes.
const maxFrontmatter = 64 << 10

// document is a Markdown file with frontmatter.
type document struct {
	fields  map[string]value
	body    string
	line    int    // line number where the body begins, counted from 1
	invalid string // why the frontmatter is not valid YAML; if set, the fields were read one by one
	missing bool   // the file has no frontmatter
}

// value is a frontmatter value. Scalars are text, regardless of their YAML type.
type value struct {
	text  string
	list  []string // not nil for a list
	pairs map[string]string
	line  int // in the file, counted from 1
}

// parse parses a file. It reads as much as possible from frontmatter that is not valid YAML.
func parse(content string) (document, error) {
	content = strings.ReplaceAll(strings.TrimPrefix(content, "\ufeff"), "\r\n", "\n")
	front, rest, ok := split(content)
	switch {
	case !ok && strings.HasPrefix(strings.TrimSpace(content), "---"):
		return document{}, errors.New(`the frontmatter is not closed; add a line "---" after it`)
	case !ok:
		rest = content
	case len(front) > maxFrontmatter:
		return document{}, fmt.Errorf("the frontmatter is larger than %d KiB", maxFrontmatter>>10)
	}
	body := strings.TrimSpace(rest)
	before := content[:len(content)-len(rest)]
	if body != "" {
		before = content[:len(content)-len(strings.TrimLeftFunc(rest, unicode.IsSpace))]
	}
	d := document{body: body, line: 1 + strings.Count(before, "\n"), missing: !ok}
	if !ok {
		return d, nil
	}
	first := 1 + strings.Count(content[:strings.Index(content, "---")], "\n")
	fields, err := parseFields(front, first)
	if err != nil {
		d.invalid = err.Error()
		fields = parseLines(strings.Split(front, "\n"), first)
	}
	d.fields = fields
	return d, nil
}

// split returns the frontmatter, starting on the line with its first hyphens, and the text after it. If no line of
// three hyphens follows, the frontmatter ends at the next three hyphens, as in the reference implementation.
func split(content string) (front, rest string, ok bool) {
	fence := func(line string) bool { return strings.TrimRight(line, " \t") == "---" }
	head, text, more := strings.Cut(strings.TrimLeftFunc(content, unicode.IsSpace), "\n")
	if fence(head) {
		for at := 0; more; {
			var line, after string
			line, after, more = strings.Cut(text[at:], "\n")
			if fence(line) {
				return "\n" + text[:at], after, true
			}
			at += len(line) + 1
		}
	}
	if !strings.HasPrefix(content, "---") {
		return "", "", false
	}
	return strings.Cut(content[3:], "---")
}

// parseFields parses YAML that starts on line first.
func parseFields(front string, first int) (map[string]value, error) {
	if fields, ok := plainFields(front, first); ok {
		return fields, nil
	}
	root, err := decode(front)
	if err != nil {
		return nil, err
	}
	fields := map[string]value{}
	if root == nil {
		return fields, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("it is not a map of fields")
	}
	for i := 0; i < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		v := value{line: first + key.Line - 1}
		switch node.Kind {
		case yaml.ScalarNode:
			v.text = scalar(node)
		case yaml.SequenceNode:
			v.list = []string{}
			for _, e := range node.Content {
				v.list = append(v.list, scalar(e))
			}
			v.text = strings.Join(v.list, ", ")
		case yaml.MappingNode:
			v.pairs = map[string]string{}
			for i := 0; i < len(node.Content); i += 2 {
				v.pairs[scalar(node.Content[i])] = scalar(node.Content[i+1])
			}
		}
		fields[scalar(key)] = v
	}
	return fields, nil
}

// plainFields parses frontmatter in the usual form: names with plain or quoted text on one line, and one level of
// pairs. It reports false for anything else. Nearly all skills have this form, and a YAML parser takes 50 times as long
// each time a program starts.
func plainFields(front string, first int) (map[string]value, bool) {
	fields := map[string]value{}
	var pairs map[string]string // of the last field, if it has no text
	for i, line := range strings.Split(strings.Trim(front, "\n"), "\n") {
		name, text, ok := strings.Cut(line, ":")
		inner, nested := strings.CutPrefix(name, "  ")
		if text, ok = plainText(text, ok && isName(inner)); !ok {
			return nil, false
		}
		_, twice := fields[name]
		if nested {
			_, twice = pairs[inner]
		}
		switch {
		case twice, nested && (pairs == nil || text == ""), !nested && pairs != nil && len(pairs) == 0:
			return nil, false
		case nested:
			pairs[inner] = text
			continue
		}
		v := value{text: text, line: first + i + len(front) - len(strings.TrimLeft(front, "\n"))}
		if pairs = nil; text == "" {
			pairs = map[string]string{}
			v.pairs = pairs
		}
		fields[name] = v
	}
	return fields, pairs == nil || len(pairs) > 0
}

func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r != '-' && r != '_' && !isLetter(r) }) && isLetter(rune(s[0]))
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// plainText returns the text after a colon, without double quotes. It reports false if YAML might interpret the text
// differently.
func plainText(s string, ok bool) (string, bool) {
	if s == "" || !ok {
		return "", ok
	}
	t := strings.Trim(s, " ")
	if quoted := unquote(t); quoted != t && t[0] == '"' &&
		!strings.ContainsFunc(quoted, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return quoted, s[0] == ' ' && quoted != ""
	}
	strange := func(r rune) bool {
		return !isLetter(r) && !('0' <= r && r <= '9') && !strings.ContainsRune(" ,.;()/'_+-", r)
	}
	return t, s[0] == ' ' && t != "" && isLetter(rune(t[0])) && !strings.ContainsFunc(t, strange)
}

// scalar returns a node's text. Nested values are returned as YAML.
func scalar(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	b, err := yaml.Marshal(n)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// breaks are line breaks in YAML 1.1 only.
var breaks = strings.NewReplacer("\u0085", " ", "\u2028", " ", "\u2029", " ")

// decode parses YAML and returns the root, or nil for an empty text. It refuses anchors, which can make a small
// document expand to a huge one.
func decode(text string) (root *yaml.Node, err error) {
	defer func() {
		if v := recover(); v != nil {
			root, err = nil, fmt.Errorf("it cannot be parsed: %v", v)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(breaks.Replace(text)), &doc); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if doc.Kind == 0 || len(doc.Content) == 0 {
		return nil, nil
	}
	if slices.ContainsFunc(nodes(doc.Content[0]), func(n *yaml.Node) bool { return n.Anchor != "" || n.Kind == yaml.AliasNode }) {
		return nil, errors.New("anchors are not supported")
	}
	return doc.Content[0], nil
}

// nodes lists a node and all nodes in it.
func nodes(n *yaml.Node) []*yaml.Node {
	list := []*yaml.Node{n}
	for _, c := range n.Content {
		list = append(list, nodes(c)...)
	}
	return list
}

var fieldLine = lazy.Regexp(`^([A-Za-z][\w-]*)\s*:(.*)$`)

// parseLines parses fields one by one. Field text that is not valid YAML, such as a description with a colon, is used
// unchanged.
func parseLines(lines []string, first int) map[string]value {
	fields := map[string]value{}
	for i := 0; i < len(lines); {
		start := i
		for i++; i < len(lines) && (lines[i] == "" || strings.ContainsRune(" \t-", rune(lines[i][0]))); i++ {
		}
		m := fieldLine().FindStringSubmatch(lines[start])
		if m == nil {
			continue
		}
		if one, err := parseFields(strings.Join(lines[start:i], "\n"), first+start); err == nil {
			maps.Copy(fields, one)
			continue
		}
		text := []string{strings.TrimSpace(m[2])}
		for _, l := range lines[start+1 : i] {
			text = append(text, strings.TrimSpace(l))
		}
		fields[m[1]] = value{text: unquote(strings.TrimSpace(strings.Join(text, " "))), line: first + start}
	}
	return fields
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
