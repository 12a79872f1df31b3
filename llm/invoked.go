package llm

import "slices"

// invoked lists the models that Amazon Bedrock serves only through InvokeModel. It serves newer models through
// Anthropic's own protocol.
var invoked = []string{
	"claude-3-haiku", "claude-3-opus", "claude-3-sonnet", "claude-3-5-haiku", "claude-3-5-sonnet", "claude-3-7-sonnet",
	"claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-5", "claude-opus-4-6",
	"claude-sonnet-4-0", "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-haiku-4-5",
}

// withInvoked sets the rule of these models.
func withInvoked(models []Model) []Model {
	for i := range models {
		if m := &models[i]; m.Provider == "anthropic" {
			m.Rules.Invoke = slices.Contains(invoked, m.ID)
		}
	}
	return models
}
