package llm

// xaiModels lists the models of xAI.
func xaiModels() []Model {
	return []Model{
		{
			ID: "grok-4-1-fast-non-reasoning", Provider: "xai", Name: "Grok 4.1 Fast (Non-Reasoning)",
			ContextWindow: 2000000, MaxOutput: 2000000, Retired: true,
			Tools: true, Vision: true, Schema: true,
			Price: &Price{
				Input: new(0.2), Output: new(0.5), CacheRead: new(0.05),
				LongFrom: 128000,
				Long:     &Price{Input: new(0.4), Output: new(1.0), CacheRead: new(0.05)},
			},
		},
		{
			ID: "grok-4-1-fast-reasoning", Provider: "xai", Name: "Grok 4.1 Fast",
			Aliases:       []string{"grok-4-1-fast"},
			ContextWindow: 2000000, MaxOutput: 2000000, Retired: true,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true,
			Price: &Price{
				Input: new(0.2), Output: new(0.5), CacheRead: new(0.05),
				LongFrom: 128000,
				Long:     &Price{Input: new(0.4), Output: new(1.0), CacheRead: new(0.05)},
			},
		},
		{
			ID: "grok-4-fast-reasoning", Provider: "xai", Name: "Grok 4 Fast",
			Aliases:       []string{"grok-4-fast"},
			ContextWindow: 2000000, MaxOutput: 2000000, Retired: true,
			Tools: true, Schema: true,
			Reasoning: true,
			Price: &Price{
				Input: new(0.2), Output: new(0.5), CacheRead: new(0.05),
				LongFrom: 128000,
				Long:     &Price{Input: new(0.4), Output: new(1.0), CacheRead: new(0.05)},
			},
		},
		{
			ID: "grok-4.20-0309-non-reasoning", Provider: "xai", Name: "Grok 4.20 (Non-Reasoning)",
			ContextWindow: 1000000, MaxOutput: 30000,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{
				Input: new(1.25), Output: new(2.5), CacheRead: new(0.2),
				LongFrom: 200000,
				Long:     &Price{Input: new(2.5), Output: new(5.0), CacheRead: new(0.4)},
			},
		},
		{
			ID: "grok-4.20-0309-reasoning", Provider: "xai", Name: "Grok 4.20 (Reasoning)",
			ContextWindow: 1000000, MaxOutput: 30000,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true,
			Price: &Price{
				Input: new(1.25), Output: new(2.5), CacheRead: new(0.2),
				LongFrom: 200000,
				Long:     &Price{Input: new(2.5), Output: new(5.0), CacheRead: new(0.4)},
			},
		},
		{
			ID: "grok-4.3", Provider: "xai", Name: "Grok 4.3",
			ContextWindow: 1000000, MaxOutput: 30000,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{
				Input: new(1.25), Output: new(2.5), CacheRead: new(0.2),
				LongFrom: 200000,
				Long:     &Price{Input: new(2.5), Output: new(5.0), CacheRead: new(0.4)},
			},
		},
		{
			ID: "grok-4.5", Provider: "xai", Name: "Grok 4.5",
			ContextWindow: 500000, MaxOutput: 500000,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(2.0), Output: new(6.0), CacheRead: new(0.3),
				LongFrom: 200000,
				Long:     &Price{Input: new(4.0), Output: new(12.0), CacheRead: new(0.6)},
			},
		},
		{
			ID: "grok-4.6", Provider: "xai", Name: "Grok 4.6",
			ContextWindow: 500000, MaxOutput: 500000, Cutoff: "2026-02",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high", "xhigh"},
			Price: &Price{
				Input: new(2.0), Output: new(6.0), CacheRead: new(0.5),
				LongFrom: 200000,
				Long:     &Price{Input: new(4.0), Output: new(12.0), CacheRead: new(1.0)},
			},
		},
		{
			ID: "grok-4.7", Provider: "xai", Name: "Grok 4.7",
			ContextWindow: 500000, MaxOutput: 500000, Cutoff: "2026-05",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high", "xhigh"},
			Price: &Price{
				Input: new(2.0), Output: new(6.0), CacheRead: new(0.5),
				LongFrom: 200000,
				Long:     &Price{Input: new(4.0), Output: new(12.0), CacheRead: new(1.0)},
			},
		},
		{
			ID: "grok-build-0.1", Provider: "xai", Name: "Grok Build 0.1",
			ContextWindow: 256000, MaxOutput: 256000,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true,
			Price: &Price{
				Input: new(1.0), Output: new(2.0), CacheRead: new(0.2),
				LongFrom: 200000,
				Long:     &Price{Input: new(2.0), Output: new(4.0), CacheRead: new(0.4)},
			},
		},
		{
			ID: "grok-code-fast-1", Provider: "xai", Name: "Grok Code Fast 1",
			ContextWindow: 256000, MaxOutput: 256000, Retired: true,
			Tools: true, Schema: true,
			Reasoning: true,
			Price:     &Price{Input: new(0.2), Output: new(1.5), CacheRead: new(0.02)},
		},
	}
}
