package llmtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/internal/wire"
)

// features checks that the request names the beta features that it uses.
func (c *anthropicCheck) features() error {
	if c.rules == nil {
		return nil
	}
	for _, f := range []struct {
		used bool
		name string
		beta string
	}{
		{c.v.Get("compaction").Exists(), "compaction", "compact-2026-09-04"},
		{c.v.Get("thread").Exists(), "thread", "message-threads-2026-08-12"},
		{c.v.Get("speed").Is("fast"), "speed", "fast-mode-2026-02-01"},
		{c.v.Get("fallbacks").Exists(), "fallbacks", "server-side-fallback-2026-07-01"},
		{c.v.Get("thinking", "block_binding").Exists(), "thinking.block_binding", "thinking-binding-controls-2026-08-01"},
		{c.v.Get("thinking", "display").Is("updates"), "thinking.display.updates", "thinking-display-updates-2026-08-18"},
	} {
		if f.used {
			if err := c.needs(f.name, f.beta); err != nil {
				return err
			}
		}
	}
	return c.compaction()
}

// needs returns an error unless the request has a beta feature.
func (c *anthropicCheck) needs(path string, betas ...string) error {
	if slices.ContainsFunc(betas, c.betas.has) {
		return nil
	}
	return fmt.Errorf("%s: Extra inputs are not permitted (this requires the header anthropic-beta: %s)", path, betas[0])
}

func (c *anthropicCheck) compaction() error {
	v := c.v.Get("compaction")
	switch {
	case !v.Exists():
		return nil
	case !v.Get("type").Is("summarize"):
		return errors.New("compaction.type: Input should be 'summarize'")
	case !c.rules.compacts:
		return errors.New("compaction: not supported for this model")
	case c.v.Get("context_management").Exists():
		return errors.New("compaction: cannot be used together with context_management")
	}
	return onlyMembers("compaction.", v, "type", "instructions")
}

