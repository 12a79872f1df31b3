package cli

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/shell"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// pageRows is how many rows are shown at once.
const pageRows = 400

// answerUnseen approves a call without viewing all of it.
const answerUnseen = "yes all"

// callQuestion asks for a call's approval.
type callQuestion struct {
	rows    []string // what the user decides on, without the pages that were shown
	choices []choice // the answers after the last page
}

// choice is an answer to a question.
type choice struct {
	key, text string
	approval  tool.Approval
	save      []string     // rules to save in the configuration
	layer     config.Layer // where to save them
	more      bool         // shows the next page
}

// question describes a call to the user: who asks, why, and its command, its diff or what it accesses.
func (a *asker) question(ctx context.Context, r tool.Request) *callQuestion {
	s := &sheet{width: screenWidth(a.host.Stderr)}
	diff, args := "", len(r.Accesses) == 0
	switch p, ok, err := r.Preview(ctx); {
	case err != nil: // it may succeed later
		s.add("  ", "this call would fail: "+show.Summary(err.Error()))
		args = true
	case ok:
		if p.Text != "" {
			s.add("  ", p.Text)
			args = false
		}
		if diff = coding.PreviewDiff(r.Call.Env, p); diff != "" {
			s.indent("  ", show.DiffRows(diff, s.room("  "), a.host.colours(a.host.Stderr)))
			a.view.sawDiff(diff)
		}
		args = s.uncompared(r.Call.Env, p) || args
	}
	for _, x := range r.Accesses {
		switch {
		case x.Kind == policy.Exec:
			s.command(x, shell.Options{Dir: x.Dir, Home: a.host.Getenv("HOME"), Paths: paths(r.Call.Env)})
		case strings.HasPrefix(r.Decision.Reason+",", string(x.Kind)+"s "+x.Target+","): // shown below
		case x.Kind == policy.Delete || diff == "":
			s.add("  ", x.String())
		}
		args = args || x.Kind == policy.Connect || x.Kind == policy.Write && diff == "" && !has(r.Accesses, policy.Exec)
	}
	if args {
		s.add("  ", "arguments: "+string(r.Call.Args))
	}
	s.reason(r)
	title := show.Summary(r.Spec.Name)
	if diff != "" {
		title = show.Title(r.Spec.Name, r.Call.Args)
	}
	head := a.who(r.Agent) + " asks: " + title
	if isPlan(r) {
		head = a.who(r.Agent) + " has a plan:"
	}
	return &callQuestion{rows: append([]string{"", head}, s.rows...), choices: a.choices(ctx, r)}
}

// isPlan reports whether a call presents the plan, whose approval ends plan mode.
func isPlan(r tool.Request) bool {
	return r.Spec.Role == step.RoleExitPlan && r.Call.Mode == policy.ModePlan
}

// has reports whether an access has a kind.
func has(list []policy.Access, kind policy.Kind) bool {
	return slices.ContainsFunc(list, func(a policy.Access) bool { return a.Kind == kind })
}

// who returns an agent's name and purpose.
func (a *asker) who(agent string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch what := a.agents[agent]; {
	case agent == "":
		return "The agent"
	case what == "":
		return "Agent " + show.OneLine(agent)
	default:
		return fmt.Sprintf("Agent %s (%s)", show.OneLine(agent), what)
	}
}

// sheet collects a question's rows.
type sheet struct {
	rows  []string
	width int      // in columns; 0 means no limit
	parts []string // the command parts that need approval
}

// add adds untrusted text.
func (s *sheet) add(indent, text string) {
	s.indent(indent, show.Rows(text, s.room(indent)))
}

// room returns the width for text that is indented.
func (s *sheet) room(indent string) int {
	if s.width == 0 {
		return 0
	}
	const minimum = 10
	return max(s.width-len(indent)-1, minimum)
}

func (s *sheet) indent(indent string, rows []string) {
	for _, row := range rows {
		s.rows = append(s.rows, indent+row)
	}
}

