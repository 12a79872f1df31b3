package llmtest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
)

// chatParameters are the request members, followed by members that many compatible servers add.
var chatParameters = []string{
	"audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
	"max_tokens", "messages", "metadata", "modalities", "model", "moderation", "n", "parallel_tool_calls", "prediction",
	"presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning_effort",
	"response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream", "stream_options",
	"temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
	"cache_control", "chat_template_kwargs", "enable_thinking", "min_p", "reasoning", "repetition_penalty", "thinking",
	"thinking_budget", "top_k",
}

func (chatProtocol) validate(_ *http.Request, body []byte) error {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return fmt.Errorf("we could not parse the JSON body of your request: %w", err)
	}
	if v.Kind() != '{' {
		return errors.New("the body of the request is not a JSON object")
	}
	for m := v.Members(); m.Next(); {
		if !slices.Contains(chatParameters, string(m.Key)) {
			return fmt.Errorf("unrecognized request argument supplied: %s", m.Key)
		}
	}
	for _, check := range []func(wire.Value) error{chatScalars, chatModel, chatTools, chatChoice, chatFormat, chatMessages} {
		if err := check(v); err != nil {
			return err
		}
	}
	return nil
}

// chatScalars checks types and ranges for the simple parameters.
func chatScalars(v wire.Value) error {
	if v.Get("model").Str() == "" {
		return errors.New("you must provide a model parameter")
	}
	kinds := map[string]string{
		"model": `"`, "messages": "[", "stream": "tf", "stream_options": "{", "tools": "[", "temperature": "0", "top_p": "0",
		"max_tokens": "0", "max_completion_tokens": "0", "n": "0", "seed": "0", "stop": `"[`, "parallel_tool_calls": "tf",
		"prompt_cache_key": `"`, "reasoning_effort": `"`, "response_format": "{", "tool_choice": `"{`, "metadata": "{",
	}
	err := openaiTypes(v, kinds, []openaiRange{{"temperature", 0, 2}, {"top_p", 0, 1}, {"max_tokens", 1, 1e9}, {"max_completion_tokens", 1, 1e9}, {"n", 1, 128}})
	if err != nil {
		return err
	}
	if v.Get("max_tokens").Exists() && v.Get("max_completion_tokens").Exists() {
		return errors.New("setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported")
	}
	if v.Get("stream_options").Exists() && !v.Get("stream").Bool() {
		return errors.New("the 'stream_options' parameter is only allowed when 'stream' is enabled")
	}
	if n := chatCount(v.Get("stop")); n > 4 {
		return fmt.Errorf("invalid 'stop': array too long, expected at most 4 but got %d", n)
	}
	if e := v.Get("reasoning_effort"); e.Exists() {
		return openaiOneOf("reasoning_effort", e, "none", "minimal", "low", "medium", "high", "xhigh", "max")
	}
	return nil
}

func chatCount(v wire.Value) int {
	n := 0
	for it := v.Elements(); it.Next(); {
		n++
	}
	return n
}

func chatTools(v wire.Value) error {
	if t := v.Get("tools"); t.Exists() && chatCount(t) == 0 {
		return errors.New("[] is too short - 'tools'")
	}
	names := map[string]bool{}
	n := 0
	for it := v.Get("tools").Elements(); it.Next(); n++ {
		if err := chatTool(it.Value, fmt.Sprintf("tools[%d]", n), names); err != nil {
			return err
		}
	}
	return nil
}

func chatTool(t wire.Value, at string, names map[string]bool) error {
	kind := t.Get("type").Str()
	if kind != "function" && kind != "custom" {
		return fmt.Errorf("invalid value for '%s.type': %q; supported values are 'function' and 'custom'", at, kind)
	}
	def := t.Get(kind)
	if def.Kind() != '{' {
		return fmt.Errorf("missing required parameter: '%s.%s'", at, kind)
	}
	name := def.Get("name").Str()
	if !openaiName.match(name) {
		return fmt.Errorf("invalid '%s.%s.name': %q does not match %s", at, kind, name, openaiName)
	}
	if names[name] {
		return fmt.Errorf("invalid '%s.%s.name': duplicate tool %q", at, kind, name)
	}
	names[name] = true
	if kind == "custom" {
		return nil
	}
	for m := def.Members(); m.Next(); {
		if !slices.Contains([]string{"name", "description", "parameters", "strict"}, string(m.Key)) {
			return fmt.Errorf("unknown parameter: '%s.function.%s'", at, m.Key)
		}
	}
	schema := def.Get("parameters")
	if !schema.Exists() {
		return nil
	}
	return openaiParametersSchema(name, schema, def.Get("strict").Bool())
}

// chatChoice checks the members that require tools.
func chatChoice(v wire.Value) error {
	tools := chatCount(v.Get("tools")) > 0
	if v.Get("parallel_tool_calls").Exists() && !tools {
		return errors.New("invalid value for 'parallel_tool_calls': it is only allowed when 'tools' are specified")
	}
	choice := v.Get("tool_choice")
	if !choice.Exists() {
		return nil
	}
	if choice.Kind() == '"' {
		if !tools && !choice.Is("none") {
			return errors.New("invalid value for 'tool_choice': it is only allowed when 'tools' are specified")
		}
		return openaiOneOf("tool_choice", choice, "none", "auto", "required")
	}
	kind := choice.Get("type").Str()
	if kind == "allowed_tools" {
		return nil
	}
	name := choice.Get(kind, "name").Str()
	for it := v.Get("tools").Elements(); it.Next(); {
		if name != "" && it.Value.Get(kind, "name").Str() == name {
			return nil
		}
	}
	return fmt.Errorf("invalid value for 'tool_choice': unknown tool %q", name)
}

func chatFormat(v wire.Value) error {
	f := v.Get("response_format")
	if !f.Exists() {
		return nil
	}
	if err := openaiOneOf("response_format.type", f.Get("type"), "text", "json_object", "json_schema"); err != nil {
		return err
	}
	if !f.Get("type").Is("json_schema") {
		return nil
	}
	s := f.Get("json_schema")
	if name := s.Get("name").Str(); !openaiName.match(name) {
		return fmt.Errorf("invalid 'response_format.json_schema.name': %q does not match %s", name, openaiName)
	}
	if err := openaiSchema(s.Get("schema"), "", s.Get("strict").Bool()); err != nil {
		return fmt.Errorf("invalid schema for response_format '%s': %w", s.Get("name").Str(), err)
	}
	return nil
}
