package project

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// RuleLists are the settings with lists of rules.
var RuleLists = []string{"permissions.allow", "permissions.ask", "permissions.deny"}

// Permissions describe what an agent may do.
type Permissions struct {
	Mode      policy.Mode
	Rules     rules.Policy
	Workspace policy.Workspace
}

// Permissions returns the configured permissions and those in Options.Rules. The mode in the file
// overrides the configured mode, and an override replaces both.
func (p *Project) Permissions() (list Permissions, err error) {
	if list.Mode, list.Rules, err = p.Settings.Policy(); err != nil {
		return list, mistake(err)
	}
	mode, more, err := readRules(p.options.Rules)
	if err != nil {
		return list, err
	}
	if mode != "" && !p.Layer("permissions.mode").Above(config.LayerEnvironment) {
		list.Mode = mode
	}
	r := &list.Rules
	r.Allow, r.Ask = append(r.Allow, more.Allow...), append(r.Ask, more.Ask...)
	r.Deny = append(r.Deny, more.Deny...)
	denied, err := p.deniedPaths()
	if err != nil {
		return list, err
	}
	r.Deny = append(r.Deny, denied...)
	*r = forOwnNames(*r)
	list.Workspace = p.own()
	roots, protected := p.Settings.Paths()
	list.Workspace.Roots, list.Workspace.Protected = roots, append(slices.Clip(list.Workspace.Protected), protected...)
	if a, err := p.auditLog(); err == nil && !a.Off {
		list.Workspace.Protected = append(list.Workspace.Protected, realpath.Resolve(a.Path), realpath.Resolve(a.Path+".head"))
	}
	return list, nil
}

// Rules returns the permissions in a file of rules, without a project's configuration.
func (m Machine) Rules(file string) (list Permissions, err error) {
	list.Workspace = m.Workspace()
	list.Mode, list.Rules, err = readRules(file)
	list.Rules = forOwnNames(list.Rules)
	return list, err
}

// deniedPaths returns rules that deny reading and changing the paths in sandbox.denied.
func (p *Project) deniedPaths() (list []rules.Rule, err error) {
	_, denied := p.Settings.SandboxPaths()
	for _, path := range denied {
		for _, name := range []string{"Read", "Edit"} {
			r, err := rules.Parse(name + "(/" + escapePattern(path) + ")")
			if err != nil {
				return nil, mistakef("sandbox.denied: %v", err)
			}
			list = append(list, r)
		}
	}
	return list, nil
}

// escapePattern returns the pattern that matches only a path.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(path)
}

// policy returns the policy for permissions.
func (p *Project) policy(list Permissions) policy.Policy {
	if p.options.Yes {
		return yes{list.Rules}
	}
	return list.Rules
}

// yes approves what the standard policy would ask about. What that policy denies stays denied.
type yes struct{ rules rules.Policy }

// PolicyRules implements rules.Ruled.
func (y yes) PolicyRules() rules.Policy { return y.rules }

// DeniesRead implements policy.Hiding.
func (y yes) DeniesRead(w policy.Workspace) func(path string) bool { return y.rules.DeniesRead(w) }

// Decide implements policy.Policy.
func (y yes) Decide(ctx context.Context, q policy.Query) policy.Decision {
	d := y.rules.Decide(ctx, q)
	plans := q.Mode == policy.ModePlan && q.Tool != "exit_plan_mode" // in plan mode, the model chose to change nothing
	if d.Verdict == policy.Ask && d.Code != "configures" && !plans {
		d.Verdict, d.Code, d.Rule = policy.Allow, "yes", "--yes"
	}
	return d
}

// ruleFile is a file of rules.
type ruleFile struct {
	Mode  string       `json:"mode"`
	Allow []rules.Rule `json:"allow"`
	Ask   []rules.Rule `json:"ask"`
	Deny  []rules.Rule `json:"deny"`
}

// readRules reads a file of rules and returns its mode, "" if it has none.
func readRules(name string) (policy.Mode, rules.Policy, error) {
	if name == "" {
		return "", rules.Policy{}, nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", rules.Policy{}, mistakef("--rules: %w", err)
	}
	var f ruleFile
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return "", rules.Policy{}, mistakef("--rules: %s: %w", name, err)
	}
	mode := policy.Mode("")
	if f.Mode != "" {
		if mode, err = policy.ParseMode(f.Mode); err != nil {
			return "", rules.Policy{}, mistakef("--rules: %s: %w", name, err)
		}
	}
	p := rules.Policy{Allow: f.Allow, Ask: f.Ask, Deny: f.Deny}
	if err := cmp.Or(p.Check(), unknownTools(p)); err != nil {
		return "", rules.Policy{}, mistakef("--rules: %s: %w", name, err)
	}
	return mode, p, nil
}

// noteUnknownTools adds notes about rules whose tools do not exist.
func noteUnknownTools(s *config.Settings) {
	for _, key := range RuleLists {
		e, err := s.Get(key)
		if err != nil {
			continue
		}
		for i, text := range e.Value.([]string) {
			r, err := rules.Parse(text)
			if err == nil {
				err = unknownTool(r)
			}
			if err != nil {
				s.Notes = append(s.Notes, config.Note{Key: key + " " + text, Origin: e.Origins[i], Reason: err.Error()})
			}
		}
	}
}

// CheckRule returns why a rule cannot be saved in a list: allow, ask or deny.
func CheckRule(list, text string) error {
	if err := config.CheckRule(list, text); err != nil {
		return err
	}
	r, err := rules.Parse(text)
	if err != nil {
		return err
	}
	return unknownTool(r)
}

// unknownTools returns an error for a rule whose tool does not exist.
func unknownTools(p rules.Policy) error {
	for _, r := range slices.Concat(p.Allow, p.Ask, p.Deny) {
		if err := unknownTool(r); err != nil {
			return err
		}
	}
	return nil
}

// unknownTool returns an error if the rule is for a tool that does not exist. Tools of MCP servers are not checked.
func unknownTool(r rules.Rule) error {
	name := r.Tool()
	prefix, wild := strings.CutSuffix(name, "*")
	if name == "" || strings.HasPrefix(name, "mcp__") || name == "*" {
		return nil
	}
	known := slices.Sorted(maps.Keys(coding.ToolNames()))
	if slices.ContainsFunc(known, func(k string) bool { return k == name || wild && strings.HasPrefix(k, prefix) }) {
		return nil
	}
	hint := `; "reins tool list" shows the tools`
	if near := suggest.Words(name, slices.Concat(rules.Families(), known)); len(near) > 0 {
		hint = "; did you mean " + near[0] + strings.TrimPrefix(r.String(), name) + "?"
	}
	return fmt.Errorf("unknown tool %q in the rule %s%s", name, r, hint)
}

// forOwnNames adds rules for the tools that the names in rules stand for: a rule for Task is also for spawn_agent.
func forOwnNames(p rules.Policy) rules.Policy {
	for _, list := range []*[]rules.Rule{&p.Allow, &p.Ask, &p.Deny} {
		for _, r := range slices.Clone(*list) {
			for _, own := range coding.ToolNames()[r.Tool()] {
				if own != r.Tool() {
					*list = append(*list, r.For(own))
				}
			}
		}
	}
	return p
}
