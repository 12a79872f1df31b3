package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/bedrock"
)

// converseProtocol is the server side of Amazon Bedrock's Converse API.
type converseProtocol struct{}

func (converseProtocol) match(r *http.Request) bool {
	path := r.URL.Path
	return strings.Contains(path, "/model/") && (strings.HasSuffix(path, "/converse") || strings.HasSuffix(path, "/converse-stream"))
}

func (converseProtocol) dialect() wire.Dialect { return bedrock.NewDialect(bedrock.Config{}) }

func (converseProtocol) base() (provider, path string) { return "bedrock", "" }

func (converseProtocol) key(*http.Request) string { return "" }

func (converseProtocol) authorized(r *http.Request, body []byte, key string) bool {
	return awsAuthorized(r, body, key)
}

func (converseProtocol) streaming(r *http.Request, _ []byte) bool {
	return strings.HasSuffix(r.URL.Path, "/converse-stream")
}

func (converseProtocol) refusal() (string, func([]any) string) {
	return "messages", func(path []any) string { return dotted(path) + ": the content could not be processed" }
}

func (converseProtocol) requestID(id string) (header, value string) { return "X-Amzn-Requestid", id }

func (converseProtocol) errorType(status int) string { return awsErrorType(status) }

func (converseProtocol) failure(_ int, message string) []byte { return object("message", message) }

func (converseProtocol) midFailure(status int, message string) []byte {
	return frame(awsException(status), object("message", message))
}

func (converseProtocol) contentType() string { return awsStream }

// reframe encodes a server-sent event as an AWS message. Comments do not exist there.
func (converseProtocol) reframe(sse []byte) []byte {
	name, data := splitFrame(sse)
	switch {
	case data == nil:
		return nil
	case strings.HasSuffix(name, "Exception"):
		return awsMessage(data, ":exception-type", name, ":content-type", "application/json", ":message-type", "exception")
	}
	return awsMessage(data, ":event-type", name, ":content-type", "application/json", ":message-type", "event")
}

func converseStop(f llm.FinishReason) string {
	switch f {
	case llm.FinishStop:
		return "end_turn"
	case llm.FinishToolCalls:
		return "tool_use"
	case llm.FinishLength:
		return "max_tokens"
	case llm.FinishContentFilter:
		return "content_filtered"
	}
	return string(f)
}

func converseUsage(u llm.Usage) json.RawMessage {
	return object("inputTokens", u.Input-u.CacheRead-u.CacheWrite, "outputTokens", u.Output, "totalTokens", u.Input+u.Output,
		"cacheReadInputTokens", u.CacheRead, "cacheWriteInputTokens", u.CacheWrite)
}

// thinkingSignature returns the signature of thinking, or makes one up.
func thinkingSignature(t llm.Thinking) string {
	state := string(t.State.Data)
	switch {
	case isObject(state):
		return wire.Value(state).Get("signature").Str()
	case state != "":
		return state
	}
	return base64.StdEncoding.EncodeToString([]byte("signature of " + t.Text))
}

func (converseProtocol) unary(rep reply) []byte {
	var content []json.RawMessage
	for _, p := range rep.Parts {
		switch p := p.(type) {
		case llm.Text:
			content = append(content, object("text", p.Text))
		case llm.Thinking:
			content = append(content, object("reasoningContent", object("reasoningText", object("text", p.Text, "signature", thinkingSignature(p)))))
		case llm.ToolCall:
			content = append(content, object("toolUse", object("toolUseId", p.ID, "name", p.Name, "input", rawJSON(p.Arguments))))
		case llm.Opaque:
			content = append(content, json.RawMessage(p.State.Data))
		}
	}
	return object("output", object("message", object("role", "assistant", "content", list(content...))),
		"stopReason", converseStop(rep.Finish), "usage", converseUsage(rep.Usage), "metrics", object("latencyMs", 1))
}

