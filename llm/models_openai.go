package llm

// Windows of 1,050,000 tokens leave 922,000 for the input, windows of 400,000 tokens 272,000.
const (
	gptInput      = 922_000
	gptSmallInput = 272_000
)

// Lifetimes of OpenAI's prompt cache. Since GPT-5.6 they are in another request member.
var (
	gptOptions   = []string{"30m", "12h"}
	gptRetention = []string{"in_memory", "24h"}
)

// The rules of OpenAI's models.
var (
	gpt4o     = Rules{Cache: "prompt_cache_retention", CacheTTLs: []string{"in_memory"}}
	gpt41     = Rules{Cache: "prompt_cache_retention", CacheTTLs: gptRetention}
	oSeries   = gptThinks(0, "medium", "in_memory")
	gpt5      = gptThinks(gptSmallInput, "medium", gptRetention...)
	gpt5Mini  = gptThinks(gptSmallInput, "medium", "in_memory")
	gpt5Pro   = gptThinks(gptSmallInput, "high", gptRetention...)
	gpt52Pro  = gptThinks(gptSmallInput, "", gptRetention...)
	gpt54Pro  = gptThinks(gptInput, "", gptRetention...)
	gpt55Pro  = gptThinks(gptInput, "", "24h")
	codexFast = gptThinks(0, "medium", gptRetention...)
	gpt5Chat  = Rules{MaxInput: gptSmallInput, Cache: "prompt_cache_retention", CacheTTLs: gptRetention}
	gpt51Chat = Rules{Cache: "prompt_cache_retention", CacheTTLs: gptRetention}
	// From 5.1 to 5.4, the effort is none unless the request sets it.
	gpt51 = Rules{
		DefaultEffort: "none", Sampling: RefusedThinking, MaxInput: gptSmallInput,
		Cache: "prompt_cache_retention", CacheTTLs: gptRetention,
	}
	gpt54 = Rules{
		DefaultEffort: "none", Sampling: RefusedThinking, MaxInput: gptInput,
		Cache: "prompt_cache_retention", CacheTTLs: gptRetention,
	}
	gpt55 = Rules{
		Thinks: true, DefaultEffort: "medium", Sampling: RefusedThinking, MaxInput: gptInput,
		Cache: "prompt_cache_retention", CacheTTLs: []string{"24h"},
	}
	gpt56 = Rules{
		Thinks: true, DefaultEffort: "medium", Sampling: RefusedThinking, ChatTools: RefusedThinking, MaxInput: gptInput,
		Cache: "prompt_cache_options", CacheTTLs: gptOptions,
	}
	gpt6 = Rules{
		Thinks: true, DefaultEffort: "medium", Sampling: RefusedAlways, ChatTools: RefusedThinking, MaxInput: gptInput,
		Cache: "prompt_cache_options", CacheTTLs: gptOptions,
	}
	// gpt61Sol is for the models that always think.
	gpt61Sol = Rules{
		Thinks: true, DefaultEffort: "medium", Sampling: RefusedAlways, ChatTools: RefusedAlways, MaxInput: gptInput,
		Cache: "prompt_cache_options", CacheTTLs: gptOptions,
	}
)

// gptThinks returns the rules for a model before GPT-5.6 that always thinks.
func gptThinks(input int64, effort string, ttls ...string) Rules {
	return Rules{
		Thinks: true, DefaultEffort: effort, Sampling: RefusedAlways, MaxInput: input,
		Cache: "prompt_cache_retention", CacheTTLs: ttls,
	}
}

// The factors of OpenAI's service tiers. "priority" is the older name of "fast".
var (
	flexTier      = map[string]float64{"flex": 0.5}
	gpt5MiniTiers = map[string]float64{"flex": 0.5, "fast": 1.8, "priority": 1.8}
	gpt5Tiers     = map[string]float64{"flex": 0.5, "fast": 2, "priority": 2}
	gpt55Tiers    = map[string]float64{"flex": 0.5, "fast": 2.5, "priority": 2.5}
	gpt6Tiers     = map[string]float64{"flex": 0.5, "fast": 2, "priority": 2, "ultrafast": 6}
)

