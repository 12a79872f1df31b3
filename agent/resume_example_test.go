package agent_test

import (
	"context"
	"fmt"
	"os"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// A session with a store can be resumed by another process. Fields that the configuration leaves empty keep their
// values.
func ExampleResume() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	place, err := local.New(local.Config{Dir: "."})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer place.Close()
	store, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	model := llmtest.Play(llmtest.Say("I will remember 42."), llmtest.Say("It was 42."))
	config := agent.Config{ID: "ticket-42", Client: model, Model: "claude-sonnet-5-5", Env: place, Store: store}

	first, err := agent.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := first.Submit(ctx, llm.Text{Text: "Remember the number 42."})
	fmt.Println(out.Text, err)
	first.Close()

	config.Model = ""
	again, err := agent.Resume(ctx, config)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer again.Close()
	out, err = again.Submit(ctx, llm.Text{Text: "Which number was it?"})
	fmt.Println(out.Text, err, len(again.Messages()))
	// Output:
	// I will remember 42. <nil>
	// It was 42. <nil> 4
}
