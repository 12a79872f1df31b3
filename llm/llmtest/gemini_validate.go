package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// validate checks a request. Without an HTTP request the model is unknown, and signatures are not checked.
func (geminiProtocol) validate(r *http.Request, body []byte) error {
	var req geminiObject
	if err := json.Unmarshal(body, &req); err != nil {
		return fmt.Errorf("invalid JSON payload received: %w", err)
	}
	c := geminiCheck{functions: map[string]bool{}}
	if r != nil {
		c.strict, c.rules = geminiStrict(modelOf(r, "")), geminiRulesOf(modelOf(r, ""))
		c.streaming = geminiProtocol{}.streaming(r, body)
	}
	c.object("", req, "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings",
		"cachedContent", "model", "labels", "serviceTier", "store", "modelArmorConfig")
	c.tools(req["tools"])
	c.toolConfig(req["toolConfig"])
	c.generationConfig(req["generationConfig"])
	c.system(req["systemInstruction"])
	c.contents(req["contents"])
	return c.err
}

// geminiCheck records the first error in a request.
type geminiCheck struct {
	strict    bool
	rules     *geminiRules // nil if the model is unknown
	streaming bool
	turn      int // the content that begins the current turn
	functions map[string]bool
	err       error
}

func (c *geminiCheck) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// object checks that a value is an object with known members.
func (c *geminiCheck) object(path string, v any, known ...string) geminiObject {
	o, ok := v.(geminiObject)
	if !ok {
		c.fail("Invalid value at '%s': an object is expected", path)
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(known, key) {
			c.fail("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", key, path)
		}
	}
	return o
}

func (c *geminiCheck) list(path string, v any) []any {
	if v == nil {
		return nil
	}
	l, ok := v.([]any)
	if !ok {
		c.fail("Invalid value at '%s': a list is expected", path)
	}
	return l
}

var geminiName = &pattern{text: `^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$`}

func (c *geminiCheck) tools(v any) {
	for i, t := range c.list("tools", v) {
		path := fmt.Sprintf("tools[%d]", i)
		tool := c.object(path, t, "functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext",
			"fileSearch", "computerUse", "googleMaps", "enterpriseWebSearch", "retrieval")
		if len(tool) == 0 {
			c.fail("%s: a tool must have one of its fields set", path)
		}
		for j, d := range c.list(path+".functionDeclarations", tool["functionDeclarations"]) {
			c.declaration(fmt.Sprintf("%s.functionDeclarations[%d]", path, j), d)
		}
	}
}

func (c *geminiCheck) declaration(path string, v any) {
	d := c.object(path, v, "name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior")
	name, _ := d["name"].(string)
	switch {
	case !geminiName.match(name):
		c.fail("%s.name: Invalid function name %q", path, name)
	case c.functions[name]:
		c.fail("%s.name: Duplicate function declaration found: %s", path, name)
	case d["parameters"] != nil && d["parametersJsonSchema"] != nil:
		c.fail("%s: parameters and parametersJsonSchema are mutually exclusive", path)
	}
	c.functions[name] = true
	if schema, ok := d["parametersJsonSchema"]; ok {
		c.schema(path+".parametersJsonSchema", schema)
		if o, _ := schema.(geminiObject); o["type"] != "object" && o["$ref"] == nil {
			c.fail("%s.parametersJsonSchema: the type must be object", path)
		}
	}
}

