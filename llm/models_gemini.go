package llm

// The rules of Google's models. Temperature, top_p and top_k are deprecated since Gemini 3.6, but
// accepted. Argon returns at most 65,536 tokens in a stream and 32,768 otherwise; the catalogue has the lower limit.
var (
	gemini3     = Rules{Thinks: true}
	gemini31Pro = Rules{Thinks: true, DefaultEffort: "high"}
	gemini37    = Rules{Thinks: true, DefaultEffort: "medium"}
	argon       = Rules{Thinks: true, Budget: RefusedAlways}
)

// geminiModels lists the models of Google.
func geminiModels() []Model {
	return []Model{
		{
			ID: "gemini-1.5-flash", Provider: "gemini", Name: "Gemini 1.5 Flash",
			ContextWindow: 1000000, MaxOutput: 8192, Retired: true,
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Price: &Price{
				Input: new(0.075), Output: new(0.3), CacheRead: new(0.01875),
				LongFrom: 128000,
				Long:     &Price{Input: new(0.15), Output: new(0.6), CacheRead: new(0.0375)},
			},
		},
		{
			ID: "gemini-1.5-pro", Provider: "gemini", Name: "Gemini 1.5 Pro",
			ContextWindow: 1000000, MaxOutput: 8192, Retired: true,
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Price: &Price{
				Input: new(1.25), Output: new(5.0), CacheRead: new(0.3125),
				LongFrom: 128000,
				Long:     &Price{Input: new(2.5), Output: new(10.0), CacheRead: new(0.625)},
			},
		},
		{
			ID: "gemini-2.0-flash", Provider: "gemini", Name: "Gemini 2.0 Flash",
			Aliases:       []string{"gemini-2.0-flash-001"},
			ContextWindow: 1048576, MaxOutput: 8192, Cutoff: "2024-06", Retired: true,
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Price: &Price{Input: new(0.1), Output: new(0.4), CacheRead: new(0.025)},
		},
		{
			ID: "gemini-2.0-flash-lite", Provider: "gemini", Name: "Gemini 2.0 Flash-Lite",
			Aliases:       []string{"gemini-2.0-flash-lite-001"},
			ContextWindow: 1048576, MaxOutput: 8192, Cutoff: "2024-06", Retired: true,
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Price: &Price{Input: new(0.075), Output: new(0.3)},
		},
		{
			ID: "gemini-2.5-flash", Provider: "gemini", Name: "Gemini 2.5 Flash",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2025-01",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "budget", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{Input: new(0.3), Output: new(2.5), CacheRead: new(0.03)},
		},
		{
			ID: "gemini-2.5-flash-lite", Provider: "gemini", Name: "Gemini 2.5 Flash-Lite",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2025-01",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "budget", Efforts: []string{"none", "low", "medium", "high"},
			Price: &Price{Input: new(0.1), Output: new(0.4), CacheRead: new(0.01)},
		},
		{
			ID: "gemini-2.5-pro", Provider: "gemini", Name: "Gemini 2.5 Pro",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2025-01",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "budget", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(1.25), Output: new(10.0), CacheRead: new(0.125),
				LongFrom: 200000,
				Long:     &Price{Input: new(2.5), Output: new(15.0), CacheRead: new(0.25)},
			},
		},
		{
			ID: "gemini-3-flash-preview", Provider: "gemini", Name: "Gemini 3 Flash Preview",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2025-01",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"minimal", "low", "medium", "high"},
			Price: &Price{Input: new(0.5), Output: new(3.0), CacheRead: new(0.05)},
			Rules: gemini3,
		},
		{
			ID: "gemini-3-pro-preview", Provider: "gemini", Name: "Gemini 3 Pro Preview",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2025-01", Retired: true,
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"low", "high"},
			Price: &Price{
				Input: new(2.0), Output: new(12.0), CacheRead: new(0.2),
				LongFrom: 200000,
				Long:     &Price{Input: new(4.0), Output: new(18.0), CacheRead: new(0.4)},
			},
			Rules: gemini3,
		},
		{
			ID: "gemini-3.1-flash-lite", Provider: "gemini", Name: "Gemini 3.1 Flash Lite",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2025-01",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"minimal", "low", "medium", "high"},
			Price: &Price{Input: new(0.25), Output: new(1.5), CacheRead: new(0.025)},
			Rules: gemini3,
		},
		{
			ID: "gemini-3.1-flash-lite-preview", Provider: "gemini", Name: "Gemini 3.1 Flash Lite Preview",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2025-01",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"minimal", "low", "medium", "high"},
			Price: &Price{Input: new(0.25), Output: new(1.5), CacheRead: new(0.025)},
			Rules: gemini3,
		},
		{
			ID: "gemini-3.1-pro-preview", Provider: "gemini", Name: "Gemini 3.1 Pro Preview",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2025-01",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(2.0), Output: new(12.0), CacheRead: new(0.2),
				LongFrom: 200000,
				Long:     &Price{Input: new(4.0), Output: new(18.0), CacheRead: new(0.4)},
			},
			Rules: gemini31Pro,
		},
		{
			ID: "gemini-3.1-pro-preview-customtools", Provider: "gemini", Name: "Gemini 3.1 Pro Preview Custom Tools",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2025-01",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(2.0), Output: new(12.0), CacheRead: new(0.2),
				LongFrom: 200000,
				Long:     &Price{Input: new(4.0), Output: new(18.0), CacheRead: new(0.4)},
			},
			Rules: gemini31Pro,
		},
		{
			ID: "gemini-3.5-flash", Provider: "gemini", Name: "Gemini 3.5 Flash",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2025-01",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"minimal", "low", "medium", "high"},
			Price: &Price{Input: new(1.5), Output: new(9.0), CacheRead: new(0.15)},
			Rules: gemini3,
		},
		{
			ID: "gemini-3.5-flash-lite", Provider: "gemini", Name: "Gemini 3.5 Flash Lite",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2026-03",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"minimal", "low", "medium", "high"},
			Price: &Price{Input: new(0.3), Output: new(2.5), CacheRead: new(0.03)},
			Rules: gemini3,
		},
		{
			ID: "gemini-3.6-flash", Provider: "gemini", Name: "Gemini 3.6 Flash",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2026-03",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"minimal", "low", "medium", "high"},
			Price: &Price{
				Input: new(0.75), Output: new(3.75), CacheRead: new(0.075),
				NextFrom: "2027-01-01",
				Next:     &Price{Input: new(1.5), Output: new(7.5), CacheRead: new(0.15)},
			},
			Rules: gemini3,
		},
		{
			ID: "gemini-3.7-flash", Provider: "gemini", Name: "Gemini 3.7 Flash",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2026-03",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(0.75), Output: new(3.75), CacheRead: new(0.075),
				NextFrom: "2027-01-01",
				Next:     &Price{Input: new(1.5), Output: new(7.5), CacheRead: new(0.15)},
			},
			Rules: gemini37,
		},
		{
			ID: "gemini-3.8-flash", Provider: "gemini", Name: "Gemini 3.8 Flash",
			ContextWindow: 1048576, MaxOutput: 65536, Default: true,
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(0.75), Output: new(3.75), CacheRead: new(0.075),
				NextFrom: "2027-01-01",
				Next:     &Price{Input: new(1.5), Output: new(7.5), CacheRead: new(0.15)},
			},
			Rules: gemini37,
		},
		{
			ID: "gemini-4-argon", Provider: "gemini", Name: "Gemini 4 Argon",
			ContextWindow: 1048576, MaxOutput: 32768,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(2.0), Output: new(10.0), CacheRead: new(0.1),
				NextFrom: "2026-12-01",
				Next:     &Price{Input: new(4.0), Output: new(20.0), CacheRead: new(0.2)},
			},
			Rules: argon,
		},
		{
			ID: "gemini-flash-latest", Provider: "gemini", Name: "Gemini Flash Latest",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2026-03",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(0.75), Output: new(3.75), CacheRead: new(0.075),
				NextFrom: "2027-01-01",
				Next:     &Price{Input: new(1.5), Output: new(7.5), CacheRead: new(0.15)},
			},
			Rules: gemini37,
		},
		{
			ID: "gemini-flash-lite-latest", Provider: "gemini", Name: "Gemini Flash-Lite Latest",
			ContextWindow: 1048576, MaxOutput: 65536, Cutoff: "2026-03",
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"minimal", "low", "medium", "high"},
			Price: &Price{Input: new(0.3), Output: new(2.5), CacheRead: new(0.03)},
			Rules: gemini3,
		},
		{
			ID: "gemini-pro-latest", Provider: "gemini", Name: "Gemini Pro Latest",
			ContextWindow: 1048576, MaxOutput: 65536,
			Tools: true, Vision: true, Documents: true, Audio: true, Schema: true,
			Reasoning: true, Thinking: "level", Efforts: []string{"low", "medium", "high"},
			Price: &Price{
				Input: new(2.0), Output: new(12.0), CacheRead: new(0.2),
				LongFrom: 200000,
				Long:     &Price{Input: new(4.0), Output: new(18.0), CacheRead: new(0.4)},
			},
			Rules: gemini31Pro,
		},
		{
			ID: "gemma-4-26b-a4b-it", Provider: "gemini", Name: "Gemma 4 26B A4B IT",
			ContextWindow: 262144, MaxOutput: 32768,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true,
		},
		{
			ID: "gemma-4-31b-it", Provider: "gemini", Name: "Gemma 4 31B IT",
			ContextWindow: 262144, MaxOutput: 32768,
			Tools: true, Vision: true, Schema: true,
			Reasoning: true,
		},
	}
}
