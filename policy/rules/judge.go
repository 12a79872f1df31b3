package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/shell"
	"github.com/reins-agent/reins/policy"
)

// Decide implements Policy.
func (p Policy) Decide(ctx context.Context, q policy.Query) policy.Decision {
	if q.Mode == "" {
		q.Mode = policy.ModeDefault
	}
	j := &judge{ctx: ctx, q: q, rules: p}
	return j.settle(j.decide())
}

// Asks reports whether questions are possible in a mode.
func (Policy) Asks(m policy.Mode) bool { return m != policy.ModeDontAsk }

// judge decides on one call.
type judge struct {
	ctx      context.Context
	q        policy.Query
	rules    Policy
	reveal   []string // outside paths that commands read by name
	programs bool     // a command is git or a program that is not known in detail
}

// decide returns the decision before the mode turns a question into another verdict.
func (j *judge) decide() policy.Decision {
	named := func(r Rule) bool { return r.named(j.q.Tool) }
	if r, ok := find(j.rules.Deny, named); ok {
		return byRule(policy.Deny, r, j.q.Tool)
	}
	d := j.accesses()
	if r, ok := find(j.rules.Ask, named); ok && d.Verdict != policy.Deny {
		return byRule(policy.Ask, r, j.q.Tool)
	}
	if r, ok := find(j.rules.Allow, named); ok && d.Verdict == policy.Ask && !slices.Contains(firm, d.Code) && j.q.Mode != policy.ModePlan {
		return byRule(policy.Allow, r, j.q.Tool)
	}
	return d
}

// accesses returns the strictest decision on the call's accesses.
func (j *judge) accesses() policy.Decision {
	if j.q.Accesses == nil {
		return j.asks("undeclared", "the tool does not declare what it touches")
	}
	strictest := j.allows("touches_nothing", "touches nothing")
	var boxes []policy.Box
	for i, a := range j.q.Accesses {
		d := j.access(a)
		if a.Kind == policy.Exec {
			boxes = append(boxes, d.Box)
		}
		if i == 0 || outweighs(d, strictest) {
			strictest = d
		}
	}
	if strictest = in(strictest, together(boxes)); len(boxes) > 0 && strictest.Verdict != policy.Deny {
		strictest.Reveal, strictest.Repository = j.reveal, j.programs && strictest.Box == policy.BoxRead
	}
	return strictest
}

// firm lists questions that a rule for the whole tool does not answer.
var firm = []string{"asked_by_rule", "reads_secret", "deletes_outside", "deletes_foreign", "protected", "unparsed", "configures"}

// settle applies the modes that change the answer to a question.
func (j *judge) settle(d policy.Decision) policy.Decision {
	if d.Verdict != policy.Ask {
		return d
	}
	switch j.q.Mode {
	case policy.ModeBypass:
		if slices.Contains(firm, d.Code) && d.Code != "asked_by_rule" {
			return d
		}
		return policy.Decision{
			Verdict: policy.Allow,
			Code:    "bypass",
			Rule:    j.mode(),
			Reason:  d.Reason,
			Reveal:  d.Reveal,
		}
	case policy.ModeDontAsk:
		d.Verdict, d.Reason = policy.Deny, d.Reason+" (mode dontAsk denies what would need approval)"
	case policy.ModePlan:
		d.Reason += " (plan mode allows only what changes nothing)"
	}
	return d
}

func (j *judge) mode() string { return "mode " + string(j.q.Mode) }

// asks returns the mode's question.
func (j *judge) asks(code, reason string) policy.Decision {
	return policy.Decision{Verdict: policy.Ask, Code: code, Rule: j.mode(), Reason: reason}
}

func (j *judge) allows(code, reason string) policy.Decision {
	return policy.Decision{Verdict: policy.Allow, Code: code, Rule: j.mode(), Reason: reason}
}

// reads allows a call that only reads, where it can only read.
func (j *judge) reads() policy.Decision {
	return in(j.allows("reads_inside", "only reads inside the working directory"), policy.BoxRead)
}

