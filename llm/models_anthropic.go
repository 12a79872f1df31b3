package llm

// claudeTTLs are the lifetimes of Anthropic's prompt cache.
var claudeTTLs = []string{"5m", "1h"}

// The rules of Anthropic's models.
var (
	claude3  = Rules{Cache: "cache_control", CacheTTLs: claudeTTLs}
	claude45 = Rules{
		ThinkingTypes: []string{"enabled", "disabled"},
		ForcedTools:   RefusedThinking, Sampling: RefusedBoth,
		Cache: "cache_control", CacheTTLs: claudeTTLs,
	}
	claude46 = Rules{
		ThinkingTypes: []string{"adaptive", "enabled", "disabled"}, DefaultEffort: "high",
		ForcedTools: RefusedThinking, Sampling: RefusedThinking, NoPrefill: true,
		Compacts: true,
		Cache:    "cache_control", CacheTTLs: claudeTTLs,
	}
	claude47 = Rules{
		ThinkingTypes: []string{"adaptive", "disabled"}, DefaultEffort: "high", Hides: true,
		ForcedTools: RefusedThinking, Sampling: RefusedChanged, Budget: RefusedAlways, NoPrefill: true,
		Compacts: true,
		Cache:    "cache_control", CacheTTLs: claudeTTLs,
	}
	claude48 = Rules{
		ThinkingTypes: []string{"adaptive", "disabled"}, DefaultEffort: "high", Hides: true,
		ForcedTools: RefusedThinking, Sampling: RefusedChanged, Budget: RefusedAlways, NoPrefill: true,
		LateSystem: true, InlineTools: true, Compacts: true,
		Cache: "cache_control", CacheTTLs: claudeTTLs,
	}
	claude5 = Rules{
		ThinkingTypes: []string{"adaptive", "disabled"}, Thinks: true, DefaultEffort: "high", Hides: true,
		ForcedTools: RefusedThinking, Sampling: RefusedChanged, Budget: RefusedAlways, NoPrefill: true,
		LateSystem: true, InlineTools: true, Compacts: true,
		Cache: "cache_control", CacheTTLs: claudeTTLs,
	}
	sonnet5 = Rules{ // without system messages and changes of tools in the conversation
		ThinkingTypes: []string{"adaptive", "disabled"}, Thinks: true, DefaultEffort: "high", Hides: true,
		ForcedTools: RefusedThinking, Sampling: RefusedChanged, Budget: RefusedAlways, NoPrefill: true,
		Compacts: true,
		Cache:    "cache_control", CacheTTLs: claudeTTLs,
	}
	fable5 = Rules{
		ThinkingTypes: []string{"adaptive"}, Thinks: true, DefaultEffort: "high", Hides: true,
		ForcedTools: RefusedThinking, Sampling: RefusedChanged, Budget: RefusedAlways, NoPrefill: true,
		LateSystem: true, InlineTools: true, Compacts: true,
		Cache: "cache_control", CacheTTLs: claudeTTLs,
	}
	fable51  = claudeBound("high", RefusedAlways, "adaptive")
	opus55   = claudeBound("medium", RefusedAlways, "adaptive")
	sonnet55 = claudeBound("high", RefusedAlways, "adaptive", "between_tools")
	haiku55  = claudeBound("medium", "", "adaptive", "disabled")
)

// claudeBound returns the rules for a model that binds thinking to everything before it.
func claudeBound(effort string, forced Refusal, types ...string) Rules {
	return Rules{
		ThinkingTypes: types, Thinks: true, DefaultEffort: effort, Hides: true,
		ForcedTools: forced, Sampling: RefusedAlways, Budget: RefusedAlways, NoPrefill: true,
		PrefixCheck: true, LateSystem: true, InlineTools: true, Compacts: true,
		Cache: "cache_control", CacheTTLs: claudeTTLs,
	}
}

// fastTier has the factor of Anthropic's fast mode. The priority tier is paid by contract and has no price per token.
var fastTier = map[string]float64{"fast": 2}

