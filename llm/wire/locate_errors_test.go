package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// refused is a conversation with everything in it that errors complain of, for one dialect.
func refused(dialect string) *llm.Request {
	opaque := func(s string) llm.State { return llm.State{Dialect: dialect, Data: []byte(s)} }
	thinking := llm.Thinking{Text: "hm", State: opaque(`{"signature":"c2ln"}`)}
	if dialect == "openai-responses" {
		thinking.State = opaque(`{"type":"reasoning","id":"rs_68af0","summary":[],"encrypted_content":"gAAA"}`)
	}
	return &llm.Request{Model: "m", Messages: []llm.Message{
		llm.SystemText("be brief"),
		{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "look"}, llm.Image{Media: llm.Media{Data: []byte(png)}}}},
		{Role: llm.RoleAssistant, Parts: []llm.Part{thinking,
			llm.ToolCall{ID: "toolu_01A", Name: "shot", Arguments: `{}`},
			llm.ToolCall{ID: "toolu_01B", Name: "shot", Arguments: `{"x":`}}},
		llm.ToolResults(
			llm.ToolResult{ID: "toolu_01A", Name: "shot", Parts: []llm.Part{llm.Text{Text: "a"}, llm.Image{Media: llm.Media{Data: []byte(png)}}}},
			llm.ToolResult{ID: "toolu_01B", Name: "shot", Parts: []llm.Part{llm.Text{Text: "b"}}}),
		llm.UserText("and now?"),
		llm.ToolResults(llm.ToolResult{ID: "toolu_01C", Name: "shot", Parts: []llm.Part{llm.Text{Text: "stray"}}}),
		llm.UserText("go on"),
	}}
}

func at(message, part, inner int) *llm.Item {
	return &llm.Item{Message: message, Part: part, Inner: inner}
}

