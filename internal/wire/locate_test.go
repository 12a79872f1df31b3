package wire_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/internal/corpus"
	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/bedrock"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
)

// tongue is a dialect and how its errors name places.
type tongue struct {
	dialect wire.Dialect
	model   string
	list    string // body member that holds the items
	lists   []string
	// thinking makes the state of thinking that goes back.
	thinking func(marker string) string
	// errors makes errors of steps such as 3, "content", 1.
	errors []func(steps []any) (message, param string)
}

func dotted(steps []any) string {
	words := make([]string, len(steps))
	for i, s := range steps {
		words[i] = fmt.Sprint(s)
	}
	return strings.Join(words, ".")
}

func bracketed(steps []any, dot string) string {
	var b strings.Builder
	for i, s := range steps {
		if n, ok := s.(int); ok {
			fmt.Fprintf(&b, "%s[%d]", dot, n)
			continue
		}
		if i > 0 {
			b.WriteString(".")
		}
		b.WriteString(s.(string))
	}
	return b.String()
}

func tongues() map[string]tongue {
	message := func(format string, form func([]any) string) func([]any) (string, string) {
		return func(steps []any) (string, string) { return fmt.Sprintf(format, form(steps)), "" }
	}
	plain := func(s []any) string { return bracketed(s, "") }
	tongues := map[string]tongue{
		"anthropic": {anthropic.NewDialect(anthropic.Config{}), "claude-haiku-4-5", "messages", []string{"content"},
			func(m string) string { return `{"signature":"` + m + `"}` },
			[]func([]any) (string, string){
				message("%s: Input should be something else", dotted),
				message("%s.cache_control: not here", dotted),
			}},
		"openai": {openai.NewDialect(openai.Config{}), "gpt-x", "input", []string{"content", "output"},
			func(m string) string {
				return `{"type":"reasoning","id":"rs_` + m + `","summary":[],"encrypted_content":"` + m + `"}`
			},
			[]func([]any) (string, string){
				message("Invalid '%s': expected something else.", plain),
				message("Invalid value: 'x'. Supported values are: 'y' at '%s.type'.", plain),
				func(s []any) (string, string) { return "Invalid value", plain(s) },
			}},
		"chat": {chat.NewDialect(chat.Config{}), "model-x", "messages", []string{"content", "tool_calls"},
			func(m string) string { return `"reasoning_content"` },
			[]func([]any) (string, string){
				message("Invalid '%s': expected something else.", plain),
				func(s []any) (string, string) { return "Invalid value", bracketed(s, ".") },
				message("'%s' : is not valid", dotted),
				message("%s: unknown variant at line 1 column 9", plain),
			}},
		"gemini": {gemini.NewDialect(gemini.Config{}), "gemini-3-pro", "contents", []string{"parts"},
			func(m string) string { return base64.StdEncoding.EncodeToString([]byte(m)) },
			[]func([]any) (string, string){
				message("Invalid value at '%s.inline_data.data' (TYPE_BYTES)", plain),
				message("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field\n", plain),
			}},
	}
	tongues["bedrock"] = tongue{bedrock.NewDialect(bedrock.Config{}), "nova-x", "messages", []string{"content"},
		func(m string) string { return `{"signature":"` + m + `"}` },
		[]func([]any) (string, string){
			message("The value at %s is invalid.", dotted),
			message("Malformed input request: #/%s: extraneous key [x] is not permitted, please reformat your input and try again.",
				func(s []any) string { return strings.ReplaceAll(dotted(s), ".", "/") }),
		}}
	gateway := tongues["chat"]
	gateway.dialect = chat.NewDialect(chat.Config{Endpoint: llm.Endpoint{BaseURL: "https://api.mistral.ai/v1"}})
	tongues["chat of another server"] = gateway
	return tongues
}

// marked makes conversations in which every part holds its own word.
type marked struct {
	t      *rapid.T
	tongue tongue
	places map[string]llm.Item
	open   []llm.ToolCall
}

