package agent

import (
	"context"
	"encoding/json"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type exitPlanIn struct {
	Plan string `json:"plan"`
}

// PlanModeTools returns the tools that enter and leave plan mode, for a registry. In plan mode, every change needs
// approval, in the session and its subagents. The model can enter it at any time. Leaving it needs approval of the
// plan. Subagents do not get these tools.
func PlanModeTools() []tool.Tool { return []tool.Tool{enterPlanMode(), exitPlanMode()} }

func enterPlanMode() tool.Tool {
	return tool.New(tool.Spec{
		Name:        "enter_plan_mode",
		Version:     "1.0.0",
		Role:        step.RoleEnterPlan,
		Idempotent:  true,
		SideEffects: "switches to plan mode",

		Description: "Switch to plan mode before a large or risky change: you can explore, but not change anything, until the " +
			"user approves your plan.",

		Input: json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string"}}}`),
	}, tool.Nothing[struct{}], func(_ context.Context, c *tool.Call, _ struct{}) (tool.Result, error) {
		if c.Mode == policy.ModeDontAsk { // it denies calls that plan mode asks about
			return tool.Failure(
				tool.PermissionDenied,
				"Plan mode is not available in dontAsk mode: the plan could not be approved. Write the plan as text instead.",
			), nil
		}
		return tool.Success(
			"Plan mode is on. Explore and make a plan. Then present it with exit_plan_mode; if the user approves it, you can make changes.",
		), nil
	})
}

func exitPlanMode() tool.Tool {
	spec := tool.Spec{
		Name:        "exit_plan_mode",
		Version:     "1.0.0",
		Role:        step.RoleExitPlan,
		SideEffects: "leaves plan mode",

		Description: "Present your plan to the user. If the user approves it, plan mode ends and you can make changes.",

		Input: json.RawMessage(`{"type":"object","properties":{"plan":{"type":"string","minLength":1,` +
			`"description":"the whole plan, in markdown"}},"required":["plan"]}`),
	}
	t := tool.New(spec, func(_ context.Context, c *tool.Call, _ exitPlanIn) []policy.Access {
		if c.Mode == policy.ModePlan {
			return nil // only the user can permit it
		}
		return []policy.Access{}
	}, func(_ context.Context, c *tool.Call, _ exitPlanIn) (tool.Result, error) {
		if c.Mode != policy.ModePlan {
			return tool.Failure(tool.ValidationError, "Plan mode is off. Make the changes directly."), nil
		}
		return tool.Success("The user approved the plan. Plan mode is off: carry out the plan."), nil
	})
	return tool.WithPreview(t, func(_ context.Context, _ *tool.Call, in exitPlanIn) (tool.Preview, error) {
		return tool.Preview{Text: in.Plan}, nil
	})
}
