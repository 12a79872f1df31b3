package llmtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
)

// chatFields returns the members that a message may have.
func chatFields(role string) []string {
	fields := []string{"role", "content", "name"}
	switch role {
	case "system", "developer", "user", "function":
		return fields
	case "tool":
		return append(fields, "tool_call_id")
	case "assistant":
		return append(fields, "refusal", "audio", "function_call", "tool_calls", "annotations",
			"reasoning", "reasoning_content", "reasoning_details", "extra_content")
	}
	return nil
}

// chatParts returns the types of content parts in a message.
func chatParts(role string) []string {
	switch role {
	case "user":
		return []string{"text", "image_url", "input_audio", "file"}
	case "assistant":
		return []string{"text", "refusal", "thinking"}
	case "function":
		return nil
	}
	return []string{"text"}
}

// chatMessages checks the conversation.
func chatMessages(v wire.Value) error {
	messages := v.Get("messages")
	if messages.Kind() != '[' {
		return errors.New("missing required parameter: 'messages'")
	}
	c := chatTalk{}
	n := 0
	for it := messages.Elements(); it.Next(); n++ {
		if err := c.message(it.Value, n); err != nil {
			return err
		}
	}
	if n == 0 {
		return errors.New("invalid 'messages': empty array, expected at least 1 message")
	}
	return c.answered()
}

// chatTalk tracks the calls without a result.
type chatTalk struct {
	open []string
	done map[string]bool
}

func (c *chatTalk) message(m wire.Value, n int) error {
	at, role := fmt.Sprintf("messages[%d]", n), m.Get("role").Str()
	known := chatFields(role)
	if known == nil {
		return fmt.Errorf("invalid value for '%s.role': %q", at, role)
	}
	for f := m.Members(); f.Next(); {
		if !slices.Contains(known, string(f.Key)) {
			return fmt.Errorf("additional properties are not allowed ('%s' was unexpected) - '%s'", f.Key, at)
		}
	}
	if role != "tool" {
		if err := c.answered(); err != nil {
			return err
		}
	}
	if err := chatContent(m, at, role); err != nil {
		return err
	}
	switch role {
	case "tool":
		return c.result(m, at)
	case "assistant":
		return c.assistant(m, at)
	}
	return nil
}

// answered checks that every call has a result.
func (c *chatTalk) answered() error {
	if len(c.open) > 0 {
		return fmt.Errorf("an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; the following tool_call_ids did not have response messages: %s", strings.Join(c.open, ", "))
	}
	c.done = nil
	return nil
}

func (c *chatTalk) result(m wire.Value, at string) error {
	id := m.Get("tool_call_id").Str()
	if id == "" {
		return fmt.Errorf("missing required parameter: '%s.tool_call_id'", at)
	}
	i := slices.Index(c.open, id)
	switch {
	case i < 0 && c.done[id]:
		return fmt.Errorf("invalid '%s': the tool call %q was answered before", at, id)
	case i < 0:
		return fmt.Errorf("invalid parameter: '%s' with role 'tool' must be a response to a preceding message with 'tool_calls'; unknown call %q", at, id)
	}
	c.open = slices.Delete(c.open, i, i+1)
	c.done[id] = true
	return nil
}

func (c *chatTalk) assistant(m wire.Value, at string) error {
	calls := m.Get("tool_calls")
	if !calls.Exists() {
		return nil
	}
	if chatCount(calls) == 0 {
		return fmt.Errorf("invalid '%s.tool_calls': empty array, expected at least 1 call", at)
	}
	c.done = map[string]bool{}
	n := 0
	for it := calls.Elements(); it.Next(); n++ {
		path := fmt.Sprintf("%s.tool_calls[%d]", at, n)
		id, kind := it.Value.Get("id").Str(), it.Value.Get("type").Str()
		switch {
		case id == "":
			return fmt.Errorf("missing required parameter: '%s.id'", path)
		case slices.Contains(c.open, id):
			return fmt.Errorf("invalid '%s.id': duplicate call %q", path, id)
		case kind != "function" && kind != "custom":
			return fmt.Errorf("invalid value for '%s.type': %q", path, kind)
		}
		f := it.Value.Get(kind)
		if name := f.Get("name").Str(); !openaiName.match(name) {
			return fmt.Errorf("invalid '%s.%s.name': %q does not match %s", path, kind, name, openaiName)
		}
		if args := f.Get("arguments"); kind == "function" && args.Kind() != '"' {
			return fmt.Errorf("invalid type for '%s.function.arguments': expected a string", path)
		}
		c.open = append(c.open, id)
	}
	return nil
}

// chatContent checks a message's content.
func chatContent(m wire.Value, at, role string) error {
	content := m.Get("content")
	switch content.Kind() {
	case '"':
		return nil
	case '[':
		if chatCount(content) == 0 {
			return fmt.Errorf("invalid '%s.content': empty array, expected at least 1 part", at)
		}
		n := 0
		for it := content.Elements(); it.Next(); n++ {
			if err := chatPart(it.Value, fmt.Sprintf("%s.content[%d]", at, n), role); err != nil {
				return err
			}
		}
		return nil
	case 0, 'n':
		spoke := m.Get("tool_calls").Exists() || m.Get("function_call").Exists() || m.Get("refusal").Exists() || m.Get("audio").Exists()
		if role == "assistant" && spoke {
			return nil
		}
		return fmt.Errorf("invalid value for '%s.content': expected a string, got null", at)
	}
	return fmt.Errorf("invalid type for '%s.content': expected a string or an array", at)
}

func chatPart(p wire.Value, at, role string) error {
	kind := p.Get("type").Str()
	if !slices.Contains(chatParts(role), kind) {
		return fmt.Errorf("invalid value for '%s.type': %q; in a message of role '%s' supported values are %q", at, kind, role, chatParts(role))
	}
	var need []string
	switch kind {
	case "text", "refusal":
		if p.Get(kind).Kind() != '"' {
			return fmt.Errorf("missing required parameter: '%s.%s'", at, kind)
		}
	case "image_url":
		need = []string{"url"}
		if url := p.Get(kind, "url").Str(); !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "data:image/") {
			return fmt.Errorf("invalid '%s.image_url.url': expected a valid URL or a data URL of an image", at)
		}
	case "input_audio":
		need = []string{"data", "format"}
	case "file":
		if p.Get("file", "file_id").Str() == "" {
			need = []string{"file_data", "filename"}
		}
	}
	for _, name := range need {
		if p.Get(kind, name).Str() == "" {
			return fmt.Errorf("missing required parameter: '%s.%s.%s'", at, kind, name)
		}
	}
	return nil
}

// alternates refuses consecutive user messages, as strict templates do.
func alternates(body []byte) error {
	last := ""
	n := 0
	for it := wire.Value(body).Get("messages").Elements(); it.Next(); n++ {
		role := it.Value.Get("role").Str()
		if role == "user" && last == "user" {
			return fmt.Errorf("conversation roles must alternate user/assistant/user/assistant/...; 'messages[%d]' is a second user message", n)
		}
		last = role
	}
	return nil
}