var geminiTypes = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// schema checks a JSON Schema as far as the API does.
func (c *geminiCheck) schema(path string, v any) {
	if _, ok := v.(bool); ok {
		return
	}
	o, ok := v.(geminiObject)
	if !ok {
		c.fail("%s: a schema must be an object", path)
		return
	}
	types, ok := o["type"].([]any)
	if !ok && o["type"] != nil {
		types = []any{o["type"]}
	}
	for _, t := range types {
		if s, _ := t.(string); !slices.Contains(geminiTypes, s) {
			c.fail("%s.type: %v is not a type", path, t)
		}
	}
	for _, key := range []string{"properties", "$defs"} {
		if m, ok := o[key].(geminiObject); ok {
			for name, s := range m {
				c.schema(path+"."+key+"."+name, s)
			}
		} else if o[key] != nil {
			c.fail("%s.%s: an object is expected", path, key)
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		for i, s := range c.list(path+"."+key, o[key]) {
			c.schema(fmt.Sprintf("%s.%s[%d]", path, key, i), s)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if o[key] != nil {
			c.schema(path+"."+key, o[key])
		}
	}
	for _, name := range c.list(path+".required", o["required"]) {
		if _, ok := name.(string); !ok {
			c.fail("%s.required: %v is not a name", path, name)
		}
	}
}

func (c *geminiCheck) toolConfig(v any) {
	if v == nil {
		return
	}
	o := c.object("toolConfig", v, "functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations")
	if o["functionCallingConfig"] == nil {
		return
	}
	f := c.object("toolConfig.functionCallingConfig", o["functionCallingConfig"], "mode", "allowedFunctionNames", "streamFunctionCallArguments")
	mode, _ := f["mode"].(string)
	mode = strings.ToUpper(mode)
	if !slices.Contains([]string{"AUTO", "ANY", "NONE", "VALIDATED"}, mode) {
		c.fail("Invalid value at 'toolConfig.functionCallingConfig.mode': %q", mode)
	}
	if len(c.functions) == 0 && mode == "ANY" {
		c.fail("Function calling config is set without function_declarations.")
	}
	names := c.list("toolConfig.functionCallingConfig.allowedFunctionNames", f["allowedFunctionNames"])
	if len(names) > 0 && mode != "ANY" && mode != "VALIDATED" {
		c.fail("allowed_function_names should only be set when the mode is ANY or VALIDATED")
	}
	for _, n := range names {
		if s, _ := n.(string); !c.functions[s] {
			c.fail("allowed_function_names: %v is not declared", n)
		}
	}
}

func (c *geminiCheck) generationConfig(v any) {
	if v == nil {
		return
	}
	o := c.object("generationConfig", v, "maxOutputTokens", "temperature", "topP", "topK", "stopSequences", "thinkingConfig",
		"responseMimeType", "responseJsonSchema", "responseSchema", "responseModalities", "candidateCount", "seed",
		"presencePenalty", "frequencyPenalty", "responseLogprobs", "logprobs", "speechConfig", "imageConfig",
		"mediaResolution", "enableEnhancedCivicAnswers", "audioTimestamp", "routingConfig")
	if o["responseJsonSchema"] != nil {
		c.schema("generationConfig.responseJsonSchema", o["responseJsonSchema"])
		if o["responseMimeType"] != "application/json" {
			c.fail("Response schema is only supported with response_mime_type application/json")
		}
	}
	if n, ok := o["maxOutputTokens"].(float64); ok && n < 1 {
		c.fail("max_output_tokens must be positive")
	}
	c.outputLimit(o)
	if len(c.list("generationConfig.stopSequences", o["stopSequences"])) > 5 {
		c.fail("stop_sequences may have at most 5 elements")
	}
	if o["thinkingConfig"] != nil {
		t := c.object("generationConfig.thinkingConfig", o["thinkingConfig"], "includeThoughts", "thinkingBudget", "thinkingLevel")
		c.thinkingRules(t)
		if t["thinkingBudget"] != nil && t["thinkingLevel"] != nil {
			c.fail("You can only set only one of thinking budget and thinking level.")
		}
		if level, ok := t["thinkingLevel"].(string); ok && !slices.Contains([]string{"minimal", "low", "medium", "high"}, strings.ToLower(level)) {
			c.fail("Invalid value at 'generationConfig.thinkingConfig.thinkingLevel': %q", level)
		}
	}
}

func (c *geminiCheck) system(v any) {
	if v == nil {
		return
	}
	o := c.object("systemInstruction", v, "parts", "role")
	parts := c.list("systemInstruction.parts", o["parts"])
	if len(parts) == 0 {
		c.fail("systemInstruction.parts must not be empty")
	}
	for i, p := range parts {
		if text, _ := c.object(fmt.Sprintf("systemInstruction.parts[%d]", i), p, "text")["text"].(string); text == "" {
			c.fail("systemInstruction.parts[%d] has no text", i)
		}
	}
}

func geminiBase64(v any) bool {
	s, ok := v.(string)
	s = strings.TrimRight(s, "=")
	_, std := base64.RawStdEncoding.DecodeString(s)
	_, url := base64.RawURLEncoding.DecodeString(s)
	return ok && (std == nil || url == nil)
}
