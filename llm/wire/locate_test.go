package wire_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/llm/wire"
)

// tongue is a dialect and the way its errors name places.
type tongue struct {
	dialect wire.Dialect
	model   string
	list    string // the member of the body that holds the items
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
		"anthropic": {anthropic.NewDialect(anthropic.Config{}), "claude-x", "messages", []string{"content"},
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
		"chat": {chat.NewDialect(chat.Quirks{}), "model-x", "messages", []string{"content", "tool_calls"},
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
	gateway := tongues["chat"]
	gateway.dialect = chat.NewDialect(chat.Quirks{Bridge: true, ToolMedia: true, NoDeveloper: true})
	tongues["chat of another server"] = gateway
	return tongues
}

// marked makes conversations in which every part holds a word of its own.
type marked struct {
	t      *rapid.T
	tongue tongue
	places map[string]llm.Item
	answer map[string]llm.Item // the results, by id
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
	g.answer[c.ID] = at
	for k := range rapid.IntRange(0, 3).Draw(g.t, "result parts") {
		at.Inner = k
		switch rapid.IntRange(0, 4).Draw(g.t, "result part") {
		case 0:
			r.Parts = append(r.Parts, llm.Image{Media: g.media(at)})
		case 1:
			r.Parts = append(r.Parts, llm.Text{})
		default:
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

// spot is an element of a request body and the way to it.
type spot struct {
	steps []any
	value any
}

// spots lists the items of the body and the elements inside them.
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

// answers is the place of the result that an object is.
func (g *marked) answers(object map[string]any) (places []llm.Item) {
	kind, _ := object["type"].(string)
	for _, key := range []string{"tool_use_id", "tool_call_id", "call_id"} {
		id, _ := object[key].(string)
		if at, ok := g.answer[id]; ok && (key != "call_id" || strings.HasSuffix(kind, "_output")) {
			places = append(places, at)
		}
	}
	if f, ok := object["functionResponse"].(map[string]any); ok {
		places = append(places, g.answer[f["id"].(string)])
	}
	return places
}

// origin finds the words in a value, plain or in base64, and the place that they have in common.
func (g *marked) origin(v any) *llm.Item {
	var found []llm.Item
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			_, data, _ := strings.Cut(v, ";base64,")
			for _, coded := range []string{v, data} {
				if raw, err := base64.StdEncoding.DecodeString(coded); err == nil {
					v += string(raw)
				}
			}
			for w, at := range g.places {
				if strings.Contains(v, w) {
					found = append(found, at)
				}
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			found = append(found, g.answers(v)...)
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	if len(found) == 0 {
		return nil
	}
	at := found[0]
	for _, f := range found {
		at.Message = max(at.Message, f.Message)
	}
	for _, f := range found {
		if f.Message != at.Message || f.Part != found[0].Part {
			return &llm.Item{Message: at.Message, Part: -1, Inner: -1}
		}
		if f.Inner != found[0].Inner {
			at.Inner = -1
		}
	}
	return &at
}

func TestLocate_PlaceInTheWireFormIsThePartItCameFrom(t *testing.T) {
	for name, tg := range tongues() {
		t.Run(name, func(t *testing.T) {
			exact := 0
			rapid.Check(t, func(t *rapid.T) {
				g := &marked{t: t, tongue: tg, places: map[string]llm.Item{}, answer: map[string]llm.Item{}}
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
					return // a text of the adapter's own
				}
				if got == nil || *got != *want {
					t.Fatalf("%q (%s) is at %+v, want %+v in\n%s", message, param, got, *want, call.Body.Bytes())
				}
				if want.Part >= 0 {
					exact++
				}
			})
			if exact == 0 {
				t.Error("no place was exact")
			}
		})
	}
}