// uncompared lists the changed files that have no diff, and reports whether there are any.
func (s *sheet) uncompared(e env.Environment, p tool.Preview) (some bool) {
	for _, c := range p.Changes {
		if coding.PreviewDiff(e, tool.Preview{Changes: []tool.Change{c}}) == "" && (c.Existed != c.Exists || !bytes.Equal(c.Before, c.After)) {
			some = true
			s.add("  ", fmt.Sprintf("changes %s without a diff: %d bytes before, %d after", c.Path, len(c.Before), len(c.After)))
		}
	}
	return some
}

// command shows a command and, if it has several parts, those that need approval.
func (s *sheet) command(a policy.Access, opts shell.Options) {
	s.add("  ", "runs: "+a.Target)
	if a.Dir != "" {
		s.add("    ", "in "+a.Dir)
	}
	effects, err := shell.Analyze(a.Target, opts)
	if err != nil || len(effects) < 2 {
		return
	}
	for _, part := range effects {
		if text := partText(part); text != "" && !slices.Contains(s.parts, text) {
			s.parts = append(s.parts, text)
			s.add("    ", "part: "+text)
		}
	}
}

// paths returns an environment's path rules; nil has none.
func paths(e env.Environment) (p env.Paths) {
	if e != nil {
		p = e.Info().Paths()
	}
	return p
}

// partText describes one part of a command. It returns "" if the part only reads.
func partText(e shell.Effect) string {
	var does []string
	if e.Unknown != "" {
		does = append(does, e.Unknown)
	}
	for _, x := range e.Accesses {
		if verb := map[shell.Kind]string{shell.Write: "writes ", shell.Delete: "deletes "}[x.Kind]; verb != "" {
			does = append(does, verb+x.Path)
		}
	}
	if len(does) == 0 {
		return ""
	}
	words := strings.ReplaceAll(strings.Join(e.Words, " "), shell.Unset, "…")
	if words == "" {
		return strings.Join(does, ", ")
	}
	return words + ": " + strings.Join(does, ", ")
}

// reason shows why the call needs approval, unless a part has shown it.
func (s *sheet) reason(r tool.Request) {
	why := r.Decision.Reason
	switch {
	case isPlan(r):
		return
	case r.Decision.Code == "outside_sandbox":
		why = outsideReason(r.Accesses)
	}
	if slices.ContainsFunc(s.parts, func(part string) bool { return strings.HasSuffix(part, strings.TrimPrefix(why, "runs: ")) }) {
		return
	}
	for _, a := range r.Accesses {
		if rest, ok := strings.CutPrefix(why, "runs: "+a.Target); ok && a.Kind == policy.Exec {
			why = strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " ")
		}
	}
	if why != "" {
		s.add("  ", "why: "+why)
	}
}