// openaiModels lists the models of OpenAI.
func openaiModels() []Model {
	return []Model{
		{
			ID: "gpt-3.5-turbo", Provider: "openai", Name: "GPT-3.5-turbo",
			ContextWindow: 16385, MaxOutput: 4096, Cutoff: "2021-09", Ends: "2026-10-23", Retired: true,
			Tools: true,
			Price: &Price{Input: new(0.5), Output: new(1.5)},
		},
		{
			ID: "gpt-4", Provider: "openai", Name: "GPT-4",
			ContextWindow: 8192, MaxOutput: 8192, Cutoff: "2021-09", Ends: "2026-10-23", Retired: true,
			Tools: true,
			Price: &Price{Input: new(30.0), Output: new(60.0)},
		},
		{
			ID: "gpt-4-turbo", Provider: "openai", Name: "GPT-4 Turbo",
			ContextWindow: 128000, MaxOutput: 4096, Cutoff: "2023-12", Ends: "2026-10-23", Retired: true,
			Tools: true, Vision: true, Documents: true,
			Price: &Price{Input: new(10.0), Output: new(30.0)},
		},
		{
			ID: "gpt-4-vision-preview", Provider: "openai", Name: "GPT-4 Turbo Vision Preview",
			ContextWindow: 128000, MaxOutput: 4096, Cutoff: "2023-04", Retired: true,
			Vision: true,
			Price:  &Price{Input: new(10.0), Output: new(30.0)},
		},
		{
			ID: "gpt-4.1", Provider: "openai", Name: "GPT-4.1",
			ContextWindow: 1047576, MaxOutput: 32768, Cutoff: "2024-04", Ends: "2027-01-14",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(2.0), Output: new(8.0), CacheRead: new(0.5)},
			Rules: gpt41,
		},
		{
			ID: "gpt-4.1-mini", Provider: "openai", Name: "GPT-4.1 mini",
			ContextWindow: 1047576, MaxOutput: 32768, Cutoff: "2024-04", Ends: "2027-01-14",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(0.4), Output: new(1.6), CacheRead: new(0.1)},
			Rules: gpt4o,
		},
		{
			ID: "gpt-4.1-nano", Provider: "openai", Name: "GPT-4.1 nano",
			ContextWindow: 1047576, MaxOutput: 32768, Cutoff: "2024-04", Ends: "2026-10-23", Retired: true,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(0.1), Output: new(0.4), CacheRead: new(0.025)},
			Rules: gpt4o,
		},
		{
			ID: "gpt-4o", Provider: "openai", Name: "GPT-4o",
			ContextWindow: 128000, MaxOutput: 16384, Cutoff: "2023-09", Ends: "2027-01-14",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(2.5), Output: new(10.0), CacheRead: new(1.25)},
			Rules: gpt4o,
		},
		{
			ID: "gpt-4o-2024-05-13", Provider: "openai", Name: "GPT-4o (2024-05-13)",
			ContextWindow: 128000, MaxOutput: 4096, Cutoff: "2023-09", Ends: "2026-10-23", Retired: true,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(5.0), Output: new(15.0)},
			Rules: gpt4o,
		},
		{
			ID: "gpt-4o-2024-08-06", Provider: "openai", Name: "GPT-4o (2024-08-06)",
			ContextWindow: 128000, MaxOutput: 16384, Cutoff: "2023-09",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(2.5), Output: new(10.0), CacheRead: new(1.25)},
			Rules: gpt4o,
		},
		{
			ID: "gpt-4o-2024-11-20", Provider: "openai", Name: "GPT-4o (2024-11-20)",
			ContextWindow: 128000, MaxOutput: 16384, Cutoff: "2023-09",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(2.5), Output: new(10.0), CacheRead: new(1.25)},
			Rules: gpt4o,
		},
		{
			ID: "gpt-4o-mini", Provider: "openai", Name: "GPT-4o mini",
			ContextWindow: 128000, MaxOutput: 16384, Cutoff: "2023-09", Ends: "2027-01-14",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(0.15), Output: new(0.6), CacheRead: new(0.075)},
			Rules: gpt4o,
		},
		{
			ID: "gpt-5", Provider: "openai", Name: "GPT-5",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2024-09", Ends: "2026-12-11",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"minimal", "low", "medium", "high"},
			Price: &Price{
				Input: new(1.25), Output: new(10.0), CacheRead: new(0.125),
				Tiers: gpt5Tiers,
			},
			Rules: gpt5,
		},
		{
			ID: "gpt-5-chat-latest", Provider: "openai", Name: "GPT-5 Chat",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2024-09",
			Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(1.25), Output: new(10.0), CacheRead: new(0.125)},
			Rules: gpt5Chat,
		},
		{
			ID: "gpt-5-codex", Provider: "openai", Name: "GPT-5-Codex",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2024-09", Retired: true,
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(1.25), Output: new(10.0), CacheRead: new(0.125),
				Tiers: gpt5Tiers,
			},
			Rules: gpt5,
		},
		{
			ID: "gpt-5-mini", Provider: "openai", Name: "GPT-5 Mini",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2024-05", Ends: "2026-12-11",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"minimal", "low", "medium", "high"},
			Price: &Price{
				Input: new(0.25), Output: new(2.0), CacheRead: new(0.025),
				Tiers: gpt5MiniTiers,
			},
			Rules: gpt5Mini,
		},
		{
			ID: "gpt-5-nano", Provider: "openai", Name: "GPT-5 Nano",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2024-05", Ends: "2026-12-11",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"minimal", "low", "medium", "high"},
			Price: &Price{
				Input: new(0.05), Output: new(0.4), CacheRead: new(0.005),
				Tiers: flexTier,
			},
			Rules: gpt5Mini,
		},
		{
			ID: "gpt-5-pro", Provider: "openai", Name: "GPT-5 Pro",
			ContextWindow: 400000, MaxOutput: 272000, Cutoff: "2024-09", Ends: "2026-12-11",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"high"},
			Price: &Price{
				Input: new(15.0), Output: new(120.0),
				Tiers: flexTier,
			},
			Rules: gpt5Pro,
		},
		{
			ID: "gpt-5.1", Provider: "openai", Name: "GPT-5.1",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2024-09", Ends: "2027-04-01",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{
				Input: new(1.25), Output: new(10.0), CacheRead: new(0.125),
				Tiers: gpt5Tiers,
			},
			Rules: gpt51,
		},
		{
			ID: "gpt-5.1-chat-latest", Provider: "openai", Name: "GPT-5.1 Chat",
			ContextWindow: 128000, MaxOutput: 16384, Cutoff: "2024-09", Retired: true,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(1.25), Output: new(10.0), CacheRead: new(0.125)},
			Rules: gpt51Chat,
		},
		{
			ID: "gpt-5.1-codex", Provider: "openai", Name: "GPT-5.1 Codex",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2024-09", Retired: true,
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(1.25), Output: new(10.0), CacheRead: new(0.125),
				Tiers: gpt5Tiers,
			},
			Rules: gpt5,
		},
		{
			ID: "gpt-5.1-codex-max", Provider: "openai", Name: "GPT-5.1 Codex Max",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2024-09", Retired: true,
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high", "xhigh"},
			Price: &Price{
				Input: new(1.25), Output: new(10.0), CacheRead: new(0.125),
				Tiers: gpt5Tiers,
			},
			Rules: gpt5,
		},
		{
			ID: "gpt-5.1-codex-mini", Provider: "openai", Name: "GPT-5.1 Codex mini",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2024-09", Retired: true,
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(0.25), Output: new(2.0), CacheRead: new(0.025),
				Tiers: gpt5Tiers,
			},
			Rules: gpt5,
		},
		{
			ID: "gpt-5.2", Provider: "openai", Name: "GPT-5.2",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2025-08",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh"},
			Price: &Price{
				Input: new(1.75), Output: new(14.0), CacheRead: new(0.175),
				Tiers: gpt5Tiers,
			},
			Rules: gpt51,
		},
		{
			ID: "gpt-5.2-chat-latest", Provider: "openai", Name: "GPT-5.2 Chat",
			ContextWindow: 128000, MaxOutput: 16384, Cutoff: "2025-08", Retired: true,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(1.75), Output: new(14.0), CacheRead: new(0.175)},
			Rules: gpt51Chat,
		},
		{
			ID: "gpt-5.2-codex", Provider: "openai", Name: "GPT-5.2 Codex",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2025-08", Retired: true,
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high", "xhigh"},
			Price: &Price{
				Input: new(1.75), Output: new(14.0), CacheRead: new(0.175),
				Tiers: gpt5Tiers,
			},
			Rules: gpt5,
		},
		{
			ID: "gpt-5.2-pro", Provider: "openai", Name: "GPT-5.2 Pro",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2025-08",
			Tools: true, Freeform: true, Vision: true, Documents: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"medium", "high", "xhigh"},
			Price: &Price{
				Input: new(21.0), Output: new(168.0),
				Tiers: flexTier,
			},
			Rules: gpt52Pro,
		},
		{
			ID: "gpt-5.3-chat-latest", Provider: "openai", Name: "GPT-5.3 Chat",
			ContextWindow: 128000, MaxOutput: 16384, Cutoff: "2025-08", Retired: true,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Price: &Price{Input: new(1.75), Output: new(14.0), CacheRead: new(0.175)},
			Rules: gpt51Chat,
		},
		{
			ID: "gpt-5.3-codex", Provider: "openai", Name: "GPT-5.3 Codex",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2025-08",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh"},
			Price: &Price{
				Input: new(1.75), Output: new(14.0), CacheRead: new(0.175),
				Tiers: gpt5Tiers,
			},
			Rules: gpt5,
		},
		{
			ID: "gpt-5.3-codex-spark", Provider: "openai", Name: "GPT-5.3 Codex Spark",
			ContextWindow: 128000, MaxOutput: 32000, Cutoff: "2025-08",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh"},
			Price: &Price{Input: new(1.75), Output: new(14.0), CacheRead: new(0.175)},
			Rules: codexFast,
		},
		{
			ID: "gpt-5.4", Provider: "openai", Name: "GPT-5.4",
			ContextWindow: 1050000, MaxOutput: 128000, Cutoff: "2025-08",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh"},
			Price: &Price{
				Input: new(2.5), Output: new(15.0), CacheRead: new(0.25),
				Tiers:    gpt5Tiers,
				LongFrom: 272000,
				Long:     &Price{Input: new(5.0), Output: new(22.5), CacheRead: new(0.5)},
			},
			Rules: gpt54,
		},
		{
			ID: "gpt-5.4-mini", Provider: "openai", Name: "GPT-5.4 mini",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2025-08",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh"},
			Price: &Price{
				Input: new(0.75), Output: new(4.5), CacheRead: new(0.075),
				Tiers: gpt5Tiers,
			},
			Rules: gpt51,
		},
		{
			ID: "gpt-5.4-nano", Provider: "openai", Name: "GPT-5.4 nano",
			ContextWindow: 400000, MaxOutput: 128000, Cutoff: "2025-08",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh"},
			Price: &Price{
				Input: new(0.2), Output: new(1.25), CacheRead: new(0.02),
				Tiers: flexTier,
			},
			Rules: gpt51,
		},
		{
			ID: "gpt-5.4-pro", Provider: "openai", Name: "GPT-5.4 Pro",
			ContextWindow: 1050000, MaxOutput: 128000, Cutoff: "2025-08",
			Tools: true, Freeform: true, Vision: true, Documents: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"medium", "high", "xhigh"},
			Price: &Price{
				Input: new(30.0), Output: new(180.0),
				Tiers:    flexTier,
				LongFrom: 272000,
				Long:     &Price{Input: new(60.0), Output: new(270.0)},
			},
			Rules: gpt54Pro,
		},
		{
			ID: "gpt-5.5", Provider: "openai", Name: "GPT-5.5",
			ContextWindow: 1050000, MaxOutput: 128000, Cutoff: "2025-12",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh"},
			Price: &Price{
				Input: new(5.0), Output: new(30.0), CacheRead: new(0.5),
				Tiers:    gpt55Tiers,
				LongFrom: 272000,
				Long:     &Price{Input: new(10.0), Output: new(45.0), CacheRead: new(1.0)},
			},
			Rules: gpt55,
		},
		{
			ID: "gpt-5.5-pro", Provider: "openai", Name: "GPT-5.5 Pro",
			ContextWindow: 1050000, MaxOutput: 128000, Cutoff: "2025-12",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"medium", "high", "xhigh"},
			Price: &Price{
				Input: new(30.0), Output: new(180.0),
				Tiers:    flexTier,
				LongFrom: 272000,
				Long:     &Price{Input: new(60.0), Output: new(270.0)},
			},
			Rules: gpt55Pro,
		},
		{
			ID: "gpt-5.6-luna", Provider: "openai", Name: "GPT-5.6 Luna",
			ContextWindow: 1050000, MaxOutput: 128000, Cutoff: "2026-02",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(0.2), Output: new(1.2), CacheRead: new(0.02), CacheWrite: new(0.25),
				Tiers:    gpt5Tiers,
				LongFrom: 272000,
				Long:     &Price{Input: new(0.4), Output: new(1.8), CacheRead: new(0.04), CacheWrite: new(0.5)},
			},
			Rules: gpt56,
		},
		{
			ID: "gpt-5.6-sol", Provider: "openai", Name: "GPT-5.6 Sol",
			Aliases:       []string{"gpt-5.6"},
			ContextWindow: 1050000, MaxOutput: 128000, Cutoff: "2026-02",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(4.0), Output: new(20.0), CacheRead: new(0.4), CacheWrite: new(5.0),
				Tiers:    gpt5Tiers,
				LongFrom: 272000,
				Long:     &Price{Input: new(8.0), Output: new(30.0), CacheRead: new(0.8), CacheWrite: new(10.0)},
			},
			Rules: gpt56,
		},
		{
			ID: "gpt-5.6-terra", Provider: "openai", Name: "GPT-5.6 Terra",
			ContextWindow: 1050000, MaxOutput: 128000, Cutoff: "2026-02",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(2.0), Output: new(12.0), CacheRead: new(0.2), CacheWrite: new(2.5),
				Tiers:    gpt5Tiers,
				LongFrom: 272000,
				Long:     &Price{Input: new(4.0), Output: new(18.0), CacheRead: new(0.4), CacheWrite: new(5.0)},
			},
			Rules: gpt56,
		},
		{
			ID: "gpt-6-astra", Provider: "openai", Name: "GPT-6 Astra",
			ContextWindow: 1050000, MaxOutput: 128000, Cutoff: "2026-04",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(10.0), Output: new(50.0), CacheRead: new(1.0), CacheWrite: new(12.5),
				Tiers:    gpt6Tiers,
				LongFrom: 272000,
				Long:     &Price{Input: new(20.0), Output: new(75.0), CacheRead: new(2.0), CacheWrite: new(25.0)},
			},
			Rules: gpt61Sol,
		},
		{
			ID: "gpt-6-luna", Provider: "openai", Name: "GPT-6 Luna",
			ContextWindow: 1050000, MaxOutput: 128000, Cutoff: "2026-05",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(0.1), Output: new(0.5), CacheRead: new(0.01), CacheWrite: new(0.125),
				Tiers:    gpt6Tiers,
				LongFrom: 272000,
				Long:     &Price{Input: new(0.2), Output: new(0.75), CacheRead: new(0.02), CacheWrite: new(0.25)},
			},
			Rules: gpt6,
		},
		{
			ID: "gpt-6-sol", Provider: "openai", Name: "GPT-6 Sol",
			ContextWindow: 1050000, MaxOutput: 128000, Cutoff: "2026-04",
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(2.0), Output: new(10.0), CacheRead: new(0.2), CacheWrite: new(2.5),
				Tiers:    gpt6Tiers,
				LongFrom: 272000,
				Long:     &Price{Input: new(4.0), Output: new(15.0), CacheRead: new(0.4), CacheWrite: new(5.0)},
			},
			Rules: gpt6,
		},
		{
			ID: "gpt-6.1-sol", Provider: "openai", Name: "GPT-6.1 Sol",
			ContextWindow: 1050000, MaxOutput: 128000, Cutoff: "2026-04", Default: true,
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(2.0), Output: new(10.0), CacheRead: new(0.1), CacheWrite: new(2.5),
				Tiers:    gpt6Tiers,
				LongFrom: 272000,
				Long:     &Price{Input: new(4.0), Output: new(15.0), CacheRead: new(0.2), CacheWrite: new(5.0)},
			},
			Rules: gpt61Sol,
		},
		{
			ID: "gpt-6.1-terra", Provider: "openai", Name: "GPT-6.1 Terra",
			ContextWindow: 1050000, MaxOutput: 128000,
			Tools: true, Freeform: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
			Price: &Price{
				Input: new(1.0), Output: new(5.0), CacheRead: new(0.05), CacheWrite: new(1.25),
				Tiers:    gpt6Tiers,
				LongFrom: 272000,
				Long:     &Price{Input: new(2.0), Output: new(7.5), CacheRead: new(0.1), CacheWrite: new(2.5)},
			},
			Rules: gpt6,
		},
		{
			ID: "o1", Provider: "openai", Name: "o1",
			ContextWindow: 200000, MaxOutput: 100000, Cutoff: "2023-09", Ends: "2026-10-23", Retired: true,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{Input: new(15.0), Output: new(60.0), CacheRead: new(7.5)},
			Rules: oSeries,
		},
		{
			ID: "o1-mini", Provider: "openai", Name: "o1-mini",
			ContextWindow: 128000, MaxOutput: 65536, Cutoff: "2023-10", Retired: true,
			Reasoning: true,
			Price:     &Price{Input: new(1.1), Output: new(4.4), CacheRead: new(0.55)},
		},
		{
			ID: "o1-pro", Provider: "openai", Name: "o1-pro",
			ContextWindow: 200000, MaxOutput: 100000, Cutoff: "2023-09", Ends: "2026-10-23", Retired: true,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{Input: new(150.0), Output: new(600.0)},
			Rules: oSeries,
		},
		{
			ID: "o3", Provider: "openai", Name: "o3",
			ContextWindow: 200000, MaxOutput: 100000, Cutoff: "2024-05", Ends: "2026-12-11",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(2.0), Output: new(8.0), CacheRead: new(0.5),
				Tiers: flexTier,
			},
			Rules: oSeries,
		},
		{
			ID: "o3-mini", Provider: "openai", Name: "o3-mini",
			ContextWindow: 200000, MaxOutput: 100000, Cutoff: "2024-05", Ends: "2026-10-23", Retired: true,
			Tools: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{Input: new(1.1), Output: new(4.4), CacheRead: new(0.55)},
			Rules: oSeries,
		},
		{
			ID: "o3-pro", Provider: "openai", Name: "o3-pro",
			ContextWindow: 200000, MaxOutput: 100000, Cutoff: "2024-05", Ends: "2026-12-11",
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{Input: new(20.0), Output: new(80.0)},
			Rules: oSeries,
		},
		{
			ID: "o4-mini", Provider: "openai", Name: "o4-mini",
			ContextWindow: 200000, MaxOutput: 100000, Cutoff: "2024-05", Ends: "2026-10-23", Retired: true,
			Tools: true, Vision: true, Documents: true, Schema: true,
			Reasoning: true, Thinking: "effort", Efforts: []string{"low", "medium", "high"},
			Price: &Price{Input: new(1.1), Output: new(4.4), CacheRead: new(0.275)},
			Rules: oSeries,
		},
	}
}
