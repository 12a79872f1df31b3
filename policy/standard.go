package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/shell"
)

// Standard decides by rules, protected paths and the query's mode. A call is allowed if every part of it is allowed.
// The strictest decision on any part wins, and the decision names the rule or mode that made it.
type Standard struct {
	Rules Rules
}

// Decide implements Policy.
func (s Standard) Decide(ctx context.Context, q Query) Decision {
	if q.Mode == "" {
		q.Mode = ModeDefault
	}
	j := &judge{ctx: ctx, q: q, rules: s.Rules}
	return j.settle(j.decide())
}

// judge decides on one call.
type judge struct {
	ctx      context.Context
	q        Query
	rules    Rules
	reveal   []string // outside paths that commands read by name
	programs bool     // a command is git or a program that is not known in detail
}

// decide returns the decision before the mode turns a question into another verdict.
func (j *judge) decide() Decision {
	named := func(r Rule) bool { return r.named(j.q.Tool) }
	if r, ok := find(j.rules.Deny, named); ok {
		return byRule(Deny, r, j.q.Tool)
	}
	d := j.accesses()
	if r, ok := find(j.rules.Ask, named); ok && d.Verdict != Deny {
		return byRule(Ask, r, j.q.Tool)
	}
	if r, ok := find(j.rules.Allow, named); ok && d.Verdict == Ask && !slices.Contains(firm, d.Code) && j.q.Mode != ModePlan {
		return byRule(Allow, r, j.q.Tool)
	}
	return d
}

// accesses returns the strictest decision on the call's accesses.
func (j *judge) accesses() Decision {
	if j.q.Accesses == nil {
		return j.asks("undeclared", "the tool does not declare what it touches")
	}
	strictest := j.allows("touches_nothing", "touches nothing")
	var boxes []Box
	for i, a := range j.q.Accesses {
		d := j.access(a)
		if a.Kind == Exec {
			boxes = append(boxes, d.Box)
		}
		if i == 0 || d.outweighs(strictest) {
			strictest = d
		}
	}
	if strictest = strictest.in(together(boxes)); len(boxes) > 0 && strictest.Verdict != Deny {
		strictest.Reveal, strictest.Repository = j.reveal, j.programs && strictest.Box == BoxRead
	}
	return strictest
}

// firm lists questions that a rule for the whole tool does not answer.
var firm = []string{"asked_by_rule", "reads_secret", "deletes_outside", "deletes_foreign", "protected", "unparsed", "configures"}

// settle applies the modes that change the answer to a question.
func (j *judge) settle(d Decision) Decision {
	if d.Verdict != Ask {
		return d
	}
	switch j.q.Mode {
	case ModeBypass:
		if slices.Contains(firm, d.Code) && d.Code != "asked_by_rule" {
			return d
		}
		return Decision{Verdict: Allow, Code: "bypass", Rule: j.mode(), Reason: d.Reason, Reveal: d.Reveal}
	case ModeDontAsk:
		d.Verdict, d.Reason = Deny, d.Reason+" (mode dontAsk denies what would need approval)"
	case ModePlan:
		d.Reason += " (plan mode allows only what changes nothing)"
	}
	return d
}

func (j *judge) mode() string { return "mode " + string(j.q.Mode) }

// asks returns the mode's question.
func (j *judge) asks(code, reason string) Decision {
	return Decision{Verdict: Ask, Code: code, Rule: j.mode(), Reason: reason}
}

func (j *judge) allows(code, reason string) Decision {
	return Decision{Verdict: Allow, Code: code, Rule: j.mode(), Reason: reason}
}

// reads allows a call that only reads, where it can only read.
func (j *judge) reads() Decision {
	return j.allows("reads_inside", "only reads inside the working directory").in(BoxRead)
}

// byRule returns a rule's decision.
func byRule(v Verdict, r Rule, what string) Decision {
	code := map[Verdict]string{Deny: "denied_by_rule", Ask: "asked_by_rule", Allow: "allowed_by_rule"}[v]
	return Decision{Verdict: v, Code: code, Rule: r.String(), Reason: fmt.Sprintf("%s: rule %s", what, r)}.in(r.box)
}

// outweighs reports whether a decision on a part of a call, rather than other, is the reason for the whole: it is
// stricter, or allows more.
func (d Decision) outweighs(other Decision) bool {
	return d.Verdict < other.Verdict || d.Verdict == other.Verdict && slices.Index(says, d.Code) > slices.Index(says, other.Code)
}

