// Package rules decides on tool calls by permission rules, protected paths and modes.
//
// The zero [Policy] has no rules: the mode decides. [Must] and [ParseAll] read rules such as "Bash(go test:*)" or
// "deny Read(.env)". Command lines are parsed, and each of their commands, redirections and files is judged.
package rules

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/shell"
	"mvdan.cc/sh/v3/syntax"

	"github.com/reins-agent/reins/policy"
)

// Rule matches calls by what they do. [Parse] describes the syntax.
type Rule struct {
	text  string
	tool  string // tool name, which may end in "*"; "" if kinds apply
	kinds []policy.Kind
	// The specifier: at most one is set.
	pattern string   // for a path
	words   []string // first words of a command
	prefix  bool     // words may follow
	wild    string   // a command with wildcards
	domain  string
	box     policy.Box // where its commands run; "" if the text does not specify it
	project bool
}

// Policy decides by rules, protected paths and the query's mode. A call is denied if a Deny rule
// matches. Otherwise it needs approval if an Ask rule matches. Otherwise it is allowed if Allow rules and the mode
// cover all its parts. The strictest decision on any part wins, and the decision names the rule or mode that made it.
type Policy struct {
	Allow, Ask, Deny []Rule
}

// families are the names for rules that match by what a call does, whatever its tool is called.
var families = map[string][]policy.Kind{
	"Bash": {policy.Exec}, "Shell": {policy.Exec},
	"Read": {policy.Read}, "Grep": {policy.Read}, "Glob": {policy.Read}, "LS": {policy.Read},
	"Edit": {
		policy.Write,
		policy.Delete,
	}, "Write": {policy.Write, policy.Delete}, "MultiEdit": {policy.Write, policy.Delete}, "NotebookEdit": {policy.Write, policy.Delete},
	"Delete": {policy.Delete}, "WebFetch": {policy.Connect},
}

// Parse parses a rule.
//
//	Bash                      every command
//	Bash(npm test)            this command
//	Bash(npm run build:*)     this command with any further arguments
//	Bash(git * main)          a command with wildcards
//	Read(src/**)              reading files by a pattern as in .gitignore, with any tool or command;
//	Edit(/docs/*.md)          ~/x is in the home directory, //x is absolute, other patterns are relative to the workspace
//	Delete(build/**)          deleting files; Edit covers it too
//	WebFetch(domain:go.dev)   connecting to a host; *.go.dev is any host below it
//	WebSearch                 searching the web
//	mcp__server               all tools from an MCP server
//	mcp__server__tool         one of them
//	grep                      any other name is a tool name
//
// A Bash rule that allows may specify where its commands run, such as Bash(git push:*)@outside: in the box @read,
// @workspace (the default) or @outside.
func Parse(text string) (Rule, error) {
	r := Rule{text: strings.TrimSpace(text)}
	rest, err := r.parseBox()
	if err != nil {
		return Rule{}, fmt.Errorf("invalid rule %q: %w", text, err)
	}
	name, spec, has := strings.Cut(rest, "(")
	if has && !strings.HasSuffix(spec, ")") {
		return Rule{}, fmt.Errorf("invalid rule %q: the closing parenthesis is missing", text)
	}
	name, spec = strings.TrimSpace(name), strings.TrimSuffix(spec, ")")
	if name == "" || strings.ContainsAny(name, " ()\"'") {
		return Rule{}, fmt.Errorf("invalid rule %q: use a tool name, or a name with a pattern such as Bash(git commit:*)", text)
	}
	r.kinds = families[name]
	if r.box != "" && !r.is(policy.Exec) {
		return Rule{}, fmt.Errorf("invalid rule %q: only a Bash rule can say where commands run", text)
	}
	if r.kinds == nil {
		r.tool = name
		if name == "WebSearch" {
			r.tool = "web_search" // allowing it must not allow other connections
		}
		if rest := strings.TrimPrefix(name, "mcp__"); rest != name && !strings.Contains(rest, "__") && !strings.HasSuffix(name, "*") {
			r.tool = name + "__*"
		}
	}
	if !has || spec == "*" || spec == "**" && r.is(policy.Read, policy.Write) {
		return r, nil
	}
	if err := r.parseSpec(spec); err != nil {
		return Rule{}, fmt.Errorf("invalid rule %q: %w", text, err)
	}
	return r, nil
}

// parseBox sets the box named at the end of text, and returns the text before it.
func (r *Rule) parseBox() (rest string, err error) {
	at := strings.LastIndexByte(r.text, '@')
	if at < strings.LastIndexByte(r.text, ')') || at < 0 {
		return r.text, nil
	}
	switch r.box = policy.Box(r.text[at+1:]); r.box {
	case policy.BoxRead, policy.BoxWorkspace, policy.BoxOutside:
		return r.text[:at], nil
	}
	return "", fmt.Errorf("unknown box %q: use @read, @workspace or @outside", r.text[at:])
}

// Families returns the names that rules can use for what calls do, whatever tool makes them.
func Families() []string { return slices.Sorted(maps.Keys(families)) }

