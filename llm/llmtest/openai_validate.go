package llmtest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
)

// openaiParameters are the request members.
var openaiParameters = []string{
	"access_programs", "background", "context_management", "conversation", "image", "include", "input", "instructions",
	"max_output_tokens", "max_tool_calls", "metadata", "model", "moderation", "parallel_tool_calls",
	"previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
	"reasoning", "safety_identifier", "service_tier", "store", "stream", "stream_options", "temperature", "text",
	"tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
}

// openaiName matches the names of tools and formats.
var openaiName = &pattern{text: `^[a-zA-Z0-9_-]{1,64}$`}

func (openaiProtocol) validate(_ *http.Request, body []byte) error {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return fmt.Errorf("the JSON body of the request could not be parsed: %w", err)
	}
	if v.Kind() != '{' {
		return errors.New("the body of the request is not a JSON object")
	}
	for m := v.Members(); m.Next(); {
		if !slices.Contains(openaiParameters, string(m.Key)) {
			return fmt.Errorf("unknown parameter: '%s'", m.Key)
		}
	}
	for _, check := range []func(wire.Value) error{openaiScalars, openaiModel, openaiTools, openaiChoice, openaiFormat} {
		if err := check(v); err != nil {
			return err
		}
	}
	c := openaiInput{stored: v.Get("store").Kind() != 'f', calls: map[string]*openaiCall{}, ids: map[string]bool{}}
	c.rules = openaiRulesOf(v.Get("model").Str())
	c.elsewhere = v.Get("previous_response_id").Exists() || v.Get("conversation").Exists() || v.Get("prompt").Exists()
	return c.check(v.Get("input"))
}

// openaiScalars checks types and ranges for the simple parameters.
func openaiScalars(v wire.Value) error {
	if v.Get("model").Str() == "" && !v.Get("prompt").Exists() {
		return errors.New("missing required parameter: 'model'")
	}
	kinds := map[string]string{
		"model": `"`, "instructions": `"`, "prompt_cache_key": `"`, "stream": "tf", "store": "tf", "background": "tf",
		"parallel_tool_calls": "tf", "temperature": "0", "top_p": "0", "max_output_tokens": "0", "tools": "[",
		"include": "[", "reasoning": "{", "text": "{", "metadata": "{", "stream_options": "{",
	}
	err := openaiTypes(v, kinds, []openaiRange{{"temperature", 0, 2}, {"top_p", 0, 1}, {"max_output_tokens", 16, 1e9}})
	if err != nil {
		return err
	}
	if v.Get("stream_options").Exists() && !v.Get("stream").Bool() {
		return errors.New("the 'stream_options' parameter is only allowed when 'stream' is enabled")
	}
	if e := v.Get("reasoning", "effort"); e.Exists() {
		return openaiOneOf("reasoning.effort", e, "none", "minimal", "low", "medium", "high", "xhigh", "max")
	}
	return nil
}

type openaiRange struct {
	name     string
	min, max float64
}

// openaiTypes checks the first byte of each member's value and the number ranges.
func openaiTypes(v wire.Value, kinds map[string]string, ranges []openaiRange) error {
	for m := v.Members(); m.Next(); {
		if want, ok := kinds[string(m.Key)]; ok && m.Value.Exists() && !slices.Contains([]byte(want), m.Value.Kind()) {
			return fmt.Errorf("invalid type for '%s'", m.Key)
		}
	}
	for _, r := range ranges {
		if n := v.Get(r.name); n.Exists() && (n.Float() < r.min || n.Float() > r.max) {
			return fmt.Errorf("invalid '%s': expected a value from %g to %g, but got %s instead", r.name, r.min, r.max, n)
		}
	}
	return nil
}

func openaiOneOf(name string, v wire.Value, allowed ...string) error {
	if v.Kind() != '"' || !slices.Contains(allowed, v.Str()) {
		return fmt.Errorf("invalid value for '%s': %s; supported values are: %q", name, v, allowed)
	}
	return nil
}

func openaiTools(v wire.Value) error {
	names := map[string]bool{}
	n := 0
	for it := v.Get("tools").Elements(); it.Next(); n++ {
		at := fmt.Sprintf("tools[%d]", n)
		kind := it.Value.Get("type").Str()
		name := it.Value.Get("name").Str()
		switch kind {
		case "":
			return fmt.Errorf("missing required parameter: '%s.type'", at)
		case "function", "custom":
		default:
			continue
		}
		if !openaiName.match(name) {
			return fmt.Errorf("invalid '%s.name': %q does not match %s", at, name, openaiName)
		}
		if names[name] {
			return fmt.Errorf("invalid '%s.name': duplicate tool %q", at, name)
		}
		names[name] = true
		if kind == "custom" {
			continue
		}
		if err := openaiParametersSchema(name, it.Value.Get("parameters"), it.Value.Get("strict").Bool()); err != nil {
			return err
		}
	}
	return nil
}

