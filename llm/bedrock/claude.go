package bedrock

import (
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// info returns the catalogue's entry for a model. Unknown Anthropic models have the same rules as the newest model in
// their family.
func (d dialect) info(name string) llm.Model {
	m, ok := d.catalogue.Lookup("bedrock", name)
	if _, claude, found := strings.Cut(name, "anthropic."); found && !ok {
		m, _ = d.catalogue.Like("anthropic", claude)
	}
	if m.Provider != "bedrock" && m.Provider != "anthropic" {
		return llm.Model{}
	}
	return m
}

// tiers lists the API's service tiers.
var tiers = []string{"default", "flex", "priority", "reserved"}

// check returns an error if the caller set something that the model or the API refuses.
func check(r *llm.Request, m llm.Model) error {
	refuse := func(format string, args ...any) error { return llm.Errorf(llm.ErrConfiguration, "", format, args...) }
	switch {
	case r.Tier != "" && !slices.Contains(tiers, r.Tier):
		return refuse("Bedrock has no service tier %q; use default, flex, priority or reserved", r.Tier)
	case r.CacheTTL != "":
		return refuse("a cache lifetime cannot be sent through Converse; leave it unset, or use the Messages API of Bedrock for Claude")
	case r.Compact != "":
		return refuse("Converse does not compact conversations; summarize them with a request, or use the Messages API of Bedrock for Claude")
	}
	return wire.CheckSettings(r, m, claudeThinks(r, m))
}

// adaptive reports whether the model is a Claude that decides itself how much to think.
func adaptive(m llm.Model) bool {
	return m.Provider == "anthropic" && (m.Thinking == "adaptive" || m.Rules.Accepts("adaptive"))
}

// claudeThinks reports whether a request makes Claude think.
func claudeThinks(r *llm.Request, m llm.Model) bool {
	switch {
	case !adaptive(m):
		return false
	case r.Effort == "none" && m.Rules.Accepts("disabled"):
		return false
	}
	return m.Rules.Thinks || r.Effort != "" && r.Effort != "none"
}

// The betas that the fields of thinking need.
const (
	bindingBeta = "thinking-binding-controls-2026-08-01"
	updatesBeta = "thinking-display-updates-2026-08-18"
)

// claudeFields returns the additional fields for Claude's thinking, or "" to leave it as it is.
func claudeFields(r *llm.Request, m llm.Model) string {
	switch {
	case claudeThinks(r, m):
	case r.Effort == "none" && m.Rules.Thinks:
		return `{"thinking":{"type":"disabled"}}`
	default:
		return ""
	}
	var e wire.Encoder
	var betas []string
	e.Open('{')
	e.Key("thinking")
	e.Open('{')
	e.Field("type", "adaptive")
	display := r.Display
	if display == "" && m.Rules.Hides {
		display = "summarized"
	}
	if display == "updates" {
		betas = append(betas, updatesBeta)
	}
	e.StrField("display", display)
	if m.Rules.PrefixCheck {
		// Without it, one change in the history would make the model refuse every later request.
		betas = append(betas, bindingBeta)
		e.Key("block_binding")
		e.Raw([]byte(`{"prefix_mismatch_behavior":"drop_block"}`))
	}
	e.Close('}')
	if r.Effort != "" {
		e.Key("output_config")
		e.Open('{')
		e.Field("effort", wire.Effort(r.Effort, m.Efforts))
		e.Close('}')
	}
	if len(betas) > 0 {
		e.Key("anthropic_beta")
		e.Open('[')
		for _, b := range betas {
			e.Str(b)
		}
		e.Close(']')
	}
	e.Close('}')
	return string(e.Buf)
}
