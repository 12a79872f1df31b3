package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

var _ wire.Parser = (*dialect)(nil)

// Parse reads a request body. Encoding the result returns the same request, except that a string becomes one
// text block, consecutive messages of one role are merged and null members are omitted. Members without a
// field become options, and blocks without a part type become opaque.
func (d *dialect) Parse(body []byte) (*llm.Request, []string, error) {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return nil, nil, err
	}
	if v.Kind() != '{' {
		return nil, nil, errors.New("the request is not a JSON object")
	}
	p := parser{r: &llm.Request{Unary: true, NoCache: true}, options: map[string]json.RawMessage{}}
	p.r.Model = v.Get("model").Str()
	p.system(v.Get("system"))
	index := 0
	for it := v.Get("messages").Elements(); it.Next(); index++ {
		p.message(fmt.Sprintf("messages[%d]", index), it.Value)
	}
	for m := v.Members(); m.Next(); {
		p.member(string(m.Key), m.Value)
	}
	if m, _ := d.model(p.r.Model); p.r.Output != nil && !m.Schema && p.options["output_format"] == nil {
		p.options["output_config"] = json.RawMessage(v.Get("output_config").Clone())
	}
	if err := d.reconcile(p, v); err != nil {
		return nil, nil, err
	}
	if len(p.options) > 0 {
		p.r.Options = map[string]llm.Options{Name: {Body: p.options}}
	}
	return p.r, p.dropped, nil
}

type parser struct {
	r       *llm.Request
	options map[string]json.RawMessage
	dropped []string
}

// member reads a top-level member of the request.
func (p *parser) member(name string, v wire.Value) {
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
		for it := v.Elements(); it.Next(); {
			r.Stop = append(r.Stop, it.Value.Str())
		}
	case "thinking":
		p.thinking(v)
	case "output_config":
		r.Effort = v.Get("effort").Str()
		p.output(v.Get("format"))
	case "output_format":
		p.output(v)
		p.options[name] = json.RawMessage(v.Clone())
	case "tools":
		for it := v.Elements(); it.Next(); {
			r.Tools = append(r.Tools, tool(it.Value))
		}
	case "tool_choice":
		p.toolChoice(v)
	default:
		p.options[name] = json.RawMessage(v.Clone())
	}
}

func (p *parser) thinking(v wire.Value) {
	switch kind := v.Get("type"); {
	case kind.Is("enabled"):
		p.r.ThinkingBudget = new(int(v.Get("budget_tokens").Int()))
	case kind.Is("disabled") && p.r.Effort == "":
		p.r.ThinkingBudget = new(int)
	}
}

func (p *parser) output(format wire.Value) {
	if schema := format.Get("schema"); format.Get("type").Is("json_schema") && schema.Kind() == '{' {
		p.r.Output = &llm.OutputFormat{Schema: json.RawMessage(schema.Clone())}
	}
}

func (p *parser) toolChoice(v wire.Value) {
	modes := map[string]llm.ToolMode{"auto": llm.ToolAuto, "any": llm.ToolRequired, "tool": llm.ToolNamed, "none": llm.ToolNone}
	p.r.ToolChoice = llm.ToolChoice{Mode: modes[v.Get("type").Str()], Name: v.Get("name").Str()}
	if one := v.Get("disable_parallel_tool_use"); one.Exists() {
		p.r.ParallelTools = new(!one.Bool())
	}
}

func tool(v wire.Value) llm.ToolDef {
	t := llm.ToolDef{Name: v.Get("name").Str()}
	if kind := v.Get("type"); v.Get("input_schema").Kind() != '{' || kind.Exists() && !kind.Is("custom") || t.Name == outputTool {
		t.Hosted = llm.State{Dialect: Name, Data: v.Clone()}
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
func (d *dialect) reconcile(p parser, v wire.Value) error {
	opts := llm.Options{Body: p.options}
	plan := d.plan(p.r, opts)
	plan.err = nil // what the server accepted is right
	h, err := plan.head(p.r, opts, streams(p.r, opts))
	if err != nil {
		return err
	}
	h.Close('}')
	ours := wire.Value(h.Buf)
	for m := v.Members(); m.Next(); {
		name := string(m.Key)
		if name == "messages" || name == "system" && m.Value.Kind() == '"' || !m.Value.Exists() {
			continue
		}
		if _, done := p.options[name]; !done && !same(ours.Get(name), m.Value) {
			p.options[name] = json.RawMessage(m.Value.Clone())
		}
	}
	for m := ours.Members(); m.Next(); {
		if string(m.Key) != "model" && v.Get(string(m.Key)) == nil {
			p.options[string(m.Key)] = json.RawMessage("null")
		}
	}
	return nil
}

// same reports whether two JSON texts are equal as values.
func same(a, b wire.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func (p *parser) drop(path string) { p.dropped = append(p.dropped, path) }

func (p *parser) state(data []byte) llm.State {
	return llm.State{Dialect: Name, Model: p.r.Model, Data: slices.Clone(data)}
}
