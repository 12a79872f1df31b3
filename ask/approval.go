package ask

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// rows describes a call: the tool's description, its accesses, and why it needs approval.
func rows(d event.ApprovalRequested) (list []Row) {
	add := func(kind RowKind, text string) {
		if text != "" {
			list = append(list, Row{kind, text})
		}
	}
	for _, note := range d.Notes {
		add(RowNote, note)
	}
	add(RowText, d.Preview)
	described := d.Preview != "" || d.Diff != ""
	arguments := !described && len(d.Accesses) == 0
	parts := d.Parts
	for _, a := range d.Accesses {
		switch {
		case a.Kind == policy.Exec:
			add(RowCommand, a.Target)
			add(RowDir, a.Dir)
			for _, part := range parts {
				add(RowPart, part)
			}
			parts = nil
		case strings.HasPrefix(d.Reason+",", string(a.Kind)+"s "+a.Target+","): // RowWhy shows it
		case a.Kind == policy.Delete || d.Diff == "":
			add(RowAccess, a.String())
		}
		arguments = arguments || a.Kind == policy.Connect ||
			a.Kind == policy.Write && d.Diff == "" && !has(d.Accesses, policy.Exec)
	}
	if arguments || len(d.Notes) > 0 || truncated(d.Diff) || truncated(d.Preview) {
		add(RowArguments, string(d.Arguments))
	}
	add(RowWhy, why(d))
	return list
}

// truncated reports whether a description was too long to be recorded. The arguments show everything then.
func truncated(text string) bool { return strings.HasSuffix(text, "\n[truncated]\n") }

// why returns why a call needs approval, unless other rows show it.
func why(d event.ApprovalRequested) string {
	reason := d.Reason
	switch {
	case isPlan(d):
		return ""
	case d.Code == "outside_sandbox":
		reason = outside(d.Accesses)
	}
	if slices.ContainsFunc(d.Parts, func(part string) bool { return strings.HasSuffix(part, strings.TrimPrefix(reason, "runs: ")) }) {
		return ""
	}
	for _, a := range d.Accesses {
		if rest, ok := strings.CutPrefix(reason, "runs: "+a.Target); ok && a.Kind == policy.Exec {
			reason = strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " ")
		}
	}
	return reason
}

// outside describes the accesses that the sandbox prevents.
func outside(accesses []policy.Access) string {
	for _, a := range accesses {
		switch {
		case !a.Outside:
		case a.Kind == policy.Exec:
			return "it would run outside the sandbox, where it can use the network and change all your files"
		default:
			return fmt.Sprintf("the sandbox does not let the agent %s %s", a.Kind, a.Target)
		}
	}
	return "it would leave the sandbox"
}

// has reports whether the list has an access of a kind.
func has(list []policy.Access, kind policy.Kind) bool {
	return slices.ContainsFunc(list, func(a policy.Access) bool { return a.Kind == kind })
}

// choices returns the possible answers for a call. The last one refuses.
func choices(d event.ApprovalRequested, places []Place) []Choice {
	yes := Choice{Key: "y", Text: "yes, once", Allow: true}
	no := Choice{Key: "n", Text: "no; or type what to do instead"}
	if isPlan(d) {
		yes.Text, no.Text = "yes, carry it out", "no, keep planning; or type what to change"
	}
	if d.Mode == policy.ModePlan { // every change needs its own approval
		return []Choice{yes, no}
	}
	list := []Choice{yes}
	grants := readable(d.Grants)
	for _, g := range grants {
		key := "p"
		if slices.Equal(g.Rules, []string{"Edit(/**)"}) {
			key = "e"
		}
		if !slices.ContainsFunc(list, func(c Choice) bool { return c.Key == key }) {
			list = append(list, Choice{
				Key:   key,
				Text:  "yes, and allow " + g.Text + " for this session",
				Allow: true,
				Scope: tool.ForSession,
				Rules: g.Rules,
			})
		}
	}
	list = append(list, Choice{
		Key:   "s",
		Text:  "yes, and do not ask again " + sameCall(d) + " in this session",
		Allow: true,
		Scope: tool.ForSession,
	})
	for _, p := range places {
		if len(grants) > 0 {
			list = append(list, saving(p, grants[0].Rules))
		}
	}
	return append(list, no)
}

// readable returns the grants whose rules can be shown as they are.
func readable(grants []event.Grant) []event.Grant {
	const maximum = 300
	return slices.DeleteFunc(slices.Clone(grants), func(g event.Grant) bool {
		rules := strings.Join(g.Rules, " ")
		return len(rules) > maximum || show.OneLine(rules) != rules || g.Text != show.Visible(g.Text)
	})
}

// saving returns the choice to save rules in a file.
func saving(p Place, rules []string) Choice {
	key, where := "a", "in this project"
	if p.Layer == "user" {
		key, where = "g", "in every project"
	}
	what := "rule"
	if len(rules) > 1 {
		what = "rules"
	}
	return Choice{
		Key:   key,
		Text:  fmt.Sprintf("yes, always %s: save the %s %s in %s", where, what, strings.Join(rules, " and "), p.File),
		Allow: true,
		Scope: tool.Always,
		Rules: rules,
		Save:  p.Layer,
	}
}

// sameCall describes the calls that an approval without rules covers: calls to the same tool with the same accesses.
func sameCall(d event.ApprovalRequested) string {
	name := d.Tool
	if name == "" {
		name = d.Name
	}
	name = show.Summary(name)
	switch {
	case len(d.Accesses) == 0:
		return "for " + name
	case has(d.Accesses, policy.Exec):
		return "for exactly this command"
	case has(d.Accesses, policy.Input):
		return "for exactly this input"
	case has(d.Accesses, policy.Connect):
		return "when " + name + " connects to the same host"
	}
	return "when " + name + " uses the same files"
}
