package llm

// deepseek has the rules of DeepSeek's models that think.
var deepseek = Rules{Thinks: true, NeedsThinking: true}

// Prices outside of Beijing's office hours are half of these. The catalogue has the peak prices, so that a bill is never
// higher than the cost that is shown.

// deepseekModels lists the models of DeepSeek.
func deepseekModels() []Model {
	return []Model{
		{
			ID: "deepseek-chat", Provider: "deepseek", Name: "DeepSeek V3.2 Chat",
			ContextWindow: 131072, MaxOutput: 8192, Retired: true,
			Tools: true,
			Price: &Price{Input: new(0.28), Output: new(0.42), CacheRead: new(0.028)},
		},
		{
			ID: "deepseek-flash", Provider: "deepseek", Name: "DeepSeek V4.1 Flash",
			ContextWindow: 1000000, MaxOutput: 393216, Cutoff: "2025-05",
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "high", "max"},
			Price: &Price{Input: new(0.3), Output: new(1.2), CacheRead: new(0.006)},
			Rules: deepseek,
		},
		{
			ID: "deepseek-reasoner", Provider: "deepseek", Name: "DeepSeek V3.2 Reasoner",
			ContextWindow: 131072, MaxOutput: 65536, Retired: true,
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.28), Output: new(0.42), CacheRead: new(0.028)},
			Rules:     deepseek,
		},
		{
			ID: "deepseek-v4-flash", Provider: "deepseek", Name: "DeepSeek V4 Flash",
			ContextWindow: 1000000, MaxOutput: 393216, Cutoff: "2025-05",
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "high", "max"},
			Price: &Price{Input: new(0.3), Output: new(1.2), CacheRead: new(0.006)},
			Rules: deepseek,
		},
		{
			ID: "deepseek-v4-pro", Provider: "deepseek", Name: "DeepSeek V4 Pro",
			ContextWindow: 1000000, MaxOutput: 393216,
			Tools: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "high", "max"},
			Price: &Price{Input: new(1.32), Output: new(3.96), CacheRead: new(0.044)},
			Rules: deepseek,
		},
	}
}
