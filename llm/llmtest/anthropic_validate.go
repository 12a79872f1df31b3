package llmtest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
)

// anthropicFields are the request members.
var anthropicFields = []string{
	"model", "messages", "max_tokens", "system", "stream", "metadata", "stop_sequences", "temperature", "top_k", "top_p",
	"tools", "tool_choice", "thinking", "service_tier", "container", "cache_control", "output_config", "output_format",
	"context_management", "mcp_servers", "inference_geo", "speed", "diagnostics", "compaction", "fallbacks",
	"fallback_credit_token", "thread", "user_profile_id",
}

var (
	anthropicToolName = &pattern{text: `^[a-zA-Z0-9_-]{1,128}$`}
	anthropicProperty = &pattern{text: `^[a-zA-Z0-9_.-]{1,64}$`}
	anthropicID       = &pattern{text: `^[a-zA-Z0-9_-]+$`}
)

func (anthropicProtocol) validate(r *http.Request, body []byte) error {
	version := ""
	if r != nil {
		if version = r.Header.Get("Anthropic-Version"); version == "" {
			return errors.New("anthropic-version: header is required")
		}
	}
	return claudeValidate(body, wire.Value(body).Get("model").Str(), version, claudeBetas(r))
}

// claudeValidate checks a request to a model by the rules for its API version and beta features.
func claudeValidate(body []byte, model, version string, betas betaSet) error {
	v, err := wire.ParseJSON(body)
	if err != nil || v.Kind() != '{' {
		return fmt.Errorf("the request body is not valid JSON: %w", err)
	}
	if err := onlyMembers("", v, anthropicFields...); err != nil {
		return err
	}
	c := anthropicCheck{v: v, rules: claudeRulesOf(model), version: version, betas: betas, tools: map[string]bool{}, known: map[string]bool{}}
	checks := []func() error{
		c.basics, c.features, c.checkTools, c.model, c.thinking, c.output, c.system, c.messages, c.thinkingInRound,
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	if c.breakpoints > 4 {
		return fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, found %d", c.breakpoints)
	}
	return nil
}

// onlyMembers refuses an object with other members than these.
func onlyMembers(path string, v wire.Value, names ...string) error {
	for m := v.Members(); m.Next(); {
		if !slices.Contains(names, string(m.Key)) {
			return fmt.Errorf("%s%s: Extra inputs are not permitted", path, m.Key)
		}
	}
	return nil
}

type anthropicCheck struct {
	v           wire.Value
	rules       *claudeRules // nil if the model is unknown
	version     string
	betas       betaSet
	tools       map[string]bool // the model may call now
	known       map[string]bool // defined so far
	breakpoints int
}

func (c *anthropicCheck) basics() error {
	if c.v.Get("model").Str() == "" {
		return errors.New("model: Field required")
	}
	if n := c.v.Get("max_tokens"); n.Kind() != '0' || n.Int() < 1 {
		return errors.New("max_tokens: Field required, and greater than 0")
	}
	if t := c.v.Get("temperature"); t.Exists() && (t.Kind() != '0' || t.Float() < 0 || t.Float() > 1) {
		return errors.New("temperature: range: 0..1")
	}
	for it := c.v.Get("stop_sequences").Elements(); it.Next(); {
		if it.Value.Str() == "" {
			return errors.New("stop_sequences: each stop sequence must contain non-whitespace")
		}
	}
	if s := c.v.Get("stream"); s.Exists() && s.Kind() != 't' && s.Kind() != 'f' {
		return errors.New("stream: Input should be a valid boolean")
	}
	if cc := c.v.Get("cache_control"); cc.Exists() {
		return c.cacheControl("cache_control", cc)
	}
	return nil
}

func (c *anthropicCheck) cacheControl(path string, cc wire.Value) error {
	if !cc.Exists() {
		return nil
	}
	c.breakpoints++
	if !cc.Get("type").Is("ephemeral") {
		return fmt.Errorf("%s.type: Input should be 'ephemeral'", path)
	}
	if ttl := cc.Get("ttl"); ttl.Exists() && !ttl.Is("5m") && !ttl.Is("1h") {
		return fmt.Errorf("%s.ttl: Input should be '5m' or '1h'", path)
	}
	return onlyMembers(path+".", cc, "type", "ttl")
}

func (c *anthropicCheck) checkTools() error {
	i := 0
	for it := c.v.Get("tools").Elements(); it.Next(); i++ {
		path := fmt.Sprintf("tools.%d", i)
		if err := c.tool(path, it.Value); err != nil {
			return err
		}
	}
	if i > 0 && len(c.tools) == 0 && c.rules != nil {
		return errors.New("tools: at least one tool must have defer_loading=false")
	}
	choice := c.v.Get("tool_choice")
	if !choice.Exists() {
		return nil
	}
	if i == 0 {
		return errors.New("tool_choice may only be specified while providing tools")
	}
	switch kind := choice.Get("type"); {
	case kind.Is("auto"), kind.Is("any"):
		return onlyMembers("tool_choice.", choice, "type", "disable_parallel_tool_use")
	case kind.Is("none"):
		return onlyMembers("tool_choice.", choice, "type")
	case kind.Is("tool"):
		if name := choice.Get("name").Str(); !c.known[name] {
			return fmt.Errorf("tool_choice.tool.name: Tool '%s' not found in provided tools", name)
		}
		return onlyMembers("tool_choice.", choice, "type", "name", "disable_parallel_tool_use")
	}
	return errors.New("tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'")
}

func (c *anthropicCheck) tool(path string, t wire.Value) error {
	if err := c.cacheControl(path+".cache_control", t.Get("cache_control")); err != nil {
		return err
	}
	if kind := t.Get("type"); kind.Exists() && !kind.Is("custom") {
		c.define(t)
		return nil // run by the server, with its own members
	}
	if err := onlyMembers(path+".custom.", t, "type", "name", "description", "input_schema", "strict", "cache_control",
		"defer_loading", "allowed_callers", "input_examples", "eager_input_streaming"); err != nil {
		return err
	}
	name := t.Get("name").Str()
	if !anthropicToolName.match(name) {
		return fmt.Errorf("%s.custom.name: String should match pattern '%s'", path, anthropicToolName)
	}
	if c.known[name] {
		return errors.New("tools: Tool names must be unique")
	}
	c.define(t)
	if s := t.Get("input_schema"); !s.Get("type").Is("object") {
		return fmt.Errorf("%s.custom.input_schema.type: Input should be 'object'", path)
	} else if p := s.Get("properties"); p != nil && p.Kind() != '{' {
		return fmt.Errorf("%s.custom.input_schema: JSON schema is invalid", path)
	} else if s.Get("oneOf").Exists() || s.Get("allOf").Exists() || s.Get("anyOf").Exists() {
		return fmt.Errorf("%s.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", path)
	}
	for m := t.Get("input_schema").Get("properties").Members(); m.Next(); {
		if !anthropicProperty.match(string(m.Key)) {
			return fmt.Errorf("%s.custom.input_schema.properties: Property keys should match pattern '%s'", path, anthropicProperty)
		}
	}
	return nil
}

func (c *anthropicCheck) thinking() error {
	t := c.v.Get("thinking")
	switch kind := t.Get("type"); {
	case !t.Exists(), kind.Is("disabled"):
		return nil
	case kind.Is("adaptive"):
	case kind.Is("between_tools") && c.rules != nil:
	case kind.Is("enabled"):
		budget := t.Get("budget_tokens").Int()
		if budget < 1024 {
			return errors.New("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		}
		if budget >= c.v.Get("max_tokens").Int() {
			return errors.New("`max_tokens` must be greater than `thinking.budget_tokens`")
		}
	default:
		return errors.New("thinking.type: Input should be 'adaptive', 'enabled' or 'disabled'")
	}
	if temp := c.v.Get("temperature"); temp.Exists() && temp.Float() != 1 {
		return errors.New("`temperature` may only be set to 1 when thinking is enabled")
	}
	if c.v.Get("top_k").Exists() {
		return errors.New("`top_k` must be unset when thinking is enabled")
	}
	if p := c.v.Get("top_p"); p.Exists() && p.Float() < 0.95 {
		return errors.New("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled")
	}
	if choice := c.v.Get("tool_choice", "type"); (choice.Is("any") || choice.Is("tool")) && c.rules == nil {
		return errors.New("thinking may not be enabled when tool_choice forces tool use")
	}
	return nil
}

func (c *anthropicCheck) output() error {
	o := c.v.Get("output_config")
	if err := onlyMembers("output_config.", o, "effort", "format", "task_budget"); err != nil {
		return err
	}
	if e := o.Get("effort"); e.Exists() && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, e.Str()) {
		return errors.New("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	}
	if f := o.Get("format"); f.Exists() && (!f.Get("type").Is("json_schema") || f.Get("schema").Kind() != '{') {
		return errors.New("output_config.format: a json_schema with a schema is required")
	}
	return nil
}

func (c *anthropicCheck) system() error {
	s := c.v.Get("system")
	i := 0
	for it := s.Elements(); it.Next(); i++ {
		if err := c.block(fmt.Sprintf("system.%d", i), "system", it.Value); err != nil {
			return err
		}
	}
	if s.Exists() && s.Kind() != '"' && s.Kind() != '[' {
		return errors.New("system: Input should be a string or a list of text blocks")
	}
	return nil
}
