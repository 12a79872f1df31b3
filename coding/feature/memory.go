package feature

import (
	"cmp"
	"context"
	"fmt"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/internal/memory"
	"github.com/reins-agent/reins/tool"
)

// Memory lets the agent save notes, and adds the notes of earlier sessions to the prompt: at most budget bytes, where 0
// means 4096 and a negative value means no notes. It has no effect without a state directory.
func Memory(budget int) coding.Extension {
	return func(_ context.Context, h *coding.Host) (coding.Feature, error) {
		if h.State == "" {
			return coding.Feature{}, nil
		}
		notes := memory.Open(h.State.Memory(), h.Env.Info().Dir)
		shown, err := notes.Shown(max(cmp.Or(budget, 4096), 0))
		if err != nil {
			h.Warn(fmt.Errorf("the notes of earlier sessions are not used: %w", err))
			shown = nil
		}
		return coding.Feature{
			ToolsFor: func(context.Context, *coding.Profile) ([]tool.Tool, []tool.Alias) {
				return []tool.Tool{memory.Tool(notes, h.Secrets)}, nil
			},
			Prompt: func(c *coding.PromptConfig) {
				if c.Memory == nil {
					c.Memory = shown
				}
			},
		}, nil
	}
}