// anthropicModels lists the models of Anthropic.
func anthropicModels() []Model {
	return []Model{
		{
			ID: "claude-3-5-haiku", Provider: "anthropic", Name: "Claude Haiku 3.5",
			ContextWindow: 200000, MaxOutput: 8192, Cutoff: "2024-07", Retired: true,
			Tools: true, Vision: true, Documents: true,
			Price: &Price{Input: new(0.8), Output: new(4.0), CacheRead: new(0.08), CacheWrite: new(1.0), CacheWriteLong: new(1.6)},
			Rules: claude3,
		},
		{
			ID: "claude-3-5-sonnet", Provider: "anthropic", Name: "Claude Sonnet 3.5 v2",
			ContextWindow: 200000, MaxOutput: 8192, Cutoff: "2024-04", Retired: true,
			Tools: true, Vision: true, Documents: true,
			Price: &Price{Input: new(3.0), Output: new(15.0), CacheRead: new(0.3), CacheWrite: new(3.75), CacheWriteLong: new(6.0)},
			Rules: claude3,
		},
		{
			ID: "claude-3-7-sonnet", Provider: "anthropic", Name: "Claude Sonnet 3.7",
			ContextWindow: 200000, MaxOutput: 64000, Cutoff: "2024-10", Retired: true,
			Tools: true, Vision: true, Documents: true,
			Reasoning: true, Thinking: "budget", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{Input: new(3.0), Output: new(15.0), CacheRead: new(0.3), CacheWrite: new(3.75), CacheWriteLong: new(6.0)},
			Rules: claude45,
		},
		{
			ID: "claude-3-haiku", Provider: "anthropic", Name: "Claude Haiku 3",
			ContextWindow: 200000, MaxOutput: 4096, Cutoff: "2023-08", Retired: true,
			Tools: true, Vision: true, Documents: true,
			Price: &Price{Input: new(0.25), Output: new(1.25), CacheRead: new(0.03), CacheWrite: new(0.3), CacheWriteLong: new(0.5)},
			Rules: claude3,
		},
		{
			ID: "claude-3-opus", Provider: "anthropic", Name: "Claude Opus 3",
			ContextWindow: 200000, MaxOutput: 4096, Cutoff: "2023-08", Retired: true,
			Tools: true, Vision: true, Documents: true,
			Price: &Price{Input: new(15.0), Output: new(75.0), CacheRead: new(1.5), CacheWrite: new(18.75), CacheWriteLong: new(30.0)},
			Rules: claude3,
		},
		{
			ID: "claude-3-sonnet", Provider: "anthropic", Name: "Claude Sonnet 3",
			ContextWindow: 200000, MaxOutput: 4096, Cutoff: "2023-08", Retired: true,
			Tools: true, Vision: true, Documents: true,
			Price: &Price{Input: new(3.0), Output: new(15.0)},
			Rules: claude3,
		},
		{
			ID: "claude-fable-5", Provider: "anthropic", Name: "Claude Fable 5",
			ContextWindow: 1000000, MaxOutput: 128000,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(10.0), Output: new(50.0), CacheRead: new(1.0), CacheWrite: new(12.5), CacheWriteLong: new(20.0)},
			Rules: fable5,
		},
		{
			ID: "claude-fable-5-1", Provider: "anthropic", Name: "Claude Fable 5.1",
			ContextWindow: 1000000, MaxOutput: 128000, Cutoff: "2026-06",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(10.0), Output: new(50.0), CacheRead: new(0.25), CacheWrite: new(12.5), CacheWriteLong: new(20.0)},
			Rules: fable51,
		},
		{
			ID: "claude-fable-5-2", Provider: "anthropic", Name: "Claude Fable 5.2",
			ContextWindow: 1000000, MaxOutput: 128000,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(8.0), Output: new(40.0), CacheRead: new(0.2), CacheWrite: new(10.0), CacheWriteLong: new(16.0)},
			Rules: fable51,
		},
		{
			ID: "claude-haiku-4-5", Provider: "anthropic", Name: "Claude Haiku 4.5",
			ContextWindow: 200000, MaxOutput: 64000, Cutoff: "2025-02",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "budget", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{Input: new(1.0), Output: new(5.0), CacheRead: new(0.1), CacheWrite: new(1.25), CacheWriteLong: new(2.0)},
			Rules: claude45,
		},
		{
			ID: "claude-haiku-5-5", Provider: "anthropic", Name: "Claude Haiku 5.5",
			ContextWindow: 1000000, MaxOutput: 128000, Cutoff: "2026-06",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(0.1), Output: new(0.5), CacheRead: new(0.01), CacheWrite: new(0.125), CacheWriteLong: new(0.2),
				LongFrom: 100000,
				Long:     &Price{Input: new(0.5), Output: new(2.5), CacheRead: new(0.05), CacheWrite: new(0.625), CacheWriteLong: new(1.0)},
			},
			Rules: haiku55,
		},
		{
			ID: "claude-mythos-5", Provider: "anthropic", Name: "Claude Mythos 5",
			ContextWindow: 1000000, MaxOutput: 128000,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(10.0), Output: new(50.0), CacheRead: new(1.0), CacheWrite: new(12.5), CacheWriteLong: new(20.0)},
			Rules: fable5,
		},
		{
			ID: "claude-mythos-5-1", Provider: "anthropic", Name: "Claude Mythos 5.1",
			ContextWindow: 1000000, MaxOutput: 128000, Cutoff: "2026-06",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(10.0), Output: new(50.0), CacheRead: new(0.25), CacheWrite: new(12.5), CacheWriteLong: new(20.0)},
			Rules: fable51,
		},
		{
			ID: "claude-mythos-5-2", Provider: "anthropic", Name: "Claude Mythos 5.2",
			ContextWindow: 1000000, MaxOutput: 128000,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(8.0), Output: new(40.0), CacheRead: new(0.2), CacheWrite: new(10.0), CacheWriteLong: new(16.0)},
			Rules: fable51,
		},
		{
			ID: "claude-opus-4-0", Provider: "anthropic", Name: "Claude Opus 4",
			Aliases:       []string{"claude-opus-4", "claude-4-opus"},
			ContextWindow: 200000, MaxOutput: 32000, Cutoff: "2025-03", Retired: true,
			Tools: true, Vision: true, Documents: true,
			Reasoning: true, Thinking: "budget", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{Input: new(15.0), Output: new(75.0), CacheRead: new(1.5), CacheWrite: new(18.75), CacheWriteLong: new(30.0)},
			Rules: claude45,
		},
		{
			ID: "claude-opus-4-1", Provider: "anthropic", Name: "Claude Opus 4.1",
			ContextWindow: 200000, MaxOutput: 32000, Cutoff: "2025-03", Retired: true,
			Tools: true, Vision: true, Documents: true,
			Reasoning: true, Thinking: "budget", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{Input: new(15.0), Output: new(75.0), CacheRead: new(1.5), CacheWrite: new(18.75), CacheWriteLong: new(30.0)},
			Rules: claude45,
		},
		{
			ID: "claude-opus-4-5", Provider: "anthropic", Name: "Claude Opus 4.5",
			ContextWindow: 200000, MaxOutput: 64000, Cutoff: "2025-05",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "budget", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{Input: new(5.0), Output: new(25.0), CacheRead: new(0.5), CacheWrite: new(6.25), CacheWriteLong: new(10.0)},
			Rules: claude45,
		},
		{
			ID: "claude-opus-4-6", Provider: "anthropic", Name: "Claude Opus 4.6",
			ContextWindow: 1000000, MaxOutput: 128000, Cutoff: "2025-05",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"none", "low", "medium", "high", "max"},
			Price: &Price{Input: new(5.0), Output: new(25.0), CacheRead: new(0.5), CacheWrite: new(6.25), CacheWriteLong: new(10.0)},
			Rules: claude46,
		},
		{
			ID: "claude-opus-4-7", Provider: "anthropic", Name: "Claude Opus 4.7",
			ContextWindow: 1000000, MaxOutput: 128000, Cutoff: "2026-01",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(5.0), Output: new(25.0), CacheRead: new(0.5), CacheWrite: new(6.25), CacheWriteLong: new(10.0)},
			Rules: claude47,
		},
		{
			ID: "claude-opus-4-8", Provider: "anthropic", Name: "Claude Opus 4.8",
			ContextWindow: 1000000, MaxOutput: 128000, Cutoff: "2026-01",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(5.0), Output: new(25.0), CacheRead: new(0.5), CacheWrite: new(6.25), CacheWriteLong: new(10.0),
				Tiers: fastTier,
			},
			Rules: claude48,
		},
		{
			ID: "claude-opus-5", Provider: "anthropic", Name: "Claude Opus 5",
			ContextWindow: 1000000, MaxOutput: 128000, Cutoff: "2026-05",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(5.0), Output: new(25.0), CacheRead: new(0.5), CacheWrite: new(6.25), CacheWriteLong: new(10.0),
				Tiers: fastTier,
			},
			Rules: claude5,
		},
		{
			ID: "claude-opus-5-5", Provider: "anthropic", Name: "Claude Opus 5.5",
			ContextWindow: 1000000, MaxOutput: 128000, Cutoff: "2026-06",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(4.0), Output: new(20.0), CacheRead: new(0.2), CacheWrite: new(5.0), CacheWriteLong: new(8.0),
				Tiers: fastTier,
			},
			Rules: opus55,
		},
		{
			ID: "claude-sonnet-4-0", Provider: "anthropic", Name: "Claude Sonnet 4",
			Aliases:       []string{"claude-sonnet-4", "claude-4-sonnet"},
			ContextWindow: 200000, MaxOutput: 64000, Cutoff: "2025-03", Retired: true,
			Tools: true, Vision: true, Documents: true,
			Reasoning: true, Thinking: "budget", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{Input: new(3.0), Output: new(15.0), CacheRead: new(0.3), CacheWrite: new(3.75), CacheWriteLong: new(6.0)},
			Rules: claude45,
		},
		{
			ID: "claude-sonnet-4-5", Provider: "anthropic", Name: "Claude Sonnet 4.5",
			ContextWindow: 200000, MaxOutput: 64000, Cutoff: "2025-07", Ends: "2026-11-30",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "budget", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{Input: new(3.0), Output: new(15.0), CacheRead: new(0.3), CacheWrite: new(3.75), CacheWriteLong: new(6.0)},
			Rules: claude45,
		},
		{
			ID: "claude-sonnet-4-6", Provider: "anthropic", Name: "Claude Sonnet 4.6",
			ContextWindow: 1000000, MaxOutput: 128000, Cutoff: "2025-08",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"none", "low", "medium", "high", "max"},
			Price: &Price{Input: new(3.0), Output: new(15.0), CacheRead: new(0.3), CacheWrite: new(3.75), CacheWriteLong: new(6.0)},
			Rules: claude46,
		},
		{
			ID: "claude-sonnet-5", Provider: "anthropic", Name: "Claude Sonnet 5",
			ContextWindow: 1000000, MaxOutput: 128000, Cutoff: "2026-01",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{Input: new(2.0), Output: new(10.0), CacheRead: new(0.2), CacheWrite: new(2.5), CacheWriteLong: new(4.0)},
			Rules: sonnet5,
		},
		{
			ID: "claude-sonnet-5-5", Provider: "anthropic", Name: "Claude Sonnet 5.5",
			ContextWindow: 1000000, MaxOutput: 128000, Cutoff: "2026-06", Default: true,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "adaptive", Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(2.0), Output: new(10.0), CacheRead: new(0.2), CacheWrite: new(2.5), CacheWriteLong: new(4.0),
				NextFrom: "2026-10-08",
				Next:     &Price{Input: new(2.0), Output: new(10.0), CacheRead: new(0.1), CacheWrite: new(2.5), CacheWriteLong: new(4.0)},
			},
			Rules: sonnet55,
		},
	}
}