// says lists codes for decisions that allow, least informative first. Other codes, for questions and denials, do not
// differ in that.
var says = []string{"touches_nothing", "reads_inside", "reads_system", "edits_inside", "allowed_by_rule", "sandboxed"}

// in returns the decision with the box for a call that it allows.
func (d Decision) in(b Box) Decision {
	if d.Box = ""; d.Verdict == Allow {
		d.Box = b
	}
	return d
}

func find(rules []Rule, match func(Rule) bool) (Rule, bool) {
	i := slices.IndexFunc(rules, match)
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

// access decides on one access.
func (j *judge) access(a Access) Decision {
	switch a.Kind {
	case Exec:
		return j.command(a)
	case Connect:
		return j.connect(a)
	case Read, Write, Delete:
		return j.file(file{Access: a})
	case Input:
		if r, ok := find(j.rules.Deny, Rule.everything); ok {
			return byRule(Deny, r, "sends input to "+a.Target)
		}
		return j.asks("inputs", "sends input to "+a.Target)
	case Configure:
		return j.asks("configures", "configures "+a.Target)
	}
	return j.asks("unknown_access", a.String())
}

func (j *judge) connect(a Access) Decision {
	what := "connects to " + a.Target
	if r, ok := find(j.rules.Deny, func(r Rule) bool { return r.connects(a.Target, false) }); ok {
		return byRule(Deny, r, what)
	}
	if r, ok := find(j.rules.Ask, func(r Rule) bool { return r.connects(a.Target, false) }); ok {
		return byRule(Ask, r, what)
	}
	if r, ok := find(j.rules.Allow, func(r Rule) bool { return r.connects(a.Target, true) }); ok && j.q.Mode != ModePlan {
		return byRule(Allow, r, what)
	}
	return j.asks("connects", what)
}

// command decides on a command line by everything it does.
func (j *judge) command(a Access) Decision {
	w := j.q.Workspace
	dir := a.Dir
	if dir == "" {
		dir = w.Dir
	}
	effects, err := shell.Analyze(a.Target, shell.Options{Dir: dir, Home: w.Home, Paths: w.Paths, Shell: w.Shell})
	if err != nil {
		for _, e := range effects {
			if d := j.effect(e, a.Target); d.Code == Never {
				return d
			}
		}
		d := j.asks("unparsed", "runs: "+a.Target+" ("+err.Error()+")")
		if r, ok := find(j.rules.Deny, func(r Rule) bool { return slices.Contains(r.kinds, Exec) && r.words == nil && r.wild == "" }); ok {
			return byRule(Deny, r, "runs: "+a.Target)
		}
		return d
	}
	if dir != w.Dir { // as if it began with cd
		effects = append(effects, shell.Effect{Words: []string{"cd", dir}, Accesses: []shell.Access{{Kind: shell.Read, Path: dir}}})
	}
	strictest := j.reads()
	var boxes []Box
	for i, e := range effects {
		d := j.effect(e, a.Target)
		j.programs = j.programs || len(e.Repos) > 0 || e.Confined || e.Unknown != ""
		boxes = append(boxes, d.Box)
		if i == 0 || d.outweighs(strictest) {
			strictest = d
		}
	}
	return j.enforced(a, strictest.in(together(boxes)))
}

// enforced asks about a command that is allowed because it only reads, if it would run where it can do more.
func (j *judge) enforced(a Access, d Decision) Decision {
	switch {
	case d.Verdict != Allow || d.Box != BoxRead:
	case a.Running != "" && a.Running != BoxRead:
		return j.asks("unenforced", "sends input to a program that can change files: "+a.Target)
	case j.q.Workspace.Unenforced:
		return j.asks("unenforced", "runs: "+a.Target+" (this system cannot confine it to reading)")
	}
	return d
}

// effect decides on one command in a line.
func (j *judge) effect(e shell.Effect, line string) Decision {
	what := describeWords(e, line)
	for _, r := range j.rules.Deny {
		if yes, maybe := forbids(r, e); yes {
			return byRule(Deny, r, what)
		} else if maybe || e.Opaque && slices.Contains(r.kinds, Exec) {
			return Decision{Verdict: Ask, Code: "unparsed", Rule: r.String(), Reason: what + " may be what rule " + r.String() + " denies"}
		}
	}
	_, lifted := find(j.rules.Allow, func(r Rule) bool { return r.exactly(e, line) })
	if d, ok := j.neverEffect(e, what, line); ok && !lifted {
		return d
	}
	granted, ok := j.grants(e)
	strictest := j.reads()
	for _, x := range e.Accesses {
		d := j.file(file{
			Access: Access{Kind: Kind(x.Kind), Target: x.Path}, glob: x.Glob, deep: x.Deep, visible: x.Visible, names: x.Names, follow: x.Follow,
			split: x.Split, whole: x.Whole, command: ok && !granted.everything(), line: true, lifted: lifted, wanted: naming(e, line),
		})
		if d.outweighs(strictest) {
			strictest = d
		}
	}
	for _, c := range e.Copies {
		if d := j.copies(c[0], c[1]); d.outweighs(strictest) {
			strictest = d
		}
	}
	if strictest.Verdict == Deny {
		return strictest
	}
	for _, m := range e.Mentions {
		if why := Protected(j.q.Workspace, m); why != "" && !j.named(j.rules.Allow, m) {
			return Decision{Verdict: Ask, Code: "protected", Rule: "protected " + why, Reason: what + " may write " + m + ", which is protected"}
		}
	}
	for _, r := range j.rules.Ask {
		if yes, maybe := forbids(r, e); yes || maybe {
			return byRule(Ask, r, what)
		}
	}
	switch {
	case ok && (strictest.Verdict == Allow || !slices.Contains(firm, strictest.Code)):
		return byRule(Allow, granted, what)
	case strictest.Verdict == Ask && slices.Contains(firm, strictest.Code):
		return strictest
	case strictest.Verdict == Ask:
		return j.explain(e, what, strictest)
	case e.Unknown != "" && j.q.Mode == ModeAuto && j.q.Workspace.Sandboxed:
		return j.allows("sandboxed", what+" runs in the sandbox")
	case e.Unknown != "":
		return j.explain(e, what, j.asks("runs", what+": "+e.Unknown))
	case e.Confined && strictest.Box == BoxRead && !j.q.Workspace.ReadsOnly:
		return j.asks("unenforced", what+": it only reads if it is confined to reading")
	}
	return j.repos(e, strictest)
}

// repos asks if git would use a repository whose configuration names programs to run.
func (j *judge) repos(e shell.Effect, d Decision) Decision {
	for _, dir := range e.Repos {
		if j.q.Workspace.Git == nil {
			break
		}
		if why := j.q.Workspace.Git(j.ctx, dir); why != "" {
			return j.asks("git_config", "git would run what the repository's configuration names: "+why)
		}
	}
	return d
}

// grants returns the rule that allows a command. A rule for a wrapper must name the command too. In plan mode rules
// allow nothing.
func (j *judge) grants(e shell.Effect) (Rule, bool) {
	if j.q.Mode == ModePlan {
		return Rule{}, false
	}
	return widest(j.rules.Allow, func(r Rule) bool { return r.grants(e) && r.withholds(e) == "" })
}

// widest returns the first matching rule with the widest box.
func widest(rules []Rule, match func(Rule) bool) (best Rule, ok bool) {
	for _, r := range rules {
		if match(r) && (!ok || best.box.wider(r.box) != best.box) {
			best, ok = r, true
		}
	}
	return best, ok
}

// grants reports whether the rule is for a command, before its options are considered.
func (r Rule) grants(e shell.Effect) bool {
	return r.everything() || len(e.Words) > 0 && r.allows(e.Words) ||
		slices.ContainsFunc(e.Outer, func(words []string) bool { return r.allows(words) && r.names(e.Words[0]) })
}

// names reports whether a program is part of the rule's text.
func (r Rule) names(program string) bool {
	return program != "" && (slices.Contains(r.words, program) || slices.Contains(strings.Fields(r.wild), program))
}

// everything reports whether the rule covers every command.
func (r Rule) everything() bool {
	return slices.Contains(r.kinds, Exec) && r.words == nil && r.wild == ""
}

// forbids reports whether a rule matches a command or any of its wrappers.
func forbids(r Rule, e shell.Effect) (yes, maybe bool) {
	for _, words := range slices.Concat([][]string{e.Words}, e.Outer, e.Also) {
		y, m := r.forbids(words)
		yes, maybe = yes || y, maybe || m
	}
	return yes, maybe
}

// describeWords names a command for users.
func describeWords(e shell.Effect, line string) string {
	if len(e.Words) == 0 || slices.Contains(e.Words, shell.Unset) {
		return "runs: " + line
	}
	return "runs: " + strings.Join(e.Words, " ")
}
