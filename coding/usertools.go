package coding

import (
	"slices"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// addUserTools adds the tools for plan mode and for messages and to-do lists that the user sees. The caller's tools can
// replace them.
func (b *builder) addUserTools() error {
	given := b.config.Tools
	if err := tool.CheckNames(given...); err != nil {
		return llm.Errorf(llm.ErrConfiguration, "", "%v", err)
	}
	own := append(agent.PlanModeTools(), tools.Display(), tools.TodoWrite())
	own = slices.DeleteFunc(own, func(t tool.Tool) bool {
		return slices.ContainsFunc(given, func(g tool.Tool) bool { return g.Spec().Name == t.Spec().Name })
	})
	b.config.Tools = append(own, given...)
	return nil
}
