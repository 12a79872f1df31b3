package chat

import (
	"cmp"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// cacheControl is the member that requests a prompt cache.
const cacheControl = "cache_control"

// check returns an error for settings that the server or the model refuses. It returns the value for cache_control, or
// nil.
func (d *dialect) check(r *llm.Request, q quirks, m llm.Model) (caches []byte, err error) {
	effort := cmp.Or(wire.Effort(r.Effort, m.Efforts), m.Rules.DefaultEffort)
	thinks := m.Reasoning && effort != "none"
	sampled := *r
	if q.NoTopK {
		sampled.TopK = nil // it is not sent
	}
	if err := wire.CheckSampling(&sampled, m.Rules, thinks); err != nil {
		return nil, err
	}
	offers := slices.ContainsFunc(r.Tools, func(t llm.ToolDef) bool { return offered(t, r.Model) })
	switch {
	case r.ThinkingBudget != nil && m.Rules.Budget.Forbids(thinks):
		return nil, llm.Errorf(llm.ErrConfiguration, "", "%s does not accept a thinking budget; set the effort instead", r.Model)
	case r.Tier != "" && !q.Tiers:
		return nil, llm.Errorf(llm.ErrConfiguration, "", "%s has no service tiers; leave out %q", cmp.Or(d.provider, "the server"), r.Tier)
	case q.OpenAI && offers && m.Rules.ChatTools == llm.RefusedThinking && thinks:
		return nil, llm.Errorf(llm.ErrConfiguration, "",
			"%s accepts tools over Chat Completions only with effort none; use provider openai, which uses the Responses API", r.Model)
	case q.OpenAI && offers && m.Rules.ChatTools.Forbids(thinks):
		return nil, llm.Errorf(llm.ErrConfiguration, "",
			"%s does not accept tools over Chat Completions; use provider openai, which uses the Responses API", r.Model)
	}
	return d.caching(r, q, m)
}

// caching returns the value of cache_control.
func (d *dialect) caching(r *llm.Request, q quirks, m llm.Model) ([]byte, error) {
	rules, ours := m.Rules, m.Provider == d.provider && m.Rules.Cache == cacheControl
	if q.CacheControl && rules.Cache == "" {
		rules.Cache, rules.CacheTTLs = cacheControl, []string{"5m", "1h"}
	}
	if !ours && !q.CacheControl {
		rules.Cache = ""
	}
	if err := wire.CheckCacheTTL(r, rules, cacheControl); err != nil || r.NoCache || rules.Cache == "" {
		return nil, err
	}
	var e wire.Encoder
	e.Open('{')
	e.Field("type", "ephemeral")
	e.StrField("ttl", r.CacheTTL)
	e.Close('}')
	return e.Buf, nil
}
