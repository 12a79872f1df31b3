package coding_test

import (
	"context"
	"fmt"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// A profile, an environment and a client make a coding agent. The model here is a script; with a
// client of package connect it is a real one.
func Example_session() {
	ctx := context.Background()
	place, err := local.New(local.Config{Dir: "."})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer place.Close()
	profile := coding.Anthropic("claude-sonnet-5-5")
	tools, err := profile.Registry()
	if err != nil {
		fmt.Println(err)
		return
	}
	system, err := profile.SystemPrompt(ctx, place, coding.PromptConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	model := llmtest.Play(llmtest.Call("glob", `{"pattern":"doc.go"}`), llmtest.Say("It is there."))
	session, err := agent.New(agent.Config{Client: model, Model: profile.Model, System: system, Tools: tools, Env: place})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	outcome, err := session.Submit(ctx, llm.Text{Text: "Is there a doc.go?"})
	fmt.Println(outcome.Status, outcome.Rounds, outcome.Text, err)
	// Output: done 1 It is there. <nil>
}