func (g *marked) word(at llm.Item) string {
	w := fmt.Sprintf("W%dW", len(g.places))
	g.places[w] = at
	return w
}

func (g *marked) media(at llm.Item) llm.Media {
	return llm.Media{Data: append([]byte("\x89PNG\r\n\x1a\n...."), g.word(at)...)}
}

func (g *marked) user(at llm.Item) llm.Part {
	switch rapid.IntRange(0, 4).Draw(g.t, "user part") {
	case 0:
		return llm.Image{Media: g.media(at)}
	case 1:
		return llm.Document{Media: llm.Media{MIME: "application/pdf", Name: "a.pdf", Data: []byte("%PDF-1.7 ...." + g.word(at))}}
	case 2:
		return llm.Text{}
	}
	return llm.Text{Text: g.word(at)}
}

func (g *marked) assistant(at llm.Item) llm.Part {
	switch rapid.IntRange(0, 4).Draw(g.t, "assistant part") {
	case 0:
		w := g.word(at)
		state := llm.State{Dialect: g.tongue.dialect.Name(), Data: []byte(g.tongue.thinking(w))}
		if rapid.Bool().Draw(g.t, "foreign") {
			state.Dialect = "another"
		}
		return llm.Thinking{Text: w, State: state}
	case 1, 2:
		c := llm.ToolCall{ID: fmt.Sprintf("call_%d", len(g.places)), Name: "f", Arguments: `{"a":"` + g.word(at) + `"}`}
		g.open = append(g.open, c)
		return c
	}
	return llm.Text{Text: g.word(at)}
}

func (g *marked) result(c llm.ToolCall, at llm.Item) llm.Part {
	r := llm.ToolResult{ID: c.ID, Name: c.Name, IsError: rapid.Bool().Draw(g.t, "error")}
	for k := range rapid.IntRange(1, 3).Draw(g.t, "result parts") {
		at.Inner = k
		if rapid.Bool().Draw(g.t, "image") {
			r.Parts = append(r.Parts, llm.Image{Media: g.media(at)})
		} else {
			r.Parts = append(r.Parts, llm.Text{Text: g.word(at)})
		}
	}
	return r
}

func (g *marked) conversation() (messages []llm.Message) {
	roles := []llm.Role{llm.RoleUser, llm.RoleAssistant, llm.RoleAssistant, llm.RoleUser, llm.RoleSystem, llm.RoleDeveloper}
	for range rapid.IntRange(1, 12).Draw(g.t, "messages") {
		i := len(messages)
		at := func(j int) llm.Item { return llm.Item{Message: i, Part: j, Inner: -1} }
		m := llm.Message{Role: rapid.SampledFrom(roles).Draw(g.t, "role")}
		if len(g.open) > 0 {
			m.Role = llm.RoleTool
			for n := rapid.IntRange(1, len(g.open)).Draw(g.t, "answered"); n > 0; n-- {
				m.Parts = append(m.Parts, g.result(g.open[0], at(len(m.Parts))))
				g.open = g.open[1:]
			}
		} else {
			for j := range rapid.IntRange(1, 3).Draw(g.t, "parts") {
				switch m.Role {
				case llm.RoleAssistant:
					m.Parts = append(m.Parts, g.assistant(at(j)))
				case llm.RoleUser:
					m.Parts = append(m.Parts, g.user(at(j)))
				default:
					m.Parts = append(m.Parts, llm.Text{Text: g.word(at(j))})
				}
			}
		}
		messages = append(messages, m)
	}
	return messages
}

// spot is an element in a request body and its path.
type spot struct {
	steps []any
	value any
}

// spots lists the body's items and the elements inside them.
func (tg tongue) spots(body []byte) (all []spot) {
	var top map[string]any
	if json.Unmarshal(body, &top) != nil {
		return nil
	}
	var walk func(steps []any, v any)
	walk = func(steps []any, v any) {
		all = append(all, spot{slices.Clone(steps), v})
		object, _ := v.(map[string]any)
		for _, key := range tg.lists {
			list, _ := object[key].([]any)
			for i, v := range list {
				next := append(slices.Clone(steps), key, i)
				if kind, ok := object["type"].(string); ok && tg.list == "messages" && key == "content" {
					next = append(slices.Clone(steps), kind, key, i) // Anthropic's tool_result.content.0
				}
				walk(next, v)
			}
		}
	}
	list, _ := top[tg.list].([]any)
	for i, v := range list {
		walk([]any{tg.list, i}, v)
	}
	return all
}

