package chatgpt

import (
	"bytes"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/openai"
)

// refused lists the members that OpenAI refuses in requests that use a plan.
var refused = []string{
	"background", "conversation", "max_output_tokens", "max_tool_calls", "metadata", "moderation", "multi_agent",
	"previous_response_id", "prompt", "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "temperature",
	"top_logprobs", "top_p", "truncation", "user",
}

// rewrite changes a request to what plans allow.
func rewrite(r *llm.Request, c *llm.Call) error {
	if err := check(r); err != nil {
		return err
	}
	body, err := wire.ParseJSON(c.Body.Bytes())
	if err != nil {
		return err
	}
	own, hosted := split(body.Get("tools"))
	e := wire.Encoder{Buf: make([]byte, 0, len(body)+256)}
	e.Open('{')
	for m := body.Members(); m.Next(); {
		switch name := string(m.Key); {
		case slices.Contains(refused, name), name == "tools", name == "input", name == "store", name == "stream":
		default:
			e.Member(m.Key, m.Value)
		}
	}
	e.Key("store")
	e.Bool(false)
	e.Key("stream")
	e.Bool(true)
	if len(hosted) > 0 {
		e.Key("tools")
		list(&e, hosted)
	}
	e.Key("input")
	input(&e, body.Get("input"), own)
	e.Close('}')
	c.Body, c.Stream = llm.Body{e.Buf}, true
	return nil
}

// check reports settings that the caller asked for and that plans do not allow.
func check(r *llm.Request) error {
	no := func(what string) error {
		return llm.Errorf(
			llm.ErrConfiguration, "",
			"%s cannot be set with a ChatGPT plan; omit it, or use provider openai with an API key", what,
		)
	}
	switch {
	case r.Temperature != nil:
		return no("the temperature")
	case r.TopP != nil:
		return no("top_p")
	case r.CacheTTL != "":
		return no("the lifetime of the prompt cache")
	}
	for _, name := range refused {
		if v, set := r.Options[openai.Name].Body[name]; set && wire.Value(bytes.TrimSpace(v)).Exists() {
			return no("the option " + name)
		}
	}
	return nil
}

// split returns the caller's tools and the tools that OpenAI hosts.
func split(tools wire.Value) (own, hosted []wire.Value) {
	for it := tools.Elements(); it.Next(); {
		if kind := it.Value.Get("type"); kind.Is("function") || kind.Is("custom") {
			own = append(own, it.Value)
		} else {
			hosted = append(hosted, it.Value)
		}
	}
	return own, hosted
}

// input writes the input items, after an item with the caller's tools: plans do not allow them elsewhere, except in
// namespaces.
func input(e *wire.Encoder, items wire.Value, tools []wire.Value) {
	e.Open('[')
	if len(tools) > 0 {
		e.Open('{')
		e.Field("type", "additional_tools")
		e.Field("role", "developer")
		e.Key("tools")
		list(e, tools)
		e.Close('}')
	}
	switch items.Kind() {
	case '"':
		e.Open('{')
		e.Field("role", "user")
		e.Member([]byte("content"), items)
		e.Close('}')
	case '[':
		for it := items.Elements(); it.Next(); {
			item(e, it.Value)
		}
	}
	e.Close(']')
}

// item writes an input item. System messages become developer messages.
func item(e *wire.Encoder, v wire.Value) {
	if !v.Get("role").Is("system") {
		e.Raw(v)
		return
	}
	e.Open('{')
	for m := v.Members(); m.Next(); {
		if string(m.Key) == "role" {
			e.Field("role", "developer")
		} else {
			e.Member(m.Key, m.Value)
		}
	}
	e.Close('}')
}

// list writes tools. The member strict of functions is required.
func list(e *wire.Encoder, tools []wire.Value) {
	e.Open('[')
	for _, t := range tools {
		if !t.Get("type").Is("function") || t.Get("strict") != nil {
			e.Raw(t)
			continue
		}
		e.Open('{')
		for m := t.Members(); m.Next(); {
			e.Member(m.Key, m.Value)
		}
		e.Key("strict")
		e.Bool(false)
		e.Close('}')
	}
	e.Close(']')
}
