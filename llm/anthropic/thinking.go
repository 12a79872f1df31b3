package anthropic

import (
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// adaptive plans adaptive thinking.
func (p *plan) adaptive(r *llm.Request) (effort string) {
	rules := p.model.Rules
	off := r.Effort == "none" || r.Effort == "" && r.ThinkingBudget != nil && *r.ThinkingBudget <= 0
	switch {
	case r.ThinkingBudget != nil && *r.ThinkingBudget > 0 && len(rules.ThinkingTypes) > 0 && !rules.Accepts("enabled"):
		p.err = llm.Errorf(llm.ErrConfiguration, "", "%s does not support a thinking budget; use effort %s", r.Model, either(p.model.Efforts))
	case off && (len(rules.ThinkingTypes) == 0 || rules.Accepts("disabled")):
		p.thinking = []byte(`{"type":"disabled"}`)
		return ""
	case off:
		effort = p.lowest()
	case r.Effort == "" && r.ThinkingBudget == nil && !rules.Thinks:
		return ""
	default:
		effort = wire.Effort(r.Effort, p.model.Efforts)
	}
	switch forced := p.forces(r); {
	case !forced || !rules.Thinks && rules.ForcedTools == "" && len(rules.ThinkingTypes) > 0:
		p.think(r)
	case rules.Thinks && rules.ForcedTools == llm.RefusedThinking && rules.Accepts("disabled"):
		p.thinking = []byte(`{"type":"disabled"}`)
		return ""
	case rules.Thinks:
		p.think(r)
	}
	return effort
}

// lowest returns the least effort for a model that cannot stop thinking.
func (p *plan) lowest() string {
	if len(p.model.Efforts) == 0 {
		return ""
	}
	return p.model.Efforts[0]
}

// think requests adaptive thinking whose text is shown, and tells the server to leave out thinking that does not belong
// to the conversation instead of refusing the request. [prefix] leaves it out before; the server knows better.
func (p *plan) think(r *llm.Request) {
	rules := p.model.Rules
	var e wire.Encoder
	e.Open('{')
	e.Field("type", "adaptive")
	display := r.Display
	if display == "" && rules.Hides {
		display = "summarized"
	}
	e.StrField("display", display)
	switch display {
	case "updates":
		p.beta(betaUpdates)
	case "omitted":
		p.beta(betaCount)
	}
	if rules.PrefixCheck {
		e.Key("block_binding")
		e.Raw([]byte(`{"prefix_mismatch_behavior":"drop_block"}`))
		p.beta(betaBinding)
	}
	e.Close('}')
	p.thinking, p.thinks = e.Buf, true
}

// budget plans thinking with a token budget.
func (p *plan) budget(r *llm.Request, forced bool) {
	tokens := int64(0)
	switch {
	case r.ThinkingBudget != nil:
		tokens = int64(*r.ThinkingBudget)
	case r.Effort != "":
		budget, ok := effortBudget(r.Effort)
		if !ok {
			p.err = llm.EffortError(r.Model, r.Effort, effortNames())
			return
		}
		tokens = min(budget, p.maxTokens-p.maxTokens/4)
	}
	if tokens >= p.maxTokens {
		tokens = p.maxTokens - p.maxTokens/4
	}
	if tokens < minBudget || forced || roundWithoutThinking(r) {
		return
	}
	var e wire.Encoder
	e.Open('{')
	e.Field("type", "enabled")
	e.Key("budget_tokens")
	e.Int(tokens)
	e.Close('}')
	p.thinking, p.thinks = e.Buf, true
}

// roundWithoutThinking reports whether the conversation ends in a tool round whose first answer does not begin with
// this model's thinking. The API refuses to enable thinking there.
func roundWithoutThinking(r *llm.Request) bool {
	first := -1
	for i := len(r.Messages); i > 0; {
		results := false
		for ; i > 0 && r.Messages[i-1].Role != llm.RoleAssistant; i-- {
			results = results || answersCalls(&r.Messages[i-1])
		}
		if !results {
			break
		}
		for ; i > 0 && r.Messages[i-1].Role == llm.RoleAssistant; i-- {
			first = i - 1
		}
	}
	return first >= 0 && !beginsWithThinking(r.Messages[first].Parts, r.Model)
}

func beginsWithThinking(parts []llm.Part, model string) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Thinking:
			if _, ok := usable(p.State, model); ok {
				return true
			}
		case llm.Text:
			if p.Text != "" {
				return false
			}
		case llm.ToolCall:
			return false
		}
	}
	return false
}

func answersCalls(m *llm.Message) bool {
	for _, p := range m.Parts {
		if _, ok := p.(llm.ToolResult); ok {
			return true
		}
	}
	return false
}
