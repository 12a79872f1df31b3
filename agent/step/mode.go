package step

import (
	"cmp"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Roles for the tools that enter and leave plan mode.
const (
	RoleEnterPlan = "enter_plan_mode"
	RoleExitPlan  = "exit_plan_mode"
)

// Mode returns the permission mode for all agents.
func (t *Tree) Mode() policy.Mode { return cmp.Or(t.mode, t.Agent("").setup.Mode) }

// Switched returns the permission mode that a tool call switches to, or "". Leaving plan mode switches to the mode in
// the setup.
func (t *Tree) Switched(spec tool.Spec, failed *tool.Error) policy.Mode {
	switch {
	case failed != nil:
		return ""
	case spec.Role == RoleEnterPlan:
		return policy.ModePlan
	case spec.Role != RoleExitPlan:
		return ""
	}
	if set := t.Agent("").setup.Mode; set != policy.ModePlan {
		return cmp.Or(set, policy.ModeDefault)
	}
	return policy.ModeDefault
}
