package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// plan holds the request settings that depend on each other by the API's and the model's rules.
type plan struct {
	model      llm.Model
	maxTokens  int64
	thinking   []byte // value of thinking; nil to omit it
	thinks     bool
	output     []byte // value of output_config
	outputTool bool   // the model must call a tool to return JSON
	tools      []llm.ToolDef
	late       bool // system messages stay among the others
	inline     bool // changes of tools too
	breakpoint []byte
	betas      []string
	prefix     prefix
	err        error
}

// Features that need a name in the header anthropic-beta.
const (
	betaBinding    = "thinking-binding-controls-2026-08-01"
	betaUpdates    = "thinking-display-updates-2026-08-18"
	betaCount      = "thinking-token-count-2026-05-13"
	betaInline     = "inline-tools-2026-09-15"
	betaCompaction = "compact-2026-09-04"
)

const minBudget = 1024

// efforts lists the efforts, least first, with their token budgets for models whose thinking has a budget.
var efforts = []struct {
	name   string
	budget int64
}{
	{"minimal", minBudget}, {"low", 4096}, {"medium", 10240}, {"high", 24576}, {"xhigh", 32768}, {"max", 65536},
}

// effortBudget returns the token budget for an effort.
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
	m.Rules.InlineTools = m.Rules.InlineTools && !d.cloud
	p := plan{model: m, maxTokens: int64(r.MaxTokens)}
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
	effort := ""
	if m.Thinking == "adaptive" {
		effort = p.adaptive(r)
	} else if m.Reasoning || m.Thinking != "" || !known {
		p.budget(r, p.forces(r))
	}
	p.outputConfig(effort, format)
	p.conversation(r)
	p.caching(r)
	for _, check := range []func(*llm.Request) error{p.checkChoice, p.checkSampling, p.checkCache, p.checkTier, p.checkEnd, p.checkCompact} {
		if p.err == nil {
			p.err = check(r)
		}
	}
	return p
}

// forces reports whether the request forces a tool. Models that refuse it are offered the output tool like any other.
func (p *plan) forces(r *llm.Request) bool {
	return p.outputTool && p.model.Rules.ForcedTools != llm.RefusedAlways ||
		r.ToolChoice.Mode == llm.ToolRequired || r.ToolChoice.Mode == llm.ToolNamed
}

// conversation plans the changes that a conversation may contain without a different start.
func (p *plan) conversation(r *llm.Request) {
	rules := p.model.Rules
	p.tools, p.late = r.Tools, rules.LateSystem
	if rules.InlineTools && p.late {
		base, ok := llm.BaseTools(r)
		if p.inline = ok && p.placed(r); p.inline {
			p.tools = base
		}
	}
	if p.inline && changesTools(r.Messages) {
		p.beta(betaInline)
	}
	if r.Compact != "" || slices.ContainsFunc(r.Messages, func(m llm.Message) bool { _, ok := compaction(&m, r.Model); return ok }) {
		p.beta(betaCompaction)
	}
}

// placed reports whether all changes of tools can stand among the messages: after a user message, before an answer.
func (p *plan) placed(r *llm.Request) bool {
	changed, user := false, false
	for i := range r.Messages {
		m := &r.Messages[i]
		switch role := p.roleOf(r, i); {
		case role == "user":
			user = true
		case role == "assistant":
			if changed && !user {
				return false
			}
			changed, user = false, false
		case instructs(m.Role) && changesTools(r.Messages[i:i+1]):
			if !begunBefore(r.Messages[:i]) {
				return false
			}
			changed = true
		}
	}
	return !changed || user
}

func changesTools(messages []llm.Message) bool {
	return slices.ContainsFunc(messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { _, ok := p.(llm.ToolChange); return ok })
	})
}

// caching plans the prompt cache breakpoints.
func (p *plan) caching(r *llm.Request) {
	p.breakpoint = breakpoint
	if r.CacheTTL != "" && r.CacheTTL != "5m" {
		p.breakpoint = fmt.Appendf(nil, `,"cache_control":{"type":"ephemeral","ttl":%q}`, r.CacheTTL)
	}
}

func (p *plan) beta(name string) {
	if !slices.Contains(p.betas, name) {
		p.betas = append(p.betas, name)
	}
}

// either returns "a, b or c".
func either(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
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
