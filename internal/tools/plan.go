package tools

import (
	"context"
	"encoding/json"

	"github.com/reins-agent/reins/tool"
)

type updatePlanIn struct {
	Explanation string     `json:"explanation,omitempty" jsonschema:"why the plan changed"`
	Plan        []planStep `json:"plan" jsonschema:"all steps, in order"`
}

type planStep struct {
	Step   string `json:"step" jsonschema:"the step, in a few words"`
	Status string `json:"status" jsonschema:"at most one step is in_progress"`
}

// UpdatePlan returns the tool that records the model's plan. It is also codex's plan tool.
func UpdatePlan() tool.Tool {
	return PlanTool[updatePlanIn](
		"update_plan",
		"Record the plan for the task: short steps, at most one in progress. Each call replaces the whole plan.",
		"plan.status",
		[]any{"pending", "in_progress", "completed"},
		"Plan updated",
	)
}

// todoSchema also accepts the lists of gemini-cli, whose items have a description.
const todoSchema = `{"type":"object","properties":{"todos":{"type":"array","description":"the whole list","items":{"type":"object",` +
	`"properties":{"content":{"type":"string"},"status":{"enum":["pending","in_progress","completed","cancelled","blocked"]},` +
	`"activeForm":{"type":"string"}},` +
	`"required":["status"],"anyOf":[{"required":["content"]},{"required":["description"]}]}}},"required":["todos"],` +
	`"additionalProperties":false}`

// TodoWrite returns a variant of update_plan with a to-do list.
func TodoWrite() tool.Tool {
	spec := planSpec("todo_write", "Record the list of things to do, at most one in progress. Each call replaces the whole list.")
	spec.Input = json.RawMessage(todoSchema)
	return tool.New(spec, tool.Nothing[struct{}], runPlan[struct{}]("The list was updated"))
}

// PlanTool returns a plan tool. The call itself is the plan: hosts show it and compaction preserves it, so the tool
// only checks that at most one item is in progress. status is the path of the status parameter.
func PlanTool[In any](name, description, status string, values []any, done string) tool.Tool {
	spec := WithEnums[In](planSpec(name, description), map[string][]any{status: values})
	return tool.New(spec, tool.Nothing[In], runPlan[In](done))
}

func planSpec(name, description string) tool.Spec {
	return tool.Spec{
		Name:        name,
		Version:     "1.0.0",
		Description: description,
		Idempotent:  true,
		Plan:        true,
		Output:      payload(),
	}
}

// runPlan checks a plan.
func runPlan[In any](done string) tool.Run[In] {
	return func(_ context.Context, c *tool.Call, _ In) (tool.Result, error) {
		type item struct {
			Status string `json:"status"`
		}
		var list struct {
			Plan  []item `json:"plan"`
			Todos []item `json:"todos"`
		}
		if err := json.Unmarshal(c.Args, &list); err != nil {
			return tool.Result{}, err
		}
		active := 0
		for _, i := range append(list.Plan, list.Todos...) {
			if i.Status == "in_progress" {
				active++
			}
		}
		if active > 1 {
			return tool.Failure(tool.ValidationError, "%d items are in_progress; only one may be.", active), nil
		}
		return tool.Success("%s", done), nil
	}
}
