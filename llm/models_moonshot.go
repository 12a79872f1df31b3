package llm

// The rules of Moonshot's models. Kimi K3 refuses a temperature other than 1.
var (
	kimi2  = Rules{NeedsThinking: true}
	kimi27 = Rules{Thinks: true, NeedsThinking: true}
	kimi3  = Rules{Thinks: true, DefaultEffort: "max", Sampling: RefusedChanged, NeedsThinking: true}
)

// moonshotModels lists the models of Moonshot.
func moonshotModels() []Model {
	return []Model{
		{
			ID: "kimi-k2.5", Provider: "moonshot", Name: "Kimi K2.5",
			ContextWindow: 262144, MaxOutput: 262144, Ends: "2026-12-31",
			Tools: true, Vision: true,
			Reasoning: true,
			Price:     &Price{Input: new(0.6), Output: new(3.0), CacheRead: new(0.1)},
			Rules:     kimi2,
		},
		{
			ID: "kimi-k2.6", Provider: "moonshot", Name: "Kimi K2.6",
			ContextWindow: 262144, MaxOutput: 262144, Cutoff: "2025-01", Ends: "2026-12-31",
			Tools: true, Vision: true, Schema: true,
			Reasoning: true,
			Price:     &Price{Input: new(0.95), Output: new(4.0), CacheRead: new(0.16)},
			Rules:     kimi2,
		},
		{
			ID: "kimi-k2.7-code", Provider: "moonshot", Name: "Kimi K2.7 Code",
			ContextWindow: 262144, MaxOutput: 262144, Cutoff: "2025-01", Ends: "2026-12-31",
			Tools: true, Vision: true, Schema: true,
			Reasoning: true,
			Price:     &Price{Input: new(0.95), Output: new(4.0), CacheRead: new(0.19)},
			Rules:     kimi27,
		},
		{
			ID: "kimi-k2.7-code-highspeed", Provider: "moonshot", Name: "Kimi K2.7 Code HighSpeed",
			ContextWindow: 262144, MaxOutput: 262144, Cutoff: "2025-01", Ends: "2026-12-31",
			Tools: true, Vision: true, Schema: true,
			Reasoning: true,
			Price:     &Price{Input: new(1.9), Output: new(8.0), CacheRead: new(0.38)},
			Rules:     kimi27,
		},
		{
			ID: "kimi-k3", Provider: "moonshot", Name: "Kimi K3",
			ContextWindow: 1048576, MaxOutput: 1048576,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "high", "max"},
			Price: &Price{Input: new(3.0), Output: new(15.0), CacheRead: new(0.3)},
			Rules: kimi3,
		},
		{
			ID: "kimi-k3.1-pro", Provider: "moonshot", Name: "Kimi K3.1 Pro",
			ContextWindow: 1048576, MaxOutput: 1048576,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "high", "max"},
			Price: &Price{Input: new(2.0), Output: new(10.0), CacheRead: new(0.2)},
			Rules: kimi3,
		},
		{
			ID: "kimi-k3.1-pro-highspeed", Provider: "moonshot", Name: "Kimi K3.1 Pro Highspeed",
			ContextWindow: 1048576, MaxOutput: 1048576,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "high", "max"},
			Price: &Price{Input: new(4.0), Output: new(20.0), CacheRead: new(0.2)},
			Rules: kimi3,
		},
	}
}
