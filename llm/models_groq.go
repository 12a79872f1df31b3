package llm

// groqModels lists the models of Groq.
func groqModels() []Model {
	return []Model{
		{
			ID: "groq/compound", Provider: "groq", Name: "Compound",
			ContextWindow: 131072, MaxOutput: 8192,
		},
		{
			ID: "groq/compound-mini", Provider: "groq", Name: "Compound Mini",
			ContextWindow: 131072, MaxOutput: 8192,
		},
		{
			ID: "llama-3.1-8b-instant", Provider: "groq", Name: "Llama 3.1 8B",
			ContextWindow: 131072, MaxOutput: 131072, Cutoff: "2023-12",
			Tools: true,
			Price: &Price{Input: new(0.05), Output: new(0.08)},
		},
		{
			ID: "llama-3.3-70b-versatile", Provider: "groq", Name: "Llama 3.3 70B",
			ContextWindow: 131072, MaxOutput: 32768, Cutoff: "2023-12",
			Tools: true,
			Price: &Price{Input: new(0.59), Output: new(0.79)},
		},
		{
			ID: "meta-llama/llama-4-maverick-17b-128e-instruct", Provider: "groq", Name: "Llama 4 Maverick",
			ContextWindow: 131072, MaxOutput: 8192, Retired: true,
			Tools: true, Vision: true, Schema: true,
			Price: &Price{Input: new(0.2), Output: new(0.6)},
		},
		{
			ID: "meta-llama/llama-4-scout-17b-16e-instruct", Provider: "groq", Name: "Llama 4 Scout",
			ContextWindow: 131072, MaxOutput: 8192, Retired: true,
			Tools: true, Vision: true, Schema: true,
			Price: &Price{Input: new(0.11), Output: new(0.34)},
		},
		{
			ID: "moonshotai/kimi-k2-instruct-0905", Provider: "groq", Name: "Kimi K2 0905",
			ContextWindow: 262144, MaxOutput: 16384, Retired: true,
			Tools: true,
			Price: &Price{Input: new(1.0), Output: new(3.0), CacheRead: new(0.5)},
		},
		{
			ID: "openai/gpt-oss-120b", Provider: "groq", Name: "GPT OSS 120B",
			ContextWindow: 131072, MaxOutput: 65536,
			Tools: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{Input: new(0.15), Output: new(0.6), CacheRead: new(0.075)},
		},
		{
			ID: "openai/gpt-oss-20b", Provider: "groq", Name: "GPT OSS 20B",
			ContextWindow: 131072, MaxOutput: 65536,
			Tools: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{Input: new(0.075), Output: new(0.3), CacheRead: new(0.0375)},
		},
		{
			ID: "qwen/qwen3-32b", Provider: "groq", Name: "Qwen3 32B",
			ContextWindow: 131000, MaxOutput: 131000, Retired: true,
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.29), Output: new(0.59)},
		},
		{
			ID: "qwen/qwen3.6-27b", Provider: "groq", Name: "Qwen3.6 27B",
			ContextWindow: 131072, MaxOutput: 16384,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true,
			Price:     &Price{Input: new(0.6), Output: new(3.0), CacheRead: new(0.3)},
		},
		{
			ID: "qwen/qwen3.8-27b", Provider: "groq", Name: "Qwen3.8 27B",
			ContextWindow: 131042, MaxOutput: 16384,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{Input: new(0.8), Output: new(4.0)},
		},
	}
}
