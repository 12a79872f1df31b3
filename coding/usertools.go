package coding

import (
	"context"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding/tools"
)

// addUserTools adds the tools for plan mode and for messages and to-do lists that the user sees. The caller's tools can
// replace them.
func (b *builder) addUserTools(context.Context) error {
	own := append(agent.PlanModeTools(), tools.Display(), tools.TodoWrite())
	b.config.Tools = append(own, b.config.Tools...)
	return nil
}
