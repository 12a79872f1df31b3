package compact

import (
	"net/http"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/llmtest"
)

// The templates of many local models require user and assistant messages to alternate, and an edit
// inserts user messages.
func TestEdit_IsAcceptedByServersThatRequireAlternatingRoles(t *testing.T) {
	server := llmtest.StartServer(llmtest.ServerConfig{Alternate: true, Script: &llmtest.Script{
		Reply: func(int, *llm.Request) llmtest.Turn { return llmtest.Say("ok") },
	}})
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	p := chat.New(chat.Config{Endpoint: llm.Endpoint{BaseURL: server.BaseURL("chat"), APIKey: "key", HTTPClient: client}})
	send := func(what string, msgs []llm.Message) {
		t.Helper()
		r := &llm.Request{Model: "some-model", Messages: msgs, Tools: []llm.ToolDef{{Name: "read_file", Parameters: []byte(`{"type":"object"}`)}}}
		if _, err := llm.Collect(p.Stream(t.Context(), r)); err != nil {
			t.Errorf("%s: %v\n%s", what, err, sketch(msgs))
		}
	}
	var m Meter
	msgs := work(4, 4000)
	msgs = append(msgs, llm.AssistantText("One thing is done."), llm.UserText("now the other"))
	msgs = append(msgs, work(4, 4000)[2:]...)
	send("before", msgs)
	g := Goal{Tokens: 3000}
	s, ok := Prepare(m, msgs, g)
	if !ok {
		t.Fatal("nothing to summarise")
	}
	send("the request for a summary", s.Messages)
	summary, err := s.Finish(llm.AssistantText("what was done"), llm.FinishStop, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	send("after a summary", apply(t, summary, msgs))
	digest, ok := Fallback(m, msgs, g, Facts{})
	if !ok {
		t.Fatal("no digest")
	}
	send("after a digest", append(apply(t, digest, msgs), llm.UserText("continue")))
}
