package llm

// mistralModels lists the models of Mistral.
func mistralModels() []Model {
	return []Model{
		{
			ID: "codestral-latest", Provider: "mistral", Name: "Codestral",
			ContextWindow: 256000, MaxOutput: 4096, Cutoff: "2024-10",
			Tools: true, Schema: true,
			Price: &Price{Input: new(0.3), Output: new(0.9), CacheRead: new(0.03)},
		},
		{
			ID: "devstral-2512", Provider: "mistral", Name: "Devstral 2",
			Aliases:       []string{"devstral-latest", "devstral-medium-latest"},
			ContextWindow: 262144, MaxOutput: 262144, Cutoff: "2025-12",
			Tools: true, Schema: true,
			Price: &Price{Input: new(0.4), Output: new(2.0), CacheRead: new(0.04)},
		},
		{
			ID: "magistral-medium-latest", Provider: "mistral", Name: "Magistral Medium",
			ContextWindow: 128000, MaxOutput: 16384, Cutoff: "2025-06",
			Tools: true, Schema: true,
			Reasoning: true,
			Price:     &Price{Input: new(2.0), Output: new(5.0), CacheRead: new(0.2)},
		},
		{
			ID: "ministral-3b-latest", Provider: "mistral", Name: "Ministral 3B",
			ContextWindow: 128000, MaxOutput: 128000, Cutoff: "2024-10",
			Tools: true, Schema: true,
			Price: &Price{Input: new(0.1), Output: new(0.1), CacheRead: new(0.01)},
		},
		{
			ID: "ministral-8b-latest", Provider: "mistral", Name: "Ministral 8B",
			ContextWindow: 128000, MaxOutput: 128000, Cutoff: "2024-10",
			Tools: true, Schema: true,
			Price: &Price{Input: new(0.15), Output: new(0.15), CacheRead: new(0.015)},
		},
		{
			ID: "mistral-large-2512", Provider: "mistral", Name: "Mistral Large 3",
			ContextWindow: 262144, MaxOutput: 262144, Cutoff: "2024-11",
			Tools: true, Vision: true, Schema: true,
			Price: &Price{Input: new(0.5), Output: new(1.5), CacheRead: new(0.05)},
		},
		{
			ID: "mistral-large-4", Provider: "mistral", Name: "Mistral Large 4",
			ContextWindow: 1048576, MaxOutput: 262144,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{Input: new(0.7), Output: new(2.1), CacheRead: new(0.07)},
		},
		{
			ID: "mistral-large-latest", Provider: "mistral", Name: "Mistral Large",
			ContextWindow: 262144, MaxOutput: 262144, Cutoff: "2024-11",
			Tools: true, Vision: true, Schema: true,
			Price: &Price{Input: new(0.5), Output: new(1.5), CacheRead: new(0.05)},
		},
		{
			ID: "mistral-medium-2508", Provider: "mistral", Name: "Mistral Medium 3.1",
			ContextWindow: 262144, MaxOutput: 262144, Cutoff: "2025-05",
			Tools: true, Vision: true, Schema: true,
			Price: &Price{Input: new(0.4), Output: new(2.0), CacheRead: new(0.04)},
		},
		{
			ID: "mistral-medium-2604", Provider: "mistral", Name: "Mistral Medium 3.5",
			Aliases:       []string{"mistral-medium-3.5"},
			ContextWindow: 262144, MaxOutput: 262144,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "high"},
			Price: &Price{Input: new(1.5), Output: new(7.5), CacheRead: new(0.15)},
		},
		{
			ID: "mistral-medium-latest", Provider: "mistral", Name: "Mistral Medium",
			ContextWindow: 262144, MaxOutput: 262144,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "high"},
			Price: &Price{Input: new(1.5), Output: new(7.5), CacheRead: new(0.15)},
		},
		{
			ID: "mistral-small-2506", Provider: "mistral", Name: "Mistral Small 3.2",
			ContextWindow: 128000, MaxOutput: 16384, Cutoff: "2025-03",
			Tools: true, Vision: true, Schema: true,
			Price: &Price{Input: new(0.1), Output: new(0.3), CacheRead: new(0.01)},
		},
		{
			ID: "mistral-small-2603", Provider: "mistral", Name: "Mistral Small 4",
			ContextWindow: 256000, MaxOutput: 256000, Cutoff: "2025-06",
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "high"},
			Price: &Price{Input: new(0.15), Output: new(0.6), CacheRead: new(0.015)},
		},
		{
			ID: "mistral-small-latest", Provider: "mistral", Name: "Mistral Small",
			ContextWindow: 256000, MaxOutput: 256000, Cutoff: "2025-06",
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "high"},
			Price: &Price{Input: new(0.15), Output: new(0.6), CacheRead: new(0.015)},
		},
		{
			ID: "open-mistral-nemo", Provider: "mistral", Name: "Open Mistral Nemo",
			ContextWindow: 128000, MaxOutput: 128000, Cutoff: "2024-07",
			Tools: true, Schema: true,
			Price: &Price{Input: new(0.15), Output: new(0.15), CacheRead: new(0.015)},
		},
		{
			ID: "pixtral-12b", Provider: "mistral", Name: "Pixtral 12B",
			ContextWindow: 128000, MaxOutput: 128000, Cutoff: "2024-09",
			Tools: true, Vision: true, Schema: true,
			Price: &Price{Input: new(0.15), Output: new(0.15), CacheRead: new(0.015)},
		},
	}
}
