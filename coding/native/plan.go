package native

import (
	"context"
	"encoding/json"

	"github.com/reins-agent/reins/tool"
)

// The vendors' agents have a tool to keep a list of what is to be done. Its use is in the call itself:
// the model orders its work, a host shows the list, and compaction keeps it. So the tools only check the
// call.

type updatePlanIn struct {
	Explanation string     `json:"explanation,omitempty" jsonschema:"why the plan changed"`
	Plan        []planStep `json:"plan" jsonschema:"all steps, in order"`
}

type planStep struct {
	Step   string `json:"step" jsonschema:"the step, in a few words"`
	Status string `json:"status" jsonschema:"at most one step is in_progress"`
}

// UpdatePlan is codex's tool for plans, which is also the standard one.
func UpdatePlan() tool.Tool {
	return planTool[updatePlanIn]("update_plan", "Keep the plan of the task: short steps, at most one of them in progress. Each call replaces the plan.", "plan.status",
		[]any{"pending", "in_progress", "completed"}, "Plan updated")
}

type todoWriteIn struct {
	Todos []claudeTodo `json:"todos" jsonschema:"the whole list"`
}

type claudeTodo struct {
	Content    string `json:"content" jsonschema:"what is to be done, such as Run the tests"`
	Status     string `json:"status" jsonschema:"one item at a time is in_progress"`
	ActiveForm string `json:"activeForm" jsonschema:"the same while it is being done, such as Running the tests"`
}

func todoWrite() tool.Tool {
	return planTool[todoWriteIn]("TodoWrite", "Keep the list of what is to be done. Each call replaces the list.", "todos.status",
		[]any{"pending", "in_progress", "completed"}, "The list was updated. Continue with the item in progress.")
}

type writeTodosIn struct {
	Todos []geminiTodo `json:"todos" jsonschema:"the whole list"`
}

type geminiTodo struct {
	Description string `json:"description" jsonschema:"what is to be done"`
	Status      string `json:"status" jsonschema:"one item at a time is in_progress"`
}

func writeTodos() tool.Tool {
	return planTool[writeTodosIn]("write_todos", "Keep the list of what is to be done. Each call replaces the list.", "todos.status",
		[]any{"pending", "in_progress", "completed", "cancelled", "blocked"}, "The list was updated.")
}

// planOutput is the schema of what the tools return.
var planOutput = json.RawMessage(`{"type":"object","properties":{"output":{"type":"string"},"model_output":{"type":"string"}},"required":["output","model_output"]}`)

func planTool[In any](name, description, enum string, values []any, done string) tool.Tool {
	spec := tool.Spec{Name: name, Version: "1.0.0", Description: description, Idempotent: true, Plan: true, Output: planOutput}
	return tool.New(withEnums[In](spec, map[string][]any{enum: values}), tool.Nothing,
		func(_ context.Context, c *tool.Call, _ In) (tool.Result, error) {
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
				return tool.Failure(tool.ValidationError, "%d items are in_progress; at most one may be.", active), nil
			}
			return tool.Success("%s", done), nil
		})
}
