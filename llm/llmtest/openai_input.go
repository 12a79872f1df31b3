package llmtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
)

// openaiInput checks a request's input items.
type openaiInput struct {
	stored    bool // the server stores items, so ids may refer to them
	elsewhere bool // the conversation starts before the input
	calls     map[string]*openaiCall
	ids       map[string]bool // of items and of unchecked calls
	thinking  string          // last reasoning item's ID
	waiting   bool            // one of the model's items must follow
	follower  string          // identifies that item, if it is known
	rules     *openaiRules    // nil if the model is unknown
}

type openaiCall struct {
	kind     string
	answered bool
}

func (c *openaiInput) check(input wire.Value) error {
	switch input.Kind() {
	case '"':
		return nil
	case '[':
	default:
		if c.elsewhere && !input.Exists() {
			return nil
		}
		return errors.New("missing required parameter: 'input'")
	}
	n := 0
	for it := input.Elements(); it.Next(); n++ {
		if err := c.item(fmt.Sprintf("input[%d]", n), it.Value); err != nil {
			return err
		}
	}
	if n == 0 && !c.elsewhere {
		return errors.New("one of 'input', 'previous_response_id', 'prompt' or 'conversation' must be provided")
	}
	if c.waiting {
		return c.lonely()
	}
	return c.unanswered()
}

func (c *openaiInput) lonely() error {
	return fmt.Errorf("item '%s' of type 'reasoning' was provided without its required following item", c.thinking)
}

// unanswered returns an error if a call has no output.
func (c *openaiInput) unanswered() error {
	for id, call := range c.calls {
		if !call.answered {
			return fmt.Errorf("no tool output found for %s %s", strings.ReplaceAll(call.kind, "_", " "), id)
		}
	}
	return nil
}

func (c *openaiInput) item(at string, v wire.Value) error {
	if v.Kind() != '{' {
		return fmt.Errorf("invalid type for '%s': expected an object", at)
	}
	kind := v.Get("type").Str()
	if kind == "" && v.Get("role").Exists() {
		kind = "message"
	}
	if id := v.Get("id").Str(); id != "" {
		if c.ids[id] {
			return fmt.Errorf("duplicate item found with id %s; remove duplicate items from your input and try again", id)
		}
		c.ids[id] = true
	}
	ofModel := kind != "function_call_output" && kind != "custom_tool_call_output" && (kind != "message" || v.Get("role").Is("assistant"))
	if c.waiting && (!ofModel || c.follower != "" && c.follower != openaiFollower(typed(kind, v))) {
		return c.lonely()
	}
	c.waiting = false
	switch kind {
	case "message":
		return c.message(at, v)
	case "additional_tools":
		return c.additionalTools(at, v)
	case "reasoning":
		return c.reasoning(at, v)
	case "function_call", "custom_tool_call":
		return c.call(at, kind, v)
	case "function_call_output", "custom_tool_call_output":
		return c.output(at, strings.TrimSuffix(kind, "_output"), v)
	}
	if id := v.Get("call_id").Str(); id != "" {
		c.ids[id] = true
	}
	return openaiOneOf(at+".type", v.Get("type"), openaiItemTypes...)
}

// openaiItemTypes are the items that are not checked.
var openaiItemTypes = []string{
	"apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "compaction",
	"compaction_trigger", "computer_call", "computer_call_output", "configuration_update", "file_search_call",
	"image_generation_call", "item_reference", "local_shell_call", "local_shell_call_output", "mcp_approval_request",
	"mcp_approval_response", "mcp_call", "mcp_list_tools", "program", "program_output", "shell_call",
	"shell_call_output", "tool_search_call", "tool_search_output", "web_search_call",
}

func (c *openaiInput) message(at string, v wire.Value) error {
	if err := openaiOneOf(at+".role", v.Get("role"), "assistant", "system", "developer", "user"); err != nil {
		return err
	}
	allowed := []string{"input_text", "input_image", "input_file"}
	if v.Get("role").Is("assistant") {
		allowed = []string{"output_text", "refusal"}
		if err := c.phase(at, v); err != nil {
			return err
		}
	} else if err := c.unanswered(); err != nil {
		return err
	}
	return openaiContent(at+".content", v.Get("content"), allowed)
}

