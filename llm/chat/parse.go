package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

var _ wire.Parser = (*dialect)(nil)

// Parse reads a request body. Members without a field in llm.Request become options.
func (d *dialect) Parse(body []byte) (*llm.Request, []string, error) {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return nil, nil, err
	}
	if v.Kind() != '{' {
		return nil, nil, errors.New("the request is not a JSON object")
	}
	p := parser{r: &llm.Request{Unary: true}}
	// The model is first, because provider state is tagged with it.
	p.r.Model = v.Get("model").Str()
	p.quirks = d.quirks(p.r.Model)
	for m := v.Members(); m.Next(); {
		p.member(string(m.Key), m.Value)
	}
	if err := p.keepRest(d, v); err != nil {
		return nil, nil, err
	}
	dropped, err := p.dropped(d, v)
	return p.r, dropped, err
}

type parser struct {
	r      *llm.Request
	quirks Quirks
}

// member reads a top-level member, as far as llm.Request represents it.
func (p *parser) member(key string, v wire.Value) {
	r := p.r
	switch key {
	case "messages":
		for it := v.Elements(); it.Next(); {
			p.message(it.Value)
		}
	case "stream":
		r.Unary = !v.Bool()
	case "max_tokens", "max_completion_tokens":
		r.MaxTokens = int(max(v.Int(), 0))
	case "temperature":
		r.Temperature = float(v)
	case "top_p":
		r.TopP = float(v)
	case "top_k":
		if v.Kind() == '0' {
			r.TopK = new(int(v.Int()))
		}
	case "stop":
		if s := v.Str(); s != "" {
			r.Stop = []string{s}
		}
		for it := v.Elements(); it.Next(); {
			r.Stop = append(r.Stop, it.Value.Str())
		}
	case "reasoning_effort":
		r.Effort = v.Str()
	case "reasoning":
		if e := v.Get("effort").Str(); e != "" {
			r.Effort = e
		}
		if n := v.Get("max_tokens"); n.Kind() == '0' {
			r.ThinkingBudget = new(int(n.Int()))
		}
	case "parallel_tool_calls":
		r.ParallelTools = boolean(v)
	case "prompt_cache_key":
		r.CacheKey = v.Str()
	case "response_format":
		r.Output = outputFormat(v)
	case "tool_choice":
		r.ToolChoice = toolChoice(v)
	case "tools":
		for it := v.Elements(); it.Next(); {
			r.Tools = append(r.Tools, p.tool(it.Value))
		}
	}
}

func float(v wire.Value) *float64 {
	if v.Kind() != '0' {
		return nil
	}
	return new(v.Float())
}

func boolean(v wire.Value) *bool {
	if k := v.Kind(); k != 't' && k != 'f' {
		return nil
	}
	return new(v.Bool())
}

func outputFormat(v wire.Value) *llm.OutputFormat {
	switch schema := v.Get("json_schema"); {
	case v.Get("type").Is("json_object"):
		return &llm.OutputFormat{}
	case v.Get("type").Is("json_schema"):
		return &llm.OutputFormat{
			Name:        schema.Get("name").Str(),
			Description: schema.Get("description").Str(),
			Schema:      json.RawMessage(schema.Get("schema").Clone()),
			Strict:      boolean(schema.Get("strict")),
		}
	}
	return nil
}

func toolChoice(v wire.Value) llm.ToolChoice {
	switch v.Kind() {
	case '"':
		switch s := v.Str(); s {
		case "auto", "none", "required":
			return llm.ToolChoice{Mode: llm.ToolMode(s)}
		case "any":
			return llm.ToolChoice{Mode: llm.ToolRequired}
		}
	case '{':
		for _, kind := range []string{"function", "custom"} {
			if name := v.Get(kind, "name").Str(); name != "" {
				return llm.ToolChoice{Mode: llm.ToolNamed, Name: name}
			}
		}
	}
	return llm.ToolChoice{}
}

func (p *parser) tool(v wire.Value) llm.ToolDef {
	if c := v.Get("custom"); c.Kind() == '{' {
		grammar := c.Get("format", "grammar")
		return llm.ToolDef{
			Name:        c.Get("name").Str(),
			Description: c.Get("description").Str(),
			Freeform:    &llm.Freeform{Syntax: grammar.Get("syntax").Str(), Definition: grammar.Get("definition").Str()},
		}
	}
	f := v.Get("function")
	if f.Kind() != '{' {
		return llm.ToolDef{Hosted: p.state(v)}
	}
	t := llm.ToolDef{Name: f.Get("name").Str(), Description: f.Get("description").Str(), Strict: boolean(f.Get("strict"))}
	if params := f.Get("parameters"); params.Exists() {
		t.Parameters = json.RawMessage(params.Clone())
	}
	return t
}

func (p *parser) state(v wire.Value) llm.State {
	return llm.State{Dialect: Name, Model: p.r.Model, Data: v.Clone()}
}

// keepRest adds options for the members that would not be encoded as they were. A null option keeps the encoder
// from adding a member.
func (p *parser) keepRest(d *dialect, v wire.Value) error {
	bare := *p.r
	bare.Messages = nil
	m, known := d.known(bare.Model)
	caches, err := d.caching(&bare, p.quirks, m)
	if err != nil {
		return err
	}
	if caches != nil { // the content of messages has the same mark or none
		p.r.NoCache = true
	}
	ours, err := wire.ParseJSON(append(d.head(&bare, p.quirks, m, known, nil), "]}"...))
	if err != nil {
		return fmt.Errorf("invalid schema in the request: %w", err)
	}
	options := make(map[string]json.RawMessage)
	for m := v.Members(); m.Next(); {
		key := string(m.Key)
		if key == "messages" || !m.Value.Exists() {
			continue
		}
		if mine := ours.Get(key); !sameJSON(mine, m.Value) {
			options[key] = json.RawMessage(override(m.Value, mine))
		}
	}
	for m := ours.Members(); m.Next(); {
		if !v.Get(string(m.Key)).Exists() && string(m.Key) != "messages" {
			options[string(m.Key)] = json.RawMessage("null")
		}
	}
	if len(options) > 0 {
		p.r.Options = map[string]llm.Options{Name: {Body: options}}
	}
	return nil
}

// override returns an option that is encoded as theirs, although objects are merged with ours.
func override(theirs, ours wire.Value) []byte {
	if theirs.Kind() != '{' || ours.Kind() != '{' {
		return theirs.Clone()
	}
	var e wire.Encoder
	e.Open('{')
	for m := theirs.Members(); m.Next(); {
		e.Member(m.Key, m.Value)
	}
	for m := ours.Members(); m.Next(); {
		if theirs.Get(string(m.Key)) == nil {
			e.Member(m.Key, wire.Value("null"))
		}
	}
	e.Close('}')
	return e.Buf
}

// dropped lists what encoding the request again would lose.
func (p *parser) dropped(d *dialect, v wire.Value) ([]string, error) {
	call, err := d.Encode(p.r)
	if err != nil {
		return nil, err
	}
	return lost(v, call.Body.Bytes())
}

func sameJSON(a, b []byte) bool {
	x, errX := tree(a)
	y, errY := tree(b)
	return errX == nil && errY == nil && equal(x, y)
}

func tree(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}