func (converseProtocol) stream(rep reply) (frames [][]byte) {
	event := func(kind string, pairs ...any) {
		frames = append(frames, frame(kind, object(append(pairs, "p", "abcd")...)))
	}
	event("messageStart", "role", "assistant")
	for i, p := range rep.Parts {
		delta := func(v json.RawMessage) { event("contentBlockDelta", "contentBlockIndex", i, "delta", v) }
		switch p := p.(type) {
		case llm.Text:
			for _, s := range chunks(p.Text, rep.Chunk) {
				delta(object("text", s))
			}
		case llm.Thinking:
			for _, s := range chunks(p.Text, rep.Chunk) {
				delta(object("reasoningContent", object("text", s)))
			}
			delta(object("reasoningContent", object("signature", thinkingSignature(p))))
		case llm.ToolCall:
			event("contentBlockStart", "contentBlockIndex", i, "start", object("toolUse", object("toolUseId", p.ID, "name", p.Name)))
			for _, s := range chunks(p.Arguments, rep.Chunk) {
				delta(object("toolUse", object("input", s)))
			}
		}
		event("contentBlockStop", "contentBlockIndex", i)
	}
	event("messageStop", "stopReason", converseStop(rep.Finish))
	event("metadata", "usage", converseUsage(rep.Usage), "metrics", object("latencyMs", 1))
	return frames
}

var (
	converseName = &pattern{text: `^[a-zA-Z0-9_-]{1,64}$`}
	converseID   = &pattern{text: `^[a-zA-Z0-9_.:-]{1,64}$`}
)

func (converseProtocol) validate(_ *http.Request, body []byte) error {
	v, err := wire.ParseJSON(body)
	if err != nil || v.Kind() != '{' {
		return fmt.Errorf("the request body is not valid JSON: %w", err)
	}
	if err := onlyMembers("", v, "messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields",
		"additionalModelResponseFieldPaths", "guardrailConfig", "outputConfig", "performanceConfig", "promptVariables", "requestMetadata", "serviceTier"); err != nil {
		return err
	}
	if err := onlyMembers("inferenceConfig.", v.Get("inferenceConfig"), "maxTokens", "temperature", "topP", "stopSequences"); err != nil {
		return err
	}
	for it := v.Get("system").Elements(); it.Next(); {
		if strings.TrimSpace(it.Value.Get("text").Str()) == "" {
			return errors.New("system: The text field in the ContentBlock object is blank")
		}
	}
	c := converseCheck{tools: map[string]bool{}}
	if err := c.toolConfig(v.Get("toolConfig")); err != nil {
		return err
	}
	return c.messages(v.Get("messages"))
}

type converseCheck struct {
	tools map[string]bool
	calls map[string]bool // calls in the last assistant message, without results
	used  bool            // a tool was called
}

func (c *converseCheck) toolConfig(v wire.Value) error {
	if err := onlyMembers("toolConfig.", v, "tools", "toolChoice"); err != nil {
		return err
	}
	for it := v.Get("tools").Elements(); it.Next(); {
		spec := it.Value.Get("toolSpec")
		name := spec.Get("name").Str()
		switch d := spec.Get("description"); {
		case !converseName.match(name):
			return fmt.Errorf("toolConfig.tools.toolSpec.name: %q does not match %s", name, converseName)
		case c.tools[name]:
			return fmt.Errorf("the toolConfig field contains duplicate names: %s", name)
		case d != nil && d.Str() == "":
			return errors.New("toolConfig.tools.toolSpec.description: the length must be at least 1")
		case !spec.Get("inputSchema", "json", "type").Is("object"):
			return errors.New("toolConfig.tools.toolSpec.inputSchema.json.type must be object")
		}
		c.tools[name] = true
	}
	if v != nil && len(c.tools) == 0 {
		return errors.New("toolConfig.tools: the length must be at least 1")
	}
	if named := v.Get("toolChoice", "tool"); named != nil && !c.tools[named.Get("name").Str()] {
		return errors.New("toolConfig.toolChoice.tool.name: the tool is not in toolConfig.tools")
	}
	return onlyMembers("toolConfig.toolChoice.", v.Get("toolChoice"), "auto", "any", "tool")
}

