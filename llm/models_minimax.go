package llm

// The rules of MiniMax's models.
var (
	minimax   = Rules{Thinks: true, NeedsThinking: true}
	minimax31 = Rules{Thinks: true, DefaultEffort: "max", NeedsThinking: true}
)

// minimaxModels lists the models of MiniMax.
func minimaxModels() []Model {
	return []Model{
		{
			ID: "MiniMax-M2", Provider: "minimax", Name: "MiniMax-M2",
			ContextWindow: 204800, MaxOutput: 131072,
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.3), Output: new(1.2)},
			Rules:     minimax,
		},
		{
			ID: "MiniMax-M2.1", Provider: "minimax", Name: "MiniMax-M2.1",
			ContextWindow: 204800, MaxOutput: 131072,
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.3), Output: new(1.2), CacheRead: new(0.03), CacheWrite: new(0.375)},
			Rules:     minimax,
		},
		{
			ID: "MiniMax-M2.5", Provider: "minimax", Name: "MiniMax-M2.5",
			ContextWindow: 204800, MaxOutput: 131072, Ends: "2026-11-18", Retired: true,
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.3), Output: new(1.2), CacheRead: new(0.03), CacheWrite: new(0.375)},
			Rules:     minimax,
		},
		{
			ID: "MiniMax-M2.5-highspeed", Provider: "minimax", Name: "MiniMax-M2.5-highspeed",
			ContextWindow: 204800, MaxOutput: 131072, Ends: "2026-11-18", Retired: true,
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.6), Output: new(2.4), CacheRead: new(0.06), CacheWrite: new(0.375)},
			Rules:     minimax,
		},
		{
			ID: "MiniMax-M2.7", Provider: "minimax", Name: "MiniMax-M2.7",
			ContextWindow: 204800, MaxOutput: 131072, Ends: "2026-11-18", Retired: true,
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.3), Output: new(1.2), CacheRead: new(0.06), CacheWrite: new(0.375)},
			Rules:     minimax,
		},
		{
			ID: "MiniMax-M2.7-highspeed", Provider: "minimax", Name: "MiniMax-M2.7-highspeed",
			ContextWindow: 204800, MaxOutput: 131072, Ends: "2026-11-18", Retired: true,
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.6), Output: new(2.4), CacheRead: new(0.06), CacheWrite: new(0.375)},
			Rules:     minimax,
		},
		{
			ID: "MiniMax-M3", Provider: "minimax", Name: "MiniMax-M3",
			ContextWindow: 1000000, MaxOutput: 512000,
			Tools: true, Vision: true,
			Reasoning: true,
			Price: &Price{
				Input: new(0.3), Output: new(1.2), CacheRead: new(0.06),
				LongFrom: 512000,
				Long:     &Price{Input: new(0.6), Output: new(2.4), CacheRead: new(0.12)},
			},
			Rules: minimax,
		},
		{
			ID: "MiniMax-M3.1-Flash", Provider: "minimax", Name: "MiniMax-M3.1-Flash",
			ContextWindow: 1000000, MaxOutput: 524288,
			Tools: true, Vision: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(0.15), Output: new(0.6), CacheRead: new(0.015)},
			Rules: minimax31,
		},
	}
}