func TestLocate_ErrorsOfTheProvidersNameTheirPart(t *testing.T) {
	const (
		claude, responses, completions, google = "anthropic", "openai", "chat", "gemini"
	)
	tests := []struct {
		dialect, message, param string
		want                    *llm.Item
	}{
		{claude, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6500712 bytes > 5242880 bytes", "", at(1, 1, -1)},
		{claude, "messages.2.content.0.tool_result.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels", "", at(3, 0, 1)},
		{claude, "messages.1.content.0: Invalid `signature` in `thinking` block", "", at(2, 0, -1)},
		{claude, "messages.1.content.2.tool_use.input: Input should be a valid dictionary", "", at(2, 2, -1)},
		{claude, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01B. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", "", at(2, 2, -1)},
		{claude, "messages.2.content.2: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01C. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", "", at(5, 0, -1)},
		{claude, "messages.2: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_01A", "", at(3, 0, -1)},
		{claude, "messages.2: something about the whole message", "", at(6, -1, -1)},
		{claude, "system.0: text content blocks must be non-empty", "", at(0, 0, -1)},
		{claude, "messages.77.content.0: no such thing", "", nil},
		{claude, "max_tokens: Field required", "", nil},
		{claude, "Could not process image", "", at(3, 0, 1)},

		{responses, "Invalid 'input[0].content[1].image_url'. Expected a base64-encoded data URL with an image MIME type.", "input[0].content[1].image_url", at(1, 1, -1)},
		{responses, "Invalid type", "input[4].output[1]", at(3, 0, 1)},
		{responses, "Item 'rs_68af0' of type 'reasoning' was provided without its required following item.", "input", at(2, 0, -1)},
		{responses, "Item with id 'rs_68af0' not found. Items are not persisted when `store` is set to false.", "input", at(2, 0, -1)},
		{responses, "No tool output found for function call toolu_01B.", "input", at(2, 2, -1)},
		{responses, "No tool call found for function call output with call_id toolu_01C.", "input", at(5, 0, -1)},
		{responses, "Duplicate item found with id rs_68af0. Remove duplicate items from your input and try again.", "input", at(2, 0, -1)},
		{responses, "The image data you provided does not represent a valid image.", "input", at(3, 0, 1)},
		{responses, "Unknown parameter: 'reasoning.foo'", "reasoning.foo", nil},

		{completions, "Invalid image URL: 'messages[1].content[1].image_url.url'.", "messages[1].content[1].image_url.url", at(1, 1, -1)},
		{completions, "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", "messages.[7].role", at(5, 0, -1)},
		{completions, "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'", "", at(5, 0, -1)},
		{completions, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: toolu_01B", "messages.[3].role", at(2, 2, -1)},
		{completions, "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 900", "", at(1, -1, -1)},
		{completions, "'messages.3' : for 'role:tool' the following must be satisfied[('messages.3.content' : value must be a string)]", "", at(3, 0, -1)},
		{completions, "[{'type': 'missing', 'loc': ('body', 'messages', 2, 'tool_calls', 1, 'function'), 'msg': 'Field required'}]", "", at(2, 2, -1)},
		{completions, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum", "", at(3, 0, 1)}, // behind a gateway

		{google, "Invalid value at 'contents[0].parts[1].inline_data.data' (TYPE_BYTES), Base64 decoding failed", "", at(1, 1, -1)},
		{google, "* GenerateContentRequest.contents[2].parts[1].function_response.name: Name cannot be empty.\n", "", at(3, 1, -1)},
		{google, "Function call is missing a thought_signature in functionCall parts. Additional data, function call `default_api:shot` , position 2. Please refer to the documentation.", "", at(2, 1, -1)},
		{google, "Unable to process input image. Please retry.", "", at(3, 0, 1)},
		{google, "Provided image is not valid.", "", at(3, 0, 1)},
		{google, "Request contains an invalid argument.", "", nil},
	}
	all := tongues()
	for _, tt := range tests {
		tg := all[tt.dialect]
		body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": tt.message, "param": tt.param}})
		e := wire.HTTPError(400, nil, body)
		got := wire.Locate(tg.dialect, refused(tg.dialect.Name()), e)
		if fmt.Sprint(show(got)) != fmt.Sprint(show(tt.want)) {
			t.Errorf("%s: %q names %v, want %v", tt.dialect, tt.message, show(got), show(tt.want))
		}
	}
}

func show(i *llm.Item) any {
	if i == nil {
		return "nothing"
	}
	return *i
}

func TestLocate_OtherErrorsNameNothing(t *testing.T) {
	tg := tongues()["anthropic"]
	for _, kind := range []llm.ErrorKind{llm.ErrRateLimit, llm.ErrServer, llm.ErrAuthentication, llm.ErrCancelled, llm.ErrQuota} {
		e := &llm.Error{Kind: kind, Message: "messages.0.content.1: image exceeds 5 MB maximum"}
		if got := wire.Locate(tg.dialect, refused("anthropic"), e); got != nil {
			t.Errorf("an error of kind %s names %v", kind, *got)
		}
	}
}

func TestLocate_RequestIsNotChanged(t *testing.T) {
	for name, tg := range tongues() {
		r := refused(tg.dialect.Name())
		before := fmt.Sprintf("%#v", r.Messages)
		wire.Locate(tg.dialect, r, &llm.Error{Kind: llm.ErrInvalidRequest, Message: "messages.0 input[0] contents[0]"})
		if after := fmt.Sprintf("%#v", r.Messages); after != before {
			t.Errorf("%s: the messages changed from\n%s\nto\n%s", name, before, after)
		}
	}
}

// FuzzLocate feeds it errors that nobody can trust.
func FuzzLocate(f *testing.F) {
	for _, s := range []string{
		"messages.5.content.0", "input[999999999].content[3]", "contents[1].parts[99999999999999999999]", "messages.[-1].role",
		"messages.1.content.0.tool_result.content.1.image.source", "system.0", "function call `x`, position 0", "function call f, position 999999999",
		`["body","messages",3,"content",1]`, "No tool output found for function call toolu_01A", "role 'tool' must be a response", "\xff\x00messages[0]",
		strings.Repeat("messages.1", 3000), "messages" + strings.Repeat(".0", 5000),
	} {
		f.Add(s, []byte(`{"error":{"param":"input[1]","message":"x"}}`))
	}
	all := tongues()
	f.Fuzz(func(t *testing.T, message string, body []byte) {
		for _, tg := range all {
			r := refused(tg.dialect.Name())
			got := wire.Locate(tg.dialect, r, &llm.Error{Kind: llm.ErrInvalidRequest, Message: message, Body: body})
			if got == nil {
				continue
			}
			parts := r.Messages[got.Message].Parts
			if got.Part < -1 || got.Part >= len(parts) || got.Part < 0 && got.Inner >= 0 {
				t.Fatalf("%q names %+v", message, *got)
			}
			if got.Inner >= 0 && got.Inner >= len(parts[got.Part].(llm.ToolResult).Parts) {
				t.Fatalf("%q names %+v", message, *got)
			}
		}
	})
}

// BenchmarkLocate looks for the part that an error names in a session of 200 rounds.
func BenchmarkLocate(b *testing.B) {
	text := strings.Repeat("some line of a file\n", 200)
	messages := []llm.Message{llm.SystemText(text)}
	for i := range 200 {
		call := llm.ToolCall{ID: fmt.Sprintf("call_%d", i), Name: "read", Arguments: `{"path":"a.go"}`}
		messages = append(messages, llm.UserText("go on"), llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{call}}, llm.ToolResults(llm.TextResult(call, text, false)))
	}
	for name, tg := range tongues() {
		b.Run(name, func(b *testing.B) {
			r := &llm.Request{Model: tg.model, Messages: messages}
			e := &llm.Error{Kind: llm.ErrInvalidRequest, Message: fmt.Sprintf("Invalid '%s[301]'", tg.list)}
			b.ReportAllocs()
			for b.Loop() {
				if wire.Locate(tg.dialect, r, e) == nil {
					b.Fatal("it was not found")
				}
			}
		})
	}
}
