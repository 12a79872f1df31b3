package wire

import (
	"strings"

	"github.com/reins-agent/reins/llm"
)

// CheckSettings returns an error for a setting that the model's rules refuse: temperature, top_p or top_k, a thinking
// budget, or a forced tool. Thinks is whether the request makes the model think.
func CheckSettings(r *llm.Request, m llm.Model, thinks bool) error {
	forced := r.ToolChoice.Mode == llm.ToolRequired || r.ToolChoice.Mode == llm.ToolNamed
	switch {
	case r.ThinkingBudget != nil && m.Rules.Budget.Forbids(thinks):
		return llm.Errorf(
			llm.ErrConfiguration, "",
			"%s does not accept a thinking budget; set the effort instead%s", r.Model, listed(m.Efforts),
		)
	case forced && m.Rules.ForcedTools.Forbids(thinks):
		return llm.Errorf(llm.ErrConfiguration, "",
			"%s does not accept a forced tool; use the tool choice auto and ask for the tool in a message", r.Model)
	}
	return CheckSampling(r, m.Rules, thinks)
}

// listed returns a model's efforts, to end a sentence.
func listed(efforts []string) string {
	if len(efforts) == 0 {
		return ""
	}
	return ": " + strings.Join(efforts, ", ")
}
