package conformance

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// pixel is a PNG of one pixel.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff\xff\x7f\x00\t\xfb\x03\xfd*\x86\xe3\x8a\x00\x00\x00\x00IEND\xaeB`\x82"

// conversation plays tool rounds against the strict server: thinking with state, parallel calls, a failed result,
// an image in a result, and a user message after results.
func (s Subject) conversation(t *testing.T) {
	r := s.start(t, llm.Limits{},
		llmtest.Turn{Parts: []llm.Part{
			llm.Thinking{Text: "Two files.", State: llm.State{Dialect: s.Dialect, Data: []byte("c2lnbmF0dXJl")}},
			llm.Text{Text: "I read both."},
			llm.ToolCall{Name: "read_file", Arguments: `{"path":"a"}`},
			llm.ToolCall{Name: "read_file", Arguments: `{"path":"b"}`},
		}},
		llmtest.Call("list_dir", "{}"),
		llmtest.Say("Done."),
	)
	req := s.request(false)
	req.Cache = new(llm.Cache)
	for range 3 {
		resp, err := verified(r.Stream(t.Context(), req))
		if err != nil {
			t.Fatalf("%v (violations: %v)", err, r.Violations())
		}
		req.Messages = append(req.Messages, resp.Message)
		var results []llm.ToolResult
		for i, c := range resp.ToolCalls() {
			res := llm.TextResult(c, "contents of the file", i == 1)
			if i == 0 {
				res.Parts = append(res.Parts, llm.Image{Media: llm.Media{Data: []byte(pixel), MIME: "image/png"}})
			}
			results = append(results, res)
		}
		if len(results) > 0 {
			req.Messages = append(req.Messages, llm.ToolResults(results...), llm.UserText("Hurry up."))
		}
	}
	if got := req.Messages[len(req.Messages)-1].Text(); got != "Done." {
		t.Errorf(`the last answer is %q, want "Done."`, got)
	}
	if v := r.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
}

// growingArguments checks that a call starts with its name and that its arguments arrive in pieces. Gemini sends them
// in one.
func (s Subject) growingArguments(t *testing.T) {
	arguments := `{"path":"` + strings.Repeat("abcdefgh", 40) + `"}`
	r := s.start(t, llm.Limits{}, llmtest.Call("read_file", arguments))
	name := ""
	written := ""
	deltas := 0
	for ev, err := range r.Stream(t.Context(), s.request(false)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.ToolCallStart:
			name = ev.Name
		case llm.ToolCallDelta:
			if name != "read_file" {
				t.Fatalf("arguments arrive for the call %q, want read_file", name)
			}
			written += ev.Arguments
			deltas++
		case llm.ToolCallEnd:
			if !sameJSON(ev.Call.Arguments, written) {
				t.Errorf("the call ends with %s, want the deltas %s", ev.Call.Arguments, written)
			}
		}
	}
	minimum := 10
	if s.Dialect == "gemini" {
		minimum = 1
	}
	if deltas < minimum || !sameJSON(written, arguments) {
		t.Errorf("got %d deltas with %s, want at least %d with %s", deltas, clip(written), minimum, clip(arguments))
	}
}

// refusedPart makes the server refuse one part after another. The error must name it.
func (s Subject) refusedPart(t *testing.T) {
	image := func(word string) llm.Image {
		return llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte(pixel + word)}}
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
		"BAD-RESULT":            {Message: 4, Part: 0, Inner: 0}, // or -1 where a result is one text
		string(image("b").Data): {Message: 4, Part: 0, Inner: 1},
		"BAD-STEERING":          {Message: 5, Part: 0, Inner: -1},
	} {
		r := s.serve(t, llm.Limits{}, &llmtest.Script{Turns: []llmtest.Turn{llmtest.Say("fine")}, Poison: poison})
		req := s.request(false)
		req.Messages = messages
		_, err := verified(r.Stream(t.Context(), req))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrInvalidRequest || e.Item == nil {
			t.Errorf("%.12q: got error %v, want an invalid request that names the item (violations: %v)", poison, err, r.Violations())
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

// oddArguments returns calls with invalid arguments to the model, which the server must accept.
func (s Subject) oddArguments(t *testing.T) {
	for _, arguments := range []string{
		"", " ", "{}", `{"path":"a"}`, `{"path":"a`, `{"path":`, "{", "[1,2]", `"text"`, "null", "7", "not json",
		`{"a":1}{"b":2}`, "\x00\xff", "*** Begin Patch\n",
	} {
		for _, custom := range []bool{false, true} {
			call := llm.ToolCall{ID: "call_1", Name: "read_file", Arguments: arguments, Custom: custom}
			r := s.start(t, llm.Limits{}, llmtest.Say("fine"))
			req := s.request(false)
			req.Messages = append(
				req.Messages,
				llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{call}},
				llm.ToolResults(llm.TextResult(call, "Error: bad arguments", true)),
			)
			if _, err := verified(r.Stream(t.Context(), req)); err != nil {
				t.Errorf("arguments %q (custom: %v): %v", arguments, custom, err)
			}
			for _, body := range r.Bodies() {
				var v any
				if err := json.Unmarshal(body, &v); err != nil {
					t.Fatal(err)
				}
				if err := objectArguments(v); err != nil {
					t.Errorf("arguments %q (custom: %v): %v", arguments, custom, err)
				}
			}
		}
	}
}

// objectArguments checks that arguments sent as a string hold an object. OpenAI accepts any text, other servers do
// not.
func objectArguments(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := objectArguments(e); err != nil {
				return err
			}
		}
	case map[string]any:
		if text, ok := v["arguments"].(string); ok {
			var object map[string]any
			if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
				return fmt.Errorf("sent %q, want an object", text)
			}
		}
		for _, e := range v {
			if err := objectArguments(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// mislabelled sends images declared with the wrong type.
func (s Subject) mislabelled(t *testing.T) {
	uri := "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString([]byte(pixel))
	for name, media := range map[string]llm.Media{
		"data": {MIME: "image/jpeg", Data: []byte(pixel)},
		"URI":  {URL: uri},
		"both": {MIME: "image/jpeg", URL: uri},
	} {
		call := llm.ToolCall{ID: "call_1", Name: "list_dir", Arguments: "{}"}
		result := llm.TextResult(call, "see", false)
		result.Parts = append(result.Parts, llm.Image{Media: media})
		r := s.start(t, llm.Limits{}, llmtest.Say("fine"))
		req := s.request(false)
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Image{Media: media}}},
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{call}}, llm.ToolResults(result))
		if _, err := verified(r.Stream(t.Context(), req)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sent := string(slices.Concat(r.Bodies()...))
		types := strings.Count(sent, "image/png") + strings.Count(sent, `"format":"png"`) // the latter is Bedrock's
		if strings.Contains(sent, "image/jpeg") || types != 2 {
			t.Errorf("%s: sent %s, want two images of type image/png", name, clip(sent))
		}
	}
}

func (s Subject) structured(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
	r := s.start(t, llm.Limits{}, llmtest.Say(`{"n":7}`))
	req := s.request(false)
	req.Tools = nil
	req.Output = &llm.OutputFormat{Name: "number", Schema: json.RawMessage(schema)}
	resp, err := verified(r.Stream(t.Context(), req))
	if err != nil {
		t.Fatalf("%v (violations: %v)", err, r.Violations())
	}
	if !sameJSON(resp.Text(), `{"n":7}`) {
		t.Errorf(`got text %q, want {"n":7}`, resp.Text())
	}
}
