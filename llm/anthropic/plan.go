package anthropic

import (
	"slices"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// plan holds the settings of a request that depend on each other by the rules of the API.
type plan struct {
	maxTokens  int64
	thinking   []byte // value of thinking; nil to omit it
	thinks     bool
	output     []byte // value of output_config
	outputTool bool   // the model must call a tool to return JSON
	err        error
}

const minBudget = 1024

// efforts lists the efforts, least first, with their token budgets for models whose thinking has a budget.
var efforts = []struct {
	name   string
	budget int64
}{
	{"minimal", minBudget}, {"low", 4096}, {"medium", 10240}, {"high", 24576}, {"xhigh", 32768}, {"max", 65536},
}

// effortBudget returns the token budget of an effort.
func effortBudget(effort string) (tokens int64, ok bool) {
	for _, e := range efforts {
		if e.name == effort {
			return e.budget, true
		}
	}
	return 0, effort == "none"
}

func effortNames() []string {
	names := []string{"none"}
	for _, e := range efforts {
		names = append(names, e.name)
	}
	return names
}

func (d *dialect) plan(r *llm.Request, opts llm.Options) plan {
	m, known := d.model(r.Model)
	p := plan{maxTokens: int64(r.MaxTokens)}
	if p.maxTokens == 0 {
		p.maxTokens = m.MaxOutput
	}
	if p.maxTokens == 0 {
		p.maxTokens = defaultMaxTokens
	}
	var format []byte
	if r.Output != nil && wire.Value(opts.Body["output_config"]).Get("format") == nil && opts.Body["output_format"] == nil {
		if m.Schema && len(r.Output.Schema) > 0 {
			format = r.Output.Schema
		} else {
			p.outputTool = true
		}
	}
	forced := p.outputTool || r.ToolChoice.Mode == llm.ToolRequired || r.ToolChoice.Mode == llm.ToolNamed
	effort := ""
	if m.Thinking == "adaptive" {
		effort = p.adaptive(r, m, forced)
	} else if m.Reasoning || m.Thinking != "" || !known {
		p.budget(r, forced)
	}
	p.outputConfig(effort, format)
	return p
}

// Shape returns the value of thinking, which may depend on the conversation.
func (d *dialect) Shape(r *llm.Request) string {
	opts := r.Options[Name]
	p := d.plan(r, opts)
	if theirs, ok := merged(opts.Body, p)["thinking"]; ok {
		return string(theirs)
	}
	return string(p.thinking)
}

// adaptive plans adaptive thinking.
func (p *plan) adaptive(r *llm.Request, m llm.Model, forced bool) (effort string) {
	off := r.Effort == "none" || r.Effort == "" && r.ThinkingBudget != nil && *r.ThinkingBudget <= 0
	switch {
	case off:
		p.thinking = []byte(`{"type":"disabled"}`)
		return ""
	case r.Effort == "" && r.ThinkingBudget == nil:
		return ""
	}
	if !forced {
		p.thinking, p.thinks = []byte(`{"type":"adaptive"}`), true
	}
	return nearest(r.Effort, m.Efforts)
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

func (p *plan) outputConfig(effort string, schema []byte) {
	if effort == "" && schema == nil {
		return
	}
	var e wire.Encoder
	e.Open('{')
	e.StrField("effort", effort)
	if schema != nil {
		e.Key("format")
		e.Open('{')
		e.Field("type", "json_schema")
		e.Key("schema")
		e.Raw(schema)
		e.Close('}')
	}
	e.Close('}')
	p.output = e.Buf
}

// nearest returns the supported effort for an effort: the same, the next lower one, or the lowest. It returns
// an unknown effort unchanged.
func nearest(effort string, supported []string) string {
	if len(supported) == 0 || slices.Contains(supported, effort) {
		return effort
	}
	rank := func(name string) int {
		for i, e := range efforts {
			if e.name == name {
				return i
			}
		}
		return -1
	}
	want := rank(effort)
	if want < 0 {
		return effort
	}
	best := ""
	for _, s := range supported {
		if i := rank(s); i >= 0 && i < want || best == "" && i >= 0 {
			best = s
		}
	}
	return best
}

// roundWithoutThinking reports whether the conversation ends in a tool round whose first answer does not begin
// with thinking of this model. The API refuses to enable thinking there.
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
