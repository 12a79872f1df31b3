package llm

// zaiModels lists the models of Z.AI.
func zaiModels() []Model {
	return []Model{
		{
			ID: "glm-4.5", Provider: "zai", Name: "GLM-4.5",
			ContextWindow: 131072, MaxOutput: 98304, Cutoff: "2025-04",
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.6), Output: new(2.2), CacheRead: new(0.11)},
		},
		{
			ID: "glm-4.5-air", Provider: "zai", Name: "GLM-4.5-Air",
			ContextWindow: 131072, MaxOutput: 98304, Cutoff: "2025-04",
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.2), Output: new(1.1), CacheRead: new(0.03)},
		},
		{
			ID: "glm-4.5-flash", Provider: "zai", Name: "GLM-4.5-Flash",
			ContextWindow: 131072, MaxOutput: 98304, Cutoff: "2025-04",
			Tools:     true,
			Reasoning: true,
		},
		{
			ID: "glm-4.5v", Provider: "zai", Name: "GLM-4.5V",
			ContextWindow: 64000, MaxOutput: 16384, Cutoff: "2025-04",
			Tools: true, Vision: true,
			Reasoning: true,
			Price:     &Price{Input: new(0.6), Output: new(1.8)},
		},
		{
			ID: "glm-4.6", Provider: "zai", Name: "GLM-4.6",
			ContextWindow: 204800, MaxOutput: 131072, Cutoff: "2025-04",
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.6), Output: new(2.2), CacheRead: new(0.11)},
		},
		{
			ID: "glm-4.6v", Provider: "zai", Name: "GLM-4.6V",
			ContextWindow: 128000, MaxOutput: 32768, Cutoff: "2025-04",
			Tools: true, Vision: true,
			Reasoning: true,
			Price:     &Price{Input: new(0.3), Output: new(0.9)},
		},
		{
			ID: "glm-4.6v-flash", Provider: "zai", Name: "GLM-4.6V-Flash",
			ContextWindow: 128000, MaxOutput: 32768,
			Tools: true, Vision: true,
			Reasoning: true,
		},
		{
			ID: "glm-4.7", Provider: "zai", Name: "GLM-4.7",
			ContextWindow: 204800, MaxOutput: 131072, Cutoff: "2025-04",
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.6), Output: new(2.2), CacheRead: new(0.11)},
		},
		{
			ID: "glm-4.7-flash", Provider: "zai", Name: "GLM-4.7-Flash",
			ContextWindow: 200000, MaxOutput: 131072, Cutoff: "2025-04",
			Tools:     true,
			Reasoning: true,
		},
		{
			ID: "glm-5", Provider: "zai", Name: "GLM-5",
			ContextWindow: 204800, MaxOutput: 131072,
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(1.0), Output: new(3.2), CacheRead: new(0.2)},
		},
		{
			ID: "glm-5-turbo", Provider: "zai", Name: "GLM-5-Turbo",
			ContextWindow: 200000, MaxOutput: 131072,
			Tools: true, Schema: true,
			Reasoning: true,
			Price:     &Price{Input: new(1.2), Output: new(4.0), CacheRead: new(0.24)},
		},
		{
			ID: "glm-5.1", Provider: "zai", Name: "GLM-5.1",
			ContextWindow: 200000, MaxOutput: 131072,
			Tools: true, Schema: true,
			Reasoning: true,
			Price:     &Price{Input: new(1.4), Output: new(4.4), CacheRead: new(0.26)},
		},
		{
			ID: "glm-5.2", Provider: "zai", Name: "GLM-5.2",
			ContextWindow: 1000000, MaxOutput: 131072,
			Tools: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"high", "max"},
			Price: &Price{Input: new(1.4), Output: new(4.4), CacheRead: new(0.26)},
		},
		{
			ID: "glm-5.3", Provider: "zai", Name: "GLM-5.3",
			ContextWindow: 1000000, MaxOutput: 131072,
			Tools: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "high", "max"},
			Price: &Price{Input: new(1.4), Output: new(4.4), CacheRead: new(0.26)},
		},
		{
			ID: "glm-5.3-flash", Provider: "zai", Name: "GLM-5.3-Flash",
			ContextWindow: 1000000, MaxOutput: 131072,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "high", "max"},
			Price: &Price{Input: new(0.15), Output: new(0.5), CacheRead: new(0.03)},
		},
		{
			ID: "glm-5v-turbo", Provider: "zai", Name: "GLM-5V-Turbo",
			ContextWindow: 200000, MaxOutput: 131072,
			Tools: true, Vision: true, Documents: true,
			Reasoning: true,
			Price:     &Price{Input: new(1.2), Output: new(4.0), CacheRead: new(0.24)},
		},
	}
}