// byRule returns a rule's decision.
func byRule(v policy.Verdict, r Rule, what string) policy.Decision {
	code := map[policy.Verdict]string{policy.Deny: "denied_by_rule", policy.Ask: "asked_by_rule", policy.Allow: "allowed_by_rule"}[v]
	return in(policy.Decision{Verdict: v, Code: code, Rule: r.String(), Reason: fmt.Sprintf("%s: rule %s", what, r)}, r.box)
}

// outweighs reports whether a decision on a part of a call, rather than other, is the reason for the whole: it is
// stricter, or allows more.
func outweighs(d, other policy.Decision) bool {
	return d.Verdict < other.Verdict || d.Verdict == other.Verdict && slices.Index(says, d.Code) > slices.Index(says, other.Code)
}

// says lists codes for decisions that allow, least informative first. Other codes, for questions and denials, do not
// differ in that.
var says = []string{"touches_nothing", "reads_inside", "reads_system", "edits_inside", "allowed_by_rule", "sandboxed"}

// in returns the decision with the box for a call that it allows.
func in(d policy.Decision, b policy.Box) policy.Decision {
	if d.Box = ""; d.Verdict == policy.Allow {
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
func (j *judge) access(a policy.Access) policy.Decision {
	switch a.Kind {
	case policy.Exec:
		return j.command(a)
	case policy.Connect:
		return j.connect(a)
	case policy.Read, policy.Write, policy.Delete:
		return j.file(file{Access: a})
	case policy.Input:
		if r, ok := find(j.rules.Deny, Rule.everything); ok {
			return byRule(policy.Deny, r, "sends input to "+a.Target)
		}
		return j.asks("inputs", "sends input to "+a.Target)
	case policy.Configure:
		return j.asks("configures", "configures "+a.Target)
	}
	return j.asks("unknown_access", a.String())
}

func (j *judge) connect(a policy.Access) policy.Decision {
	what := "connects to " + a.Target
	if r, ok := find(j.rules.Deny, func(r Rule) bool { return r.connects(a.Target, false) }); ok {
		return byRule(policy.Deny, r, what)
	}
	if r, ok := find(j.rules.Ask, func(r Rule) bool { return r.connects(a.Target, false) }); ok {
		return byRule(policy.Ask, r, what)
	}
	if r, ok := find(j.rules.Allow, func(r Rule) bool { return r.connects(a.Target, true) }); ok && j.q.Mode != policy.ModePlan {
		return byRule(policy.Allow, r, what)
	}
	return j.asks("connects", what)
}

// command decides on a command line by everything it does.
func (j *judge) command(a policy.Access) policy.Decision {
	w := j.q.Workspace
	dir := a.Dir
	if dir == "" {
		dir = w.Dir
	}
	effects, err := shell.Analyze(a.Target, shell.Options{Dir: dir, Home: w.Home, Paths: w.Paths, Shell: w.Shell})
	if err != nil {
		for _, e := range effects {
			if d := j.effect(e, a.Target); d.Code == policy.Never {
				return d
			}
		}
		d := j.asks("unparsed", "runs: "+a.Target+" ("+err.Error()+")")
		anyCommand := func(r Rule) bool { return slices.Contains(r.kinds, policy.Exec) && r.words == nil && r.wild == "" }
		if r, ok := find(j.rules.Deny, anyCommand); ok {
			return byRule(policy.Deny, r, "runs: "+a.Target)
		}
		return d
	}
	if dir != w.Dir { // as if it began with cd
		effects = append(effects, shell.Effect{Words: []string{"cd", dir}, Accesses: []shell.Access{{Kind: shell.Read, Path: dir}}})
	}
	strictest := j.reads()
	var boxes []policy.Box
	for i, e := range effects {
		d := j.effect(e, a.Target)
		j.programs = j.programs || len(e.Repos) > 0 || e.Confined || e.Unknown != ""
		boxes = append(boxes, d.Box)
		if i == 0 || outweighs(d, strictest) {
			strictest = d
		}
	}
	return j.enforced(a, in(strictest, together(boxes)))
}

// enforced asks about a command that is allowed because it only reads, if it would run where it can do more.
func (j *judge) enforced(a policy.Access, d policy.Decision) policy.Decision {
	switch {
	case d.Verdict != policy.Allow || d.Box != policy.BoxRead:
	case a.Running != "" && a.Running != policy.BoxRead:
		return j.asks("unenforced", "sends input to a program that can change files: "+a.Target)
	case j.q.Workspace.Unenforced:
		return j.asks("unenforced", "runs: "+a.Target+" (this system cannot confine it to reading)")
	}
	return d
}

// effect decides on one command in a line.
func (j *judge) effect(e shell.Effect, line string) policy.Decision {
	what := describeWords(e, line)
	for _, r := range j.rules.Deny {
		if yes, maybe := forbids(r, e); yes {
			return byRule(policy.Deny, r, what)
		} else if maybe || e.Opaque && slices.Contains(r.kinds, policy.Exec) {
			reason := what + " may be what rule " + r.String() + " denies"
			return policy.Decision{Verdict: policy.Ask, Code: "unparsed", Rule: r.String(), Reason: reason}
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
			Access:  policy.Access{Kind: policy.Kind(x.Kind), Target: x.Path},
			glob:    x.Glob,
			deep:    x.Deep,
			visible: x.Visible,
			names:   x.Names,
			follow:  x.Follow,

			split:   x.Split,
			whole:   x.Whole,
			command: ok && !granted.everything(),
			line:    true,
			lifted:  lifted,
			wanted:  naming(e, line),
		})
		if outweighs(d, strictest) {
			strictest = d
		}
	}
	for _, c := range e.Copies {
		if d := j.copies(c[0], c[1]); outweighs(d, strictest) {
			strictest = d
		}
	}
	if strictest.Verdict == policy.Deny {
		return strictest
	}
	for _, m := range e.Mentions {
		if why := protects(j.q.Workspace, m); why != "" && !j.named(j.rules.Allow, m) {
			return policy.Decision{
				Verdict: policy.Ask,
				Code:    "protected",
				Rule:    "protected " + why,
				Reason:  what + " may write " + m + ", which is protected",
			}
		}
	}
	for _, r := range j.rules.Ask {
		if yes, maybe := forbids(r, e); yes || maybe {
			return byRule(policy.Ask, r, what)
		}
	}
	switch {
	case ok && (strictest.Verdict == policy.Allow || !slices.Contains(firm, strictest.Code)):
		return byRule(policy.Allow, granted, what)
	case strictest.Verdict == policy.Ask && slices.Contains(firm, strictest.Code):
		return strictest
	case strictest.Verdict == policy.Ask:
		return j.explain(e, what, strictest)
	case e.Unknown != "" && j.q.Mode == policy.ModeAuto && j.q.Workspace.Sandboxed:
		return j.allows("sandboxed", what+" runs in the sandbox")
	case e.Unknown != "":
		return j.explain(e, what, j.asks("runs", what+": "+e.Unknown))
	case e.Confined && strictest.Box == policy.BoxRead && !j.q.Workspace.ReadsOnly:
		return j.asks("unenforced", what+": it only reads if it is confined to reading")
	}
	return j.repos(e, strictest)
}

// repos asks if git would use a repository whose configuration names programs to run.
func (j *judge) repos(e shell.Effect, d policy.Decision) policy.Decision {
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
	if j.q.Mode == policy.ModePlan {
		return Rule{}, false
	}
	return widest(j.rules.Allow, func(r Rule) bool { return r.grants(e) && r.withholds(e) == "" })
}

// widest returns the first matching rule with the widest box.
func widest(rules []Rule, match func(Rule) bool) (best Rule, ok bool) {
	for _, r := range rules {
		if match(r) && (!ok || wider(best.box, r.box) != best.box) {
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
	return slices.Contains(r.kinds, policy.Exec) && r.words == nil && r.wild == ""
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