func openaiParametersSchema(name string, schema wire.Value, strict bool) error {
	if schema.Kind() != '{' || !schema.Get("type").Is("object") {
		return fmt.Errorf("invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'", name)
	}
	if err := openaiSchema(schema, "", strict); err != nil {
		return fmt.Errorf("invalid schema for function '%s': %w", name, err)
	}
	return nil
}

// openaiSchema checks that a JSON Schema is well-formed and, if strict, closed.
func openaiSchema(v wire.Value, at string, strict bool) error {
	if v.Kind() != '{' {
		if v.Kind() == 't' || v.Kind() == 'f' {
			return nil
		}
		return fmt.Errorf("in context=(%s), %s is not a schema", at, v)
	}
	kinds := []string{"object", "array", "string", "number", "integer", "boolean", "null"}
	for it := openaiList(v.Get("type")); it.Next(); {
		if !slices.Contains(kinds, it.Value.Str()) {
			return fmt.Errorf("in context=(%s), %s is not valid under any of the given schemas", at, it.Value)
		}
	}
	for _, key := range []string{"properties", "$defs", "definitions"} {
		if p := v.Get(key); p.Exists() && p.Kind() != '{' {
			return fmt.Errorf("in context=(%s), '%s' is not an object", at, key)
		}
		for m := v.Get(key).Members(); m.Next(); {
			if err := openaiSchema(m.Value, at+"/"+key+"/"+string(m.Key), strict); err != nil {
				return err
			}
		}
	}
	if v.Get("type").Is("array") && !v.Get("items").Exists() {
		return fmt.Errorf("in context=(%s), array schema missing items", at)
	}
	if items := v.Get("items"); items.Exists() {
		if err := openaiSchema(items, at+"/items", strict); err != nil {
			return err
		}
	}
	required := []string{}
	for it := v.Get("required").Elements(); it.Next(); {
		required = append(required, it.Value.Str())
	}
	if !strict || !v.Get("type").Is("object") {
		return nil
	}
	if v.Get("additionalProperties").Kind() != 'f' {
		return fmt.Errorf("in context=(%s), 'additionalProperties' is required to be supplied and to be false", at)
	}
	for m := v.Get("properties").Members(); m.Next(); {
		if !slices.Contains(required, string(m.Key)) {
			return fmt.Errorf("in context=(%s), 'required' is required to include every key in properties; missing '%s'", at, m.Key)
		}
	}
	return nil
}

// openaiList iterates over a list, or over a single value.
func openaiList(v wire.Value) wire.Elements {
	if v == nil || v.Kind() == '[' {
		return v.Elements()
	}
	return wire.Value("[" + string(v) + "]").Elements()
}

func openaiChoice(v wire.Value) error {
	choice := v.Get("tool_choice")
	if choice.Kind() == '"' {
		if choice.Is("required") && len(v.Get("tools")) <= len("[]") {
			return errors.New("tool choice 'required' must be specified with 'tools' parameter")
		}
		return openaiOneOf("tool_choice", choice, "auto", "none", "required")
	}
	name := choice.Get("name").Str()
	if !choice.Get("type").Is("function") && !choice.Get("type").Is("custom") {
		return nil
	}
	for it := v.Get("tools").Elements(); it.Next(); {
		if it.Value.Get("name").Is(name) && string(it.Value.Get("type")) == string(choice.Get("type")) {
			return nil
		}
	}
	return fmt.Errorf("tool choice '%s' not found in 'tools' parameter", name)
}

func openaiFormat(v wire.Value) error {
	f := v.Get("text", "format")
	if !f.Exists() {
		return nil
	}
	if err := openaiOneOf("text.format.type", f.Get("type"), "text", "json_object", "json_schema"); err != nil {
		return err
	}
	if !f.Get("type").Is("json_schema") {
		return nil
	}
	if name := f.Get("name").Str(); !openaiName.match(name) {
		return fmt.Errorf("invalid 'text.format.name': %q does not match %s", name, openaiName)
	}
	if err := openaiSchema(f.Get("schema"), "", f.Get("strict").Bool()); err != nil {
		return fmt.Errorf("invalid schema for response_format '%s': %w", f.Get("name").Str(), err)
	}
	return nil
}
