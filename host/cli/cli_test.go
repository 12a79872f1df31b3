package cli

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"reins": func() { os.Exit(Main(Process())) },
	})
}

// TestScripts runs the command line as users do. Each script has a model server of its own at
// $SERVER, which says "pong" to "ping", fails with 429 for "busy", and stops at nothing else.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			server := llmtest.NewServer(&llmtest.Script{Reply: reply})
			server.Key = "sk-test-0123456789abcdef"
			e.Defer(server.Close)
			e.Setenv("SERVER", server.BaseURL("anthropic"))
			e.Setenv("HOME", e.WorkDir)
			return nil
		},
	})
}

func reply(_ int, r *llm.Request) llmtest.Turn {
	switch text := r.Messages[len(r.Messages)-1].Text(); text {
	case "ping":
		return llmtest.Say("pong")
	case "busy":
		return llmtest.Turn{Fault: llmtest.Fault{Status: 429, RetryAfter: "3600"}}
	case "long":
		return llmtest.Turn{Parts: []llm.Part{llm.Text{Text: "and so"}}, Finish: llm.FinishLength}
	default:
		return llmtest.Say("you said: " + text)
	}
}