// origin returns the place that the words in a value have in common, plain or in base64. Of several
// messages that is the newest.
func (g *marked) origin(v any) *llm.Item {
	text, _ := json.Marshal(v)
	for _, coded := range regexp.MustCompile(`[A-Za-z0-9+/]{8,}=*`).FindAllString(string(text), -1) {
		if raw, err := base64.StdEncoding.DecodeString(coded); err == nil {
			text = append(text, raw...)
		}
	}
	var at *llm.Item
	for w, p := range g.places {
		switch {
		case !strings.Contains(string(text), w) || at != nil && p.Message < at.Message:
		case at == nil || p.Message > at.Message:
			at = &p
		case p.Part != at.Part:
			at.Part, at.Inner = -1, -1
		case p.Inner != at.Inner:
			at.Inner = -1
		}
	}
	return at
}

func TestLocate_PlaceInTheWireFormIsThePartItCameFrom(t *testing.T) {
	for name, tg := range tongues() {
		t.Run(name, func(t *testing.T) {
			exact := 0
			rapid.Check(t, func(t *rapid.T) {
				g := &marked{t: t, tongue: tg, places: map[string]llm.Item{}}
				r := &llm.Request{Model: tg.model, Messages: g.conversation()}
				call, err := tg.dialect.Encode(r)
				if err != nil {
					t.Fatal(err)
				}
				spots := tg.spots(call.Body.Bytes())
				if len(spots) == 0 {
					return
				}
				s := rapid.SampledFrom(spots).Draw(t, "place")
				want := g.origin(s.value)
				message, param := rapid.SampledFrom(tg.errors).Draw(t, "form")(s.steps)
				body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message, "param": param}})
				got := wire.Locate(tg.dialect, r, &llm.Error{Kind: llm.ErrInvalidRequest, Message: message, Body: body})
				if want == nil {
					return // the adapter wrote this text itself
				}
				if got == nil || *got != *want {
					t.Fatalf("%q (%s): got %v, want %v in\n%s", message, param, show(got), *want, call.Body.Bytes())
				}
				if want.Part >= 0 {
					exact++
				}
			})
			if exact == 0 {
				t.Error("no error was traced to a part")
			}
		})
	}
}

// refused returns a conversation that contains everything the errors below complain about.
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

