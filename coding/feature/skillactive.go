package feature

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/shell"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// activeSkills computes which skills are active in a session, from the records alone, so that they are the same after a
// crash. A skill is active until the work on the input is done. A skill that the model loaded ends earlier if the model
// reports that it is finished.
type activeSkills struct {
	mu      sync.Mutex
	session *agent.Session // nil until it is open
	last    event.Seq      // the last record that was applied
	stacks  map[string][]activeSkill
	queued  map[event.Seq]*event.Origin // of invocations that wait for calls with pending approvals
}

// activeSkill is a skill that an agent works with.
type activeSkill struct {
	name    string
	tools   []string // nil leaves the previous skill's restriction in place
	byModel bool
	canEnd  bool // the model's tool has the argument done
}

// follow sets the session.
func (a *activeSkills) follow(_ context.Context, s *agent.Session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session = s
	return nil
}

// update applies new records. When a tool call is checked, all records before it are saved.
func (a *activeSkills) update(ctx context.Context) error {
	if a.session == nil {
		return nil
	}
	for r, err := range a.session.Records(ctx, a.last) {
		if err != nil {
			return err
		}
		a.apply(r)
		a.last = r.Seq
	}
	return nil
}

// apply applies a record.
func (a *activeSkills) apply(r event.Record) {
	stack := a.stacks[r.Agent]
	switch d := r.Data.(type) {
	case event.UserInput:
		if d.Answers != "" {
			return
		}
		stack = nil
		if o := d.Origin; invokes(o) {
			stack = []activeSkill{{name: o.ID, tools: o.Tools}}
		}
	case event.SteeringQueued:
		if o := d.Origin; invokes(o) {
			if a.queued == nil {
				a.queued = map[event.Seq]*event.Origin{}
			}
			a.queued[r.Seq] = o
		}
		return
	case event.SteeringInjected:
		if o := a.queued[d.Queued]; o != nil {
			delete(a.queued, d.Queued)
			stack = append(slices.Clip(stack), activeSkill{name: o.ID, tools: o.Tools})
		}
	case event.ProcessingEnd:
		if d.Outcome != event.StatusDone {
			return
		}
		stack = nil
	case event.Rewind:
		if d.Chat {
			stack = nil
		}
	case event.ToolCallEnd:
		stack = loaded(stack, d)
	}
	if a.stacks == nil {
		a.stacks = map[string][]activeSkill{}
	}
	a.stacks[r.Agent] = stack
}

// invokes reports whether a message with an origin invokes a skill.
func invokes(o *event.Origin) bool { return o != nil && o.Kind == event.OriginSkill }

// loaded returns the active skills after a tool call.
func loaded(stack []activeSkill, d event.ToolCallEnd) []activeSkill {
	if !slices.Contains(skillTools, d.Name) || d.Error != nil {
		return stack
	}
	if done, _ := d.Fields[fieldDone].(bool); done {
		if n := len(stack); n > 0 && stack[n-1].byModel {
			return stack[:n-1]
		}
		return stack
	}
	name, _ := d.Fields[fieldSkill].(string)
	if n := len(stack); n > 0 && stack[n-1].name == name { // loaded again
		return stack
	}
	_, canEnd := d.Fields[fieldDone]
	return append(slices.Clip(stack), activeSkill{name, tools.Texts(d.Fields[fieldTools]), true, canEnd})
}

