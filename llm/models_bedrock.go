package llm

// bedrockModels lists the models of Amazon.
func bedrockModels() []Model {
	return []Model{
		{
			ID: "amazon.nova-lite-v1:0", Provider: "bedrock", Name: "Amazon Nova Lite",
			ContextWindow: 300000, MaxOutput: 5000,
			Tools: true, Vision: true, Documents: true,
			Price: &Price{Input: new(0.06), Output: new(0.24), CacheRead: new(0.015)},
		},
		{
			ID: "amazon.nova-micro-v1:0", Provider: "bedrock", Name: "Amazon Nova Micro",
			ContextWindow: 128000, MaxOutput: 5000,
			Tools: true,
			Price: &Price{Input: new(0.035), Output: new(0.14), CacheRead: new(0.00875)},
		},
		{
			ID: "amazon.nova-premier-v1:0", Provider: "bedrock", Name: "Amazon Nova Premier",
			ContextWindow: 1000000, MaxOutput: 5000,
			Tools: true, Vision: true, Documents: true,
			Price: &Price{Input: new(2.5), Output: new(12.5)},
		},
		{
			ID: "amazon.nova-pro-v1:0", Provider: "bedrock", Name: "Amazon Nova Pro",
			ContextWindow: 300000, MaxOutput: 5000,
			Tools: true, Vision: true, Documents: true,
			Price: &Price{Input: new(0.8), Output: new(3.2), CacheRead: new(0.2)},
		},
		{
			ID: "global.amazon.nova-2-lite-v1:0", Provider: "bedrock", Name: "Amazon Nova 2 Lite",
			ContextWindow: 1000000, MaxOutput: 65535,
			Tools: true, Vision: true, Documents: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{Input: new(0.3), Output: new(2.5), CacheRead: new(0.075)},
		},
	}
}