func TestLocate_ProviderErrorsNameTheirPart(t *testing.T) {
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
		{claude, "messages.2: something about the whole message", "", at(6, 0, -1)},
		{claude, "system.0: text content blocks must be non-empty", "", nil},
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
		{completions, "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", "messages.[7].role", at(5, 0, 0)},
		{completions, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: toolu_01B", "messages.[3].role", at(2, 2, -1)},
		{completions, "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 900", "", at(1, -1, -1)},
		{completions, "'messages.3' : for 'role:tool' the following must be satisfied[('messages.3.content' : value must be a string)]", "", at(3, 0, 0)},
		{completions, "[{'type': 'missing', 'loc': ('body', 'messages', 2, 'tool_calls', 1, 'function'), 'msg': 'Field required'}]", "", at(2, 2, -1)},
		{completions, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum", "", at(3, 0, 1)}, // behind a gateway

		{google, "Invalid value at 'contents[0].parts[1].inline_data.data' (TYPE_BYTES), Base64 decoding failed", "", at(1, 1, -1)},
		{google, "* GenerateContentRequest.contents[2].parts[1].function_response.name: Name cannot be empty.\n", "", at(3, 1, 0)},
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
		if show(got) != show(tt.want) {
			t.Errorf("%s: %q: got %v, want %v", tt.dialect, tt.message, show(got), show(tt.want))
		}
	}
}

func show(i *llm.Item) string {
	if i == nil {
		return "nothing"
	}
	return fmt.Sprint(*i)
}

// TestLocate_RecordedErrorsNameTheirPart covers every recorded error that is about a request item.
func TestLocate_RecordedErrorsNameTheirPart(t *testing.T) {
	want := map[string]*llm.Item{
		"4937de59879863fc": at(0, 0, -1),  // tool_use without tool_result: call_1
		"897170a1d3827385": at(1, 0, -1),  // reasoning without its following item: rs_…
		"c01111a55251c4e4": at(2, 0, 0),   // unsupported_file
		"724fbdd4fff9b5ec": at(3, 0, -1),  // unsupported_file
		"07d42e96938ed76b": at(3, -1, -1), // messages[3]: content blocks
		"ed113b34a16bca41": at(3, 0, -1),  // messages[3]: content blocks
		"c375a14e64b7c331": at(3, 0, -1),  // messages[3]: content blocks
		"9ed740be30e897a2": at(0, 0, -1),  // messages[0].role
		"4e1020a833e3e7f8": at(0, 1, -1),  // invalid_image_url
		"96a17868554355ee": at(0, 1, -1),  // unsupported image
		"84968442abf9abfe": at(2, 0, 1),   // cannot fetch content from the provided URL
		"d56c275cecdf16ad": at(4, 0, 0),   // cannot fetch content from the provided URL
	}
	type exchange struct {
		ID       string
		Request  struct{ Body any }
		Response struct {
			Status int
			Body   any
		}
	}
	located := 0
	for protocol, name := range map[string]string{"anthropic-messages": "anthropic", "openai-responses": "openai", "openai-chat": "chat", "gemini": "gemini"} {
		d := tongues()[name].dialect
		for _, x := range corpus.Traffic[exchange](t, protocol) {
			if x.Response.Status < 400 {
				continue
			}
			body, _ := x.Request.Body.(string)
			r, _, err := requests.Parse(d, []byte(body))
			if err != nil {
				t.Fatalf("%s: %v", x.ID, err)
			}
			answer, _ := x.Response.Body.(string)
			got := wire.Locate(d, r, wire.HTTPError(x.Response.Status, nil, []byte(answer)))
			if show(got) != show(want[x.ID]) {
				t.Errorf("%s: %.200s: got %v, want %v", x.ID, answer, show(got), show(want[x.ID]))
			}
			if got != nil {
				located++
			}
		}
	}
	if located != len(want) && !corpus.IsSample(t) {
		t.Errorf("%d errors were located, want %d", located, len(want))
	}
}

func TestLocate_OtherErrorsNameNothing(t *testing.T) {
	tg := tongues()["anthropic"]
	for _, kind := range []llm.ErrorKind{llm.ErrRateLimit, llm.ErrServer, llm.ErrAuthentication, llm.ErrCancelled, llm.ErrQuota} {
		e := &llm.Error{Kind: kind, Message: "messages.0.content.1: image exceeds 5 MB maximum"}
		if got := wire.Locate(tg.dialect, refused("anthropic"), e); got != nil {
			t.Errorf("an error of kind %s: got %v, want nothing", kind, *got)
		}
	}
}

func TestLocate_RequestIsNotChanged(t *testing.T) {
	for name, tg := range tongues() {
		r := refused(tg.dialect.Name())
		before := fmt.Sprintf("%#v", r.Messages)
		wire.Locate(tg.dialect, r, &llm.Error{Kind: llm.ErrInvalidRequest, Message: "messages.0 input[0] contents[0]"})
		if after := fmt.Sprintf("%#v", r.Messages); after != before {
			t.Errorf("%s: the messages changed: got\n%s\nwant\n%s", name, after, before)
		}
	}
}

// FuzzLocate checks that any error names a place inside the request, or none.
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

// BenchmarkLocate locates a message in a session of 200 rounds.
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
					b.Fatal("not found")
				}
			}
		})
	}
}
