package rules

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/shell"
	"github.com/reins-agent/reins/policy"
)

// Allowing returns the policy with more rules that allow calls. It ignores rules that are invalid.
func (p Policy) Allowing(texts ...string) policy.Policy {
	more := make([]Rule, 0, len(texts))
	for _, text := range texts {
		if r, err := Parse(text); err == nil {
			more = append(more, r)
		}
	}
	return p.allowing(more)
}

func (p Policy) allowing(more []Rule) Policy {
	p.Allow = slices.Concat(p.Allow, more)
	return p
}

// Suggest returns rules that would allow a call and similar calls, narrowest first. Each suggestion was tried: with its
// rules the call is allowed, and if any rule is removed it is not.
func (p Policy) Suggest(ctx context.Context, q policy.Query) (list []policy.Suggestion) {
	j := &judge{ctx: ctx, q: q, rules: p}
	if q.Mode == "" {
		j.q.Mode = policy.ModeDefault
	}
	offers := [][]offer{j.needs()}
	if q.Accesses == nil { // unknown, as for MCP tools
		offers = append(offers, []offer{{q.Tool, "all calls of " + q.Tool}})
	}
	if edits(q) && slices.ContainsFunc(q.Accesses, func(a policy.Access) bool { return j.access(a).Verdict == policy.Ask }) {
		offers = append(offers, []offer{{"Edit(/**)", "edits inside the working directory"}})
	}
	for _, o := range offers {
		if found, ok := p.try(ctx, q, o); ok {
			list = append(list, found)
		}
	}
	return list
}

// offer is a rule to suggest.
type offer struct{ rule, text string }

// try returns a suggestion with the rules that together allow a call, without unnecessary rules.
func (p Policy) try(ctx context.Context, q policy.Query, offers []offer) (policy.Suggestion, bool) {
	more := make([]Rule, len(offers))
	for i, o := range offers {
		var err error
		if more[i], err = Parse(o.rule); err != nil {
			return policy.Suggestion{}, false
		}
	}
	allowed := func(more []Rule) bool {
		return len(more) > 0 && p.allowing(more).Decide(ctx, q).Verdict == policy.Allow
	}
	if !allowed(more) {
		return policy.Suggestion{}, false
	}
	for i := len(more) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(more), i, i+1); allowed(fewer) {
			more, offers = fewer, slices.Delete(offers, i, i+1)
		}
	}
	var found policy.Suggestion
	var texts []string
	for i, o := range offers {
		found.Rules, texts = append(found.Rules, more[i].String()), append(texts, o.text)
	}
	found.Text = strings.Join(texts, " and ")
	return found, true
}

// edits reports whether a call only changes and reads files.
func edits(q policy.Query) bool {
	return len(q.Accesses) > 0 && !slices.ContainsFunc(q.Accesses, func(a policy.Access) bool {
		return a.Kind != policy.Write && a.Kind != policy.Read && a.Kind != policy.Delete
	}) &&
		slices.ContainsFunc(q.Accesses, func(a policy.Access) bool { return a.Kind == policy.Write })
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
		case policy.Exec:
			for _, e := range j.asking(a) {
				if rule, text := j.prefix(e); rule != "" {
					add(rule, text)
				}
				for _, x := range e.Accesses {
					if j.file(file{Access: policy.Access{Kind: policy.Kind(x.Kind), Target: x.Path}, glob: x.Glob}).Verdict == policy.Ask &&
						len(e.Words) == 0 {
						add(j.pathRule(policy.Access{Kind: policy.Kind(x.Kind), Target: x.Path}))
					}
				}
			}
		case policy.Connect:
			add("WebFetch(domain:"+hostOf(a.Target)+")", "connections to "+hostOf(a.Target))
		case policy.Read:
			if j.access(a).Verdict == policy.Ask {
				add(j.pathRule(policy.Access{Kind: policy.Read, Target: j.q.Workspace.Paths.Dir(a.Target) + "/**"}))
			}
		}
	}
	return list
}

// pathRule returns the rule that names a path, and what it covers.
func (j *judge) pathRule(a policy.Access) (rule, text string) {
	name := map[policy.Kind]string{policy.Read: "Read", policy.Write: "Edit", policy.Delete: "Delete"}[a.Kind]
	verb := map[policy.Kind]string{policy.Read: "reading ", policy.Write: "writing ", policy.Delete: "deleting "}[a.Kind]
	return fmt.Sprintf("%s(%s)", name, ruleFor(j.q.Workspace, a.Target)), verb + a.Target
}

// asking returns the parts of a command that need approval.
func (j *judge) asking(a policy.Access) (list []shell.Effect) {
	dir := a.Dir
	if dir == "" {
		dir = j.q.Workspace.Dir
	}
	effects, err := shell.Analyze(
		a.Target,
		shell.Options{Dir: dir, Home: j.q.Workspace.Home, Paths: j.q.Workspace.Paths, Shell: j.q.Workspace.Shell},
	)
	if err != nil {
		return nil
	}
	for _, e := range effects {
		if j.effect(e, a.Target).Verdict == policy.Ask {
			list = append(list, e)
		}
	}
	return list
}

// subcommands maps programs with subcommands to the number of words that select one.
var subcommands = map[string]int{
	"git": 1, "go": 1, "cargo": 1, "npm": 1, "pnpm": 1, "yarn": 1, "bun": 1, "npx": 1, "deno": 1, "docker": 1,
	"podman": 1, "kubectl": 1, "helm": 1, "gh": 1, "pip": 1, "pip3": 1, "uv": 1, "poetry": 1,
	"make": 1, "just": 1, "mvn": 1, "gradle": 1, "./gradlew": 1, "dotnet": 1, "terraform": 1, "brew": 1, "apt": 1,
	"apt-get": 1, "systemctl": 1, "composer": 1, "bundle": 2, "rails": 1, "rake": 1, "mix": 1, "swift": 1, "flutter": 1,
	"dart": 1, "aws": 2, "gcloud": 3, "az": 2, "nix": 1, "tox": 0, "pytest": 0,
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
	case known && n < len(words) &&
		!slices.ContainsFunc(words[1:n+1], func(w string) bool { return strings.HasPrefix(w, "-") || w == shell.Unset }):
		if words[0] != "git" && n == 1 && len(words) > 2 &&
			(words[1] == "run" || words[1] == "exec" || words[1] == "x" || words[1] == "compose") &&
			!strings.HasPrefix(words[2], "-") {
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
