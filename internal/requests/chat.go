package requests

import (
	"encoding/json"
	"fmt"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

type chatParser struct{ *parser }

// readChat reads a request of Chat Completions.
func readChat(common *parser, v wire.Value) error {
	p := chatParser{common}
	p.r.Unary = true
	// The model is first, because provider state is tagged with it.
	p.r.Model = v.Get("model").Str()
	for m := v.Members(); m.Next(); {
		p.member(string(m.Key), m.Value)
	}
	if err := p.rest(v); err != nil {
		return err
	}
	return p.lost(v)
}

// member reads a top-level member, as far as llm.Request represents it.
func (p chatParser) member(key string, v wire.Value) {
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
		r.Temperature = number(v)
	case "top_p":
		r.TopP = number(v)
	case "top_k":
		if v.Kind() == '0' {
			r.TopK = new(int(v.Int()))
		}
	case "stop":
		if s := v.Str(); s != "" {
			r.Stop = []string{s}
		}
		r.Stop = append(r.Stop, texts(v)...)
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

func (p chatParser) tool(v wire.Value) llm.ToolDef {
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

// rest adds options for the members that would not be encoded as they were. A null option keeps the encoder
// from adding a member.
func (p chatParser) rest(v wire.Value) error {
	ours, err := p.head()
	if err == nil && ours.Get("cache_control").Exists() { // the content of messages has the same mark or none
		p.r.NoCache = true
		ours, err = p.head()
	}
	if err != nil {
		return err
	}
	for m := v.Members(); m.Next(); {
		key := string(m.Key)
		if key == "messages" || !m.Value.Exists() {
			continue
		}
		if mine := ours.Get(key); !Equal(mine, m.Value) {
			p.options[key] = json.RawMessage(override(m.Value, mine))
		}
	}
	for m := ours.Members(); m.Next(); {
		if !v.Get(string(m.Key)).Exists() && string(m.Key) != "messages" {
			p.options[string(m.Key)] = json.RawMessage("null")
		}
	}
	return nil
}

// head returns the adapter's encoding before the messages.
func (p chatParser) head() (wire.Value, error) {
	bare := *p.r
	bare.Messages = nil
	call, err := p.dialect.Encode(&bare)
	if err != nil {
		return nil, err
	}
	v, err := wire.ParseJSON(call.Body.Bytes())
	if err != nil {
		return nil, fmt.Errorf("invalid schema in the request: %w", err)
	}
	return v, nil
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

// lost lists what encoding the request again would lose.
func (p chatParser) lost(v wire.Value) error {
	r := *p.r
	r.Options = map[string]llm.Options{chatName: {Body: p.options}}
	call, err := p.dialect.Encode(&r)
	if err != nil {
		return err
	}
	p.dropped, err = Lost(v, call.Body.Bytes())
	return err
}
