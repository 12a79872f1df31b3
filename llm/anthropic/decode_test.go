package anthropic

import (
	"fmt"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// The order matters: an answer that goes back must begin with its thinking, redacted or not.
func TestDecode_BlocksOfWholeAnswerKeepTheirOrder(t *testing.T) {
	const answer = `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","content":[
		{"type":"redacted_thinking","data":"abc"},
		{"type":"text","text":"Let me see."},
		{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{}},
		{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}]}`
	a := wire.NewAssembler(Name, "m", nil)
	if err := NewDialect(Config{}).Decode([]byte(answer), a); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range a.Response().Message.Parts {
		got += fmt.Sprintf("%T ", p)
	}
	if want := fmt.Sprintf("%T %T %T %T ", llm.Thinking{}, llm.Text{}, llm.Opaque{}, llm.ToolCall{}); got != want {
		t.Errorf("the parts are %s, not %s", got, want)
	}
}
