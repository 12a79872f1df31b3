package llm

// qwen38 has the rules of Qwen 3.8.
var qwen38 = Rules{Thinks: true, DefaultEffort: "xhigh"}

// qwenModels lists the models of Alibaba.
func qwenModels() []Model {
	return []Model{
		{
			ID: "qwen-flash", Provider: "qwen", Name: "Qwen Flash",
			ContextWindow: 1000000, MaxOutput: 32768, Cutoff: "2024-04",
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.05), Output: new(0.4)},
		},
		{
			ID: "qwen-max", Provider: "qwen", Name: "Qwen Max",
			ContextWindow: 32768, MaxOutput: 8192, Cutoff: "2024-04",
			Tools: true,
			Price: &Price{Input: new(1.6), Output: new(6.4)},
		},
		{
			ID: "qwen-plus", Provider: "qwen", Name: "Qwen Plus",
			ContextWindow: 1000000, MaxOutput: 32768, Cutoff: "2024-04",
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(0.4), Output: new(1.2)},
		},
		{
			ID: "qwen3-coder-flash", Provider: "qwen", Name: "Qwen3 Coder Flash",
			ContextWindow: 1000000, MaxOutput: 65536, Cutoff: "2025-04",
			Tools: true,
			Price: &Price{Input: new(0.3), Output: new(1.5)},
		},
		{
			ID: "qwen3-coder-plus", Provider: "qwen", Name: "Qwen3 Coder Plus",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2025-04",
			Tools: true,
			Price: &Price{Input: new(1.0), Output: new(5.0)},
		},
		{
			ID: "qwen3-max", Provider: "qwen", Name: "Qwen3 Max",
			ContextWindow: 262144, MaxOutput: 65536, Cutoff: "2025-04",
			Tools: true,
			Price: &Price{Input: new(1.2), Output: new(6.0)},
		},
		{
			ID: "qwen3.5-plus", Provider: "qwen", Name: "Qwen3.5 Plus",
			ContextWindow: 1000000, MaxOutput: 65536, Cutoff: "2025-04",
			Tools: true, Vision: true,
			Reasoning: true,
			Price:     &Price{Input: new(0.4), Output: new(2.4)},
		},
		{
			ID: "qwen3.6-flash", Provider: "qwen", Name: "Qwen3.6 Flash",
			ContextWindow: 1000000, MaxOutput: 65536,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true,
			Price:     &Price{Input: new(0.1875), Output: new(1.125), CacheWrite: new(0.234375)},
		},
		{
			ID: "qwen3.6-max-preview", Provider: "qwen", Name: "Qwen3.6 Max Preview",
			ContextWindow: 262144, MaxOutput: 65536, Cutoff: "2025-04",
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(1.3), Output: new(7.8), CacheRead: new(0.13), CacheWrite: new(1.625)},
		},
		{
			ID: "qwen3.6-plus", Provider: "qwen", Name: "Qwen3.6 Plus",
			ContextWindow: 1000000, MaxOutput: 65536, Cutoff: "2025-04",
			Tools: true, Vision: true,
			Reasoning: true,
			Price: &Price{
				Input: new(0.5), Output: new(3.0), CacheRead: new(0.05), CacheWrite: new(0.625),
				LongFrom: 256000,
				Long:     &Price{Input: new(2.0), Output: new(6.0), CacheRead: new(0.2), CacheWrite: new(2.5)},
			},
		},
		{
			ID: "qwen3.7-flash", Provider: "qwen", Name: "Qwen3.7 Flash",
			ContextWindow: 1000000, MaxOutput: 131072,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true,
			Price: &Price{
				Input: new(0.03), Output: new(0.13), CacheRead: new(0.003), CacheWrite: new(0.0375),
				LongFrom: 32000,
				Long: &Price{
					Input: new(0.1), Output: new(0.4), CacheRead: new(0.01), CacheWrite: new(0.125),
					LongFrom: 256000,
					Long:     &Price{Input: new(0.2), Output: new(0.8), CacheRead: new(0.02), CacheWrite: new(0.25)},
				},
			},
		},
		{
			ID: "qwen3.7-max", Provider: "qwen", Name: "Qwen3.7 Max",
			ContextWindow: 1000000, MaxOutput: 131072,
			Tools:     true,
			Reasoning: true,
			Price:     &Price{Input: new(2.5), Output: new(7.5), CacheRead: new(0.5), CacheWrite: new(3.125)},
		},
		{
			ID: "qwen3.7-plus", Provider: "qwen", Name: "Qwen3.7 Plus",
			ContextWindow: 1000000, MaxOutput: 131072, Cutoff: "2025-04",
			Tools: true, Vision: true, Schema: true,
			Reasoning: true,
			Price: &Price{
				Input: new(0.4), Output: new(1.6), CacheRead: new(0.04), CacheWrite: new(0.5),
				LongFrom: 256000,
				Long:     &Price{Input: new(1.2), Output: new(4.8), CacheRead: new(0.12), CacheWrite: new(1.5)},
			},
		},
		{
			ID: "qwen3.8-flash", Provider: "qwen", Name: "Qwen3.8 Flash",
			ContextWindow: 1000000, MaxOutput: 131072,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "xhigh"},
			Price: &Price{Input: new(0.15), Output: new(0.47), CacheRead: new(0.016), CacheWrite: new(0.2)},
			Rules: qwen38,
		},
		{
			ID: "qwen3.8-max", Provider: "qwen", Name: "Qwen3.8 Max",
			ContextWindow: 1000000, MaxOutput: 131072,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "xhigh"},
			Price: &Price{Input: new(2.0), Output: new(6.0), CacheRead: new(0.25), CacheWrite: new(2.5)},
			Rules: qwen38,
		},
		{
			ID: "qwen3.8-omni-flash", Provider: "qwen", Name: "Qwen3.8 Omni Flash",
			ContextWindow: 1000000, MaxOutput: 131072,
			Tools: true, Vision: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "xhigh"},
			Price: &Price{Input: new(0.15), Output: new(0.47), CacheRead: new(0.016)},
			Rules: qwen38,
		},
	}
}