// limits returns the skills that restrict an agent: for the agent and each of its parents, the last skill with a list
// of tools. An agent cannot end its parents' skills.
func (a *activeSkills) limits(ctx context.Context, path string) (list []activeSkill, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.update(ctx); err != nil {
		return nil, err
	}
	for own := true; ; own = false {
		for _, s := range slices.Backward(a.stacks[path]) {
			if s.tools != nil {
				s.canEnd = s.canEnd && own
				list = append(list, s)
				break
			}
		}
		if path == "" {
			return list, nil
		}
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
}

// policy returns a policy that refuses everything that active skills do not allow. If untrusted is set, it also refuses
// scripts in the project's skills.
func (a *activeSkills) policy(p policy.Policy, untrusted bool) policy.Policy {
	limited := skillPolicy{p, a, untrusted}
	if e, ok := p.(policy.Extensible); ok {
		return extensibleSkillPolicy{limited, e}
	}
	return limited
}

type skillPolicy struct {
	policy.Policy
	active    *activeSkills
	untrusted bool
}

// DeniesRead implements policy.Hiding.
func (p skillPolicy) DeniesRead(w policy.Workspace) func(path string) bool {
	return policy.DeniesRead(p.Policy, w)
}

// PolicyRules implements rules.Ruled.
func (p skillPolicy) PolicyRules() rules.Policy { return rules.Of(p.Policy) }

// Asks reports whether the session's policy asks; skills only deny.
func (p skillPolicy) Asks(m policy.Mode) bool { return policy.Asks(p.Policy, m) }

// Decide implements policy.Policy.
func (p skillPolicy) Decide(ctx context.Context, q policy.Query) policy.Decision {
	limits, err := p.active.limits(ctx, q.Agent)
	if err != nil {
		return policy.Decision{Code: "skill", Rule: "skill", Reason: "cannot determine which skills are active: " + err.Error()}
	}
	for _, s := range limits {
		if !s.allows(ctx, q) {
			return policy.Decision{Code: "skill", Rule: "skill " + s.name, Reason: s.refusal(q.Tool)}
		}
	}
	if p.untrusted {
		if script := untrustedScript(q); script != "" {
			return policy.Decision{Code: "untrusted_skill", Rule: "untrusted skill",
				Reason: fmt.Sprintf(
					"it runs %s, which belongs to a skill of a project that the user does not trust; the user can review it "+
						"with \"reins trust\"",
					script,
				)}
		}
	}
	return p.Policy.Decide(ctx, q)
}

type extensibleSkillPolicy struct {
	skillPolicy
	base policy.Extensible
}

// Allowing implements policy.Extensible.
func (p extensibleSkillPolicy) Allowing(rules ...string) policy.Policy {
	return p.active.policy(p.base.Allowing(rules...), p.untrusted)
}

// Suggest implements policy.Extensible.
func (p extensibleSkillPolicy) Suggest(ctx context.Context, q policy.Query) []policy.Suggestion {
	return p.base.Suggest(ctx, q)
}

func (s activeSkill) refusal(tool string) string {
	text := fmt.Sprintf("skill %s is active and allows only %s, not %s", s.name, cmp.Or(strings.Join(s.tools, ", "), "no tools"), tool)
	if s.canEnd {
		return text + "; if its work is finished, call skill with done: true"
	}
	return text + "; the skill ends when the work on the prompt is done"
}

// allows reports whether the skill allows a call.
func (s activeSkill) allows(ctx context.Context, q policy.Query) bool {
	name := standardName(q.Tool)
	if name == "skill" && s.may(q.Args) {
		return true
	}
	var granted []rules.Rule
	reads := false
	for _, entry := range s.tools {
		bare, spec, pattern := strings.Cut(entry, "(")
		listed := standardName(strings.TrimSpace(bare))
		same := name == listed || slices.Contains(companions[listed], name)
		switch {
		case same && !pattern, same && (name == "shell_output" || name == "shell_stop"),
			same && name == "skill" && skillName(q.Args) == strings.TrimSuffix(spec, ")"):
			return true
		}
		reads = reads || listed == "read_file" || listed == "grep"
		// If the skill may write files, its commands may also write them with redirections.
		redirects := name == "shell" && (listed == "write_file" || listed == "edit_file")
		if r, err := rules.Parse(entry); err == nil && (same || redirects || standard()[strings.ToLower(bare)] == "") {
			granted = append(granted, r)
		}
	}
	if reads && q.Tool == "exec_command" { // the tools of codex have no other way to read
		return rules.ReadOnly().Decide(ctx, q).Verdict == policy.Allow
	}
	return rules.Within(ctx, q, granted)
}

// may reports whether a call ends the skill, or loads it again, for example after its instructions were compacted away.
func (s activeSkill) may(args json.RawMessage) bool {
	var in skillIn
	return json.Unmarshal(args, &in) == nil && (in.Done || skillName(args) == s.name)
}

// skillName returns the name in a call that loads a skill, for all toolsets.
func skillName(args json.RawMessage) string {
	var in struct{ Name, Skill string }
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	return cmp.Or(in.Name, in.Skill)
}

// standard maps other agents' tool names, in lower case, to standard tool names.
var standard = sync.OnceValue(func() map[string]string {
	names := map[string]string{
		"multiedit": "edit_file",
		"askuser":   "ask_user", "list_directory": "list_dir", "taskoutput": "shell_output", "taskstop": "shell_stop",
	}
	for _, a := range slices.Concat(tools.Aliases(), tools.AddedAliases(), tools.SkillAliases()) {
		names[strings.ToLower(a.Name)] = a.Tool
		names[strings.ToLower(a.Tool)] = a.Tool
	}
	return names
})

// standardName returns the corresponding standard tool's name.
func standardName(name string) string { return cmp.Or(standard()[strings.ToLower(name)], name) }

// companions are the tools that are allowed together with another one.
var companions = map[string][]string{
	"shell":       {"shell_output", "shell_input", "shell_stop", "sleep", "monitor"},
	"read_file":   {"read_many_files", "view_image"},
	"glob":        {"list_dir"},
	"edit_file":   {"apply_patch", "notebook_edit"},
	"todo_write":  {"update_plan"},
	"update_plan": {"todo_write"},
	"write_file":  {"apply_patch"},
	"spawn_agent": {"send_input", "wait", "close_agent", "list_agents"},
}

// projectSkill reports whether a path with slashes is one of a project's skills, or a pattern that might match one. As in
// shells, a pattern must begin with a dot to match a name that does.
func projectSkill(pattern string) bool {
	names := strings.Split(pattern, "/")
	matches := func(i int, name string) bool {
		ok, err := path.Match(names[i], name)
		return (ok || err != nil) && (name[0] != '.' || strings.HasPrefix(names[i], "."))
	}
	for i := range names[1:] {
		if matches(i+1, "skills") && (matches(i, ".agents") || matches(i, ".claude") || matches(i, ".reins")) {
			return true
		}
	}
	return false
}

// untrustedScript returns the project skill file that a call would run, or "".
func untrustedScript(q policy.Query) string {
	w := q.Workspace
	for _, a := range q.Accesses {
		if a.Kind != policy.Exec {
			continue
		}
		dir := cmp.Or(a.Dir, w.Dir)
		if literal := !strings.ContainsAny(a.Target, "$`\\'\"*?[{~<(^!%"); literal && !strings.Contains(dir+a.Target, "skills") {
			continue // no word can be a path in a skill
		}
		effects, err := shell.Analyze(a.Target, shell.Options{Dir: dir, Home: w.Home, Paths: w.Paths, Shell: w.Shell})
		if err != nil {
			return "" // needs an approval anyway
		}
		inSkill := func(name string) bool {
			full := w.Paths.Abs(dir, name)
			rel, inside := w.Paths.Rel(w.Dir, full)
			return inside && projectSkill(w.Paths.ToSlash(rel))
		}
		runs, file := inSkill("."), ""
		if runs {
			file = dir
		}
		unknown := false
		for _, e := range effects {
			unknown = unknown || e.Unknown != ""
			for _, word := range slices.Concat(e.Words, e.Mentions) {
				if word != shell.Unset && inSkill(word) {
					runs, file = true, cmp.Or(file, word)
				}
			}
		}
		if runs && unknown {
			return file
		}
	}
	return ""
}
