package llmtest_test

import (
	"errors"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

func TestScript_RefusesPoisonWhileItIsInTheRequest(t *testing.T) {
	script := llmtest.Play(llmtest.Say("fine"))
	script.Poison = "\x89PNG poison"
	image := llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte(script.Poison)}}
	call := llm.ToolCall{ID: "a", Name: "f", Arguments: "{}"}
	r := &llm.Request{Model: "m", Messages: []llm.Message{
		llm.UserText("look"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{call}},
		llm.ToolResults(llm.ToolResult{ID: "a", Parts: []llm.Part{llm.Text{Text: "this"}, image}}),
	}}
	for range 2 {
		_, err := llm.Collect(script.Stream(t.Context(), r))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrInvalidRequest || e.Item == nil || *e.Item != (llm.Item{Message: 2, Part: 0, Inner: 1}) {
			t.Fatalf("got error %+v, want an invalid request that names the image", err)
		}
	}
	r.Messages[2] = llm.ToolResults(llm.TextResult(call, "this", false))
	if resp, err := llm.Collect(script.Stream(t.Context(), r)); err != nil || resp.Text() != "fine" {
		t.Errorf("got %+v, error %v; want the text fine", resp, err)
	}
	if n := len(script.Requests()); n != 3 {
		t.Errorf("got %d requests, want 3", n)
	}
}