// model checks what depends on the model.
func (c *anthropicCheck) model() error {
	if c.rules == nil {
		return nil
	}
	for _, check := range []func() error{c.thinkingType, c.effort, c.forced, c.sampling, c.tier} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// thinks reports whether the model thinks in its answer.
func (c *anthropicCheck) thinks() bool {
	if t := c.v.Get("thinking"); t.Exists() {
		return !t.Get("type").Is("disabled")
	}
	return c.rules.thinks
}

func (c *anthropicCheck) thinkingType() error {
	t := c.v.Get("thinking")
	if !t.Exists() {
		return nil
	}
	kind := t.Get("type").Str()
	if !lists("adaptive between_tools enabled disabled", kind) {
		return errors.New("thinking.type: Input tag does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'")
	}
	if !lists(c.rules.thinking, kind) {
		use := `Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
		if !lists(c.rules.thinking, "adaptive") {
			use = `Use "thinking.type.enabled" and "budget_tokens".`
		}
		return fmt.Errorf(`"thinking.type.%s" is not supported for this model. %s`, kind, use)
	}
	effort := c.v.Get("output_config", "effort").Str()
	switch kind {
	case "between_tools":
		if effort == "xhigh" || effort == "max" {
			return apiErrorf(`"thinking.type.between_tools" does not support output_config.effort %q. Use low, medium or high.`, effort)
		}
		return onlyMembers("thinking.between_tools.", t, "type")
	case "disabled":
		if c.rules.name == "claude-opus-5" && (effort == "xhigh" || effort == "max") {
			return apiErrorf(`"thinking.type.disabled" does not support output_config.effort %q on this model.`, effort)
		}
		return onlyMembers("thinking.disabled.", t, "type")
	}
	if d := t.Get("display"); d.Exists() && !lists("summarized omitted updates", d.Str()) {
		return errors.New("thinking.display: Input should be 'summarized', 'omitted' or 'updates'")
	}
	if b := t.Get("block_binding", "prefix_mismatch_behavior"); b.Exists() && !b.Is("error") && !b.Is("drop_block") {
		return errors.New("thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'")
	}
	if kind == "enabled" {
		return onlyMembers("thinking.enabled.", t, "type", "budget_tokens", "display", "block_binding")
	}
	return onlyMembers("thinking.adaptive.", t, "type", "display", "block_binding")
}

func (c *anthropicCheck) effort() error {
	e := c.v.Get("output_config", "effort")
	if !e.Exists() || lists(c.rules.efforts, e.Str()) {
		return nil
	}
	if c.rules.efforts == "" {
		return apiErrorf("output_config.effort: This model does not support the effort parameter.")
	}
	return fmt.Errorf("output_config.effort: %q is not supported for this model. Supported levels: %s", e.Str(), c.rules.efforts)
}

func (c *anthropicCheck) forced() error {
	kind := c.v.Get("tool_choice", "type")
	if !kind.Is("any") && !kind.Is("tool") {
		return nil
	}
	if c.rules.forced == always {
		return apiErrorf("tool_choice.type %q is not supported for this model. Use \"auto\" or \"none\".", kind.Str())
	}
	if c.rules.forced == thinking && c.thinks() {
		return apiErrorf("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func (c *anthropicCheck) sampling() error {
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		v := c.v.Get(name)
		if !v.Exists() {
			continue
		}
		standard := name != "top_k" && v.Float() == 1
		if c.version >= "2026-10-21" || c.rules.sampling == always || c.rules.sampling == changed && !standard {
			return apiErrorf("`%s` is not supported for this model.", name)
		}
	}
	if c.rules.sampling == both && c.v.Get("temperature").Exists() && c.v.Get("top_p").Exists() {
		return apiErrorf("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
	}
	return nil
}

func (c *anthropicCheck) tier() error {
	if t := c.v.Get("service_tier"); t.Exists() && !lists("auto standard_only", t.Str()) {
		return errors.New("service_tier: Input should be 'auto' or 'standard_only'")
	}
	if s := c.v.Get("speed"); s.Exists() && !lists("standard fast", s.Str()) {
		return errors.New("speed: Input should be 'standard' or 'fast'")
	}
	return nil
}

// prefill refuses a conversation that ends with an answer, unless it continues a server turn or is compacted.
func (c *anthropicCheck) prefill(last string) error {
	if c.rules == nil || c.rules.prefill != always || last != "assistant" || c.v.Get("compaction").Exists() {
		return nil
	}
	var kind wire.Value
	for it := c.v.Get("messages").Elements(); it.Next(); {
		for b := it.Value.Get("content").Elements(); b.Next(); {
			kind = b.Value.Get("type")
		}
	}
	if kind.Is("server_tool_use") {
		return nil
	}
	return apiErrorf("This model does not support assistant message prefill. The conversation must end with a user message.")
}

// lateSystem checks a system message, and that no user message follows one.
func (c *anthropicCheck) lateSystem(path, last string, m wire.Value) error {
	role := m.Get("role")
	switch {
	case c.rules == nil:
		return nil
	case last == "system" && role.Is("user"):
		return fmt.Errorf("%s: a system message must not be directly before a user message", path)
	case !role.Is("system"):
		return nil
	case !c.rules.late:
		return apiErrorf("%s.role: role 'system' is not supported for this model. Use the top-level `system` parameter.", path)
	}
	if at := m.Get("clear_at"); at.Exists() {
		if err := c.needs(path+".clear_at", "mid-conversation-system-clear-at-2026-08-21"); err != nil {
			return err
		}
		if !at.Is("next_user_message") && !at.Is("never") {
			return fmt.Errorf("%s.clear_at: Input should be 'next_user_message' or 'never'", path)
		}
	}
	if m.Get("output_config").Exists() {
		return c.needs(path+".output_config", "mid-conversation-output-config-2026-07-01")
	}
	return nil
}

// define records a tool. A deferred one is not available yet.
func (c *anthropicCheck) define(t wire.Value) {
	name := t.Get("name").Str()
	c.known[name] = true
	c.tools[name] = !t.Get("defer_loading").Bool() || c.tools[name]
	if !c.tools[name] {
		delete(c.tools, name)
	}
}

// toolChange applies an added or removed tool.
func (c *anthropicCheck) toolChange(path, kind string, tool wire.Value) error {
	if c.rules == nil {
		return nil
	}
	if !c.rules.inline {
		return fmt.Errorf("%s: not supported for this model", path)
	}
	betas := []string{"inline-tools-2026-09-15"}
	if tool.Get("type").Is("tool_reference") {
		betas = append(betas, "mid-conversation-tool-changes-2026-07-01")
	}
	if err := c.needs(path, betas...); err != nil {
		return err
	}
	name := tool.Get("name").Str()
	switch form := tool.Get("type"); {
	case form.Is("tool_definition") && kind == "tool_addition":
		return c.inline(path+".tool", tool)
	case !form.Is("tool_reference"):
		return fmt.Errorf("%s.tool: Input tag does not match any of the expected tags", path)
	case !c.known[name]:
		return fmt.Errorf("%s.tool.name: Tool '%s' is not defined at this point", path, name)
	case kind == "tool_removal" && !c.tools[name]:
		return fmt.Errorf("%s.tool.name: Tool '%s' is not available at this point", path, name)
	case kind == "tool_addition" && c.tools[name]:
		return fmt.Errorf("%s.tool.name: Tool '%s' is already available at this point", path, name)
	}
	if c.tools[name] = kind == "tool_addition"; !c.tools[name] {
		delete(c.tools, name)
	}
	return onlyMembers(path+".tool.", tool, "type", "name")
}

// inline adds a tool that is defined in the conversation.
func (c *anthropicCheck) inline(path string, tool wire.Value) error {
	def := tool.Get("definition")
	if name := def.Get("name").Str(); c.tools[name] {
		return fmt.Errorf("%s.definition.name: Tool '%s' is already available at this point", path, name)
	} else if c.known[name] {
		delete(c.known, name)
	}
	if err := onlyMembers(path+".", tool, "type", "definition"); err != nil {
		return err
	}
	return c.tool(path+".definition", def)
}

// compactionBlock checks a summary that the server wrote. It must be the conversation's first block.
func (c *anthropicCheck) compactionBlock(path string, b wire.Value) error {
	if c.rules == nil || !b.Get("signature").Exists() {
		return nil
	}
	if err := c.needs(path, "compact-2026-09-04"); err != nil {
		return err
	}
	if path != "messages.0.content.0.compaction" {
		return fmt.Errorf("%s: a signed compaction block must come first in messages", path)
	}
	for it := b.Get("tool_changes").Elements(); it.Next(); {
		if err := c.toolChange(path+".tool_changes", it.Value.Get("type").Str(), it.Value.Get("tool")); err != nil {
			return err
		}
	}
	return nil
}

// onlyCompaction reports whether a message has nothing but a summary that the server wrote.
func onlyCompaction(m wire.Value) bool {
	n, summary := 0, false
	for it := m.Get("content").Elements(); it.Next(); n++ {
		summary = it.Value.Get("type").Is("compaction")
	}
	return n == 1 && summary
}