// Tool returns the name of the tool that the rule is for, which may end in "*", or "" if it matches calls to any tool.
func (r Rule) Tool() string { return r.tool }

// For returns the same rule for another tool.
func (r Rule) For(tool string) Rule { r.tool = tool; return r }

// OfProject returns the same rule as a project rule, not a user rule. It does not lift a denial with code [Never].
func (r Rule) OfProject() Rule { r.project = true; return r }

// Specific reports whether the rule has a pattern, a command or a domain.
func (r Rule) Specific() bool {
	return r.pattern != "" || r.words != nil || r.wild != "" || r.domain != ""
}

// Box returns where commands run that the rule allows.
func (r Rule) Box() policy.Box { return cmp.Or(r.box, policy.BoxWorkspace) }

// Check returns why the rule cannot be in a verdict's list, or nil.
func (r Rule) Check(v policy.Verdict) error {
	if v != policy.Allow && r.box != "" {
		return fmt.Errorf("invalid rule %q: only a rule that allows can say where commands run; remove @%s", r.text, r.box)
	}
	return nil
}

// Check returns why a rule cannot be in its list, or nil.
func (p Policy) Check() error {
	for v, list := range map[policy.Verdict][]Rule{policy.Allow: p.Allow, policy.Ask: p.Ask, policy.Deny: p.Deny} {
		for _, r := range list {
			if err := r.Check(v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Rule) is(kinds ...policy.Kind) bool {
	return slices.ContainsFunc(kinds, func(k policy.Kind) bool { return slices.Contains(r.kinds, k) })
}

func (r *Rule) parseSpec(spec string) error {
	switch {
	case spec == "":
		return errors.New("the pattern is empty")
	case r.is(policy.Exec):
		return r.parseCommand(spec)
	case r.is(policy.Connect):
		host, ok := strings.CutPrefix(spec, "domain:")
		host = strings.TrimSuffix(strings.ToLower(host), ".")
		if !ok || host == "" || strings.ContainsAny(host, "/: ") || strings.Contains(strings.TrimPrefix(host, "*."), "*") {
			return errors.New("use domain:HOST or domain:*.HOST")
		}
		r.domain = host
	case r.tool == "web_search":
		return errors.New("WebSearch takes no pattern")
	case strings.HasPrefix(spec, "!"):
		return errors.New("a pattern cannot be negated; use a rule in the other list")
	default:
		r.pattern = spec
		if _, err := path.Match(strings.ReplaceAll(spec, "**", "*"), ""); err != nil {
			return errors.New("the pattern is malformed")
		}
	}
	return nil
}

// parseCommand parses the specifier in a Bash rule.
func (r *Rule) parseCommand(spec string) error {
	spec, r.prefix = strings.CutSuffix(spec, ":*")
	if strings.Contains(spec, "*") {
		if r.prefix {
			return errors.New("use either wildcards or :*")
		}
		r.wild = strings.Join(strings.Fields(spec), " ")
		if rest, ok := strings.CutSuffix(r.wild, " *"); ok && !strings.Contains(rest, "*") {
			r.wild = ""
			r.prefix = true
			spec = rest
		} else {
			return nil
		}
	}
	fields, err := shell.Fields(spec, func(string) string { return "" })
	if err != nil || strings.ContainsAny(spec, "$`") || len(fields) == 0 {
		fields = strings.Fields(spec)
	}
	if len(fields) == 0 {
		return errors.New("the command is empty")
	}
	r.words = fields
	return nil
}

func (r Rule) String() string { return r.text }

// MarshalText and UnmarshalText encode a rule as its text.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.text), nil }

// UnmarshalText parses a rule.
func (r *Rule) UnmarshalText(text []byte) (err error) { *r, err = Parse(string(text)); return err }

// named reports whether the rule names a tool, whatever a call does.
func (r Rule) named(tool string) bool {
	if r.tool == "" || r.pattern != "" {
		return false
	}
	if prefix, ok := strings.CutSuffix(r.tool, "*"); ok {
		return strings.HasPrefix(tool, prefix)
	}
	return r.tool == tool
}

// covers reports whether the rule is for accesses of a kind made by a tool, before its specifier is considered.
func (r Rule) covers(tool string, k policy.Kind) bool {
	if r.tool != "" {
		return r.pattern != "" && (r.tool == tool || r.tool == "*")
	}
	return slices.Contains(r.kinds, k)
}

// canonical joins words so that each word stays one.
func canonical(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			q = "'" + strings.ReplaceAll(w, "'", "") + "'"
		}
		quoted[i] = q
	}
	return strings.Join(quoted, " ")
}

// allows reports whether the rule covers a command in exactly these words.
func (r Rule) allows(words []string) bool {
	switch {
	case !slices.Contains(r.kinds, policy.Exec):
		return false
	case r.wild != "":
		return wildcard(r.wild, canonical(words))
	case r.words == nil:
		return true
	case len(words) < len(r.words) || len(words) > len(r.words) && !r.prefix:
		return false
	}
	return slices.Equal(words[:len(r.words)], r.words)
}

// wildcard reports whether text matches a pattern in which * stands for any text.
func wildcard(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for i, p := range parts[1:] {
		if i == len(parts)-2 {
			return strings.HasSuffix(text, p)
		}
		at := strings.Index(text, p)
		if at < 0 {
			return false
		}
		text = text[at+len(p):]
	}
	return text == ""
}

// forbids reports whether the rule matches a command in a wider sense: the program by any path, options in any
// order and form, before or after the other words. maybe reports that words which are only known when the
// command runs could make it match.
func (r Rule) forbids(words []string) (yes, maybe bool) {
	if !slices.Contains(r.kinds, policy.Exec) || len(words) == 0 {
		return false, false
	}
	words = append([]string{path.Base(words[0])}, words[1:]...)
	switch {
	case r.wild != "":
		return wildcard(r.wild, canonical(words)) || wildcard(r.wild, strings.Join(words, " ")), slices.Contains(words, unset)
	case r.words == nil || r.allows(words):
		return true, false
	}
	plain, options := split(r.words)
	return matchLoosely(plain, options, words)
}

const unset = "\x00"

// split separates options, one letter or long name each, from the other words.
func split(words []string) (plain []string, options []string) {
	for _, w := range words {
		switch {
		case len(w) > 2 && w[0] == '-' && w[1] != '-' && len(w) <= 6:
			for _, c := range w[1:] {
				options = append(options, "-"+string(c))
			}
		case len(w) > 1 && w[0] == '-':
			name, _, _ := strings.Cut(w, "=")
			options = append(options, name)
		default:
			plain = append(plain, w)
		}
	}
	return plain, options
}

// longForms are the long names of letters that deny rules often name.
var longForms = map[string]string{
	"-r": "--recursive",
	"-R": "--recursive",
	"-f": "--force",
	"-d": "--delete",
	"-D": "--delete",
	"-n": "--dry-run",
	"-v": "--verbose",
	"-a": "--all",
	"-i": "--in-place",
	"-o": "--output",
}

// matchLoosely reports whether a command has the plain words, as its first ones, and all the options.
func matchLoosely(plain, options, words []string) (yes, maybe bool) {
	_, given := split(words)
	for _, o := range options {
		if !slices.ContainsFunc(given, func(g string) bool { return sameOption(o, g) }) {
			if slices.Contains(words, unset) {
				maybe = true
				continue
			}
			return false, false
		}
	}
	found, unsure := leading(plain, words)
	return found && !maybe, found && maybe || unsure
}

func sameOption(rule, given string) bool {
	return rule == given || longForms[rule] != "" && len(given) > 2 && strings.HasPrefix(longForms[rule], given) ||
		longForms[given] != "" && longForms[given] == rule ||
		strings.EqualFold(rule, given) && strings.EqualFold(rule, "-r") ||
		strings.HasPrefix(rule, "--") && len(given) > 3 && strings.HasPrefix(rule, given)
}

// leading reports whether words begin with the plain ones if options are skipped, each with or without a value.
func leading(plain, words []string) (yes, maybe bool) {
	if len(plain) == 0 {
		return true, false
	}
	if len(words) == 0 {
		return false, false
	}
	w := words[0]
	if w == unset {
		rest, unsure := leading(plain[1:], words[1:])
		return false, rest || unsure || true
	}
	if len(w) > 1 && w[0] == '-' && w != plain[0] {
		yes, maybe = leading(plain, words[1:])
		if !yes && len(words) > 1 && !strings.Contains(w, "=") {
			y, m := leading(plain, words[2:])
			yes, maybe = yes || y, maybe || m
		}
		return yes, maybe
	}
	if w != plain[0] {
		return false, false
	}
	return leading(plain[1:], words[1:])
}

// connects reports whether the rule matches a host. A rule that denies also matches the hosts below.
func (r Rule) connects(target string, strict bool) bool {
	if !slices.Contains(r.kinds, policy.Connect) {
		return false
	}
	if r.domain == "" {
		return true
	}
	host := hostOf(target)
	if base, ok := strings.CutPrefix(r.domain, "*."); ok {
		return strings.HasSuffix(host, "."+base)
	}
	return host == r.domain || !strict && strings.HasSuffix(host, "."+r.domain)
}

// hostOf returns the host of host, host:port or a URL, in lower case and without a final dot.
func hostOf(target string) string {
	if strings.ContainsAny(target, "\\ \t\r\n") {
		return "" // programs disagree about the host
	}
	if scheme, rest, ok := strings.Cut(target, "://"); ok && !strings.ContainsAny(scheme, "/?#@:") {
		target = rest
	}
	if end := strings.IndexAny(target, "/?#"); end >= 0 {
		target = target[:end]
	}
	if at := strings.LastIndexByte(target, '@'); at >= 0 {
		target = target[at+1:]
	}
	if i := strings.LastIndexByte(target, ':'); i >= 0 && !strings.HasSuffix(target, "]") && strings.Count(target, ":") == 1 ||
		i >= 0 && strings.Contains(target, "]:") {
		target = target[:i]
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(target, "[]")), ".")
}