func (c *converseCheck) messages(list wire.Value) error {
	role, i := "", 0
	for it := list.Elements(); it.Next(); i++ {
		path := fmt.Sprintf("messages.%d", i)
		before := role
		role = it.Value.Get("role").Str()
		switch {
		case role != "user" && role != "assistant":
			return fmt.Errorf("%s.role: must be user or assistant", path)
		case i == 0 && role != "user":
			return errors.New("a conversation must start with a user message")
		case role == before:
			return fmt.Errorf("%s: roles must alternate", path)
		}
		if err := c.content(path, role, it.Value.Get("content")); err != nil {
			return err
		}
	}
	switch {
	case i == 0:
		return errors.New("messages: the length must be at least 1")
	case len(c.calls) > 0:
		return errors.New("expected toolResult blocks for the last toolUse blocks")
	case c.used && len(c.tools) == 0:
		return errors.New("the toolConfig field must be defined when using toolUse and toolResult content blocks")
	}
	return nil
}

func (c *converseCheck) content(path, role string, content wire.Value) error {
	j := 0
	pending := c.calls
	c.calls = map[string]bool{}
	for it := content.Elements(); it.Next(); j++ {
		at := fmt.Sprintf("%s.content.%d", path, j)
		if err := c.block(at, role, it.Value, pending); err != nil {
			return err
		}
	}
	if j == 0 {
		return fmt.Errorf("%s.content: the content field is empty", path)
	}
	if len(pending) > 0 {
		return fmt.Errorf("%s.content: expected toolResult blocks for %d toolUse blocks", path, len(pending))
	}
	return nil
}

func (c *converseCheck) block(path, role string, b wire.Value, pending map[string]bool) error {
	m := b.Members()
	if !m.Next() {
		return fmt.Errorf("%s: the ContentBlock object must set exactly one member", path)
	}
	v := m.Value
	switch kind := string(m.Key); kind {
	case "text":
		if strings.TrimSpace(v.Str()) == "" {
			return fmt.Errorf("%s: The text field in the ContentBlock object is blank", path)
		}
	case "toolUse":
		id := v.Get("toolUseId").Str()
		if role != "assistant" || !converseID.match(id) || !converseName.match(v.Get("name").Str()) || v.Get("input").Kind() != '{' || c.calls[id] {
			return fmt.Errorf("%s: invalid toolUse block", path)
		}
		c.calls[id], c.used = true, true
	case "toolResult":
		id := v.Get("toolUseId").Str()
		if role != "user" || !pending[id] || v.Get("content").Kind() != '[' {
			return fmt.Errorf("%s: toolResult for the unknown toolUse %q", path, id)
		}
		delete(pending, id)
		if s := v.Get("status"); s != nil && !s.Is("success") && !s.Is("error") {
			return fmt.Errorf("%s.status: must be success or error", path)
		}
		for it := v.Get("content").Elements(); it.Next(); {
			if err := c.block(path+".toolResult.content", "result", it.Value, nil); err != nil {
				return err
			}
		}
	case "image":
		return converseMedia(path, v, "png", "jpeg", "gif", "webp")
	case "document":
		return converseMedia(path, v, "pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md")
	case "reasoningContent":
		if role != "assistant" {
			return fmt.Errorf("%s: reasoningContent is not allowed here", path)
		}
	case "json", "cachePoint", "guardContent", "citationsContent", "video", "searchResult":
	default:
		return fmt.Errorf("%s: unknown member %s", path, kind)
	}
	return nil
}

func converseMedia(path string, v wire.Value, formats ...string) error {
	if _, err := base64.StdEncoding.DecodeString(v.Get("source", "bytes").Str()); err != nil || v.Get("source", "bytes") == nil {
		return fmt.Errorf("%s.source.bytes: must be base64", path)
	}
	if !slices.Contains(formats, v.Get("format").Str()) {
		return fmt.Errorf("%s.format: must be one of %v", path, formats)
	}
	return nil
}
