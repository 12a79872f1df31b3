package anthropic

import (
	"slices"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// plan is what a request asks of the model beside its messages, after the API's rules on what goes
// with what were applied.
type plan struct {
	maxTokens int64
	thinking  []byte // the member's value; nil if it is not sent
	thinks    bool
	output    []byte // of output_config
	// outputTool says that JSON is asked for by way of a tool that the model must call.
	outputTool bool
	err        error // what cannot be planned for
}

const minBudget = 1024

// efforts are the words for effort, least first, and the tokens that they stand for on models
// whose thinking takes a budget.
var efforts = []struct {
	name   string
	budget int64
}{
	{"minimal", minBudget}, {"low", 4096}, {"medium", 10240}, {"high", 24576}, {"xhigh", 32768}, {"max", 65536},
}

// effortBudget is the tokens that an effort stands for; 0 for "none".
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
		p.maxTokens = DefaultMaxTokens
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

// Shape tells how thinking is asked for.
func (d *dialect) Shape(r *llm.Request) string {
	opts := r.Options[Name]
	p := d.plan(r, opts)
	if theirs, ok := merged(opts.Body, p)["thinking"]; ok {
		return string(theirs)
	}
	return string(p.thinking)
}

// adaptive plans for a model that decides for itself how much to think.
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

// budget plans for a model whose thinking takes a number of tokens.
func (p *plan) budget(r *llm.Request, forced bool) {
	tokens := int64(0)
	switch {
	case r.ThinkingBudget != nil:
		tokens = int64(*r.ThinkingBudget)
	case r.Effort != "":
		most, ok := effortBudget(r.Effort)
		if !ok {
			p.err = llm.EffortError(r.Model, r.Effort, effortNames())
			return
		}
		tokens = min(most, p.maxTokens-p.maxTokens/4)
	}
	if tokens >= p.maxTokens {
		tokens = p.maxTokens - p.maxTokens/4
	}
	if tokens < minBudget || forced || roundWithoutThinking(r) {
		return
	}
	var e wire.Encoder
	e.Open('{')
	e.Key("type")
	e.Str("enabled")
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
		e.Key("type")
		e.Str("json_schema")
		e.Key("schema")
		e.Raw(schema)
		e.Close('}')
	}
	e.Close('}')
	p.output = e.Buf
}

// nearest is the word that the model takes for an effort: the same, the next lesser one, or its
// least. Words that are unknown here are passed on.
func nearest(effort string, takes []string) string {
	if len(takes) == 0 || slices.Contains(takes, effort) {
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
	for _, t := range takes {
		if i := rank(t); i >= 0 && i < want || best == "" && i >= 0 {
			best = t
		}
	}
	return best
}

// roundWithoutThinking reports whether the conversation ends in a tool round whose first answer
// does not begin with thinking that this model would take back. The API refuses to switch thinking
// on there.
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
