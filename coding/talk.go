package coding

import (
	"context"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding/tools"
)

// talk adds the tools for plan mode and for messages and lists that the user sees. Those of the caller replace them.
func (b *builder) talk(context.Context) error {
	own := append(agent.PlanModeTools(), tools.Display(), tools.TodoWrite())
	b.config.Tools = append(own, b.config.Tools...)
	return nil
}