// openaiContent checks a text or a list of parts.
func openaiContent(at string, v wire.Value, allowed []string) error {
	if v.Kind() == '"' {
		return nil
	}
	if v.Kind() != '[' {
		return fmt.Errorf("missing required parameter: '%s'", at)
	}
	n := 0
	for it := v.Elements(); it.Next(); n++ {
		at := fmt.Sprintf("%s[%d]", at, n)
		if err := openaiOneOf(at+".type", it.Value.Get("type"), allowed...); err != nil {
			return err
		}
		if err := openaiPart(at, it.Value); err != nil {
			return err
		}
	}
	if n == 0 {
		return fmt.Errorf("invalid '%s': empty array", at)
	}
	return nil
}

func openaiPart(at string, v wire.Value) error {
	need := map[string][]string{
		"input_text": {"text"}, "output_text": {"text"}, "refusal": {"refusal"},
		"input_image": {"image_url", "file_id"}, "input_file": {"file_data", "file_url", "file_id"},
	}[v.Get("type").Str()]
	if !slices.ContainsFunc(need, func(key string) bool { return v.Get(key).Kind() == '"' }) {
		return fmt.Errorf("missing required parameter: '%s.%s'", at, need[0])
	}
	for _, key := range []string{"image_url", "file_data"} {
		if uri := v.Get(key).Str(); strings.HasPrefix(uri, "data:") {
			if _, _, err := wire.ParseDataURI(uri); err != nil {
				return fmt.Errorf("invalid '%s.%s': expected a base64-encoded data URL: %w", at, key, err)
			}
		}
	}
	if v.Get("file_data").Exists() && v.Get("filename").Str() == "" {
		return fmt.Errorf("missing required parameter: '%s.filename'", at)
	}
	return nil
}

func (c *openaiInput) reasoning(at string, v wire.Value) error {
	if v.Get("summary").Kind() != '[' {
		return fmt.Errorf("missing required parameter: '%s.summary'", at)
	}
	id := v.Get("id").Str()
	if !c.stored && !v.Get("encrypted_content").Exists() && len(v.Get("content")) <= len("[]") {
		return fmt.Errorf("item with id '%s' not found; items are not persisted when 'store' is set to false", id)
	}
	c.thinking, c.waiting = id, true
	return c.decrypt(id, v.Get("encrypted_content"))
}

// typed returns a message with its type, which requests may omit.
func typed(kind string, v wire.Value) wire.Value {
	if v.Get("type").Exists() {
		return v
	}
	return append([]byte(`{"type":"`+kind+`",`), v[1:]...)
}

func (c *openaiInput) call(at, kind string, v wire.Value) error {
	key := "arguments"
	if kind == "custom_tool_call" {
		key = "input"
	}
	for _, k := range []string{"call_id", "name", key} {
		if v.Get(k).Kind() != '"' {
			return fmt.Errorf("missing required parameter: '%s.%s'", at, k)
		}
	}
	if name := v.Get("name").Str(); !openaiName.match(name) {
		return fmt.Errorf("invalid '%s.name': %q does not match %s", at, name, openaiName)
	}
	id := v.Get("call_id").Str()
	if id == "" || len(id) > 64 {
		return fmt.Errorf("invalid '%s.call_id': expected a string of 1 to 64 characters", at)
	}
	if c.calls[id] != nil {
		return fmt.Errorf("invalid '%s.call_id': duplicate call %s", at, id)
	}
	c.calls[id] = &openaiCall{kind: kind}
	return nil
}

func (c *openaiInput) output(at, kind string, v wire.Value) error {
	id := v.Get("call_id").Str()
	call := c.calls[id]
	switch {
	case call == nil && (c.elsewhere || c.ids[id]):
		call = &openaiCall{kind: kind}
		c.calls[id] = call
	case call == nil || call.kind != kind:
		return fmt.Errorf("no tool call found for %s output with call_id %s", strings.ReplaceAll(kind, "_", " "), id)
	case call.answered:
		return fmt.Errorf("invalid '%s.call_id': %s is answered twice", at, id)
	}
	call.answered = true
	return openaiContent(at+".output", v.Get("output"), []string{"input_text", "input_image", "input_file"})
}
