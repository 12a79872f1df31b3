package gemini_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/internal/conformance"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
)

func TestConformance(t *testing.T) {
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-pro-preview"} {
		t.Run(model, func(t *testing.T) {
			t.Cleanup(func() { goleak.VerifyNone(t) })
			conformance.Run(t, conformance.Subject{
				Dialect: gemini.Name,
				Model:   model,
				Open:    func(e llm.Endpoint) llm.Provider { return gemini.New(gemini.Config{Endpoint: e}) },
			})
		})
	}
}

// TestEncode_SwitchingModelsInMidConversation plays one conversation over models of two
// generations: the strict server must accept the history of one from the other.
func TestEncode_SwitchingModelsInMidConversation(t *testing.T) {
	script := llmtest.Play(
		llmtest.Call("look", `{"at":1}`), llmtest.Call("look", `{"at":2}`), llmtest.Call("look", `{"at":3}`), llmtest.Say("done"))
	server := llmtest.NewServer(script)
	defer server.Close()
	p := gemini.New(gemini.Config{Endpoint: llm.Endpoint{BaseURL: server.BaseURL(gemini.Name), APIKey: "k"}})
	messages := []llm.Message{llm.UserText("look around")}
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-pro-preview", "gemini-3-flash-preview", "gemini-2.5-flash"} {
		resp, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: model, Messages: messages, Tools: []llm.ToolDef{{Name: "look"}}}))
		if err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		messages = append(messages, resp.Message)
		for _, c := range resp.ToolCalls() {
			messages = append(messages, llm.ToolResults(llm.TextResult(c, "ok", false)))
		}
	}
	if got := messages[len(messages)-1].Text(); got != "done" {
		t.Errorf("the last answer is %q", got)
	}
	bodies := server.Bodies()
	if last := string(bodies[3]); strings.Contains(last, "thoughtSignature") {
		t.Errorf("signatures of Gemini 3 went to Gemini 2.5: %s", last)
	}
}

func TestEncode_TheStrictServerAcceptsEveryHistory(t *testing.T) {
	call := func(id string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "f", Arguments: "not JSON"} }
	result := func(id string) llm.Message { return llm.ToolResults(llm.TextResult(call(id), "", false)) }
	assistant := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleAssistant, Parts: parts} }
	u := llm.UserText("q")
	for name, messages := range map[string][]llm.Message{
		"results in messages of their own":  {u, assistant(call("a"), call("b")), result("a"), result("b"), u},
		"system messages between":           {llm.SystemText("s"), u, assistant(call("a")), llm.SystemText("t"), result("a"), u},
		"an answer of nothing but thinking": {u, assistant(llm.Thinking{Text: "t"}), u},
		"an empty answer":                   {u, assistant(), u, assistant(llm.Text{}), u},
		"state of another provider": {u, assistant(llm.Thinking{Text: "t", State: llm.State{Dialect: "anthropic", Data: []byte("{}")}},
			llm.Opaque{State: llm.State{Dialect: "anthropic", Data: []byte("{}")}}, llm.Text{Text: "x"}, call("toolu_1")), result("toolu_1")},
		"empty user text": {u, llm.UserText(""), assistant(llm.Text{Text: "a"}), llm.UserText(""), u},
	} {
		c, err := gemini.NewDialect(gemini.Config{}).Encode(&llm.Request{Model: "gemini-3-pro", Messages: messages})
		if err == nil {
			err = llmtest.Validate(gemini.Name, c.Body.Bytes())
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
