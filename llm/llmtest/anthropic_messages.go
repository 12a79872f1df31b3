package llmtest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
)

// messages checks roles and blocks, and that calls and results match.
func (c *anthropicCheck) messages() error {
	last := ""
	var calls []string
	seen := map[string]bool{}
	i := 0
	for it := c.v.Get("messages").Elements(); it.Next(); i++ {
		m, path := it.Value, fmt.Sprintf("messages.%d", i)
		role := m.Get("role").Str()
		members := []string{"role", "content"}
		if role == "system" {
			members = append(members, "clear_at", "output_config")
		}
		if err := onlyMembers(path+".", m, members...); err != nil {
			return err
		}
		if !slices.Contains([]string{"user", "assistant", "system"}, role) {
			return fmt.Errorf("%s.role: Input should be 'user' or 'assistant'", path)
		}
		if role == last {
			return fmt.Errorf("%s: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", path, role)
		}
		if role == "system" && last != "user" {
			return fmt.Errorf("%s: a system message must follow a user message", path)
		}
		if err := c.lateSystem(path, last, m); err != nil {
			return err
		}
		if last = role; i == 0 && onlyCompaction(m) {
			last = "" // the summary stands for messages of both roles
		}
		if err := c.content(path, role, m.Get("content")); err != nil {
			return err
		}
		if role == "system" {
			continue
		}
		if err := matchResults(path, calls, resultIDs(m)); err != nil {
			return err
		}
		calls = callIDs(m)
		for _, id := range calls {
			if seen[id] {
				return fmt.Errorf("%s: `tool_use` ids must be unique, but %s was used before", path, id)
			}
			seen[id] = true
		}
	}
	switch {
	case i == 0:
		return errors.New("messages: at least one message is required")
	case len(calls) > 0:
		return unanswered(fmt.Sprintf("messages.%d", i-1), calls)
	}
	return c.prefill(last)
}

func (c *anthropicCheck) content(path, role string, content wire.Value) error {
	if content.Kind() == '"' {
		if content.Str() == "" {
			return fmt.Errorf("%s: %s messages must have non-empty content", path, role)
		}
		return nil
	}
	n, other := 0, false
	for it := content.Elements(); it.Next(); n++ {
		if err := c.block(fmt.Sprintf("%s.content.%d", path, n), role, it.Value); err != nil {
			return err
		}
		if it.Value.Get("type").Is("tool_result") {
			if other {
				return fmt.Errorf("%s.content.%d: `tool_result` blocks must come before other content", path, n)
			}
		} else {
			other = true
		}
	}
	if n == 0 {
		return fmt.Errorf("%s: %s messages must have non-empty content", path, role)
	}
	return nil
}

// anthropicBlocks lists the roles and the members of each type of block.
var anthropicBlocks = []struct {
	kind, roles string
	members     []string
}{
	{"text", "user assistant system result", []string{"type", "text", "citations", "cache_control"}},
	{"image", "user result", []string{"type", "source", "cache_control"}},
	{"document", "user result", []string{"type", "source", "title", "context", "citations", "cache_control"}},
	{"search_result", "user result", []string{"type", "source", "title", "content", "citations", "cache_control"}},
	{"thinking", "assistant", []string{"type", "thinking", "signature"}},
	{"redacted_thinking", "assistant", []string{"type", "data"}},
	{"compaction", "assistant", []string{"type", "content", "encrypted_content", "signature", "tool_changes", "cache_control"}},
	{"tool_addition", "system", []string{"type", "tool", "cache_control"}},
	{"tool_removal", "system", []string{"type", "tool", "cache_control"}},
	{"tool_use", "assistant", []string{"type", "id", "name", "input", "caller", "cache_control"}},
	{"tool_result", "user", []string{"type", "tool_use_id", "content", "is_error", "cache_control"}},
}

func (c *anthropicCheck) block(path, role string, b wire.Value) error {
	kind := b.Get("type").Str()
	if kind == "" {
		return fmt.Errorf("%s.type: Field required", path)
	}
	if err := c.cacheControl(path+".cache_control", b.Get("cache_control")); err != nil {
		return err
	}
	path += "." + kind
	for _, rule := range anthropicBlocks {
		if rule.kind != kind {
			continue
		}
		if !strings.Contains(rule.roles, role) {
			return fmt.Errorf("%s: not allowed in %s messages", path, role)
		}
		if err := onlyMembers(path+".", b, rule.members...); err != nil {
			return err
		}
	}
	switch kind {
	case "text":
		if b.Get("text").Str() == "" {
			return fmt.Errorf("%s: text content blocks must be non-empty", path)
		}
	case "image", "document":
		return checkSource(path+".source", kind, b.Get("source"))
	case "thinking":
		if b.Get("thinking").Kind() != '"' || b.Get("signature").Str() == "" {
			return fmt.Errorf("%s.signature: Field required", path)
		}
	case "redacted_thinking":
		if b.Get("data").Str() == "" {
			return fmt.Errorf("%s.data: Field required", path)
		}
	case "tool_use":
		if !anthropicID.match(b.Get("id").Str()) {
			return fmt.Errorf("%s.id: String should match pattern '%s'", path, anthropicID)
		}
		if !anthropicToolName.match(b.Get("name").Str()) {
			return fmt.Errorf("%s.name: String should match pattern '%s'", path, anthropicToolName)
		}
		if b.Get("input").Kind() != '{' {
			return fmt.Errorf("%s.input: Input should be a valid dictionary", path)
		}
	case "tool_result":
		return c.toolResult(path, b)
	case "tool_addition", "tool_removal":
		return c.toolChange(path, kind, b.Get("tool"))
	case "compaction":
		return c.compactionBlock(path, b)
	}
	return nil
}

