package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// growingArguments checks that a long call is announced with its name and then shown piece by piece,
// as far as the protocol sends it in pieces; Gemini sends calls whole.
func (s Subject) growingArguments(t *testing.T) {
	arguments := `{"path":"` + strings.Repeat("abcdefgh", 40) + `"}`
	r := s.start(t, wire.Limits{}, Call("read_file", arguments))
	name, written, deltas := "", "", 0
	for ev, err := range r.provider.Stream(t.Context(), s.request(false)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.ToolCallStart:
			name = ev.Name
		case llm.ToolCallDelta:
			if name != "read_file" {
				t.Fatalf("arguments arrive for the call of %q", name)
			}
			written += ev.Arguments
			deltas++
		case llm.ToolCallEnd:
			if !sameJSON(ev.Call.Arguments, written) {
				t.Errorf("the call ends with %s after %s was shown", ev.Call.Arguments, written)
			}
		}
	}
	least := 10
	if s.Dialect == "gemini" {
		least = 1
	}
	if deltas < least || !sameJSON(written, arguments) {
		t.Errorf("%d pieces, together %s", deltas, clip(written))
	}
}

// refusedPart has the server refuse one part after the other: the error must say which it was.
func (s Subject) refusedPart(t *testing.T) {
	image := func(word string) llm.Image {
		return llm.Image{Media: llm.Media{MIME: "image/png", Data: append(append([]byte(nil), pixel...), word...)}}
	}
	calls := []llm.Part{
		llm.ToolCall{ID: "call_1", Name: "read_file", Arguments: `{"path":"BAD-ONE"}`},
		llm.ToolCall{ID: "call_2", Name: "read_file", Arguments: `{"path":"BAD-TWO"}`},
	}
	messages := append(s.request(false).Messages,
		llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "BAD-TEXT"}, image("a")}},
		llm.Message{Role: llm.RoleAssistant, Parts: calls},
		llm.ToolResults(
			llm.ToolResult{ID: "call_1", Name: "read_file", Parts: []llm.Part{llm.Text{Text: "BAD-RESULT"}, image("b")}},
			llm.ToolResult{ID: "call_2", Name: "read_file", Parts: []llm.Part{llm.Text{Text: "fine"}}}),
		llm.UserText("BAD-STEERING"),
	)
	for poison, want := range map[string]llm.Item{
		"BAD-TEXT":              {Message: 2, Part: 0, Inner: -1},
		string(image("a").Data): {Message: 2, Part: 1, Inner: -1},
		"BAD-ONE":               {Message: 3, Part: 0, Inner: -1},
		"BAD-TWO":               {Message: 3, Part: 1, Inner: -1},
		"BAD-RESULT":            {Message: 4, Part: 0, Inner: 0}, // or -1, where a result is one text
		string(image("b").Data): {Message: 4, Part: 0, Inner: 1},
		"BAD-STEERING":          {Message: 5, Part: 0, Inner: -1},
	} {
		r := s.start(t, wire.Limits{}, Say("fine"))
		r.script.Poison = poison
		req := s.request(false)
		req.Messages = messages
		_, err := verified(r.provider.Stream(t.Context(), req))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrInvalidRequest || e.Item == nil {
			t.Errorf("%.12q: the error is %v and names no place (violations: %v)", poison, err, r.Violations())
			continue
		}
		got := *e.Item
		if got.Inner < 0 && poison == "BAD-RESULT" {
			want.Inner = -1
		}
		if got != want {
			t.Errorf("%.12q: the error %v names %+v, want %+v", poison, err, got, want)
		}
	}
}

// oddArguments sends calls back whose arguments no tool could take.
func (s Subject) oddArguments(t *testing.T) {
	for _, arguments := range []string{"", " ", "{}", `{"path":"a"}`, `{"path":"a`, `{"path":`, "{", "[1,2]", `"text"`, "null", "7", "not json", `{"a":1}{"b":2}`, "\x00\xff", "*** Begin Patch\n"} {
		for _, custom := range []bool{false, true} {
			call := llm.ToolCall{ID: "call_1", Name: "read_file", Arguments: arguments, Custom: custom}
			r := s.start(t, wire.Limits{}, Say("fine"))
			req := s.request(false)
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{call}}, llm.ToolResults(llm.TextResult(call, "Error: bad arguments", true)))
			if _, err := verified(r.provider.Stream(t.Context(), req)); err != nil {
				t.Errorf("the arguments %q (custom: %v) are refused: %v", arguments, custom, err)
			}
			for _, body := range r.Bodies() {
				if err := objectArguments(body); err != nil {
					t.Errorf("the arguments %q (custom: %v): %v", arguments, custom, err)
				}
			}
		}
	}
}

// objectArguments checks that all arguments in a body which are sent as a string hold an object:
// not every server takes what OpenAI does.
func objectArguments(body []byte) error {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	var walk func(v any) error
	walk = func(v any) error {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				if err := walk(e); err != nil {
					return err
				}
			}
		case map[string]any:
			if text, ok := v["arguments"].(string); ok {
				var object map[string]any
				if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
					return fmt.Errorf("%q is sent, which is no object", text)
				}
			}
			for _, e := range v {
				if err := walk(e); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return walk(v)
}

// mislabelled sends images that are not of the type they are said to be.
func (s Subject) mislabelled(t *testing.T) {
	for name, media := range map[string]llm.Media{
		"data": {MIME: "image/jpeg", Data: pixel},
		"URI":  {URL: "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(pixel)},
		"both": {MIME: "image/jpeg", URL: "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(pixel)},
	} {
		call := llm.ToolCall{ID: "call_1", Name: "list_dir", Arguments: "{}"}
		result := llm.TextResult(call, "see", false)
		result.Parts = append(result.Parts, llm.Image{Media: media})
		r := s.start(t, wire.Limits{}, Say("fine"))
		req := s.request(false)
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Image{Media: media}}},
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{call}}, llm.ToolResults(result))
		if _, err := verified(r.provider.Stream(t.Context(), req)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, body := range r.Bodies() {
			if text := string(body); strings.Contains(text, "image/jpeg") || strings.Count(text, "image/png") != 2 {
				t.Errorf("%s: the PNG is not sent as one: %s", name, clip(text))
			}
		}
	}
}
