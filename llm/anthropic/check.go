package anthropic

import (
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// The checks report settings that the caller chose and the model refuses.

func (p *plan) checkChoice(r *llm.Request) error {
	chosen := r.ToolChoice.Mode == llm.ToolRequired || r.ToolChoice.Mode == llm.ToolNamed
	if chosen && p.model.Rules.ForcedTools.Forbids(p.thinks) {
		return llm.Errorf(
			llm.ErrConfiguration,
			"",
			"%s does not accept a forced tool; use the tool choice %q and say in the prompt which tool to call",
			r.Model,
			llm.ToolAuto,
		)
	}
	return nil
}

// checkSampling ignores parameters that are refused only while the model thinks: [head.sampling] omits them.
func (p *plan) checkSampling(r *llm.Request) error {
	switch p.model.Rules.Sampling {
	case llm.RefusedAlways, llm.RefusedChanged:
		return wire.CheckSampling(r, p.model.Rules, p.thinks)
	}
	return nil
}

func (p *plan) checkCache(r *llm.Request) error {
	if len(p.model.Rules.CacheTTLs) == 0 {
		return nil // nothing is known about it
	}
	return wire.CheckCacheTTL(r, p.model.Rules, "cache_control")
}

// tiers are the values of service_tier.
var tiers = []string{"auto", "standard_only"}

func (p *plan) checkTier(r *llm.Request) error {
	if r.Tier == "" || slices.Contains(tiers, r.Tier) {
		return nil
	}
	return llm.Errorf(llm.ErrConfiguration, "", "%s does not support the service tier %q; use %s", r.Model, r.Tier, either(tiers))
}

// checkEnd reports a conversation that ends with an answer. Only turns that the server paused can be continued.
func (p *plan) checkEnd(r *llm.Request) error {
	if !p.model.Rules.NoPrefill || len(r.Messages) == 0 || r.Compact != "" {
		return nil
	}
	last := r.Messages[len(r.Messages)-1]
	paused := slices.ContainsFunc(last.Parts, func(part llm.Part) bool { _, ok := part.(llm.Opaque); return ok })
	if last.Role != llm.RoleAssistant || paused || len(last.ToolCalls()) > 0 || !sendable(last.Parts, "assistant", r.Model) {
		return nil
	}
	return llm.Errorf(llm.ErrConfiguration, "", "%s does not continue an answer; add a user message at the end of the conversation", r.Model)
}

func (p *plan) checkCompact(r *llm.Request) error {
	if r.Compact != "" && !p.model.Rules.Compacts {
		return llm.Errorf(llm.ErrConfiguration, "", "the server does not summarise conversations for %s; ask the model for a summary", r.Model)
	}
	return nil
}
