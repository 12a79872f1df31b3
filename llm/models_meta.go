package llm

// metaModels lists the models of Meta.
func metaModels() []Model {
	return []Model{
		{
			ID: "muse-ember-1.0", Provider: "meta", Name: "Muse Ember",
			ContextWindow: 1048576, MaxOutput: 524288,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"minimal", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(0.1), Output: new(0.5)},
		},
		{
			ID: "muse-spark-1.1", Provider: "meta", Name: "Muse Spark 1.1",
			ContextWindow: 1048576, MaxOutput: 131072,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"minimal", "low", "medium", "high", "xhigh"},
			Price: &Price{Input: new(1.25), Output: new(4.25), CacheRead: new(0.15)},
		},
		{
			ID: "muse-spark-1.2", Provider: "meta", Name: "Muse Spark 1.2",
			ContextWindow: 1048576, MaxOutput: 131072,
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"minimal", "low", "medium", "high", "xhigh"},
			Price: &Price{Input: new(1.25), Output: new(4.25), CacheRead: new(0.15)},
		},
		{
			ID: "muse-spark-1.3", Provider: "meta", Name: "Muse Spark 1.3",
			ContextWindow: 1048576, MaxOutput: 131072,
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"minimal", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(1.25), Output: new(4.25), CacheRead: new(0.15)},
		},
		{
			ID: "muse-wonder-1.0", Provider: "meta", Name: "Muse Wonder",
			ContextWindow: 1048576, MaxOutput: 131072,
			Tools: true, Vision: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"minimal", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(4.0), Output: new(20.0), CacheRead: new(0.2)},
		},
	}
}