// outsideReason returns what the sandbox prevents.
func outsideReason(accesses []policy.Access) string {
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

// choices returns the possible answers for a call.
func (a *asker) choices(ctx context.Context, r tool.Request) []choice {
	list := []choice{{key: "y", text: "yes, once", approval: tool.Approval{Allow: true}}}
	no := choice{key: "n", text: "no; or type what to do instead", approval: tool.Approval{Message: "the user said no"}}
	if isPlan(r) {
		list[0].text, no.text = "yes, carry it out", "no, keep planning; or type what to change"
		return append(list, no)
	}
	if r.Call.Mode == policy.ModePlan { // every change needs its own approval
		return append(list, no)
	}
	rules := suggestions(ctx, r)
	for _, s := range rules {
		key := "p"
		if rules := s.Rules; slices.Equal(rules, []string{"Edit(/**)"}) {
			key = "e"
		}
		if !slices.ContainsFunc(list, func(c choice) bool { return c.key == key }) {
			list = append(list, choice{key: key, text: "yes, and allow " + s.Text + " for this session",
				approval: tool.Approval{Allow: true, Scope: tool.ForSession, Rules: s.Rules}})
		}
	}
	list = append(list, choice{key: "s", text: "yes, and do not ask again " + sameCall(r) + " in this session",
		approval: tool.Approval{Allow: true, Scope: tool.ForSession}})
	if rules := narrowest(rules); len(rules) > 0 {
		list = append(list, a.saving("a", "yes, always in this project", rules, config.LayerPersonal)...)
		list = append(list, a.saving("g", "yes, always in every project", rules, config.LayerUser)...)
	}
	return append(list, no)
}

// saving returns the choice to save rules in a layer's file, unless there is no such file.
func (a *asker) saving(key, answer string, rules []string, layer config.Layer) []choice {
	file, err := a.host.configFileFor(a.dir, layer)
	if err != nil {
		return nil
	}
	what := "rule"
	if len(rules) > 1 {
		what = "rules"
	}
	return []choice{{key: key, save: rules, layer: layer,
		text:     fmt.Sprintf("%s: save the %s %s in %s", answer, what, strings.Join(rules, " and "), shortDir(a.host, file.Path)),
		approval: tool.Approval{Allow: true, Scope: tool.Always, Rules: rules}}}
}

// sameCall describes the calls that an approval without rules covers: calls to the same tool with the same accesses.
func sameCall(r tool.Request) string {
	name := show.Summary(r.Spec.Name)
	switch {
	case len(r.Accesses) == 0:
		return "for " + name
	case has(r.Accesses, policy.Exec):
		return "for exactly this command"
	case has(r.Accesses, policy.Input):
		return "for exactly this input"
	case has(r.Accesses, policy.Connect):
		return "when " + name + " connects to the same host"
	}
	return "when " + name + " uses the same files"
}

// suggestions returns the suggestions for a call whose rules can be shown as they are.
func suggestions(ctx context.Context, r tool.Request) []policy.Suggestion {
	const maximum = 300
	return slices.DeleteFunc(r.Suggest(ctx), func(s policy.Suggestion) bool {
		rules := strings.Join(s.Rules, " ")
		return len(rules) > maximum || show.OneLine(rules) != rules
	})
}

// narrowest returns the first suggestion's rules.
func narrowest(list []policy.Suggestion) []string {
	if len(list) == 0 {
		return nil
	}
	return list[0].Rules
}

// offered returns the answers that are possible now. A call that was not shown completely can be approved only with
// answerUnseen.
func (q *callQuestion) offered() []choice {
	if len(q.rows) == 0 {
		return q.choices
	}
	return []choice{
		{key: "v", text: fmt.Sprintf("view the next part; %s are not shown yet", show.Plural(len(q.rows), "line")), more: true},
		{key: answerUnseen, text: "yes, once, without viewing the rest", approval: tool.Approval{Allow: true}},
		q.choices[len(q.choices)-1],
	}
}

// page returns the next rows, and the answers that are possible after them.
func (q *callQuestion) page() string {
	n := min(len(q.rows), pageRows)
	rows := q.rows[:n]
	q.rows = q.rows[n:]
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(row + "\n")
	}
	width := 0
	for _, c := range q.offered() {
		width = max(width, len(c.key))
	}
	b.WriteString("\n")
	for _, c := range q.offered() {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, c.key, show.Visible(c.text))
	}
	return b.String()
}

func (q *callQuestion) prompt() string { return "Allow? " }

// parse returns the choice for an answer. Text that is not one of the choices refuses the call and is sent
// to the model. If there is a problem, the question must be answered again.
func (q *callQuestion) parse(answer string) (c choice, problem string) {
	text := strings.ToLower(strings.TrimSpace(answer))
	key := map[string]string{"yes": "y", "no": "n", "": "n"}[text]
	if key == "" {
		key = text
	}
	offered := q.offered()
	if i := slices.IndexFunc(offered, func(c choice) bool { return c.key == key }); i >= 0 {
		return offered[i], ""
	}
	switch {
	case len(q.rows) > 0 && slices.ContainsFunc(q.choices, func(c choice) bool { return c.key == key }):
		return choice{}, fmt.Sprintf("not everything was shown: type v to view the rest, or %q", answerUnseen)
	case key == answerUnseen:
		return q.choices[0], ""
	case len([]rune(key)) == 1:
		return choice{}, fmt.Sprintf("%q is not one of the answers", show.Visible(key))
	}
	return choice{approval: tool.Approval{Message: "the user said: " + answer}}, ""
}

// quoteRules quotes rules for a shell.
func quoteRules(rules []string) string {
	quoted := make([]string, len(rules))
	for i, r := range rules {
		quoted[i] = "'" + strings.ReplaceAll(r, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}
