package tools

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/reins-agent/reins/tool"
)

const displaySchema = `{"type":"object","properties":{"content":{"type":"string","minLength":1},` +
	`"level":{"enum":["info","success","warning","error","progress"]},"title":{"type":"string"},` +
	`"thought":{"type":"string","description":"why"},"evidence":{"type":"array","items":{"type":"string"},` +
	`"description":"such as file:line"}},` +
	`"required":["content"],"additionalProperties":false}`

// Display returns the tool that shows the user a message while the model works. The result contains the message; see
// [tool.Artifacts].
func Display() tool.Tool {
	return tool.New(tool.Spec{
		Name:     "display",
		Version:  "1.0.0",
		ReadOnly: true,
		Input:    json.RawMessage(displaySchema),
		Output:   payload(),

		Description: "Show the user a short message while you work, such as progress or a finding. Your final answer does not need it.",
	}, tool.Nothing[tool.Message], func(_ context.Context, _ *tool.Call, in tool.Message) (tool.Result, error) {
		in.Level = cmp.Or(in.Level, "info")
		res := tool.Success("The message was shown.")
		res.Artifacts.Message = &in
		return res, nil
	})
}