func (c *anthropicCheck) toolResult(path string, b wire.Value) error {
	content := b.Get("content")
	n := 0
	for it := content.Elements(); it.Next(); n++ {
		if err := c.block(fmt.Sprintf("%s.content.%d", path, n), "result", it.Value); err != nil {
			return err
		}
		if c.rules != nil && b.Get("is_error").Bool() && !it.Value.Get("type").Is("text") {
			return fmt.Errorf("%s.content.%d: all content must be type \"text\" if `is_error` is true", path, n)
		}
	}
	if b.Get("is_error").Bool() && n == 0 && content.Str() == "" {
		return fmt.Errorf("%s: content cannot be empty if `is_error` is true", path)
	}
	return nil
}

func checkSource(path, kind string, s wire.Value) error {
	switch form := s.Get("type"); {
	case form.Is("url"):
		if u := s.Get("url").Str(); !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "http://") {
			return fmt.Errorf("%s.url: only HTTP URLs are supported", path)
		}
	case form.Is("base64"):
		types := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
		if kind == "document" {
			types = []string{"application/pdf"}
		}
		if !slices.Contains(types, s.Get("media_type").Str()) {
			return fmt.Errorf("%s.base64.media_type: Input should be one of %v", path, types)
		}
		data, err := base64.StdEncoding.DecodeString(s.Get("data").Str())
		if err != nil || len(data) == 0 {
			return fmt.Errorf("%s.base64.data: the data is empty or not valid base64", path)
		}
		if found := http.DetectContentType(data); strings.HasPrefix(found, "image/") && !s.Get("media_type").Is(found) {
			return fmt.Errorf("%s.base64.data: Image does not match the provided media type %s", path, s.Get("media_type").Str())
		}
	case form.Is("text") && kind == "document":
		if !s.Get("media_type").Is("text/plain") || s.Get("data").Str() == "" {
			return fmt.Errorf("%s.text: text/plain with data is required", path)
		}
	case form.Is("file"), form.Is("content"):
	default:
		return fmt.Errorf("%s: Input tag does not match any of the expected tags", path)
	}
	return nil
}

func callIDs(m wire.Value) (ids []string) {
	for it := m.Get("content").Elements(); it.Next(); {
		if it.Value.Get("type").Is("tool_use") {
			ids = append(ids, it.Value.Get("id").Str())
		}
	}
	return ids
}

func resultIDs(m wire.Value) (ids []string) {
	for it := m.Get("content").Elements(); it.Next(); {
		if it.Value.Get("type").Is("tool_result") {
			ids = append(ids, it.Value.Get("tool_use_id").Str())
		}
	}
	return ids
}

// matchResults checks that the results answer each call in the previous message once.
func matchResults(path string, calls, results []string) error {
	open := slices.Clone(calls)
	for _, id := range results {
		i := slices.Index(open, id)
		switch {
		case i >= 0:
			open = slices.Delete(open, i, i+1)
		case slices.Contains(calls, id):
			return fmt.Errorf("%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", path, id)
		default:
			return fmt.Errorf("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message", path, id)
		}
	}
	if len(open) > 0 {
		return unanswered(path, open)
	}
	return nil
}

func unanswered(path string, ids []string) error {
	return fmt.Errorf("%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s", path, strings.Join(ids, ", "))
}

// thinkingInRound checks that a tool round with thinking enabled starts with thinking.
func (c *anthropicCheck) thinkingInRound() error {
	if !c.v.Get("thinking", "type").Is("enabled") || c.v.Get("compaction").Exists() {
		return nil
	}
	var first wire.Value // first block's type
	inRound := false
	for it := c.v.Get("messages").Elements(); it.Next(); {
		switch role := it.Value.Get("role"); {
		case role.Is("user"):
			if inRound = len(resultIDs(it.Value)) > 0; !inRound {
				first = nil
			}
		case role.Is("assistant") && first == nil:
			if blocks := it.Value.Get("content").Elements(); blocks.Next() {
				first = blocks.Value.Get("type")
			}
		}
	}
	if inRound && first != nil && !first.Is("thinking") && !first.Is("redacted_thinking") {
		return fmt.Errorf("messages: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", first.Str())
	}
	return nil
}
