package requests

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// outputTool is the name of the adapter's own tool for JSON answers.
const outputTool = "reins_json_output"

type anthropicParser struct{ *parser }

// readAnthropic reads a Messages API request. Encoding the result returns the same request, except that a string
// becomes one text block, consecutive messages with the same role are merged and null members are omitted.
func readAnthropic(common *parser, v wire.Value) error {
	p := anthropicParser{common}
	p.r.Unary, p.r.NoCache = true, true
	p.r.Model = v.Get("model").Str()
	p.system(v.Get("system"))
	index := 0
	for it := v.Get("messages").Elements(); it.Next(); index++ {
		p.message(fmt.Sprintf("messages[%d]", index), it.Value)
	}
	for m := v.Members(); m.Next(); {
		p.member(string(m.Key), m.Value)
	}
	p.reconcile(v)
	return nil
}

// member reads a top-level request member.
func (p anthropicParser) member(name string, v wire.Value) {
	r := p.r
	if !v.Exists() {
		return
	}
	switch name {
	case "model", "system", "messages":
	case "max_tokens":
		r.MaxTokens = int(v.Int())
	case "stream":
		r.Unary = !v.Bool()
	case "temperature":
		r.Temperature = new(v.Float())
	case "top_p":
		r.TopP = new(v.Float())
	case "top_k":
		r.TopK = new(int(v.Int()))
	case "stop_sequences":
		r.Stop = texts(v)
	case "thinking":
		p.thinking(v)
	case "output_config":
		r.Effort = v.Get("effort").Str()
		p.output(v.Get("format"))
	case "output_format":
		p.output(v)
		p.option(name, v)
	case "tools":
		for it := v.Elements(); it.Next(); {
			r.Tools = append(r.Tools, p.tool(it.Value))
		}
	case "tool_choice":
		p.toolChoice(v)
	default:
		p.option(name, v)
	}
}

func (p anthropicParser) thinking(v wire.Value) {
	switch kind := v.Get("type"); {
	case kind.Is("enabled"):
		p.r.ThinkingBudget = new(int(v.Get("budget_tokens").Int()))
	case kind.Is("disabled") && p.r.Effort == "":
		p.r.ThinkingBudget = new(int)
	}
}

func (p anthropicParser) output(format wire.Value) {
	if schema := format.Get("schema"); format.Get("type").Is("json_schema") && schema.Kind() == '{' {
		p.r.Output = &llm.OutputFormat{Schema: json.RawMessage(schema.Clone())}
	}
}

func (p anthropicParser) toolChoice(v wire.Value) {
	modes := map[string]llm.ToolMode{"auto": llm.ToolAuto, "any": llm.ToolRequired, "tool": llm.ToolNamed, "none": llm.ToolNone}
	p.r.ToolChoice = llm.ToolChoice{Mode: modes[v.Get("type").Str()], Name: v.Get("name").Str()}
	if one := v.Get("disable_parallel_tool_use"); one.Exists() {
		p.r.ParallelTools = new(!one.Bool())
	}
}

func (p anthropicParser) tool(v wire.Value) llm.ToolDef {
	t := llm.ToolDef{Name: v.Get("name").Str()}
	if kind := v.Get("type"); v.Get("input_schema").Kind() != '{' || kind.Exists() && !kind.Is("custom") || t.Name == outputTool {
		t.Hosted = p.own(v)
		return t
	}
	t.Description = v.Get("description").Str()
	t.Parameters = json.RawMessage(v.Get("input_schema").Clone())
	if s := v.Get("strict"); s.Exists() {
		t.Strict = new(s.Bool())
	}
	return t
}

// reconcile adds options for the members that would not be encoded as they were.
func (p anthropicParser) reconcile(v wire.Value) {
	ours := p.head()
	if p.r.Output != nil && ours.Get("output_config", "format") == nil && p.options["output_format"] == nil {
		// The adapter would ask for a tool instead.
		p.option("output_config", v.Get("output_config"))
		ours = p.head()
	}
	for m := v.Members(); m.Next(); {
		name := string(m.Key)
		if name == "messages" || name == "system" && m.Value.Kind() == '"' || !m.Value.Exists() {
			continue
		}
		if _, done := p.options[name]; !done && !same(ours.Get(name), m.Value) {
			p.option(name, m.Value)
		}
	}
	for m := ours.Members(); m.Next(); {
		if name := string(m.Key); name != "model" && name != "messages" && v.Get(name) == nil {
			p.options[name] = json.RawMessage("null")
		}
	}
}

// head returns the adapter's encoding before the messages, nil if it refuses the settings.
func (p anthropicParser) head() wire.Value {
	bare := *p.r
	bare.Options = map[string]llm.Options{anthropicName: {Body: p.options}}
	bare.Messages = slices.DeleteFunc(slices.Clone(bare.Messages), func(m llm.Message) bool { return m.Role != llm.RoleSystem })
	return p.encoded(&bare)
}
