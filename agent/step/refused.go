package step

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Refusal is a tool call that was not run because the policy, a hook or the approver refused it, or because it needed
// approval and no approver was configured.
type Refusal struct {
	Agent  string `json:"agent,omitempty"` // agent path; "" means the root
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	Code   string `json:"code,omitempty"` // from the policy's decision
	Reason string `json:"reason"`         // as the model sees it
}

// refusal returns a call's refusal, if its result is one.
func (s *State) refusal(c *call, d event.ToolCallEnd) (Refusal, bool) {
	approved := c.approval != nil && c.approval.Allowed && d.Decision.Verdict == policy.Ask
	if d.Error == nil || d.Error.Code != tool.PermissionDenied || d.Decision.Verdict == policy.Allow || approved {
		return Refusal{}, false
	}
	r := Refusal{
		Agent:  s.path,
		ID:     d.ID,
		Tool:   d.Name,
		Code:   d.Decision.Code,
		Reason: d.Error.Message,
	}
	if c.request != nil {
		r.Tool = cmp.Or(c.request.Tool, d.Name)
	}
	return r, true
}

// within reports whether agent is at path or below it.
func within(path, agent string) bool {
	return path == "" || agent == path || strings.HasPrefix(agent, path+"/")
}

// forgive forgets the refused calls in an agent and its subagents, when it gets other input.
func (t *Tree) forgive(path string) {
	t.refused = slices.DeleteFunc(t.refused, func(r Refusal) bool { return within(path, r.Agent) })
}

// Refused lists the calls in the agent and its subagents that were refused since its last input, oldest first.
func (s *State) Refused() []Refusal {
	return slices.DeleteFunc(slices.Clone(s.tree.refused), func(r Refusal) bool { return !within(s.path, r.Agent) })
}
