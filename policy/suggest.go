package policy

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/shell"
)

// Suggestion is what an approval can cover besides one call. It grants exactly its rules.
type Suggestion struct {
	Rules []Rule
	Text  string // for users, such as: commands that begin with "go test"
}

// Allowing returns the policy with more rules that allow calls.
func (s Standard) Allowing(rules []Rule) Policy {
	s.Rules.Allow = slices.Concat(s.Rules.Allow, rules)
	return s
}

// Suggest returns rules that would allow a call and similar calls, narrowest first. Each suggestion was tried: with its
// rules the call is allowed, and if any rule is removed it is not.
func (s Standard) Suggest(ctx context.Context, q Query) (list []Suggestion) {
	j := &judge{ctx: ctx, q: q, rules: s.Rules}
	if q.Mode == "" {
		j.q.Mode = ModeDefault
	}
	offers := [][]offer{j.needs()}
	if q.Accesses == nil { // unknown, as for MCP tools
		offers = append(offers, []offer{{q.Tool, "all calls of " + q.Tool}})
	}
	if edits(q) && slices.ContainsFunc(q.Accesses, func(a Access) bool { return j.access(a).Verdict == Ask }) {
		offers = append(offers, []offer{{"Edit(/**)", "edits inside the working directory"}})
	}
	for _, o := range offers {
		if found, ok := s.try(ctx, q, o); ok {
			list = append(list, found)
		}
	}
	return list
}

// offer is a rule to suggest.
type offer struct{ rule, text string }

// try returns a suggestion with the rules that together allow a call, without unnecessary rules.
func (s Standard) try(ctx context.Context, q Query, offers []offer) (Suggestion, bool) {
	rules := make([]Rule, len(offers))
	for i, o := range offers {
		var err error
		if rules[i], err = ParseRule(o.rule); err != nil {
			return Suggestion{}, false
		}
	}
	allowed := func(rules []Rule) bool {
		return len(rules) > 0 && s.Allowing(rules).Decide(ctx, q).Verdict == Allow
	}
	if !allowed(rules) {
		return Suggestion{}, false
	}
	for i := len(rules) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(rules), i, i+1); allowed(fewer) {
			rules, offers = fewer, slices.Delete(offers, i, i+1)
		}
	}
	texts := make([]string, len(offers))
	for i, o := range offers {
		texts[i] = o.text
	}
	return Suggestion{rules, strings.Join(texts, " and ")}, true
}

// edits reports whether a call only changes and reads files.
func edits(q Query) bool {
	return len(q.Accesses) > 0 && !slices.ContainsFunc(q.Accesses, func(a Access) bool { return a.Kind != Write && a.Kind != Read && a.Kind != Delete }) &&
		slices.ContainsFunc(q.Accesses, func(a Access) bool { return a.Kind == Write })
}

// needs returns a rule for every part of a call that needs approval.
func (j *judge) needs() (list []offer) {
	add := func(rule, text string) {
		if o := (offer{rule, text}); !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	for _, a := range j.q.Accesses {
		switch a.Kind {
		case Exec:
			for _, e := range j.asking(a) {
				if rule, text := j.prefix(e); rule != "" {
					add(rule, text)
				}
				for _, x := range e.Accesses {
					if j.file(file{Access: Access{Kind: Kind(x.Kind), Target: x.Path}, glob: x.Glob}).Verdict == Ask && len(e.Words) == 0 {
						add(j.pathRule(Access{Kind: Kind(x.Kind), Target: x.Path}))
					}
				}
			}
		case Connect:
			add("WebFetch(domain:"+hostOf(a.Target)+")", "connections to "+hostOf(a.Target))
		case Read:
			if j.access(a).Verdict == Ask {
				add(j.pathRule(Access{Kind: Read, Target: j.q.Workspace.Paths.Dir(a.Target) + "/**"}))
			}
		}
	}
	return list
}

// pathRule returns the rule that names a path, and what it covers.
func (j *judge) pathRule(a Access) (rule, text string) {
	name := map[Kind]string{Read: "Read", Write: "Edit", Delete: "Delete"}[a.Kind]
	verb := map[Kind]string{Read: "reading ", Write: "writing ", Delete: "deleting "}[a.Kind]
	return fmt.Sprintf("%s(%s)", name, ruleFor(j.q.Workspace, a.Target)), verb + a.Target
}

// asking returns the parts of a command that need approval.
func (j *judge) asking(a Access) (list []shell.Effect) {
	dir := a.Dir
	if dir == "" {
		dir = j.q.Workspace.Dir
	}
	effects, err := shell.Analyze(a.Target, shell.Options{Dir: dir, Home: j.q.Workspace.Home, Paths: j.q.Workspace.Paths, Shell: j.q.Workspace.Shell})
	if err != nil {
		return nil
	}
	for _, e := range effects {
		if j.effect(e, a.Target).Verdict == Ask {
			list = append(list, e)
		}
	}
	return list
}

// subcommands maps programs with subcommands to the number of words that select one.
var subcommands = map[string]int{
	"git": 1, "go": 1, "cargo": 1, "npm": 1, "pnpm": 1, "yarn": 1, "bun": 1, "npx": 1, "deno": 1, "docker": 1, "podman": 1, "kubectl": 1, "helm": 1, "gh": 1, "pip": 1, "pip3": 1, "uv": 1, "poetry": 1,
	"make": 1, "just": 1, "mvn": 1, "gradle": 1, "./gradlew": 1, "dotnet": 1, "terraform": 1, "brew": 1, "apt": 1, "apt-get": 1, "systemctl": 1, "composer": 1, "bundle": 2, "rails": 1, "rake": 1, "mix": 1, "swift": 1, "flutter": 1, "dart": 1, "aws": 2, "gcloud": 3, "az": 2, "nix": 1, "tox": 0, "pytest": 0,
}

// narrow are programs that can do anything: only the exact command is offered, as for interpreters.
var narrow = strings.Fields("eval sudo doas su ssh env xargs find rm rmdir mv cp dd chmod chown ln curl wget nc ncat socat awk gawk sed " +
	"tar tee kill pkill killall watch strace timeout nohup docker podman kubectl npx git")

// prefix returns the rule to offer for a command, and what it covers. It offers none for a command whose words do not
// tell what it does, and only the exact command if a prefix would not grant it.
func (j *judge) prefix(e shell.Effect) (rule, text string) {
	if len(e.Words) == 0 || e.Words[0] == shell.Unset || readsProgram(e.Words) {
		return "", ""
	}
	words, more := e.Words, false
	n, known := subcommands[path.Base(words[0])]
	_, widens := shell.Widening(words)
	switch {
	case widens || interprets(words) != nil:
	case known && n < len(words) && !slices.ContainsFunc(words[1:n+1], func(w string) bool { return strings.HasPrefix(w, "-") || w == shell.Unset }):
		if words[0] != "git" && n == 1 && len(words) > 2 && (words[1] == "run" || words[1] == "exec" || words[1] == "x" || words[1] == "compose") && !strings.HasPrefix(words[2], "-") {
			n++
		}
		words, more = words[:n+1], true
	case !known && !slices.Contains(narrow, path.Base(words[0])):
		words, more = words[:1], true
	}
	if slices.Contains(words, shell.Unset) {
		return "", ""
	}
	command := canonical(words)
	if strings.ContainsAny(command, "*") {
		return "", ""
	}
	if more {
		return "Bash(" + command + ":*)", fmt.Sprintf("commands that begin with %q", strings.Join(words, " "))
	}
	return "Bash(" + command + ")", fmt.Sprintf("the command %q", strings.Join(words, " "))
}
